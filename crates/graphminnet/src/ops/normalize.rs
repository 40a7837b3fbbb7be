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

use super::batch_statistics::{BatchStatistics, Measured, Statistics, normalise, used};
use super::buffers;
use super::dropout::{Dropout, dropout};
use super::engine::{self, Array, Kernel, Operand, Slot};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::batch_norm::{AffineGradients, NormGradients};
use graphminnet_kernels::{norm_relu_residual as relu_kernels, residual_norm as residual_kernels};

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
    let device = pre.device();
    if !engine::on_cpu(&device) {
        let (normalised, measured) = normalise(pre, scale, shift, statistics);
        return (residual + dropout(activation::relu(normalised), rate), measured);
    }
    let (mean, variance, measured) = Measured::prepare(&statistics);
    let kernel = FusedReluResidual { rate, measured: measured.clone() };
    let operands = [residual.into(), pre.into(), scale.into(), shift.into(), mean, variance];
    (engine::run(kernel, operands), measured.take(&device))
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
    let device = x.device();
    if !engine::on_cpu(&device) {
        return generic_residual(x, branch, add, scale, shift, statistics);
    }
    let (mean, variance, measured) = Measured::prepare(&statistics);
    let (branch, rate) = branch.unzip();
    let kernel = FusedResidual {
        rate: rate.flatten(),
        has_branch: branch.is_some(),
        has_add: add.is_some(),
        measured: measured.clone(),
    };
    let operands = [
        x.into(),
        Operand::optional(branch),
        Operand::optional(add),
        scale.into(),
        shift.into(),
        mean,
        variance,
    ];
    (engine::run(kernel, operands), measured.take(&device))
}

/// The kernel; operands `residual`, `pre`, `scale`, `shift`, `mean`, `variance`.
#[derive(Debug, Clone)]
struct FusedReluResidual {
    rate: Option<Dropout>,
    measured: Measured,
}

impl Kernel<6> for FusedReluResidual {
    /// `pre`, `scale`, `shift`, and the statistics used.
    type Saved = ([Array; 3], [Array; 2]);

    fn forward(&self, operands: &[Array; 6], keep: bool) -> (Array, Option<Self::Saved>) {
        let [residual, pre, scale, shift, mean, variance] = operands;
        let mut used = None;
        let y = Array::written(pre.shape(), |y| {
            used = Some(self.measured.with(scale.dim(0), [mean, variance], |statistics| {
                relu_kernels::norm_relu_residual(
                    pre.values(),
                    Some(residual.values()),
                    scale.values(),
                    shift.values(),
                    statistics,
                    self.rate,
                    y,
                );
            }));
        });
        let kept = used.filter(|_| keep).map(|used| ([pre.clone(), scale.clone(), shift.clone()], used));
        (y, kept)
    }

    fn backward(&self, saved: Self::Saved, gradient: Array, wanted: [bool; 6]) -> [Option<Array>; 6] {
        let ([pre, scale, shift], statistics) = saved;
        let mut d_scale = Slot::like(&scale, wanted[2]);
        let mut d_shift = Slot::like(&shift, wanted[3]);
        let (gamma, beta, used) = (scale.values(), shift.values(), used(&statistics, &self.measured));
        let sums = AffineGradients { gamma: d_scale.as_mut(), beta: d_shift.as_mut() };
        let (shape, dy) = (pre.shape().to_vec(), gradient.values());
        // The last reader of `pre` writes over it: on a large graph every array counts.
        let d_pre = match pre.into_values() {
            Ok(mut pre) if wanted[1] => {
                relu_kernels::norm_relu_residual_backward_in_place(
                    &mut pre, gamma, beta, used, self.rate, dy, sums,
                );
                Some(Array::new(pre, shape))
            }
            pre => {
                let pre = pre.map_or_else(|shared| shared, |values| Array::new(values, shape));
                let mut d_pre = Slot::like(&pre, wanted[1]);
                let wanted = NormGradients { input: d_pre.as_mut(), gamma: sums.gamma, beta: sums.beta };
                let pre = pre.values();
                relu_kernels::norm_relu_residual_backward(pre, gamma, beta, used, self.rate, dy, wanted);
                d_pre.into_array()
            }
        };
        let d_residual = wanted[0].then_some(gradient);
        [d_residual, d_pre, d_scale.into_array(), d_shift.into_array(), None, None]
    }
}

/// The kernel; operands `x`, `branch`, `add`, `scale`, `shift`, `mean`, `variance`.
#[derive(Debug, Clone)]
struct FusedResidual {
    rate: Option<Dropout>,
    has_branch: bool,
    has_add: bool,
    measured: Measured,
}

impl Kernel<7> for FusedResidual {
    /// The sum that was normalised, `scale`, `shift`, and the statistics used.
    type Saved = ([Array; 3], [Array; 2]);

    fn forward(&self, operands: &[Array; 7], keep: bool) -> (Array, Option<Self::Saved>) {
        let [x, branch, add, scale, shift, mean, variance] = operands;
        // Nobody reads the sum again if it is neither kept nor measured.
        let stores_sum = self.has_branch && (keep || self.measured.is_of_batch());
        let mut sum = buffers::take(if stores_sum { x.values().len() } else { 0 });
        let mut used = None;
        let y = Array::written(x.shape(), |y| {
            used = Some(self.measured.with(scale.dim(0), [mean, variance], |statistics| {
                residual_kernels::residual_norm(
                    x.values(),
                    self.has_branch.then(|| residual_kernels::Branch {
                        values: branch.values(),
                        dropout: self.rate,
                        sum: stores_sum.then_some(&mut sum[..]),
                    }),
                    self.has_add.then(|| add.values()),
                    scale.values(),
                    shift.values(),
                    statistics,
                    y,
                );
            }));
        });
        // As an array, so that its memory is used again even if it is not kept.
        let sum = if stores_sum { Array::new(sum, x.shape()) } else { x.clone() };
        let kept = used.filter(|_| keep).map(|used| ([sum, scale.clone(), shift.clone()], used));
        (y, kept)
    }

    fn backward(&self, saved: Self::Saved, gradient: Array, wanted: [bool; 7]) -> [Option<Array>; 7] {
        let ([sum, scale, shift], statistics) = saved;
        let mut d_sum = Slot::like(&sum, wanted[0]);
        // Without dropout the branch's gradient is that of the sum.
        let shared = wanted[0] && self.rate.is_none();
        let mut d_branch = Slot::like(&sum, wanted[1] && self.has_branch && !shared);
        let mut d_scale = Slot::like(&scale, wanted[3]);
        let mut d_shift = Slot::like(&shift, wanted[4]);
        residual_kernels::residual_norm_backward(
            sum.values(),
            self.rate,
            scale.values(),
            used(&statistics, &self.measured),
            gradient.values(),
            residual_kernels::ResidualNormGradients {
                sum: d_sum.as_mut(),
                branch: d_branch.as_mut(),
                gamma: d_scale.as_mut(),
                beta: d_shift.as_mut(),
            },
        );
        let d_sum = d_sum.into_array();
        let d_branch = if shared && self.has_branch { d_sum.clone() } else { d_branch.into_array() };
        let d_add = (wanted[2] && self.has_add).then_some(gradient);
        [d_sum, d_branch, d_add, d_scale.into_array(), d_shift.into_array(), None, None]
    }
}

fn generic_residual(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, vector};

    /// Batch statistics, and given ones with a positive variance.
    fn statistics(t: &[Tensor<2>], given: bool) -> Statistics {
        match given {
            false => Statistics::Batch,
            true => Statistics::Given {
                mean: vector(&t[3]).detach(),
                variance: (vector(&t[4]).powi_scalar(2) + 0.5).detach(),
            },
        }
    }

    const SHAPES: [[usize; 2]; 7] = [[17, 6], [17, 6], [1, 6], [1, 6], [1, 6], [1, 6], [17, 6]];

    #[test]
    fn kernel_and_generic_body_of_the_relu_form_agree() {
        let rate = Some(Dropout { probability: 0.3, seed: 3, first: 0 });
        for given in [false, true] {
            assert_same_bodies(
                &SHAPES,
                |t| {
                    let statistics = statistics(t, given);
                    norm_relu_residual(
                        t[0].clone(),
                        t[1].clone(),
                        vector(&t[2]),
                        vector(&t[5]),
                        statistics,
                        rate,
                    )
                    .0
                },
                |t| {
                    let (normalised, _) =
                        normalise(t[1].clone(), vector(&t[2]), vector(&t[5]), statistics(t, given));
                    t[0].clone() + dropout(activation::relu(normalised), rate)
                },
            );
        }
    }

    #[test]
    fn kernel_and_generic_body_of_the_residual_form_agree() {
        type Branch = Option<(Tensor<2>, Option<Dropout>)>;
        type Body = fn(
            Tensor<2>,
            Branch,
            Option<Tensor<2>>,
            Tensor<1>,
            Tensor<1>,
            Statistics,
        ) -> (Tensor<2>, Option<BatchStatistics>);
        let dropped = Some(Dropout { probability: 0.3, seed: 3, first: 0 });
        for (given, rate) in [(false, None), (false, dropped), (true, None), (true, dropped)] {
            for (has_branch, has_add) in [(false, false), (true, false), (false, true), (true, true)] {
                let with = |body: Body| {
                    move |t: &[Tensor<2>]| {
                        let branch = has_branch.then(|| (t[1].clone(), rate));
                        let add = has_add.then(|| t[6].clone());
                        let (scale, shift) = (vector(&t[2]), vector(&t[5]));
                        body(t[0].clone(), branch, add, scale, shift, statistics(t, given)).0
                    }
                };
                assert_same_bodies(&SHAPES, with(residual_norm), with(generic_residual));
            }
        }
    }
}
