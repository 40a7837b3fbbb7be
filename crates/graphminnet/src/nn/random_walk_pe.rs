//! The random-walk positional encoder of nodes: `BatchNorm → Linear` on the return probabilities.

use super::{Around, BatchNorm, Init, Linear};
use burn::module::Module;
use burn::tensor::Tensor;

/// Norm and linear map.
#[derive(Module, Debug)]
pub struct RandomWalkPe {
    bn: BatchNorm,
    lin: Linear,
}

impl RandomWalkPe {
    /// Fresh parameters.
    pub fn new(steps: usize, width: usize, init: &mut Init) -> Self {
        Self { bn: BatchNorm::new(steps, init), lin: Linear::new(steps, width, true, init) }
    }

    /// `[nodes, steps] → [nodes, width]`.
    pub fn forward<'a>(&self, probabilities: Tensor<2>, pass: impl Into<Around<'a>>) -> Tensor<2> {
        self.lin.forward(self.bn.forward(probabilities, pass))
    }
}
