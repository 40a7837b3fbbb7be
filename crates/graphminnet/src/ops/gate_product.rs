//! The block's output: `out = sigmoid(z) ⊙ h̃ ⊙ s`, or with the self term `sigmoid(z) ⊙ h̃ ⊙ (β·s + (2 − β)·q)`.

use super::engine::{self, Array, Kernel, Operand, Slot};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::gate_product as kernels;

/// The self term of every node and its weight.
#[derive(Debug, Clone)]
pub struct SelfTerm {
    /// `q`, `[nodes, 1]`.
    pub own: Tensor<2>,
    /// The effective β, `[1]`.
    pub beta: Tensor<1>,
}

/// Gate times candidate times similarity.
///
/// # Shapes
///
/// * `gate_and_candidate`: `[nodes, 2·hidden]`, rows `[z | h̃]`
/// * `similarity`: `[nodes, hidden]`, `s`
/// * returns `[nodes, hidden]`
pub fn gate_product(
    gate_and_candidate: Tensor<2>,
    similarity: Tensor<2>,
    self_term: Option<SelfTerm>,
) -> Tensor<2> {
    if !engine::on_cpu(&similarity.device()) {
        return generic(gate_and_candidate, similarity, self_term);
    }
    let kernel = Fused { has_self_term: self_term.is_some() };
    let (own, beta) = self_term.map(|term| (term.own, term.beta)).unzip();
    let operands =
        [gate_and_candidate.into(), similarity.into(), Operand::optional(own), Operand::optional(beta)];
    engine::run(kernel, operands)
}

/// The kernel; operands `gate_and_candidate`, `similarity`, `own`, `beta`.
#[derive(Debug, Clone)]
struct Fused {
    has_self_term: bool,
}

impl Fused {
    fn self_term<'a>(&self, own: &'a Array, beta: &Array) -> Option<kernels::SelfTerm<'a>> {
        self.has_self_term.then(|| kernels::SelfTerm { q: own.values(), beta: beta.values()[0] })
    }
}

impl Kernel<4> for Fused {
    type Saved = [Array; 4];

    fn forward(&self, operands: &[Array; 4], keep: bool) -> (Array, Option<Self::Saved>) {
        let [gates, similarity, own, beta] = operands;
        let output = Array::written(similarity.shape(), |out| {
            let self_term = self.self_term(own, beta);
            kernels::gate_product(similarity.dim(1), gates.values(), similarity.values(), self_term, out);
        });
        (output, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 4]) -> [Option<Array>; 4] {
        let mut slots =
            [0, 1, 2, 3].map(|at| Slot::like(&operands[at], wanted[at] && (at < 2 || self.has_self_term)));
        let [gates, similarity, own, beta] = &operands;
        let [d_gates, d_similarity, d_own, d_beta] = slots.each_mut().map(Slot::as_mut);
        kernels::gate_product_backward(
            similarity.dim(1),
            gates.values(),
            similarity.values(),
            self.self_term(own, beta),
            gradient.values(),
            kernels::GateProductGradients {
                zh: d_gates,
                s: d_similarity,
                q: d_own,
                beta: d_beta.and_then(|d_beta| d_beta.first_mut()),
            },
        );
        slots.map(Slot::into_array)
    }
}

fn generic(gate_and_candidate: Tensor<2>, similarity: Tensor<2>, self_term: Option<SelfTerm>) -> Tensor<2> {
    let [_, hidden] = similarity.dims();
    let gate = activation::sigmoid(gate_and_candidate.clone().narrow(1, 0, hidden));
    let similarity = match self_term {
        None => similarity,
        Some(SelfTerm { own, beta }) => {
            let beta: Tensor<2> = beta.unsqueeze();
            similarity * beta.clone() + own * (beta.neg() + 2.0)
        }
    };
    gate * gate_and_candidate.narrow(1, hidden, hidden) * similarity
}
