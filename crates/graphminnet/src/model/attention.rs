//! Multi-head attention between all nodes of a graph: the global branch of GraphGPS, here as a baseline.
//!
//! Per graph and head, with `[q, k, v] = Linear(l→3l)(x)` cut into heads of width `d`:
//!
//! ```text
//! out = Linear(l→l)( softmax(q kᵀ / √d) v )          both linear maps with bias
//! ```
//! Time is quadratic in the nodes of a graph.

use crate::nn::{Init, Linear};
use crate::ops::{Structure, full_attention};
use burn::module::Module;
use burn::tensor::Tensor;
use std::sync::Arc;

/// The two linear maps.
#[derive(Module, Debug)]
pub struct Attention {
    /// Queries, keys and values side by side.
    pub qkv: Linear,
    /// Output map.
    pub out: Linear,
    #[module(skip)]
    heads: usize,
}

impl Attention {
    /// Fresh parameters; `heads` divides `hidden`.
    pub fn new(hidden: usize, heads: usize, init: &mut Init) -> Self {
        Self {
            qkv: Linear::new(hidden, 3 * hidden, true, init),
            out: Linear::new(hidden, hidden, true, init),
            heads,
        }
    }

    /// `[nodes, hidden] → [nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
        self.out.forward(full_attention(self.qkv.forward(nodes), self.heads, structure))
    }
}
