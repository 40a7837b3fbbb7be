//! The Laplacian positional encoder of nodes.

use super::{Init, Linear};
use crate::ops::{LapPeWeights, Structure, lap_pe};
use burn::module::Module;
use burn::tensor::Tensor;
use std::sync::Arc;

/// `Linear(2→2·width) → ReLU → Linear(2·width→width) → ReLU` on every pair, summed over the pairs.
#[derive(Module, Debug)]
pub struct LapPe {
    lin1: Linear,
    lin2: Linear,
}

impl LapPe {
    /// Fresh parameters.
    pub fn new(width: usize, init: &mut Init) -> Self {
        Self { lin1: Linear::new(2, 2 * width, true, init), lin2: Linear::new(2 * width, width, true, init) }
    }

    /// The encoding of every node: `[nodes, width]`; shapes of the inputs as in [`lap_pe`].
    pub fn forward(
        &self,
        eigenvectors: Tensor<2>,
        eigenvalues: Tensor<2>,
        exist: Tensor<2>,
        signs: Option<Vec<f32>>,
        structure: &Arc<Structure>,
    ) -> Tensor<2> {
        let bias = |layer: &Linear| {
            layer.bias.as_ref().map_or_else(|| unreachable!("both layers have a bias"), |b| b.val())
        };
        let weights = LapPeWeights {
            weight1: self.lin1.weight.val(),
            bias1: bias(&self.lin1),
            weight2: self.lin2.weight.val(),
            bias2: bias(&self.lin2),
        };
        lap_pe(eigenvectors, eigenvalues, exist, signs, weights, structure)
    }
}
