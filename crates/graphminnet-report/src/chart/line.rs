//! Lines over a common axis, with bands around them.

use super::axis::Axis;
use super::canvas::{Frame, Look, plot};
use super::{ChartError, Scale, named_points, thinned};
use crate::svg::Svg;
use crate::theme::{Paint, SERIES};

/// More points than this along one line cannot be distinguished.
const MAX_POINTS: usize = 1500;

/// One line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points `(x, y)`, in the order in which they are joined.
    pub points: Vec<(f64, f64)>,
    /// `(x, low, high)`: a band around the line, such as mean ± standard deviation; may be empty.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether the line is dashed. Lines beyond the last colour are dashed in any case, for their colours repeat.
    pub dashed: bool,
    /// Whether every point is marked.
    pub marked: bool,
}

impl Series {
    /// A plain line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

/// Lines over a common axis. Where every line is a single point, its name stands beside it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineChart {
    /// Title, shown above the plot.
    pub title: String,
    /// What the chart shows, in words, for those who cannot see it.
    pub description: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// Horizontal scale.
    pub x_scale: Scale,
    /// Vertical scale.
    pub y_scale: Scale,
    /// The lines.
    pub series: Vec<Series>,
}

impl LineChart {
    /// The picture.
    ///
    /// # Errors
    ///
    /// [`ChartError`] if there is nothing to show.
    pub fn svg(&self) -> Result<Svg, ChartError> {
        let empty = || ChartError::Empty { title: self.title.clone() };
        let usable = |x: f64, y: f64| {
            let fits = |value: f64, scale| value.is_finite() && (scale == Scale::Linear || value > 0.0);
            fits(x, self.x_scale) && fits(y, self.y_scale)
        };
        let points: Vec<Vec<(f64, f64)>> = self
            .series
            .iter()
            .map(|series| {
                let shown: Vec<_> = series.points.iter().copied().filter(|&(x, y)| usable(x, y)).collect();
                thinned(&shown, MAX_POINTS)
            })
            .collect();
        let bands: Vec<Vec<(f64, f64, f64)>> = self
            .series
            .iter()
            .map(|series| {
                let shown = series.band.iter().copied().filter(|&(x, a, b)| usable(x, a) && usable(x, b));
                thinned(&shown.collect::<Vec<_>>(), MAX_POINTS)
            })
            .collect();
        let all = || points.iter().flatten().copied();
        let edges = || bands.iter().flatten().flat_map(|&(_, low, high)| [low, high]);
        let x = Axis::over(all().map(|(x, _)| x), self.x_scale, 6).ok_or_else(empty)?;
        let y = Axis::over(all().map(|(_, y)| y).chain(edges()), self.y_scale, 5).ok_or_else(empty)?;
        let paint = Paint::Series;
        let is_dashed = |at: usize| at >= SERIES || self.series[at].dashed;
        let legend: Vec<(String, Paint, bool)> = self
            .series
            .iter()
            .enumerate()
            .map(|(at, series)| (series.name.clone(), paint(at), is_dashed(at)))
            .collect();
        let named = self.series.len() > 1 && points.iter().all(|points| points.len() == 1);
        let frame = Frame {
            title: &self.title,
            description: &self.description,
            x_label: &self.x_label,
            y_label: &self.y_label,
            legend: if named || (legend.len() == 1 && legend.iter().all(|(name, ..)| name.is_empty())) {
                &[]
            } else {
                &legend
            },
        };
        plot(&frame, (x, y), |plot| {
            if named {
                let places = plot.places(points.iter().flatten().copied());
                let names = self.series.iter().map(|series| series.name.as_str());
                return named_points::draw(plot, &places.into_iter().zip(names).collect::<Vec<_>>());
            }
            for (at, band) in bands.iter().enumerate().filter(|(_, band)| band.len() > 1) {
                let upper = band.iter().map(|&(x, _, high)| (x, high));
                let lower = band.iter().rev().map(|&(x, low, _)| (x, low));
                let rim = plot.places(upper.chain(lower));
                plot.canvas.polygon(&rim, Look::faint(paint(at), 0.18))?;
            }
            for (at, (points, series)) in points.iter().zip(&self.series).enumerate() {
                let look = Look::new(paint(at), 2.0);
                let places = plot.places(points.iter().copied());
                if is_dashed(at) {
                    plot.canvas.dashed(&places, look)?;
                } else {
                    plot.canvas.line(&places, look)?;
                }
                if series.marked || points.len() == 1 {
                    for place in places {
                        plot.canvas.dot(place, 3.0, look)?;
                    }
                }
            }
            Ok(())
        })
    }
}
