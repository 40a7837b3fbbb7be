//! The two halves of GRIT's attention: score vectors of pairs, and sums over pairs.
//!
//! ```text
//! t_p = ReLU( ρ((q_i + k_j) ⊙ w_p) + b_p )          ρ(x) = sqrt(max(x, 0)) − sqrt(max(−x, 0)), pair p from j to i
//! y_i[t,c] = Σ_p a_p[t]·v_j[t,c]                     m_i[t,c] = Σ_p a_p[t]·e_p[t,c]
//! ```
//! The slope of ρ at 0 counts as 0.

use super::engine::{self, Array, Kernel, Slot};
use super::{PairList, generic};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::{pair_messages as message_kernels, pair_scores as score_kernels};
use std::sync::Arc;

/// The score vectors `t`.
///
/// # Shapes
///
/// * `q`, `k`: `[nodes, l]`, head by head
/// * `wb`: `[pairs, 2·l]`; every head has the channels of `w` and then those of `b`
/// * returns `[pairs, l]`
pub fn pair_scores([q, k, wb]: [Tensor<2>; 3], heads: usize, pairs: &Arc<PairList>) -> Tensor<2> {
    if !engine::on_cpu(&q.device()) {
        return generic_scores([q, k, wb], heads, pairs);
    }
    engine::run(Scores { heads, pairs: pairs.clone() }, [q.into(), k.into(), wb.into()])
}

/// The sums `y` and `m`.
///
/// # Shapes
///
/// * `a`: `[pairs, heads]`
/// * `v`: `[nodes, l]`, `e`: `[pairs, l]`, head by head
/// * returns `[nodes, 2·l]`: `y` and behind it `m`
pub fn pair_messages([a, v, e]: [Tensor<2>; 3], pairs: &Arc<PairList>) -> Tensor<2> {
    if !engine::on_cpu(&a.device()) {
        return generic_messages([a, v, e], pairs);
    }
    engine::run(Messages { pairs: pairs.clone() }, [a.into(), v.into(), e.into()])
}

/// The kernel of the scores; operands `q`, `k`, `wb`.
#[derive(Debug, Clone)]
struct Scores {
    heads: usize,
    pairs: Arc<PairList>,
}

impl Scores {
    fn inputs<'a>(&'a self, [q, k, wb]: &'a [Array; 3]) -> score_kernels::PairScores<'a> {
        let (pairs, heads, width) = (self.pairs.edges(), self.heads, q.dim(1));
        score_kernels::PairScores { pairs, heads, width, q: q.values(), k: k.values(), wb: wb.values() }
    }
}

impl Kernel<3> for Scores {
    /// The operands and the output.
    type Saved = ([Array; 3], Array);

    fn forward(&self, operands: &[Array; 3], keep: bool) -> (Array, Option<Self::Saved>) {
        let shape = [self.pairs.len(), operands[0].dim(1)];
        let t = Array::written(shape, |out| score_kernels::pair_scores(self.inputs(operands), out));
        let saved = keep.then(|| (operands.clone(), t.clone()));
        (t, saved)
    }

    fn backward(&self, (operands, t): Self::Saved, gradient: Array, wanted: [bool; 3]) -> [Option<Array>; 3] {
        let mut slots = std::array::from_fn::<_, 3, _>(|at| Slot::like(&operands[at], wanted[at]));
        let [q, k, wb] = slots.each_mut().map(Slot::as_mut);
        let gradients = score_kernels::PairScoresGradients { q, k, wb };
        let inputs = self.inputs(&operands);
        score_kernels::pair_scores_backward(inputs, t.values(), gradient.values(), gradients);
        slots.map(Slot::into_array)
    }
}

/// The kernel of the sums; operands `a`, `v`, `e`.
#[derive(Debug, Clone)]
struct Messages {
    pairs: Arc<PairList>,
}

impl Messages {
    fn inputs<'a>(&'a self, [a, v, e]: &'a [Array; 3]) -> message_kernels::PairMessages<'a> {
        let (pairs, heads, width) = (self.pairs.edges(), a.dim(1), v.dim(1));
        message_kernels::PairMessages { pairs, heads, width, a: a.values(), v: v.values(), e: e.values() }
    }
}

impl Kernel<3> for Messages {
    type Saved = [Array; 3];

    fn forward(&self, operands: &[Array; 3], keep: bool) -> (Array, Option<Self::Saved>) {
        let shape = [self.pairs.num_nodes(), 2 * operands[1].dim(1)];
        let sums = Array::written(shape, |out| message_kernels::pair_messages(self.inputs(operands), out));
        (sums, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 3]) -> [Option<Array>; 3] {
        let mut slots = std::array::from_fn::<_, 3, _>(|at| Slot::like(&operands[at], wanted[at]));
        let [a, v, e] = slots.each_mut().map(Slot::as_mut);
        let gradients = message_kernels::PairMessagesGradients { a, v, e };
        message_kernels::pair_messages_backward(self.inputs(&operands), gradient.values(), gradients);
        slots.map(Slot::into_array)
    }
}

fn generic_scores([q, k, wb]: [Tensor<2>; 3], heads: usize, pairs: &PairList) -> Tensor<2> {
    let ([_, width], count, device) = (q.dims(), pairs.len(), q.device());
    if count == 0 {
        return Tensor::zeros([0, width], &device);
    }
    let channels = width / heads;
    let wb = wb.reshape([count, heads, 2 * channels]);
    let [w, b] = [0, channels].map(|at| wb.clone().narrow(2, at, channels).reshape([count, width]));
    let sums = generic::gather_rows(q, pairs.targets().tensor(&device))
        + generic::gather_rows(k, pairs.sources().tensor(&device));
    let x = sums * w;
    // The root's gradient is infinite at 0: there it is taken of a constant, and its result is replaced.
    let zero = x.clone().equal_elem(0.0);
    let root = x.clone().abs().mask_fill(zero.clone(), 1.0).sqrt() * x.sign();
    activation::relu(root.mask_fill(zero, 0.0) + b)
}

fn generic_messages([a, v, e]: [Tensor<2>; 3], pairs: &PairList) -> Tensor<2> {
    let ([count, heads], [nodes, width], device) = (a.dims(), v.dims(), a.device());
    if count == 0 {
        return Tensor::zeros([nodes, 2 * width], &device);
    }
    let cube = [count, heads, width / heads];
    let a = a.reshape([count, heads, 1]);
    let v = generic::gather_rows(v, pairs.sources().tensor(&device));
    let weighted = [v, e].map(|rows| (rows.reshape(cube) * a.clone()).reshape([count, width]));
    generic::sum_rows(Tensor::cat(weighted.into(), 1), pairs.targets().tensor(&device), nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    fn three(t: &[Tensor<2>]) -> [Tensor<2>; 3] {
        [t[0].clone(), t[1].clone(), t[2].clone()]
    }

    #[test]
    fn kernels_and_generic_bodies_agree() {
        let (pairs, _) = PairList::new(4, &[[0, 1], [2, 1], [3, 0], [1, 3], [3, 1], [1, 1]]);
        assert_same_bodies(
            &[[4, 6], [4, 6], [6, 12]],
            |t| pair_scores(three(t), 2, &pairs),
            |t| generic_scores(three(t), 2, &pairs),
        );
        assert_same_bodies(
            &[[6, 2], [4, 6], [6, 6]],
            |t| pair_messages(three(t), &pairs),
            |t| generic_messages(three(t), &pairs),
        );
    }
}
