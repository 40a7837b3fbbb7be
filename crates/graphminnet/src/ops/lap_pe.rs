//! The Laplacian positional encoder: a small network on every (eigenvector entry, eigenvalue) pair, summed.
//!
//! ```text
//! out_u = Σ_{i exists} ReLU(W₂·ReLU(W₁·(sign_i·v_u[i], λ_g(u)[i]) + b₁) + b₂)
//! ```

use super::Structure;
use super::generic::gather_graphs;
use burn::tensor::{Tensor, activation};
use std::sync::Arc;

/// The two linear layers of the encoder.
#[derive(Debug, Clone)]
pub struct LapPeWeights {
    /// `[inner, 2]`.
    pub weight1: Tensor<2>,
    /// `[inner]`.
    pub bias1: Tensor<1>,
    /// `[width, inner]`.
    pub weight2: Tensor<2>,
    /// `[width]`.
    pub bias2: Tensor<1>,
}

/// The encoding of every node.
///
/// # Shapes
///
/// * `eigenvectors`: `[nodes, pairs]`
/// * `eigenvalues`, `exist` (0 or 1): `[graphs, pairs]`
/// * `signs` (1 or −1): `[pairs]`
/// * returns `[nodes, width]`
pub fn lap_pe(
    eigenvectors: Tensor<2>,
    eigenvalues: Tensor<2>,
    exist: Tensor<2>,
    signs: Option<Tensor<1>>,
    weights: LapPeWeights,
    structure: &Arc<Structure>,
) -> Tensor<2> {
    generic(eigenvectors, eigenvalues, exist, signs, weights, structure)
}

fn generic(
    eigenvectors: Tensor<2>,
    eigenvalues: Tensor<2>,
    exist: Tensor<2>,
    signs: Option<Tensor<1>>,
    weights: LapPeWeights,
    structure: &Structure,
) -> Tensor<2> {
    let [nodes, pairs] = eigenvectors.dims();
    let [width, _] = weights.weight2.dims();
    if nodes == 0 {
        return Tensor::zeros([0, width], &eigenvectors.device());
    }
    let entries = match signs {
        None => eigenvectors,
        Some(signs) => eigenvectors * signs.unsqueeze(),
    };
    let values = gather_graphs(eigenvalues, structure);
    let exist = gather_graphs(exist, structure).reshape([nodes, pairs, 1]);
    let inputs =
        Tensor::cat(vec![entries.reshape([nodes * pairs, 1]), values.reshape([nodes * pairs, 1])], 1);
    let inner = activation::relu(inputs.matmul(weights.weight1.transpose()) + weights.bias1.unsqueeze());
    let outer = activation::relu(inner.matmul(weights.weight2.transpose()) + weights.bias2.unsqueeze());
    (outer.reshape([nodes, pairs, width]) * exist).sum_dim(1).reshape([nodes, width])
}
