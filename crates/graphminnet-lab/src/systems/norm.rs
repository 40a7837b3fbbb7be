//! Normalisation of rows, and the smooth ReLU, as several systems have them.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, activation};
use graphminnet::nn::Init;

/// `γ ⊙ (x − mean) / √(variance + ε) + β` over the columns of every row.
#[derive(Module, Debug)]
pub(crate) struct LayerNorm {
    /// γ.
    weight: Param<Tensor<1>>,
    /// β.
    bias: Param<Tensor<1>>,
    #[module(skip)]
    epsilon: f64,
}

impl LayerNorm {
    pub(crate) fn new(width: usize, epsilon: f64, init: &Init) -> Self {
        Self { weight: init.constant([width], 1.0), bias: init.constant([width], 0.0), epsilon }
    }

    /// `[rows, width] → [rows, width]`.
    pub(crate) fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let centred = x.clone() - x.mean_dim(1);
        let variance = centred.clone().powi_scalar(2).mean_dim(1);
        let normalised = centred / (variance + self.epsilon).sqrt();
        normalised * self.weight.val().unsqueeze() + self.bias.val().unsqueeze()
    }
}

/// `½x(1 + tanh(√(2/π)(x + 0.044715x³)))`, the approximation of the gelu by tanh, written with a sigmoid: a power and a tanh
/// take several times as long.
pub(crate) fn gelu(x: Tensor<2>) -> Tensor<2> {
    let twice = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
    let square = x.clone() * x.clone();
    let inner = x.clone() * (square * (0.044_715 * twice) + twice);
    x * activation::sigmoid(inner)
}
