//! Charts from plain numbers, drawn by the SVG backend of `plotters`.
//!
//! A chart is a struct of data with one method, `svg`. Points that are not finite, or not positive on a logarithmic
//! axis, are left out; a chart without any point left is [`ChartError::Empty`].
//!
//! ```
//! use graphminnet_report::chart::{LineChart, Series};
//!
//! let chart = LineChart {
//!     title: "loss".into(),
//!     x_label: "epoch".into(),
//!     y_label: "loss".into(),
//!     series: vec![Series::line("train", vec![(1.0, 0.9), (2.0, 0.4), (3.0, 0.3)])],
//!     ..LineChart::default()
//! };
//! assert!(chart.svg()?.as_str().starts_with("<svg"));
//! # Ok::<(), graphminnet_report::chart::ChartError>(())
//! ```

mod axis;
mod bar;
mod canvas;
mod line;
mod matrix;
mod named_points;
mod scatter;

pub use bar::{BarChart, BarGroup};
pub use line::{LineChart, Series};
pub use matrix::MatrixChart;
pub use scatter::ScatterChart;

use thiserror::Error;

/// How an axis maps values to places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Equal differences, equal distances.
    #[default]
    Linear,
    /// Equal ratios, equal distances; positive values only.
    Log,
}

/// Why there is no chart.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChartError {
    /// No point can be shown.
    #[error(
        "the chart \"{title}\" has no point to show: all values are missing, not finite, or not positive on a logarithmic axis"
    )]
    Empty {
        /// Title of the chart.
        title: String,
    },
    /// Rows, columns and names do not fit together.
    #[error("the chart \"{title}\" has {found} {what}, expected {expected}")]
    Shape {
        /// Title of the chart.
        title: String,
        /// What was counted.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The plotting library refused.
    #[error("the chart \"{title}\" could not be drawn: {reason}")]
    Drawing {
        /// Title of the chart.
        title: String,
        /// What the library said.
        reason: String,
    },
}

/// At most `limit` of the items, evenly spread and in order, the first and the last among them.
pub(crate) fn thinned<T: Clone>(items: &[T], limit: usize) -> Vec<T> {
    let count = items.len();
    if count <= limit || limit < 2 {
        return items.to_vec();
    }
    (0..limit).map(|at| items[at * (count - 1) / (limit - 1)].clone()).collect()
}
