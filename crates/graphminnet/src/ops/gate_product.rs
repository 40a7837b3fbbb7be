//! The block's output: `out = sigmoid(z) ⊙ h̃ ⊙ s`.

use burn::tensor::{Tensor, activation};

/// `sigmoid(z) ⊙ h ⊙ s`.
///
/// # Shapes
///
/// * `gate_and_candidate`: `[nodes, 2·hidden]`, rows `[z | h̃]`
/// * `similarity`: `[nodes, hidden]`, `s`
/// * returns `[nodes, hidden]`
pub fn gate_product(gate_and_candidate: Tensor<2>, similarity: Tensor<2>) -> Tensor<2> {
    generic(gate_and_candidate, similarity)
}

fn generic(gate_and_candidate: Tensor<2>, similarity: Tensor<2>) -> Tensor<2> {
    let [_, hidden] = similarity.dims();
    let gate = activation::sigmoid(gate_and_candidate.clone().narrow(1, 0, hidden));
    gate * gate_and_candidate.narrow(1, hidden, hidden) * similarity
}
