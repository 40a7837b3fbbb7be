//! A table of counts as a picture: the darker the cell, the larger its share of the row.

use super::ChartError;
use super::canvas::{FINE, Frame, Look, WIDTH, Words, drawn, heading};
use crate::svg::{Svg, shortened};
use crate::theme::{Paint, short_number};
use plotters_backend::text_anchor::{HPos, VPos};

/// Counts by true class (rows) and predicted class (columns).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatrixChart {
    /// Title, shown above the plot.
    pub title: String,
    /// What the chart shows, in words, for those who cannot see it.
    pub description: String,
    /// What the rows are.
    pub row_label: String,
    /// What the columns are.
    pub column_label: String,
    /// Names of the rows and of the columns.
    pub names: Vec<String>,
    /// Counts, row by row.
    pub values: Vec<f64>,
}

impl MatrixChart {
    /// Cells are numbered up to this many classes; larger matrices show colours alone.
    pub const MAX_NUMBERED: usize = 12;

    /// The picture.
    ///
    /// # Errors
    ///
    /// [`ChartError`] if there is no class or not one value for every pair of classes.
    pub fn svg(&self) -> Result<Svg, ChartError> {
        let count = self.names.len();
        let expected = count * count;
        if count == 0 {
            return Err(ChartError::Empty { title: self.title.clone() });
        }
        if self.values.len() != expected {
            let found = self.values.len();
            return Err(ChartError::Shape { title: self.title.clone(), what: "values", found, expected });
        }
        const LEFT: i32 = 128;
        const TOP: i32 = 62;
        let side = (WIDTH - LEFT - 16).min(44 * count as i32).max(88);
        let height = TOP + side + 70;
        let numbered = count <= Self::MAX_NUMBERED;
        let step = (count * 15).div_ceil(side as usize).max(1);
        let frame = Frame {
            title: &self.title,
            description: &self.description,
            x_label: "",
            y_label: "",
            legend: &[],
        };
        drawn(&self.title, &self.description, height, |canvas| {
            heading(canvas, &frame)?;
            let label = |size, paint, across| Words::new(size, paint, across, VPos::Center);
            let key = format!("rows: {}   columns: {}", self.row_label, self.column_label);
            canvas.text(&key, (12 * FINE, 40 * FINE), label(12, Paint::Muted, HPos::Left))?;
            let edge = |at: usize| (at as i32 * side * FINE) / count as i32;
            let (left, top) = (LEFT * FINE, TOP * FINE);
            for (row, values) in self.values.chunks(count).enumerate() {
                let total: f64 = values.iter().filter(|value| value.is_finite()).sum();
                for (column, &value) in values.iter().enumerate() {
                    let near = (left + edge(column), top + edge(row));
                    let far = (left + edge(column + 1), top + edge(row + 1));
                    let share =
                        if total > 0.0 && value.is_finite() { (value / total).clamp(0.0, 1.0) } else { 0.0 };
                    if share > 0.0 {
                        let look = Look::faint(Paint::Series(0), 0.05 + 0.5 * share);
                        canvas.rectangle([near, far], look, true)?;
                    }
                    canvas.rectangle([near, far], Look::new(Paint::Grid, 1.0), false)?;
                    if numbered {
                        let middle = ((near.0 + far.0) / 2, (near.1 + far.1) / 2);
                        let style = label(if count > 8 { 9 } else { 12 }, Paint::Ink, HPos::Center);
                        canvas.text(&short_number(value), middle, style)?;
                    }
                }
                if row % step == 0 {
                    let middle = (edge(row) + edge(row + 1)) / 2;
                    let name = self.names.get(row).map_or("", String::as_str);
                    let style = label(12, Paint::Ink, HPos::Right);
                    canvas.text(&shortened(name, 14), (left - 6 * FINE, top + middle), style)?;
                    // Names of columns stand upright, so that long ones do not run into each other.
                    let below = (left + middle, top + edge(count) + 6 * FINE);
                    canvas.text(&shortened(name, 8), below, Words { upright: true, ..style })?;
                }
            }
            Ok(())
        })
    }
}
