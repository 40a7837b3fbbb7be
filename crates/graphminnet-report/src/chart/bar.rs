//! Bars by category, one per group, side by side.

use super::axis::Axis;
use super::canvas::{Frame, Look, plot};
use super::{ChartError, Scale};
use crate::svg::Svg;
use crate::theme::{Paint, SERIES};

/// The bars of one colour.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarGroup {
    /// Name in the legend.
    pub name: String,
    /// One value per category.
    pub values: Vec<f64>,
}

/// Bars by category.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BarChart {
    /// Title, shown above the plot.
    pub title: String,
    /// What the chart shows, in words, for those who cannot see it.
    pub description: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// Names of the categories.
    pub categories: Vec<String>,
    /// The groups.
    pub groups: Vec<BarGroup>,
}

impl BarChart {
    /// The picture.
    ///
    /// # Errors
    ///
    /// [`ChartError`] if there is nothing to show or a group has not one value per category.
    pub fn svg(&self) -> Result<Svg, ChartError> {
        let expected = self.categories.len();
        if let Some(group) = self.groups.iter().find(|group| group.values.len() != expected) {
            let found = group.values.len();
            return Err(ChartError::Shape { title: self.title.clone(), what: "values", found, expected });
        }
        let values = || self.groups.iter().flat_map(|group| group.values.iter().copied());
        let empty = || ChartError::Empty { title: self.title.clone() };
        if !values().any(f64::is_finite) {
            return Err(empty());
        }
        let y = Axis::over(values().chain([0.0]), Scale::Linear, 5).ok_or_else(empty)?;
        let y = if values().any(|value| value < 0.0) { y } else { y.starting_at(0.0) };
        let x = Axis::categories(&self.categories, 56);
        let legend: Vec<(String, Paint, bool)> = self
            .groups
            .iter()
            .enumerate()
            .map(|(at, group)| (group.name.clone(), Paint::Series(at), at >= SERIES))
            .collect();
        let frame = Frame {
            title: &self.title,
            description: &self.description,
            x_label: &self.x_label,
            y_label: &self.y_label,
            legend: if legend.iter().all(|(name, ..)| name.is_empty()) { &[] } else { &legend },
        };
        let width = 0.8 / self.groups.len().max(1) as f64;
        plot(&frame, (x, y), |plot| {
            for (at, group) in self.groups.iter().enumerate() {
                let left = |category: usize| category as f64 - 0.4 + width * at as f64;
                for (category, &value) in
                    group.values.iter().enumerate().filter(|(_, value)| value.is_finite())
                {
                    let near = plot.place((left(category), 0.0));
                    let far = plot.place((left(category) + width * 0.92, value));
                    let paint = Paint::Series(at);
                    if at >= SERIES {
                        // Colours repeat: the second bar of a colour is pale, with a rim.
                        plot.canvas.rectangle([near, far], Look::faint(paint, 0.3), true)?;
                    }
                    plot.canvas.rectangle([near, far], Look::new(paint, 1.0), at < SERIES)?;
                }
            }
            let zero = plot.places([(-0.5, 0.0), (expected as f64 - 0.5, 0.0)]);
            plot.canvas.line(&zero, Look::new(Paint::Muted, 1.0))
        })
    }
}
