//! The self term's sum: `q_u = Σ_i p_u[i]²·κ_g(u)[i]`.

use super::Structure;
use super::generic::gather_graphs;
use burn::tensor::Tensor;
use std::sync::Arc;

/// Squares of every node's entries, weighted by its graph's weights and summed.
///
/// # Shapes
///
/// * `entries`: `[nodes, pairs]`, `p`
/// * `weights`: `[graphs, pairs]`, `κ`
/// * returns `[nodes, 1]`
pub fn weighted_squares(entries: Tensor<2>, weights: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    generic(entries, weights, structure)
}

fn generic(entries: Tensor<2>, weights: Tensor<2>, structure: &Structure) -> Tensor<2> {
    (entries.powi_scalar(2) * gather_graphs(weights, structure)).sum_dim(1)
}
