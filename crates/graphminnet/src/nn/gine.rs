//! GINE, the local branch that leaves edge features as they are.
//!
//! `Linear → ReLU → Linear` applied to `x_i + Σ_j ReLU(x_j + ε_ij)`; the residual and its dropout are the layer's.

use super::{Init, Linear};
use crate::ops::{Epilogue, Structure, gine_aggregate};
use burn::module::Module;
use burn::tensor::Tensor;
use std::sync::Arc;

/// The two linear maps.
#[derive(Module, Debug)]
pub struct Gine {
    /// First map.
    pub lin1: Linear,
    /// Second map.
    pub lin2: Linear,
}

impl Gine {
    /// Fresh parameters.
    pub fn new(hidden: usize, init: &mut Init) -> Self {
        Self { lin1: Linear::new(hidden, hidden, true, init), lin2: Linear::new(hidden, hidden, true, init) }
    }

    /// `[nodes, hidden]`, `[edges, hidden]` → `[nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, edges: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
        let mixed = gine_aggregate(nodes, edges, structure);
        self.lin2.forward(self.lin1.forward_then(mixed, Epilogue::Relu(None)))
    }
}
