//! Small plots as SVG: lines, with a scale that is linear or logarithmic upwards.

use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

const SIZE: (u32, u32) = (720, 400);
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x1b, 0x6c, 0xa8),
    RGBColor(0xc0, 0x39, 0x2b),
    RGBColor(0x27, 0x86, 0x4f),
    RGBColor(0x8e, 0x44, 0xad),
    RGBColor(0xd6, 0x89, 0x10),
    RGBColor(0x44, 0x44, 0x44),
];

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
    /// Logarithmic upwards from here; what is smaller lies on the ground.
    pub log_from: Option<f64>,
    /// Series.
    pub series: Vec<Series>,
}

/// A number in a few characters.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{} M", value / 1e6),
        v if v >= 1e4 => format!("{} k", value / 1e3),
        _ => format!("{value}"),
    }
}

impl Plot {
    /// The plot as a file.
    pub fn render(&self) -> Result<String, String> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| format!("{}: {error}", self.title))?;
        Ok(text)
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let all = || self.series.iter().flat_map(|s| s.points.iter());
        let most = |of: fn(&(f64, f64)) -> f64| all().map(of).fold(1e-9, f64::max);
        let (x, y) = (0.0..most(|p| p.0), most(|p| p.1));
        let mut chart = ChartBuilder::on(&area);
        chart
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(72);
        match self.log_from {
            None => self.lines(chart.build_cartesian_2d(x, 0.0..1.05 * y)?)?,
            Some(least) => self.lines(chart.build_cartesian_2d(x, (least..y).log_scale())?)?,
        }
        Ok(area.present()?)
    }

    fn lines<'a, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, Y>>,
    ) -> Result<(), Box<dyn std::error::Error>>
    where
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .x_desc(self.x)
            .y_desc(self.y)
            .x_label_formatter(&|x| short(*x))
            .y_label_formatter(&|y| short(*y))
            .draw()?;
        let least = self.log_from.unwrap_or(0.0);
        for (series, colour) in self.series.iter().zip(COLOURS.into_iter().cycle()) {
            let points = series.points.iter().map(|(x, y)| (*x, y.max(least)));
            let key = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
                .label(&series.name)
                .legend(key);
        }
        chart.configure_series_labels().background_style(WHITE).border_style(WHITE).draw()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_all_series_in_its_frame_and_escapes_names() {
        for log_from in [None, Some(1e-3)] {
            let points = vec![(0.0, 0.0), (50.0, 2e6), (100.0, 1.0)];
            let series =
                ["a < b", "other"].map(|name| Series { name: name.into(), points: points.clone() });
            let plot =
                Plot { title: "T & U".into(), x: "x", y: "y", log_from, series: series.into() };
            let text = plot.render().expect("a plot");
            for part in ["a &lt; b", "T &amp; U", "other", "</svg>"] {
                assert!(text.contains(part), "{part}");
            }
            let lines: Vec<_> = text.match_indices("stroke-width=\"2\" points=\"").collect();
            assert_eq!(lines.len(), 4, "two lines and their keys");
            for pair in text.split("points=\"").skip(1).filter_map(|t| t.split('"').next()) {
                for (x, y) in pair.split_whitespace().filter_map(|p| p.split_once(',')) {
                    let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
                    let is_inside = (0.0..=720.0).contains(&x) && (0.0..=400.0).contains(&y);
                    assert!(is_inside, "{x},{y}");
                }
            }
        }
    }
}
