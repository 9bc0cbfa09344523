//! Plain tables: columns as wide as their content, two spaces between.

/// A table with a header line. Trailing blanks are cut.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String]| {
        let mut out = String::new();
        for (cell, width) in cells.iter().zip(&widths) {
            out.push_str(cell);
            let pad = width - cell.chars().count() + 2;
            out.extend(std::iter::repeat_n(' ', pad));
        }
        let mut out = out.trim_end().to_string();
        out.push('\n');
        out
    };
    let header: Vec<String> = header.iter().map(ToString::to_string).collect();
    std::iter::once(line(&header)).chain(rows.iter().map(|r| line(r))).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "bcd".into()], vec!["longer".into(), "e".into()]];
        assert_eq!(table(&["x", "y"], &rows), "x       y\na       bcd\nlonger  e\n");
    }
}
