//! GINE, the local branch that leaves edge features as they are.
//!
//! `Linear → ReLU → Linear` applied to `x_i + Σ_j ReLU(x_j + ε_ij)`; the residual and its dropout are the layer's.

use super::{Init, Linear};
use crate::ops::{Across, Epilogue, Structure, gine_aggregate};
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
        self.forward_across(nodes, edges, (structure, None))
    }

    /// The same for a part of a graph whose nodes have neighbours in other parts.
    pub(crate) fn forward_across(
        &self,
        nodes: Tensor<2>,
        edges: Tensor<2>,
        (structure, across): (&Arc<Structure>, Option<&Arc<Across>>),
    ) -> Tensor<2> {
        let mixed = match across {
            None => gine_aggregate(nodes, edges, structure),
            Some(across) => {
                across.own_rows(gine_aggregate(across.with_border(nodes), edges, across.structure()))
            }
        };
        self.lin2.forward(self.lin1.forward_then(mixed, Epilogue::Relu(None)))
    }
}
