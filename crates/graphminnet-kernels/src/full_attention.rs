//! Attention between all nodes of a graph. Scores are never stored for a whole graph.
//!
//! ```text
//! s_ij[t] = scale · Σ_c q_i[t,c]·k_j[t,c]              nodes i, j of one graph, head t
//! P_i[t] = softmax_j( s_ij[t] )          y_i[t,c] = Σ_j P_ij[t]·v_j[t,c]
//! ```
//!
//! Shapes: `qkv` is `[nodes, 3·l]` with `l = heads · channels`: queries, keys and values side by side, each head by head. The
//! output is `[nodes, l]`.
//!
//! Gradient, with `dP_ij = dy_i·v_j`: `ds_ij = scale·P_ij·(dP_ij − Σ_j P_ij·dP_ij)`, and then `dq_i = Σ_j ds_ij k_j`,
//! `dk_j = Σ_i ds_ij q_i`, `dv_j = Σ_i P_ij dy_i`. The scores are computed again.
//!
//! A head of a graph is one piece of work. It takes the queries in blocks whose scores fit into the cache, so that all
//! of it is matrix products, and memory grows with the nodes while time grows with their square.

use crate::dispatch::simd_fn;
use crate::gemm::{Add, Left, Store, pack, pack_transposed, packed_len, product};
use crate::math::{dot, exp, sum};
use crate::parallel::{Disjoint, for_each_piece, map_pieces};
use crate::scratch::Scratch;
use std::ops::Range;

/// Scores of a block of queries, so many that they stay in the cache; with very many nodes a block has [`FEWEST`] queries.
const BLOCK_SCORES: usize = 1 << 15;
/// Fewest and most queries of a block.
const FEWEST: usize = 12;
const MOST: usize = 96;

/// The inputs.
#[derive(Clone, Copy, Debug)]
pub struct FullAttention<'a> {
    /// Where the nodes of each graph begin; length graphs + 1.
    pub offsets: &'a [u32],
    /// Number of heads; divides the width.
    pub heads: usize,
    /// Width `l`.
    pub width: usize,
    /// Multiplies every score.
    pub scale: f32,
    /// Queries, keys and values.
    pub qkv: &'a [f32],
}

/// One head of one graph.
struct Head<'a> {
    nodes: usize,
    channels: usize,
    /// Of rows of `qkv`.
    stride: usize,
    scale: f32,
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
}

impl<'a> FullAttention<'a> {
    fn check(&self) {
        assert!(
            self.heads > 0 && self.width > 0 && self.width.is_multiple_of(self.heads),
            "full_attention: heads"
        );
        assert!(self.offsets.first() == Some(&0) && self.offsets.is_sorted(), "full_attention: offsets");
        assert_eq!(self.qkv.len(), self.num_nodes() * 3 * self.width, "full_attention: length of qkv");
    }

    fn num_nodes(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    fn num_graphs(&self) -> usize {
        self.offsets.len() - 1
    }

    fn nodes(&self, graph: usize) -> Range<usize> {
        self.offsets[graph] as usize..self.offsets[graph + 1] as usize
    }

    fn channels(&self) -> usize {
        self.width / self.heads
    }

    /// Graph and head of a piece of work.
    fn place(&self, piece: usize) -> (usize, usize) {
        (piece / self.heads, piece % self.heads)
    }

    fn head(&self, graph: usize, head: usize) -> Head<'a> {
        let (nodes, stride) = (self.nodes(graph), 3 * self.width);
        let rows = &self.qkv[nodes.start * stride..nodes.end * stride];
        // Behind the last row there is nothing, so a graph without nodes has nothing to begin at.
        let part = |which: usize| &rows[(which * self.width + head * self.channels()).min(rows.len())..];
        Head {
            nodes: nodes.len(),
            channels: self.channels(),
            stride,
            scale: self.scale,
            q: part(0),
            k: part(1),
            v: part(2),
        }
    }
}

impl Head<'_> {
    /// Consecutive queries whose scores are held at a time.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (nodes, size) = (self.nodes, self.block());
        (0..nodes).step_by(size).map(move |start| start..(start + size).min(nodes))
    }

    fn block(&self) -> usize {
        (BLOCK_SCORES / self.nodes.max(1)).clamp(FEWEST, MOST)
    }

    /// `rowsᵀ`, packed as a right operand `[channels, nodes]`.
    fn transposed(&self, rows: &[f32]) -> Scratch {
        let mut together = Scratch::new(self.nodes * self.channels);
        for (row, out) in together.chunks_exact_mut(self.channels).enumerate() {
            out.copy_from_slice(&rows[row * self.stride..][..self.channels]);
        }
        let mut packed = Scratch::new(packed_len(self.channels, self.nodes));
        pack_transposed(&together, self.channels, self.nodes, &mut packed);
        packed
    }

    /// `q·kᵀ` of some queries.
    fn scores(&self, block: &Range<usize>, keys: &[f32], scores: &mut [f32]) {
        let queries =
            Left { values: &self.q[block.start * self.stride..], row_stride: self.stride, depth_stride: 1 };
        let mut store = Store { out: scores, row_stride: self.nodes };
        product(block.len(), self.channels, self.nodes, queries, keys, &mut store);
    }
}

/// Rows of a matrix `[rows, columns]` whose rows are `stride` apart, packed as a right operand `[rows, columns]`.
fn packed_rows(values: &[f32], rows: usize, columns: usize, stride: usize) -> Scratch {
    let mut packed = Scratch::new(packed_len(rows, columns));
    pack(values, rows, columns, stride, &mut packed);
    packed
}

/// Computes `y`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn full_attention(input: FullAttention<'_>, output: &mut [f32]) {
    input.check();
    let width = input.width;
    assert_eq!(output.len(), input.num_nodes() * width, "full_attention: length of the output");
    let heads = map_pieces(input.num_graphs() * input.heads, 1, |piece| {
        let (graph, head) = input.place(piece.start);
        head_forward(&input.head(graph, head))
    });
    side_by_side(&input, &heads, 1, output);
}

/// Puts the heads of every graph, each `[nodes, parts·channels]`, into rows of `parts·width` values.
fn side_by_side(input: &FullAttention<'_>, heads: &[Scratch], parts: usize, output: &mut [f32]) {
    let (width, channels) = (input.width, input.channels());
    let output = Disjoint::new(output);
    for_each_piece(input.num_graphs(), 1, |graph| {
        // SAFETY: graphs have nodes of their own.
        let rows = unsafe { output.rows(&input.nodes(graph.start), parts * width) };
        for (head, values) in heads[graph.start * input.heads..][..input.heads].iter().enumerate() {
            let own = values.chunks_exact(parts * channels);
            for (to, from) in rows.chunks_exact_mut(parts * width).zip(own) {
                for part in 0..parts {
                    let to = &mut to[part * width + head * channels..][..channels];
                    to.copy_from_slice(&from[part * channels..][..channels]);
                }
            }
        }
    });
}

fn head_forward(head: &Head<'_>) -> Scratch {
    let &Head { nodes, channels, stride, .. } = head;
    let mut y = Scratch::new(nodes * channels);
    if nodes == 0 {
        return y;
    }
    let (keys, values) = (head.transposed(head.k), packed_rows(head.v, nodes, channels, stride));
    let mut scores = Scratch::new(head.block() * nodes);
    for block in head.blocks() {
        let scores = &mut scores[..block.len() * nodes];
        head.scores(&block, &keys, scores);
        softmax(scores, nodes, head.scale);
        let mut store = Store { out: &mut y[block.start * channels..], row_stride: channels };
        product(block.len(), nodes, channels, Left::row_major(scores, nodes), &values, &mut store);
    }
    y
}

simd_fn! {
    /// Every row of `nodes` scores becomes its weights.
    fn softmax<S>(scores: &mut [f32], nodes: usize, scale: f32) {
        for row in scores.chunks_exact_mut(nodes) {
            let mut largest = f32::NEG_INFINITY;
            for &score in row.iter() {
                // A score that is no number stays in the difference below, and so in the weights.
                let score = score * scale;
                largest = if score > largest { score } else { largest };
            }
            for score in row.iter_mut() {
                *score = exp::<S>(*score * scale - largest);
            }
            let share = 1.0 / sum(row);
            for weight in row.iter_mut() {
                *weight *= share;
            }
        }
    }
}

/// Computes `d_qkv` from the gradient of the output.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn full_attention_backward(input: FullAttention<'_>, gradient: &[f32], d_qkv: &mut [f32]) {
    input.check();
    let width = input.width;
    assert_eq!(gradient.len(), input.num_nodes() * width, "full_attention_backward: length of the gradient");
    assert_eq!(d_qkv.len(), input.qkv.len(), "full_attention_backward: length of d_qkv");
    let heads = map_pieces(input.num_graphs() * input.heads, 1, |piece| {
        let (graph, head) = input.place(piece.start);
        let rows = &gradient[input.offsets[graph] as usize * width..][..input.nodes(graph).len() * width];
        let dy = &rows[(head * input.channels()).min(rows.len())..];
        head_backward(&input.head(graph, head), dy, width)
    });
    side_by_side(&input, &heads, 3, d_qkv);
}

/// `[nodes, 3·channels]`: the gradients of queries, keys and values. Rows of `dy` are `width` apart.
fn head_backward(head: &Head<'_>, dy: &[f32], width: usize) -> Scratch {
    let &Head { nodes, channels, stride, scale, .. } = head;
    let row = 3 * channels;
    let mut gradients = Scratch::zeroed(nodes * row);
    if nodes == 0 {
        return gradients;
    }
    let (keys, values) = (head.transposed(head.k), head.transposed(head.v));
    let key_rows = packed_rows(head.k, nodes, channels, stride);
    let mut weights = Scratch::new(head.block() * nodes);
    let mut changes = Scratch::new(head.block() * nodes);
    for block in head.blocks() {
        let queries = block.len();
        let (weights, changes) = (&mut weights[..queries * nodes], &mut changes[..queries * nodes]);
        head.scores(&block, &keys, weights);
        softmax(weights, nodes, scale);
        let dy = &dy[block.start * width..];
        let left = Left { values: dy, row_stride: width, depth_stride: 1 };
        product(queries, channels, nodes, left, &values, &mut Store { out: changes, row_stride: nodes });
        score_gradients(weights, changes, nodes, scale);
        let mut dq = Store { out: &mut gradients[block.start * row..], row_stride: row };
        product(queries, nodes, channels, Left::row_major(changes, nodes), &key_rows, &mut dq);
        let own = packed_rows(&head.q[block.start * stride..], queries, channels, stride);
        let mut dk = Add { out: &mut gradients[channels..], row_stride: row };
        product(nodes, queries, channels, Left::transposed(changes, nodes), &own, &mut dk);
        let own = packed_rows(dy, queries, channels, width);
        let mut dv = Add { out: &mut gradients[2 * channels..], row_stride: row };
        product(nodes, queries, channels, Left::transposed(weights, nodes), &own, &mut dv);
    }
    gradients
}

simd_fn! {
    /// `dP` becomes `ds`.
    fn score_gradients<S>(weights: &[f32], changes: &mut [f32], nodes: usize, scale: f32) {
        for (weights, changes) in weights.chunks_exact(nodes).zip(changes.chunks_exact_mut(nodes)) {
            let mean = dot::<S>(weights, changes);
            for (change, weight) in changes.iter_mut().zip(weights) {
                *change = scale * weight * (*change - mean);
            }
        }
    }
}
