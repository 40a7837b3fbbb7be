//! GINE's neighbour sum: `y_i = x_i + Σ_{j→i} ReLU(x_j + ε_ij)`.

use super::Structure;
use super::engine::{self, Array, Kernel, Slot};
use super::generic::{gather_rows, sum_rows};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::gine_aggregate as kernels;
use std::sync::Arc;

/// Every node plus the sum of its incoming messages.
///
/// # Shapes
///
/// * `nodes`: `[nodes, hidden]`
/// * `edges`: `[edges, hidden]`
/// * returns `[nodes, hidden]`
pub fn gine_aggregate(nodes: Tensor<2>, edges: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    if !engine::on_cpu(&nodes.device()) {
        return generic(nodes, edges, structure);
    }
    engine::run(Fused { structure: structure.clone() }, [nodes.into(), edges.into()])
}

/// The kernel; operands `nodes`, `edges`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Kernel<2> for Fused {
    /// `nodes`, `edges`.
    type Saved = [Array; 2];

    fn forward(&self, [nodes, edges]: &[Array; 2], keep: bool) -> (Array, Option<Self::Saved>) {
        let output = Array::written(nodes.shape(), |out| {
            kernels::gine_aggregate(
                self.structure.edges(),
                nodes.dim(1),
                nodes.values(),
                edges.values(),
                out,
            );
        });
        (output, keep.then(|| [nodes.clone(), edges.clone()]))
    }

    fn backward(
        &self,
        [nodes, edges]: Self::Saved,
        gradient: Array,
        wanted: [bool; 2],
    ) -> [Option<Array>; 2] {
        let mut d_nodes = Slot::like(&nodes, wanted[0]);
        let mut d_edges = Slot::like(&edges, wanted[1]);
        kernels::gine_aggregate_backward(
            self.structure.edges(),
            nodes.dim(1),
            nodes.values(),
            edges.values(),
            gradient.values(),
            d_nodes.as_mut(),
            d_edges.as_mut(),
        );
        [d_nodes.into_array(), d_edges.into_array()]
    }
}

fn generic(nodes: Tensor<2>, edges: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let indices = structure.indices(&nodes.device());
    let messages = activation::relu(gather_rows(nodes.clone(), indices.source) + edges);
    nodes + sum_rows(messages, indices.target, structure.num_nodes())
}
