//! GIN, a local branch without edge features.
//!
//! `Linear → ReLU → Linear` applied to `x_i + Σ_{j→i} x_j` (Xu et al., 2019, with ε = 0); the residual and its dropout
//! are the layer's.

use super::{Init, Linear};
use crate::ops::{Epilogue, Structure, gather_rows, sum_rows};
use burn::module::Module;
use burn::tensor::Tensor;

/// The two linear maps.
#[derive(Module, Debug)]
pub struct Gin {
    /// First map.
    pub lin1: Linear,
    /// Second map.
    pub lin2: Linear,
}

impl Gin {
    /// Fresh parameters.
    pub fn new(hidden: usize, init: &mut Init) -> Self {
        Self { lin1: Linear::new(hidden, hidden, true, init), lin2: Linear::new(hidden, hidden, true, init) }
    }

    /// `[nodes, hidden] → [nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
        let messages = gather_rows(nodes.clone(), structure.sources());
        let mixed = nodes + sum_rows(messages, structure.targets());
        self.lin2.forward(self.lin1.forward_then(mixed, Epilogue::Relu(None)))
    }
}
