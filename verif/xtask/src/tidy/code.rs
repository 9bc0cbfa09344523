//! A look at Rust source that tells code from comments and strings: enough of a lexer for checks
//! that must not trip over their own words.

/// What is left in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Code alone: strings are emptied, comments are gone.
    Code,
    /// Code and strings: comments are gone.
    Strings,
}

/// The source without comments, and without the contents of strings if told; lines stay where they
/// are.
pub fn strip(source: &str, keep: Keep) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let (end, kind) = token(&chars, at);
        for &c in &chars[at..end] {
            if c == '\n' || kind == Kind::Code || (kind == Kind::String && keep == Keep::Strings) {
                out.push(c);
            }
        }
        if kind == Kind::String && keep == Keep::Code {
            out.push_str("\"\"");
        }
        at = end;
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    String,
}

/// The end of what begins at `at`, and what it is.
fn token(chars: &[char], at: usize) -> (usize, Kind) {
    let next = |n: usize| chars.get(at + n).copied().unwrap_or('\0');
    match (chars[at], next(1)) {
        ('/', '/') => (find(chars, at, |c| c == '\n'), Kind::Comment),
        ('/', '*') => (block_comment(chars, at), Kind::Comment),
        ('"', _) => (quoted(chars, at + 1, '"'), Kind::String),
        ('r', '"' | '#') if !in_word(chars, at) => {
            raw_string(chars, at).map_or((at + 1, Kind::Code), |end| (end, Kind::String))
        }
        ('\'', '\\') => (quoted(chars, at + 1, '\''), Kind::String),
        ('\'', _) if next(2) == '\'' => (at + 3, Kind::String),
        _ => (at + 1, Kind::Code),
    }
}

fn find(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|c| wanted(*c)).map_or(chars.len(), |n| from + n)
}

/// Whether the character before belongs to the same word; `br"..."` begins one.
fn in_word(chars: &[char], at: usize) -> bool {
    let word = |n: usize| at >= n && (chars[at - n].is_alphanumeric() || chars[at - n] == '_');
    word(1) && (chars[at - 1] != 'b' || word(2))
}

fn block_comment(chars: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn quoted(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// End of the raw string at `at`; `None` when it is a raw identifier.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    let open = find(chars, at + 1, |c| c != '#');
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let hashes = open - at - 1;
    let closes = |i: &usize| {
        chars[*i] == '"' && chars[i + 1..].iter().take_while(|c| **c == '#').count() >= hashes
    };
    Some((open + 1..chars.len()).find(closes).map_or(chars.len(), |i| i + 1 + hashes))
}

/// Byte offsets at which `word` stands in `text` as a word of its own at its beginning.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = text[..*at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Line of a byte offset, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The strings that follow `lead` (such as `bug(`) directly, with their lines.
pub(crate) fn strings_after(text: &str, lead: &str) -> Vec<(usize, String)> {
    let found = |at: usize| {
        let rest = text[at + lead.len()..].trim_start().strip_prefix('"')?;
        Some((line_of(text, at), rest.split('"').next()?.to_owned()))
    };
    words(text, lead).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let source =
            "a // \"x\n/* b /* c */ d */e \"f//\\\"g\" 'h' '\\'' &'i j r#\"k\"l\"# br\"m\" r#n";
        assert_eq!(strip(source, Keep::Code), "a \ne \"\" \"\" \"\" &'i j \"\" b\"\" r#n");
        assert!(strip(source, Keep::Strings).contains("e \"f//\\\"g\" 'h'"));
    }

    #[test]
    fn lines_stay_where_they_are() {
        let source = "/* a\nb */\n\"c\nd\"\ne";
        assert_eq!(strip(source, Keep::Code).lines().count(), 5);
    }

    #[test]
    fn strings_are_found_after_a_word_only() {
        let text = "with_bug(\"A\");\nif bug(\"B-1\") { bug(id) }";
        assert_eq!(strings_after(text, "bug("), [(2, "B-1".to_owned())]);
    }
}
