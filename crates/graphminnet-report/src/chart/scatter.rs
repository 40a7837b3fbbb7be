//! Predicted against true values, with the diagonal on which they are equal.

use super::axis::Axis;
use super::canvas::{Frame, Look, plot};
use super::{ChartError, Scale, thinned};
use crate::svg::Svg;
use crate::theme::Paint;

/// Points against a diagonal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScatterChart {
    /// Title, shown above the plot.
    pub title: String,
    /// What the chart shows, in words, for those who cannot see it.
    pub description: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// Points `(x, y)`.
    pub points: Vec<(f64, f64)>,
    /// Whether both axes have the same range and the line `y = x` is drawn.
    pub diagonal: bool,
}

impl ScatterChart {
    /// How many points are drawn; of more, this many evenly spread ones.
    pub const MAX_POINTS: usize = 2000;

    /// The picture.
    ///
    /// # Errors
    ///
    /// [`ChartError`] if there is nothing to show.
    pub fn svg(&self) -> Result<Svg, ChartError> {
        let empty = || ChartError::Empty { title: self.title.clone() };
        let finite: Vec<(f64, f64)> =
            self.points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        // Ranges are those of all points, so that thinning hides no outlier's distance from the rest.
        let (all_x, all_y) = (|| finite.iter().map(|(x, _)| *x), || finite.iter().map(|(_, y)| *y));
        let (x, y) = if self.diagonal {
            let both = Axis::over(all_x().chain(all_y()), Scale::Linear, 5).ok_or_else(empty)?;
            (both.clone(), both)
        } else {
            let axis = |values: &mut dyn Iterator<Item = f64>| Axis::over(values, Scale::Linear, 5);
            (axis(&mut all_x()).ok_or_else(empty)?, axis(&mut all_y()).ok_or_else(empty)?)
        };
        let points = thinned(&finite, Self::MAX_POINTS);
        let mut legend = vec![("graphs".to_owned(), Paint::Series(0), false)];
        if points.len() < finite.len() {
            legend[0].0 = format!("{} of {} points", points.len(), finite.len());
        }
        if self.diagonal {
            legend.push(("equal".to_owned(), Paint::Muted, true));
        } else if points.len() == finite.len() {
            legend.clear();
        }
        if self.diagonal && points.len() == finite.len() {
            legend.remove(0);
        }
        let frame = Frame {
            title: &self.title,
            description: &self.description,
            x_label: &self.x_label,
            y_label: &self.y_label,
            legend: &legend,
        };
        let (low, high) = x.ends();
        plot(&frame, (x, y), |plot| {
            if self.diagonal {
                let ends = plot.places([(low, low), (high, high)]);
                plot.canvas.dashed(&ends, Look::new(Paint::Muted, 1.5))?;
            }
            let opacity = if points.len() > 300 { 0.35 } else { 0.7 };
            for place in plot.places(points.iter().copied()) {
                plot.canvas.dot(place, 2.5, Look::faint(Paint::Series(0), opacity))?;
            }
            Ok(())
        })
    }
}
