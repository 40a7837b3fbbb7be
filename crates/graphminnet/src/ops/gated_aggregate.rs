//! GatedGCN's gated mean over neighbours: `x̂_i = A x_i + (Σ_j σ(ê_ij) ⊙ B x_j) / (Σ_j σ(ê_ij) + 10⁻⁶)`.

use super::Structure;
use super::generic::{gather_rows, sum_rows};
use burn::tensor::{Tensor, activation};
use std::sync::Arc;

/// Keeps the denominator of a node without incoming edges away from zero.
const DENOMINATOR_EPSILON: f64 = 1e-6;

/// The gated mean of every node's incoming messages, added to the node's own part.
///
/// # Shapes
///
/// * `gates`: `[edges, hidden]`, `ê`
/// * `nodes`: `[nodes, 2·hidden]`, rows `[A x | B x]`
/// * returns `[nodes, hidden]`
pub fn gated_aggregate(gates: Tensor<2>, nodes: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    generic(gates, nodes, structure)
}

fn generic(gates: Tensor<2>, nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let [_, hidden] = gates.dims();
    let indices = structure.indices(&gates.device());
    let weights = activation::sigmoid(gates);
    let messages = weights.clone() * gather_rows(nodes.clone().narrow(1, hidden, hidden), indices.source);
    let numerator = sum_rows(messages, indices.target.clone(), structure.num_nodes());
    let denominator = sum_rows(weights, indices.target, structure.num_nodes());
    nodes.narrow(1, 0, hidden) + numerator / (denominator + DENOMINATOR_EPSILON)
}
