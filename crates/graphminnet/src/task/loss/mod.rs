//! Losses, one per file: the value and its gradient with respect to the outputs, in double precision.
//!
//! The gradient is written out by hand instead of being recorded: it is one line per loss, it is exact where a
//! recorded one would overflow, and the value is needed on the host in any case, to see that it is finite.
//! [`attach`] hands it to the tensor engine, which takes it from there.

mod binary_cross_entropy;
mod cross_entropy;
mod focal;
mod huber;
mod l1;
mod mean_variance;
mod mse;
mod quantile;
mod weighing;
mod weighted_binary_cross_entropy;
mod weighted_cross_entropy;

#[cfg(feature = "train")]
pub(super) use binary_cross_entropy::binary_nll;
#[cfg(feature = "train")]
pub(super) use cross_entropy::{negative_log_likelihood, read_class};
pub(crate) use quantile::pinball;

pub use weighing::Weighing;

use super::Rows;
use crate::config::{DEFAULT_QUANTILES, Loss, MEDIAN, Spread, TrainConfig};
use crate::ops::seed_gradient;
use burn::tensor::{Tensor, TensorData};
use thiserror::Error;

/// Why a loss cannot be computed.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum LossError {
    /// Outputs and targets do not go together.
    #[error(
        "{loss} needs {needed}, but the model has {outputs} outputs and the data {targets} target columns"
    )]
    Shape {
        /// The loss.
        loss: Loss,
        /// What it needs.
        needed: &'static str,
        /// Outputs of the model.
        outputs: usize,
        /// Target columns of the data.
        targets: usize,
    },
    /// A label that is none of the classes.
    #[error("row {row}: label {value} is not one of the classes 0 to {}", .classes.saturating_sub(1))]
    Label {
        /// The row.
        row: usize,
        /// The label found.
        value: f32,
        /// Number of classes.
        classes: usize,
    },
}

/// A loss with what it needs to know besides outputs and targets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective<'a> {
    /// The loss.
    pub loss: Loss,
    /// The exponent of focal losses.
    pub gamma: f64,
    /// The levels of the quantile loss, ascending, with 0.5 among them.
    pub quantiles: &'a [f64],
}

impl From<Loss> for Objective<'_> {
    fn from(loss: Loss) -> Self {
        Self { loss, gamma: TrainConfig::baseline().focal_gamma, quantiles: &DEFAULT_QUANTILES }
    }
}

impl<'a> From<&'a TrainConfig> for Objective<'a> {
    fn from(train: &'a TrainConfig) -> Self {
        Self { loss: train.loss, gamma: train.focal_gamma, quantiles: &train.quantiles }
    }
}

/// A loss at some outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct LossValue {
    /// The mean over labels, weighted where the loss or they are.
    pub value: f64,
    /// Number of labels that took part.
    pub labels: usize,
    /// Gradient with respect to the outputs, `[rows, columns]`.
    pub gradient: Vec<f32>,
}

/// Fails if the loss cannot go with this number of outputs and target columns.
///
/// # Errors
///
/// [`LossError::Shape`].
pub fn check_shape<'a>(
    objective: impl Into<Objective<'a>>,
    outputs: usize,
    targets: usize,
) -> Result<(), LossError> {
    let Objective { loss, quantiles, .. } = objective.into();
    let (fits, needed) = match loss {
        Loss::L1 | Loss::Mse | Loss::Huber | Loss::BinaryCrossEntropy | Loss::FocalBinaryCrossEntropy => {
            (outputs == targets && outputs > 0, "one output per target column")
        }
        Loss::CrossEntropy | Loss::WeightedCrossEntropy | Loss::FocalCrossEntropy => {
            (targets == 1 && outputs >= 2, "one target column and one output per class")
        }
        Loss::WeightedBinaryCrossEntropy => {
            (outputs == 1 && targets == 1, "one target column and one output")
        }
        Loss::MeanVariance | Loss::Quantile => {
            let blocks = Spread::of(loss, quantiles).blocks();
            let needed = match loss {
                Loss::MeanVariance => "two outputs per target column (mean and variance)",
                _ => "an output per target column and quantile",
            };
            (targets > 0 && targets.checked_mul(blocks) == Some(outputs), needed)
        }
    };
    if fits { Ok(()) } else { Err(LossError::Shape { loss, needed, outputs, targets }) }
}

/// The loss and its gradient; `None` if no label takes part (all missing, or all weights zero).
///
/// # Errors
///
/// [`LossError`] if the shapes do not fit or a label is not a class.
pub fn evaluate<'a>(
    objective: impl Into<Objective<'a>>,
    rows: Rows<'_>,
) -> Result<Option<LossValue>, LossError> {
    evaluate_weighing(objective, rows, Weighing::default())
}

/// The same where labels count more or less than others.
///
/// # Errors
///
/// As [`evaluate`].
pub fn evaluate_weighing<'a>(
    objective: impl Into<Objective<'a>>,
    rows: Rows<'_>,
    weighing: Weighing<'_>,
) -> Result<Option<LossValue>, LossError> {
    let objective = objective.into();
    check_shape(objective, rows.columns, rows.target_columns)?;
    let Objective { loss, gamma, quantiles } = objective;
    match loss {
        Loss::L1 => Ok(l1::evaluate(rows, weighing)),
        Loss::Mse => Ok(mse::evaluate(rows, weighing)),
        Loss::Huber => Ok(huber::evaluate(rows, weighing)),
        Loss::CrossEntropy => cross_entropy::evaluate(rows, weighing),
        Loss::WeightedCrossEntropy => weighted_cross_entropy::evaluate(rows, weighing),
        Loss::BinaryCrossEntropy => binary_cross_entropy::evaluate(rows, weighing),
        Loss::WeightedBinaryCrossEntropy => weighted_binary_cross_entropy::evaluate(rows, weighing),
        Loss::FocalCrossEntropy => focal::of_classes(rows, weighing, gamma),
        Loss::FocalBinaryCrossEntropy => focal::of_labels(rows, weighing, gamma),
        Loss::MeanVariance => Ok(mean_variance::evaluate(rows, weighing)),
        Loss::Quantile => {
            let mut levels = vec![MEDIAN];
            levels.extend(Spread::of(loss, quantiles).other_levels());
            Ok(quantile::evaluate(rows, weighing, &levels))
        }
    }
}

/// The negative log-likelihood of a label as it is: its value and its slope.
fn as_it_is(nll: f64) -> (f64, f64) {
    (nll, 1.0)
}

/// The mean over labels of a function of the error `output − target`, which gives its value and its slope.
fn mean_over_errors(
    rows: Rows<'_>,
    weighing: Weighing<'_>,
    of: impl Fn(f64) -> (f64, f64),
) -> Option<LossValue> {
    let labels = rows.targets.iter().filter(|target| !target.is_nan()).count();
    if labels == 0 {
        return None;
    }
    let mut sum = 0.0;
    let gradient = rows
        .entries()
        .enumerate()
        .map(|(at, (output, target))| {
            if target.is_nan() {
                return 0.0;
            }
            let error = f64::from(output) - f64::from(target);
            if weighing.is_kept(at, error) {
                return 0.0;
            }
            let (value, slope) = of(error);
            let weight = weighing.of(at, &rows);
            sum += weight * value;
            (weight * slope / labels as f64) as f32
        })
        .collect();
    Some(LossValue { value: sum / labels as f64, labels, gradient })
}

/// A scalar on the device of the outputs whose gradient with respect to them is the loss's, times `scale`.
///
/// Its value has no meaning; that of the loss is in [`LossValue::value`].
pub fn attach(outputs: Tensor<2>, loss: &LossValue, scale: f64) -> Tensor<1> {
    let gradient = loss.gradient.iter().map(|value| (f64::from(*value) * scale) as f32).collect::<Vec<_>>();
    let gradient = Tensor::from_data(TensorData::new(gradient, outputs.dims()), &outputs.device().inner());
    seed_gradient(None, outputs, gradient)
}
