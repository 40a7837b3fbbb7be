//! GINE's neighbour sum: `y_i = x_i + Σ_{j→i} ReLU(x_j + ε_ij)`.

use super::Structure;
use super::generic::{gather_rows, sum_rows};
use burn::tensor::{Tensor, activation};
use std::sync::Arc;

/// Every node plus the sum of its incoming messages.
///
/// # Shapes
///
/// * `nodes`: `[nodes, hidden]`
/// * `edges`: `[edges, hidden]`
/// * returns `[nodes, hidden]`
pub fn gine_aggregate(nodes: Tensor<2>, edges: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    generic(nodes, edges, structure)
}

fn generic(nodes: Tensor<2>, edges: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let indices = structure.indices(&nodes.device());
    let messages = activation::relu(gather_rows(nodes.clone(), indices.source) + edges);
    nodes + sum_rows(messages, indices.target, structure.num_nodes())
}
