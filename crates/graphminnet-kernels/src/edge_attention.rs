//! Attention over given pairs of nodes, with a factor per pair inside the score. Scores are never stored.
//!
//! ```text
//! s_p[t] = scale · Σ_c q_i[t,c]·k_j[t,c]·f_r[t,c]        pair p from j to i with row r of the factors, head t
//! w_p[t] = exp(clamp(s_p[t], −5, 5))
//! y_i[t,c] = Σ_p w_p[t]·v_j[t,c]      z_i[t] = Σ_p w_p[t]       sums over the pairs that arrive at i
//! ```
//!
//! Shapes: `q`, `k`, `v` are `[nodes, l]` with `l = heads · channels`, factors `[rows, l]`, the output `[nodes, l + heads]`
//! holds `y` and behind it `z`. Pairs may share a row of the factors.
//!
//! Gradient, with `g = [dy, dz]`: `dw_p = dy_i·v_j + dz_i`, `ds_p = scale·w_p·dw_p` (0 where the clamp is active), and then
//! `dq_i += ds k_j f_r`, `dk_j += ds q_i f_r`, `df_r += ds q_i k_j`, `dv_j += w_p dy_i`. Every pass computes the scores
//! again. Rows of factors that many pairs share are summed in pieces of fixed size.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::edges::Edges;
use crate::math::exp;
use crate::parallel::{Disjoint, balanced_ranges, for_each_range, map_pieces};
use crate::scratch::Scratch;
use std::ops::Range;

/// Largest score of either sign.
pub const LARGEST_SCORE: f64 = 5.0;

/// Pairs of one piece of work when sums go to the factors.
const PIECE: usize = 2048;

/// The inputs.
#[derive(Clone, Copy, Debug)]
pub struct EdgeAttention<'a> {
    /// The pairs, sorted by target.
    pub pairs: Edges<'a>,
    /// Row of the factors for every pair.
    pub rows: &'a [u32],
    /// Number of heads; divides the width.
    pub heads: usize,
    /// Width `l`.
    pub width: usize,
    /// Multiplies every score.
    pub scale: f32,
    /// Queries.
    pub q: &'a [f32],
    /// Keys.
    pub k: &'a [f32],
    /// Values.
    pub v: &'a [f32],
    /// Factors.
    pub factors: &'a [f32],
}

/// Where the wanted gradients go.
#[derive(Debug, Default)]
pub struct EdgeAttentionGradients<'a> {
    /// Of the queries.
    pub q: Option<&'a mut [f32]>,
    /// Of the keys.
    pub k: Option<&'a mut [f32]>,
    /// Of the values.
    pub v: Option<&'a mut [f32]>,
    /// Of the factors.
    pub factors: Option<&'a mut [f32]>,
}

impl<'a> EdgeAttention<'a> {
    fn check(&self) {
        self.pairs.check();
        assert!(
            self.heads > 0 && self.width > 0 && self.width.is_multiple_of(self.heads),
            "edge_attention: heads"
        );
        assert_eq!(self.rows.len(), self.pairs.num_edges(), "edge_attention: length of the rows");
        for (values, name) in [(self.q, "q"), (self.k, "k"), (self.v, "v")] {
            assert_eq!(values.len(), self.pairs.num_nodes * self.width, "edge_attention: length of {name}");
        }
        assert!(self.factors.len().is_multiple_of(self.width), "edge_attention: length of the factors");
    }

    #[inline(always)]
    fn row(&self, values: &'a [f32], row: usize) -> &'a [f32] {
        &values[row * self.width..][..self.width]
    }

    #[inline(always)]
    fn factor(&self, pair: usize) -> &'a [f32] {
        self.row(self.factors, self.rows[pair] as usize)
    }

    fn ranges(&self, offsets: &[u32]) -> Vec<Range<usize>> {
        balanced_ranges(offsets, 1 + 8192 / self.width)
    }
}

/// The weight of every head for one pair, and where the clamp is active: there `open` is 0, else 1.
#[inline(always)]
fn weights<S: Arithmetic>(
    input: &EdgeAttention<'_>,
    pair: usize,
    product: &mut [f32],
    weight: &mut [f32],
    open: &mut [f32],
) {
    let (target, source) = (input.pairs.target[pair] as usize, input.pairs.source[pair] as usize);
    let (q, k, f) = (input.row(input.q, target), input.row(input.k, source), input.factor(pair));
    for c in 0..product.len() {
        product[c] = q[c] * k[c] * f[c];
    }
    let channels = input.width / input.heads;
    for (t, part) in product.chunks_exact(channels).enumerate() {
        let mut sum = 0.0;
        for value in part {
            sum += value;
        }
        weight[t] = sum * input.scale;
    }
    for t in 0..weight.len() {
        open[t] = if weight[t].abs() <= LARGEST_SCORE as f32 { 1.0 } else { 0.0 };
        weight[t] = exp::<S>(weight[t].clamp(-LARGEST_SCORE as f32, LARGEST_SCORE as f32));
    }
}

/// Computes `[y, z]`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn edge_attention(input: EdgeAttention<'_>, output: &mut [f32]) {
    input.check();
    let columns = input.width + input.heads;
    assert_eq!(output.len(), input.pairs.num_nodes * columns, "edge_attention: length of the output");
    let output = Disjoint::new(output);
    for_each_range(input.ranges(input.pairs.incoming), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let output = unsafe { output.rows(&nodes, columns) };
        forward_nodes(&input, nodes, output);
    });
}

simd_fn! {
    fn forward_nodes<S>(input: &EdgeAttention<'_>, nodes: Range<usize>, output: &mut [f32]) {
        let (width, heads) = (input.width, input.heads);
        let channels = width / heads;
        let (mut product, mut weight, mut open) = (Scratch::new(width), Scratch::new(heads), Scratch::new(heads));
        for (node, out) in nodes.zip(output.chunks_exact_mut(width + heads)) {
            out.fill(0.0);
            let (y, z) = out.split_at_mut(width);
            for pair in input.pairs.incoming[node] as usize..input.pairs.incoming[node + 1] as usize {
                weights::<S>(input, pair, &mut product, &mut weight, &mut open);
                let v = input.row(input.v, input.pairs.source[pair] as usize);
                for t in 0..heads {
                    add_scaled::<S>(&mut y[t * channels..][..channels], weight[t], &v[t * channels..][..channels]);
                    z[t] += weight[t];
                }
            }
        }
    }
}

#[inline(always)]
fn add_scaled<S: Arithmetic>(to: &mut [f32], factor: f32, from: &[f32]) {
    let from = &from[..to.len()];
    for c in 0..to.len() {
        to[c] = S::fma(factor, from[c], to[c]);
    }
}

/// `to += factor[t]·a ⊙ b` head by head.
#[inline(always)]
fn add_products<S: Arithmetic>(to: &mut [f32], factor: &[f32], a: &[f32], b: &[f32]) {
    let channels = to.len() / factor.len();
    for (t, factor) in factor.iter().enumerate() {
        let at = t * channels;
        let (to, a, b) = (&mut to[at..][..channels], &a[at..][..channels], &b[at..][..channels]);
        for c in 0..channels {
            to[c] = S::fma(*factor, a[c] * b[c], to[c]);
        }
    }
}

/// Computes the wanted gradients from `gradient`, which has the shape of the output.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn edge_attention_backward(
    input: EdgeAttention<'_>,
    gradient: &[f32],
    wanted: EdgeAttentionGradients<'_>,
) {
    input.check();
    let (nodes, width) = (input.pairs.num_nodes, input.width);
    assert_eq!(
        gradient.len(),
        nodes * (width + input.heads),
        "edge_attention_backward: length of the gradient"
    );
    let EdgeAttentionGradients { q, k, v, factors } = wanted;
    if let Some(dq) = q {
        assert_eq!(dq.len(), nodes * width, "edge_attention_backward: length of dq");
        let dq = Disjoint::new(dq);
        for_each_range(input.ranges(input.pairs.incoming), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let dq = unsafe { dq.rows(&nodes, width) };
            by_target(&input, gradient, nodes, dq);
        });
    }
    if k.is_some() || v.is_some() {
        let (mut unused_k, mut unused_v) = (Vec::new(), Vec::new());
        let dk = k.unwrap_or_else(|| {
            unused_k = vec![0.0; nodes * width];
            &mut unused_k
        });
        let dv = v.unwrap_or_else(|| {
            unused_v = vec![0.0; nodes * width];
            &mut unused_v
        });
        assert!(
            dk.len() == nodes * width && dv.len() == nodes * width,
            "edge_attention_backward: length of dk or dv"
        );
        let (dk, dv) = (Disjoint::new(dk), Disjoint::new(dv));
        for_each_range(input.ranges(input.pairs.outgoing), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let (dk, dv) = unsafe { (dk.rows(&nodes, width), dv.rows(&nodes, width)) };
            by_source(&input, gradient, nodes, dk, dv);
        });
    }
    if let Some(d_factors) = factors {
        assert_eq!(d_factors.len(), input.factors.len(), "edge_attention_backward: length of df");
        by_row(&input, gradient, d_factors);
    }
}

/// `ds` of one pair; leaves the weights in `weight`.
#[inline(always)]
fn score_gradient<S: Arithmetic>(
    input: &EdgeAttention<'_>,
    pair: usize,
    gradient: &[f32],
    product: &mut [f32],
    weight: &mut [f32],
    ds: &mut [f32],
) {
    weights::<S>(input, pair, product, weight, ds);
    let columns = input.width + input.heads;
    let gradient = &gradient[input.pairs.target[pair] as usize * columns..][..columns];
    let (dy, dz) = gradient.split_at(input.width);
    let v = input.row(input.v, input.pairs.source[pair] as usize);
    for c in 0..product.len() {
        product[c] = dy[c] * v[c];
    }
    let channels = input.width / input.heads;
    for (t, part) in product.chunks_exact(channels).enumerate() {
        let mut sum = dz[t];
        for value in part {
            sum += value;
        }
        ds[t] *= input.scale * weight[t] * sum;
    }
}

simd_fn! {
    fn by_target<S>(input: &EdgeAttention<'_>, gradient: &[f32], nodes: Range<usize>, dq: &mut [f32]) {
        let (width, heads) = (input.width, input.heads);
        let (mut product, mut weight, mut ds) = (Scratch::new(width), Scratch::new(heads), Scratch::new(heads));
        for (node, dq) in nodes.zip(dq.chunks_exact_mut(width)) {
            dq.fill(0.0);
            for pair in input.pairs.incoming[node] as usize..input.pairs.incoming[node + 1] as usize {
                score_gradient::<S>(input, pair, gradient, &mut product, &mut weight, &mut ds);
                let k = input.row(input.k, input.pairs.source[pair] as usize);
                add_products::<S>(dq, &ds, k, input.factor(pair));
            }
        }
    }
}

simd_fn! {
    fn by_source<S>(
        input: &EdgeAttention<'_>,
        gradient: &[f32],
        nodes: Range<usize>,
        dk: &mut [f32],
        dv: &mut [f32],
    ) {
        let (width, heads) = (input.width, input.heads);
        let channels = width / heads;
        let (mut product, mut weight, mut ds) = (Scratch::new(width), Scratch::new(heads), Scratch::new(heads));
        let pairs = input.pairs;
        for ((node, dk), dv) in nodes.zip(dk.chunks_exact_mut(width)).zip(dv.chunks_exact_mut(width)) {
            dk.fill(0.0);
            dv.fill(0.0);
            for &pair in &pairs.outgoing_edges[pairs.outgoing[node] as usize..pairs.outgoing[node + 1] as usize] {
                let (pair, target) = (pair as usize, pairs.target[pair as usize] as usize);
                score_gradient::<S>(input, pair, gradient, &mut product, &mut weight, &mut ds);
                add_products::<S>(dk, &ds, input.row(input.q, target), input.factor(pair));
                let dy = &gradient[target * (width + heads)..][..width];
                for t in 0..heads {
                    add_scaled::<S>(&mut dv[t * channels..][..channels], weight[t], &dy[t * channels..][..channels]);
                }
            }
        }
    }
}

/// Sums over the pairs of every row. Pairs are taken row by row in pieces of fixed size; a row that is cut by the end of
/// a piece is put together from its parts in order.
fn by_row(input: &EdgeAttention<'_>, gradient: &[f32], d_factors: &mut [f32]) {
    d_factors.fill(0.0);
    let rows = input.factors.len() / input.width;
    let (_, members) = crate::edges::group_by(rows, input.rows);
    let parts = map_pieces(members.len(), PIECE, |range| row_sums(input, gradient, &members[range]));
    for (rows, sums) in parts {
        for (row, sum) in rows.into_iter().zip(sums.chunks_exact(input.width)) {
            crate::add::add_row(&mut d_factors[row as usize * input.width..][..input.width], sum);
        }
    }
}

simd_fn! {
    /// The rows of consecutive pairs and the sum of each.
    fn row_sums<S>(input: &EdgeAttention<'_>, gradient: &[f32], members: &[u32]) -> (Vec<u32>, Vec<f32>) {
        let (width, heads) = (input.width, input.heads);
        let (mut product, mut weight, mut ds) = (Scratch::new(width), Scratch::new(heads), Scratch::new(heads));
        let (mut rows, mut sums): (Vec<u32>, Vec<f32>) = (Vec::new(), Vec::new());
        for &pair in members {
            let pair = pair as usize;
            if rows.last() != Some(&input.rows[pair]) {
                rows.push(input.rows[pair]);
                sums.resize(sums.len() + width, 0.0);
            }
            score_gradient::<S>(input, pair, gradient, &mut product, &mut weight, &mut ds);
            let (q, k) = (input.pairs.target[pair] as usize, input.pairs.source[pair] as usize);
            let start = sums.len() - width;
            add_products::<S>(&mut sums[start..], &ds, input.row(input.q, q), input.row(input.k, k));
        }
        (rows, sums)
    }
}
