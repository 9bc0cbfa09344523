//! Small plots as SVG: lines.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (80.0, 130.0, 40.0, 50.0);
const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#27864f", "#8e44ad", "#d68910", "#444444"];

/// A series of a plot.
pub struct Series {
    /// Name.
    pub name: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
}

/// A plot.
pub struct Plot {
    /// Title.
    pub title: String,
    /// What lies along.
    pub x: &'static str,
    /// What goes up.
    pub y: &'static str,
    /// Series.
    pub series: Vec<Series>,
}

struct Axes {
    x_max: f64,
    y_max: f64,
}

impl Axes {
    fn x(&self, x: f64) -> f64 {
        MARGINS.0 + x / self.x_max * (WIDTH - MARGINS.0 - MARGINS.1)
    }

    fn y(&self, y: f64) -> f64 {
        HEIGHT - MARGINS.3 - y / self.y_max * (HEIGHT - MARGINS.2 - MARGINS.3)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number in a few characters.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{:.1}M", value / 1e6),
        v if v >= 1e4 => format!("{:.0}k", value / 1e3),
        v if v >= 10.0 || v == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}

impl Plot {
    fn axes(&self) -> Axes {
        let all = || self.series.iter().flat_map(|s| s.points.iter());
        let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(1e-9, f64::max);
        Axes { x_max: most(|p| p.0), y_max: most(|p| p.1) * 1.05 }
    }

    /// The plot as a file.
    pub fn render(&self) -> String {
        let axes = self.axes();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        self.frame(&axes, &mut out);
        for (n, series) in self.series.iter().enumerate() {
            let colour = COLOURS[n % COLOURS.len()];
            let point = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", axes.x(*x), axes.y(*y));
            let points: Vec<_> = series.points.iter().map(point).collect();
            let _ = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
                points.join(" ")
            );
            let (x, y) = (WIDTH - MARGINS.1 + 12.0, MARGINS.2 + 18.0 * n as f64);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
                escape(&series.name)
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn frame(&self, axes: &Axes, out: &mut String) {
        let (left, right) = (MARGINS.0, WIDTH - MARGINS.1);
        let (top, bottom) = (MARGINS.2, HEIGHT - MARGINS.3);
        let (title, x, y) = (escape(&self.title), escape(self.x), escape(self.y));
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"20\" font-size=\"14\">{title}</text>\n<text x=\"{left}\" \
             y=\"{}\">{x}</text>\n<text x=\"6\" y=\"{}\">{y}</text>",
            HEIGHT - 10.0,
            top - 4.0
        );
        let path = format!("M{left} {top}V{bottom}H{right}");
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"black\"/>");
        for n in 0..=4 {
            let part = f64::from(n) / 4.0;
            let (x, y) = (axes.x_max * part, axes.y_max * part);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text x=\"{}\" \
                 y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                axes.x(x),
                bottom + 16.0,
                short(x),
                left - 6.0,
                axes.y(y) + 4.0,
                short(y)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_stays_in_its_frame_and_escapes_names() {
        let points = vec![(0.0, 0.0), (50.0, 2e6), (100.0, 1.0)];
        let series = vec![Series { name: "a < b".into(), points }];
        let text = Plot { title: "T & U".into(), x: "x", y: "y", series }.render();
        assert!(
            text.contains("a &lt; b") && text.contains("T &amp; U") && text.ends_with("</svg>\n")
        );
        let line =
            text.split("points=\"").nth(1).and_then(|t| t.split('"').next()).expect("points");
        for pair in line.split(' ') {
            let (x, y) = pair.split_once(',').expect("a pair");
            let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
            assert!((80.0..=510.0).contains(&x) && (40.0..=310.0).contains(&y), "{pair}");
        }
    }
}
