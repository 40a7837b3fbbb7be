//! Attention over given pairs of nodes with a factor per pair inside the score, as in SAN and Exphormer.
//!
//! ```text
//! w_p[t] = exp(clamp( Σ_c q_i[t,c]·k_j[t,c]·f_r[t,c] / √channels, −5, 5 ))      pair p from j to i, row r of the factors
//! y_i[t,c] = Σ_p w_p[t]·v_j[t,c]          z_i[t] = Σ_p w_p[t]
//! ```

use super::engine::{self, Array, Kernel, Slot};
use super::rows::RowIndex;
use super::{PairList, generic};
use burn::tensor::Tensor;
use graphminnet_kernels::edge_attention::{self as kernels, LARGEST_SCORE};
use std::sync::Arc;

/// Weighted sums `y` and the sums of weights `z`, not yet divided, so that several lists of pairs can be added.
///
/// # Shapes
///
/// * `q`, `k`, `v`: `[nodes, l]`, head by head
/// * `factors`: `[rows, l]`; `rows` gives the row of every pair of the list
/// * returns `[nodes, l + heads]`: `y` and behind it `z`
pub fn edge_attention(
    [q, k, v, factors]: [Tensor<2>; 4],
    heads: usize,
    pairs: &Arc<PairList>,
    rows: &Arc<RowIndex>,
) -> Tensor<2> {
    if !engine::on_cpu(&q.device()) {
        return generic([q, k, v, factors], heads, pairs, rows);
    }
    let kernel = Fused { heads, pairs: pairs.clone(), rows: rows.clone() };
    engine::run(kernel, [q.into(), k.into(), v.into(), factors.into()])
}

/// The kernel; operands `q`, `k`, `v`, `factors`.
#[derive(Debug, Clone)]
struct Fused {
    heads: usize,
    pairs: Arc<PairList>,
    rows: Arc<RowIndex>,
}

impl Fused {
    fn inputs<'a>(&'a self, [q, k, v, factors]: &'a [Array; 4]) -> kernels::EdgeAttention<'a> {
        let width = q.dim(1);
        kernels::EdgeAttention {
            pairs: self.pairs.edges(),
            rows: self.rows.places(),
            heads: self.heads,
            width,
            scale: 1.0 / ((width / self.heads) as f32).sqrt(),
            q: q.values(),
            k: k.values(),
            v: v.values(),
            factors: factors.values(),
        }
    }
}

impl Kernel<4> for Fused {
    type Saved = [Array; 4];

    fn forward(&self, operands: &[Array; 4], keep: bool) -> (Array, Option<Self::Saved>) {
        let shape = [operands[0].dim(0), operands[0].dim(1) + self.heads];
        let output = Array::written(shape, |out| kernels::edge_attention(self.inputs(operands), out));
        (output, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 4]) -> [Option<Array>; 4] {
        let mut slots = std::array::from_fn::<_, 4, _>(|at| Slot::like(&operands[at], wanted[at]));
        let [q, k, v, factors] = slots.each_mut().map(Slot::as_mut);
        let gradients = kernels::EdgeAttentionGradients { q, k, v, factors };
        kernels::edge_attention_backward(self.inputs(&operands), gradient.values(), gradients);
        slots.map(Slot::into_array)
    }
}

fn generic([q, k, v, factors]: [Tensor<2>; 4], heads: usize, pairs: &PairList, rows: &RowIndex) -> Tensor<2> {
    let ([nodes, width], count, device) = (q.dims(), pairs.len(), q.device());
    if count == 0 {
        return Tensor::zeros([nodes, width + heads], &device);
    }
    let channels = width / heads;
    let (target, source) = (pairs.targets().tensor(&device), pairs.sources().tensor(&device));
    let products = generic::gather_rows(q, target.clone())
        * generic::gather_rows(k, source.clone())
        * generic::gather_rows(factors, rows.tensor(&device));
    let scores = products.reshape([count, heads, channels]).sum_dim(2) / (channels as f64).sqrt();
    let weights = scores.clamp(-LARGEST_SCORE, LARGEST_SCORE).exp();
    let messages = generic::gather_rows(v, source).reshape([count, heads, channels]) * weights.clone();
    let both = Tensor::cat(vec![messages.reshape([count, width]), weights.reshape([count, heads])], 1);
    generic::sum_rows(both, target, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernel_and_generic_body_agree() {
        let ends = [[0, 1], [2, 1], [3, 0], [1, 3], [3, 1], [1, 1]];
        let (pairs, _) = PairList::new(4, &ends);
        for rows in [vec![0; 6], vec![0, 1, 2, 3, 4, 5], vec![5, 0, 0, 2, 5, 1]] {
            let rows = RowIndex::new(6, rows);
            let four = |t: &[Tensor<2>]| [t[0].clone(), t[1].clone(), t[2].clone(), t[3].clone()];
            assert_same_bodies(
                &[[4, 6], [4, 6], [4, 6], [6, 6]],
                |t| edge_attention(four(t), 2, &pairs, &rows),
                |t| generic(four(t), 2, &pairs, &rows),
            );
        }
    }
}
