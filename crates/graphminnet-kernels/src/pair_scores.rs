//! GRIT's score vectors of pairs of nodes.
//!
//! ```text
//! x_p = (q_i + k_j) ⊙ w_p          pair p from j to i
//! t_p = ReLU(ρ(x_p) + b_p)         ρ(x) = sqrt(max(x, 0)) − sqrt(max(−x, 0))
//! ```
//!
//! Shapes: `q`, `k` are `[nodes, l]`, `t` is `[pairs, l]`. `w` and `b` lie side by side in `[pairs, 2·l]`, head by head:
//! first the `c` channels of `w`, then those of `b`.
//!
//! Gradient, with `ds = dt` where `t > 0` and 0 elsewhere: `db = ds`, `dx = ds·ρ'(x)` with `ρ'(x) = 1/(2·sqrt|x|)` and
//! `ρ'(0) = 0`, `dw = dx ⊙ (q_i + k_j)`, `dq_i = Σ_p dx ⊙ w`, `dk_j` likewise.

use crate::dispatch::simd_fn;
use crate::edges::Edges;
use crate::math::relu;
use crate::parallel::{Disjoint, balanced_ranges, for_each_range};
use std::ops::Range;

/// The inputs.
#[derive(Clone, Copy, Debug)]
pub struct PairScores<'a> {
    /// The pairs, sorted by target.
    pub pairs: Edges<'a>,
    /// Number of heads; divides the width.
    pub heads: usize,
    /// Width `l`.
    pub width: usize,
    /// Queries.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Weights and biases of the pairs.
    pub wb: &'a [f32],
}

/// Where the wanted gradients go.
#[derive(Debug, Default)]
pub struct PairScoresGradients<'a> {
    /// Of the queries.
    pub q: Option<&'a mut [f32]>,
    /// Of the keys.
    pub k: Option<&'a mut [f32]>,
    /// Of weights and biases.
    pub wb: Option<&'a mut [f32]>,
}

impl<'a> PairScores<'a> {
    fn check(&self) {
        self.pairs.check();
        assert!(
            self.heads > 0 && self.width > 0 && self.width.is_multiple_of(self.heads),
            "pair_scores: heads"
        );
        let (nodes, pairs) = (self.pairs.num_nodes, self.pairs.num_edges());
        assert_eq!(self.q.len(), nodes * self.width, "pair_scores: length of q");
        assert_eq!(self.k.len(), nodes * self.width, "pair_scores: length of k");
        assert_eq!(self.wb.len(), 2 * pairs * self.width, "pair_scores: length of wb");
    }

    #[inline(always)]
    fn row(&self, values: &'a [f32], row: usize) -> &'a [f32] {
        &values[row * self.width..][..self.width]
    }

    #[inline(always)]
    fn ends(&self, pair: usize) -> (&'a [f32], &'a [f32]) {
        let (target, source) = (self.pairs.target[pair] as usize, self.pairs.source[pair] as usize);
        (self.row(self.q, target), self.row(self.k, source))
    }

    #[inline(always)]
    fn wb_of(&self, pair: usize) -> &'a [f32] {
        &self.wb[2 * pair * self.width..][..2 * self.width]
    }

    fn ranges(&self, offsets: &[u32]) -> Vec<Range<usize>> {
        balanced_ranges(offsets, 1 + 16_384 / self.width)
    }

    /// Calls `work` with the pairs that arrive at some nodes.
    fn by_target(&self, work: impl Fn(Range<usize>) + Sync + Send) {
        for_each_range(self.ranges(self.pairs.incoming), |nodes| {
            work(self.pairs.incoming[nodes.start] as usize..self.pairs.incoming[nodes.end] as usize);
        });
    }
}

/// Computes `t`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn pair_scores(input: PairScores<'_>, t: &mut [f32]) {
    input.check();
    assert_eq!(t.len(), input.pairs.num_edges() * input.width, "pair_scores: length of t");
    let t = Disjoint::new(t);
    input.by_target(|pairs| {
        // SAFETY: pairs are sorted by target, so ranges of nodes have disjoint ranges of pairs.
        let t = unsafe { t.rows(&pairs, input.width) };
        forward_pairs(&input, pairs, t);
    });
}

simd_fn! {
    fn forward_pairs<S>(input: &PairScores<'_>, pairs: Range<usize>, t: &mut [f32]) {
        let channels = input.width / input.heads;
        for (pair, t) in pairs.zip(t.chunks_exact_mut(input.width)) {
            let ((q, k), wb) = (input.ends(pair), input.wb_of(pair));
            for head in 0..input.heads {
                let at = head * channels;
                let (w, b) = wb[2 * at..][..2 * channels].split_at(channels);
                let (q, k, t) = (&q[at..][..channels], &k[at..][..channels], &mut t[at..][..channels]);
                for c in 0..channels {
                    let x = (q[c] + k[c]) * w[c];
                    t[c] = relu(x.abs().sqrt().copysign(x) + b[c]);
                }
            }
        }
    }
}

/// Computes the wanted gradients from `dt`; `t` is the output.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn pair_scores_backward(input: PairScores<'_>, t: &[f32], dt: &[f32], wanted: PairScoresGradients<'_>) {
    input.check();
    let (pairs, width) = (input.pairs.num_edges(), input.width);
    assert!(t.len() == pairs * width && dt.len() == t.len(), "pair_scores_backward: length of t or dt");
    let PairScoresGradients { q, k, wb } = wanted;
    if let Some(d_wb) = wb {
        assert_eq!(d_wb.len(), input.wb.len(), "pair_scores_backward: length of dwb");
        let d_wb = Disjoint::new(d_wb);
        input.by_target(|pairs| {
            // SAFETY: pairs are sorted by target, so ranges of nodes have disjoint ranges of pairs.
            let d_wb = unsafe { d_wb.rows(&pairs, 2 * width) };
            backward_pairs(&input, t, dt, pairs, d_wb);
        });
    }
    let pairs = input.pairs;
    by_node(&input, t, dt, pairs.incoming, None, q);
    by_node(&input, t, dt, pairs.outgoing, Some(pairs.outgoing_edges), k);
}

/// The sums over the pairs of every node, if they are wanted: the pairs between its offsets, or those of the list there.
fn by_node(
    input: &PairScores<'_>,
    t: &[f32],
    dt: &[f32],
    offsets: &[u32],
    members: Option<&[u32]>,
    out: Option<&mut [f32]>,
) {
    let Some(out) = out else { return };
    assert_eq!(out.len(), input.q.len(), "pair_scores_backward: length of dq or dk");
    let out = Disjoint::new(out);
    for_each_range(input.ranges(offsets), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let out = unsafe { out.rows(&nodes, input.width) };
        backward_nodes(input, t, dt, offsets, members, nodes, out);
    });
}

/// `ds·ρ'(x)`.
#[inline(always)]
fn root_gradient(x: f32, t: f32, dt: f32) -> f32 {
    let slope = 0.5 / x.abs().sqrt();
    if t > 0.0 && x != 0.0 { dt * slope } else { 0.0 }
}

simd_fn! {
    fn backward_pairs<S>(input: &PairScores<'_>, t: &[f32], dt: &[f32], pairs: Range<usize>, d_wb: &mut [f32]) {
        let channels = input.width / input.heads;
        for (pair, d_wb) in pairs.zip(d_wb.chunks_exact_mut(2 * input.width)) {
            let ((q, k), wb) = (input.ends(pair), input.wb_of(pair));
            let (t, dt) = (input.row(t, pair), input.row(dt, pair));
            for head in 0..input.heads {
                let at = head * channels;
                let w = &wb[2 * at..][..channels];
                let (dw, db) = d_wb[2 * at..][..2 * channels].split_at_mut(channels);
                let (q, k) = (&q[at..][..channels], &k[at..][..channels]);
                let (t, dt) = (&t[at..][..channels], &dt[at..][..channels]);
                for c in 0..channels {
                    let sum = q[c] + k[c];
                    dw[c] = root_gradient(sum * w[c], t[c], dt[c]) * sum;
                    db[c] = if t[c] > 0.0 { dt[c] } else { 0.0 };
                }
            }
        }
    }
}

simd_fn! {
    fn backward_nodes<S>(
        input: &PairScores<'_>,
        t: &[f32],
        dt: &[f32],
        offsets: &[u32],
        members: Option<&[u32]>,
        nodes: Range<usize>,
        out: &mut [f32],
    ) {
        let channels = input.width / input.heads;
        for (node, out) in nodes.zip(out.chunks_exact_mut(input.width)) {
            out.fill(0.0);
            for at in offsets[node] as usize..offsets[node + 1] as usize {
                let pair = match members {
                    Some(members) => members[at] as usize,
                    None => at,
                };
                let ((q, k), wb) = (input.ends(pair), input.wb_of(pair));
                let (t, dt) = (input.row(t, pair), input.row(dt, pair));
                for head in 0..input.heads {
                    let at = head * channels;
                    let (w, out) = (&wb[2 * at..][..channels], &mut out[at..][..channels]);
                    let (q, k) = (&q[at..][..channels], &k[at..][..channels]);
                    let (t, dt) = (&t[at..][..channels], &dt[at..][..channels]);
                    for c in 0..channels {
                        out[c] += root_gradient((q[c] + k[c]) * w[c], t[c], dt[c]) * w[c];
                    }
                }
            }
        }
    }
}
