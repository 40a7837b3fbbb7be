//! Batch normalisation over nodes, edges or graphs.

use super::running::Running;
use super::{Around, Init, Pass};
use crate::ops::{self, BatchStatistics, Dropout, EdgeUpdate, Statistics};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// Weight of a new batch in the running estimates.
pub(super) const MOMENTUM: f64 = 0.1;

/// Scale, shift and the running estimates of mean and variance.
///
/// A batch with a single row has no unbiased variance, and a batch with none has no mean: neither changes the
/// running estimates, and both give finite outputs.
#[derive(Module, Debug)]
pub struct BatchNorm {
    /// γ, `[columns]`.
    pub weight: Param<Tensor<1>>,
    /// β, `[columns]`.
    pub bias: Param<Tensor<1>>,
    /// Running mean, `[columns]`.
    pub running_mean: Running,
    /// Running variance, `[columns]`: the unbiased one, or the biased one of [`Pass::Measure`].
    pub running_var: Running,
}

impl BatchNorm {
    /// Scale 1, shift 0, running mean 0, running variance 1.
    pub fn new(columns: usize, init: &Init) -> Self {
        Self {
            weight: init.constant([columns], 1.0),
            bias: init.constant([columns], 0.0),
            running_mean: init.running(columns, 0.0),
            running_var: init.running(columns, 1.0),
        }
    }

    /// `BN(x)`.
    pub fn forward<'a>(&self, x: Tensor<2>, pass: impl Into<Around<'a>>) -> Tensor<2> {
        self.residual(x, None, None, pass)
    }

    /// `BN(x + dropout(branch)) + add`; shapes `[rows, columns]`.
    pub fn residual<'a>(
        &self,
        x: Tensor<2>,
        branch: Option<(Tensor<2>, Option<Dropout>)>,
        add: Option<Tensor<2>>,
        pass: impl Into<Around<'a>>,
    ) -> Tensor<2> {
        let (pass, [rows, _]) = (pass.into(), x.dims());
        let (output, measured) =
            ops::residual_norm(x, branch, add, self.weight.val(), self.bias.val(), self.statistics(pass));
        self.update(pass.nodes(rows), measured, pass.pass);
        output
    }

    /// `residual + dropout(ReLU(BN(pre)))`; shapes `[rows, columns]`.
    pub fn relu_residual<'a>(
        &self,
        residual: Tensor<2>,
        pre: Tensor<2>,
        rate: Option<Dropout>,
        pass: impl Into<Around<'a>>,
    ) -> Tensor<2> {
        let (pass, [rows, _]) = (pass.into(), pre.dims());
        let (output, measured) = ops::norm_relu_residual(
            residual,
            pre,
            self.weight.val(),
            self.bias.val(),
            self.statistics(pass),
            rate,
        );
        self.update(pass.nodes(rows), measured, pass.pass);
        output
    }

    /// What [`crate::ops::gated_convolution`] needs to know to normalise gates with this norm.
    pub(super) fn edge_update(&self, rate: Option<Dropout>, pass: Around<'_>) -> EdgeUpdate {
        EdgeUpdate {
            scale: self.weight.val(),
            shift: self.bias.val(),
            statistics: self.statistics(pass),
            rate,
        }
    }

    fn statistics(&self, pass: Around<'_>) -> Statistics {
        if pass.pass.uses_batch_statistics() {
            return pass.statistics();
        }
        Statistics::Given { mean: self.running_mean.value(), variance: self.running_var.value() }
    }

    /// Lets the running estimates follow the statistics of a batch with so many rows.
    pub(super) fn update(&self, rows: usize, measured: Option<BatchStatistics>, pass: Pass) {
        let Some(measured) = measured else { return };
        if rows < 2 {
            return;
        }
        let (momentum, variance) = match pass {
            // The biased variance is what the batch itself was divided by, so that evaluating it gives the same again.
            Pass::Measure { share } => (share, measured.variance),
            _ => (MOMENTUM, measured.variance * (rows as f64 / (rows as f64 - 1.0))),
        };
        for (state, batch) in [(&self.running_mean, measured.mean), (&self.running_var, variance)] {
            state.set(state.value() * (1.0 - momentum) + batch * momentum);
        }
    }
}
