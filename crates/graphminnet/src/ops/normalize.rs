//! Batch normalisation over rows, with what stands before and after it folded in.
//!
//! ```text
//! BN(t)[c] = γ[c]·(t[c] − mean[c]) / sqrt(var[c] + ε) + β[c]
//!
//! norm_relu_residual:  y = residual + dropout(ReLU(BN(pre)))
//! residual_norm:       y = BN(x + dropout(branch)) + add
//! ```
//!
//! In training, mean and (biased) variance are those of the batch and are handed back so that the caller can update
//! its running estimates; otherwise they are given.

use super::dropout::{Dropout, dropout};
use burn::tensor::{Tensor, activation};

/// The ε under the square root.
pub(crate) const NORM_EPSILON: f64 = 1e-5;

/// Which mean and variance to normalise with.
#[derive(Debug, Clone)]
pub enum Statistics {
    /// Those of the rows at hand.
    Batch,
    /// Given ones (the running estimates), `[columns]` each.
    Given {
        /// Mean of every column.
        mean: Tensor<1>,
        /// Variance of every column.
        variance: Tensor<1>,
    },
}

/// Mean and biased variance of the rows that were normalised, detached from differentiation.
#[derive(Debug, Clone)]
pub struct BatchStatistics {
    /// Mean of every column.
    pub mean: Tensor<1>,
    /// Biased variance of every column.
    pub variance: Tensor<1>,
}

/// `residual + dropout(ReLU(BN(pre)))`.
///
/// # Shapes
///
/// * `residual`, `pre`: `[rows, columns]`
/// * `scale`, `shift`: `[columns]`, γ and β
/// * returns `[rows, columns]`, and the batch statistics if those were used
pub fn norm_relu_residual(
    residual: Tensor<2>,
    pre: Tensor<2>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    statistics: Statistics,
    rate: Option<Dropout>,
) -> (Tensor<2>, Option<BatchStatistics>) {
    let (normalised, measured) = normalise(pre, scale, shift, statistics);
    (residual + dropout(activation::relu(normalised), rate), measured)
}

/// `BN(x + dropout(branch)) + add`, where `branch` and `add` may be absent.
///
/// # Shapes
///
/// * `x`, `branch`, `add`: `[rows, columns]`
/// * `scale`, `shift`: `[columns]`, γ and β
/// * returns `[rows, columns]`, and the batch statistics if those were used
pub fn residual_norm(
    x: Tensor<2>,
    branch: Option<(Tensor<2>, Option<Dropout>)>,
    add: Option<Tensor<2>>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    statistics: Statistics,
) -> (Tensor<2>, Option<BatchStatistics>) {
    let sum = match branch {
        None => x,
        Some((branch, rate)) => x + dropout(branch, rate),
    };
    let (normalised, measured) = normalise(sum, scale, shift, statistics);
    let output = match add {
        None => normalised,
        Some(add) => normalised + add,
    };
    (output, measured)
}

fn normalise(
    rows: Tensor<2>,
    scale: Tensor<1>,
    shift: Tensor<1>,
    statistics: Statistics,
) -> (Tensor<2>, Option<BatchStatistics>) {
    let [count, columns] = rows.dims();
    if count == 0 {
        return (rows, None);
    }
    let (mean, variance, measured) = match statistics {
        Statistics::Given { mean, variance } => (mean.unsqueeze(), variance.unsqueeze(), None),
        Statistics::Batch => {
            let mean = rows.clone().mean_dim(0);
            let variance = (rows.clone() - mean.clone()).powi_scalar(2).mean_dim(0);
            let measured = BatchStatistics {
                mean: mean.clone().detach().reshape([columns]),
                variance: variance.clone().detach().reshape([columns]),
            };
            (mean, variance, Some(measured))
        }
    };
    let normalised = (rows - mean) / (variance + NORM_EPSILON).sqrt() * scale.unsqueeze() + shift.unsqueeze();
    (normalised, measured)
}
