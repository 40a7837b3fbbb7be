//! A linear layer.

use super::Init;
use crate::ops::{Epilogue, linear};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// `y = x·Wᵀ + b`.
#[derive(Module, Debug)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`, or none.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Linear {
    /// Weights and biases uniform in ±1/√in.
    pub fn new(inputs: usize, outputs: usize, bias: bool, init: &mut Init) -> Self {
        let bound = 1.0 / (inputs as f64).sqrt();
        Self {
            weight: init.uniform([outputs, inputs], bound),
            bias: bias.then(|| init.uniform([outputs], bound)),
        }
    }

    /// `[rows, in] → [rows, out]`.
    pub fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.forward_then(x, Epilogue::None)
    }

    /// The same, followed by an epilogue.
    pub fn forward_then(&self, x: Tensor<2>, epilogue: Epilogue) -> Tensor<2> {
        linear(x, self.weight.val(), self.bias.as_ref().map(Param::val), epilogue)
    }

    /// Several layers with the same input as one product: their outputs side by side.
    ///
    /// All must have a bias, or none.
    pub fn side_by_side(layers: &[&Self], x: Tensor<2>) -> Tensor<2> {
        let weight = Tensor::cat(layers.iter().map(|layer| layer.weight.val()).collect(), 0);
        let biases: Vec<Tensor<1>> =
            layers.iter().filter_map(|layer| layer.bias.as_ref().map(Param::val)).collect();
        let bias = (!biases.is_empty()).then(|| Tensor::cat(biases, 0));
        linear(x, weight, bias, Epilogue::None)
    }
}
