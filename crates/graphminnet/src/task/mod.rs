//! What a model is asked to do: losses to minimise, metrics to report.
//!
//! Both are plain functions over row-major slices. A model's outputs are `[rows, columns]`, its targets
//! `[rows, target columns]` with NaN where a label is missing; a row is a graph or, at node level, a node.
//! Missing labels take part in nothing.
//!
//! ```
//! use graphminnet::config::MetricKind;
//! use graphminnet::task::{Rows, metric};
//!
//! let outputs = [1.0, 2.5, 9.0];
//! let targets = [1.0, 2.0, f32::NAN];
//! let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
//! assert_eq!(metric::evaluate(MetricKind::MeanAbsoluteError, rows)?.value, 0.25);
//! # Ok::<(), graphminnet::task::Undefined>(())
//! ```

pub mod assess;
mod calibration;
pub mod links;
// For the laboratory, which times a training step.
#[doc(hidden)]
pub mod loss;
pub mod metric;
mod normal;
mod regression;
mod scores;
mod spread;
#[cfg(feature = "train")]
mod worst;

// For the laboratory.
pub(crate) use calibration::expected_error as calibration_error;
#[doc(hidden)]
pub use loss::{LossError, LossValue};
pub use metric::{Score, Undefined};
pub(crate) use normal::LOG_ROOT_TWO_PI;
pub(crate) use scores::{class_probabilities, first_largest, probability};
#[cfg(feature = "train")]
pub(crate) use worst::worst_error;

/// Outputs and targets of some rows, side by side.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// What the model said, `[rows, columns]`.
    pub outputs: &'a [f32],
    /// Number of outputs per row.
    pub columns: usize,
    /// What is true, `[rows, target_columns]`; NaN where unknown.
    pub targets: &'a [f32],
    /// Number of targets per row.
    pub target_columns: usize,
}

impl<'a> Rows<'a> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.targets.len() / self.target_columns.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Outputs and targets of each row.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [f32], &'a [f32])> {
        self.outputs
            .chunks_exact(self.columns.max(1))
            .zip(self.targets.chunks_exact(self.target_columns.max(1)))
    }

    /// Every output with its target, where there is one output per target.
    pub fn entries(&self) -> impl Iterator<Item = (f32, f32)> + 'a {
        self.outputs.iter().copied().zip(self.targets.iter().copied())
    }
}
