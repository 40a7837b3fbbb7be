//! GCN, a local branch without edge features.
//!
//! ```text
//! y_i = W ( x_i / d_i + Σ_{j→i} x_j / √(d_i·d_j) ) + b        d_i = 1 + number of edges that end in i
//! ```
//! Symmetric normalisation with a self-loop on every node (Kipf and Welling, 2017). A loop that the data itself
//! holds is an edge like any other. The residual and its dropout are the layer's.

use super::{Init, Linear};
use crate::ops::{Structure, gather_rows, sum_rows};
use burn::module::Module;
use burn::tensor::{Tensor, TensorData};

/// The linear map.
#[derive(Module, Debug)]
pub struct Gcn {
    /// `W` and `b`.
    pub lin: Linear,
}

impl Gcn {
    /// Fresh parameters.
    pub fn new(hidden: usize, init: &mut Init) -> Self {
        Self { lin: Linear::new(hidden, hidden, true, init) }
    }

    /// `[nodes, hidden] → [nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
        self.lin.forward(Self::propagate(nodes, structure))
    }

    /// The normalised sum over a node and its neighbours alone; same shape.
    pub fn propagate(nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
        let (count, device) = (structure.num_nodes(), nodes.device());
        let incoming = structure.topology().incoming.windows(2);
        let scales: Vec<f32> =
            incoming.map(|range| 1.0 / (1.0 + (range[1] - range[0]) as f32).sqrt()).collect();
        let scales = Tensor::<2>::from_data(TensorData::new(scales, [count, 1]), &device);
        let scaled = nodes * scales.clone();
        let neighbours = sum_rows(gather_rows(scaled.clone(), structure.sources()), structure.targets());
        (scaled + neighbours) * scales
    }
}
