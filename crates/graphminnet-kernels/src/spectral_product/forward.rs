//! Forward pass of the spectral product.

use super::pairs::{num_pairs, pack_squares, pairs_are_cheaper, pairs_fill_panels, piece_through_pairs};
use super::{LARGE, SpectralInputs};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{
    Add, Epilogue, Left, PANEL, Place, Store, load_lanes, pack_transposed, packed_len, product, product_body,
    store_lanes,
};
use crate::parallel::Disjoint;
use crate::scratch::Scratch;
use rayon::prelude::*;
use std::ops::Range;

/// Depth (eigenpairs × channels) of the part of `Q` that is formed at a time.
const DEPTH: usize = 256;
/// Rows `p_u ⊗ w_u` formed at a time; with their part of a panel of `Q` they fill the nearest cache.
const ROWS: usize = 12;
/// Nodes worked on with one forming of `Q`.
const NODES: usize = 256;

/// In which order factors are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one with the fewest operations.
    Cheapest,
    /// Through `Q`.
    ThroughQ,
    /// Without forming `Q`. The backward pass takes `Q`.
    Direct,
    /// Through pairs of channels where their number is a multiple of 32, through `Q` elsewhere.
    ThroughPairs,
}

impl Order {
    pub(super) fn takes_pairs(self, inputs: &SpectralInputs<'_>) -> bool {
        match self {
            Self::Cheapest => pairs_are_cheaper(inputs.channels, inputs.eigenpairs, inputs.hidden),
            Self::ThroughPairs => pairs_fill_panels(inputs.channels),
            Self::ThroughQ | Self::Direct => false,
        }
    }
}

/// Computes `s [nodes, l]`. Backward needs the inputs only.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn spectral_product(inputs: SpectralInputs<'_>, s: &mut [f32]) {
    spectral_product_with(inputs, Order::Cheapest, s);
}

/// As [`spectral_product`], with a choice of the order (results differ by rounding only).
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn spectral_product_with(inputs: SpectralInputs<'_>, order: Order, s: &mut [f32]) {
    inputs.check();
    let SpectralInputs { channels, eigenpairs, hidden, .. } = inputs;
    assert_eq!(s.len(), inputs.num_nodes() * hidden, "spectral product: length of s");
    if s.is_empty() {
        return;
    }
    let mut packed_b = Scratch::new(packed_len(channels, hidden));
    pack_transposed(inputs.b, channels, hidden, &mut packed_b);
    let packed_b = &packed_b[..];
    let through_pairs = order.takes_pairs(&inputs);
    let mut squares = Scratch::new(if through_pairs { packed_len(num_pairs(channels), hidden) } else { 0 });
    if through_pairs {
        pack_squares(packed_b, channels, &mut squares);
    }
    let squares = &squares[..];

    let pieces = pieces(&inputs);
    let table_size = eigenpairs * channels;
    // Graphs worked on in several pieces get their table first.
    let shared: Vec<Option<Scratch>> = (0..inputs.num_graphs())
        .map(|graph| {
            (inputs.nodes(graph).len() > LARGE).then(|| {
                let mut table = Scratch::new(table_size);
                inputs.table(graph, &mut table);
                table
            })
        })
        .collect();
    let s = Disjoint::new(s);
    let work = |(graph, nodes): &(usize, Range<usize>)| {
        // SAFETY: pieces are disjoint.
        let s = unsafe { s.rows(nodes, hidden) };
        let mut own = Scratch::new(table_size);
        let table = match &shared[*graph] {
            Some(table) => &table[..],
            None => {
                inputs.table(*graph, &mut own);
                &own[..]
            }
        };
        let direct = match order {
            Order::Cheapest => direct_is_cheaper(nodes.len(), channels),
            order => order == Order::Direct,
        };
        if through_pairs {
            piece_through_pairs(inputs, *graph, nodes.clone(), table, squares, s);
        } else if direct {
            piece_direct(inputs, *graph, nodes.clone(), table, packed_b, s);
        } else {
            piece_through_q(inputs, *graph, nodes.clone(), table, packed_b, s);
        }
    };
    if pieces.len() == 1 {
        pieces.iter().for_each(work);
    } else {
        pieces.par_iter().for_each(work);
    }
}

/// Forming `Q` writes each element once, which takes the time of about 2 operations of the product; doing without
/// costs about 3 operations per node and element of `ā`, which is `channels` times smaller.
fn direct_is_cheaper(nodes: usize, channels: usize) -> bool {
    3 * nodes < 2 * channels
}

/// Graphs, large ones cut in pieces of equal size.
fn pieces(inputs: &SpectralInputs<'_>) -> Vec<(usize, Range<usize>)> {
    let mut pieces = Vec::new();
    for graph in 0..inputs.num_graphs() {
        let nodes = inputs.nodes(graph);
        let count = if nodes.len() > LARGE { nodes.len().div_ceil(NODES) } else { 1 };
        let size = nodes.len().div_ceil(count).max(1);
        for start in nodes.clone().step_by(size) {
            pieces.push((graph, start..(start + size).min(nodes.end)));
        }
    }
    pieces
}

/// `ā` of a graph as `[M, padded l]`, with zeros beyond l; `packed_b` is `Bᵀ` as a right operand.
pub(super) fn sum_code(inputs: &SpectralInputs<'_>, f: &[f32], table: &[f32], packed_b: &[f32]) -> Scratch {
    let SpectralInputs { channels, eigenpairs, hidden, .. } = *inputs;
    let padded = hidden.div_ceil(PANEL) * PANEL;
    let mut scaled = Scratch::new(eigenpairs * channels);
    for ((scaled, f), t) in scaled.iter_mut().zip(f).zip(table) {
        *scaled = f * t;
    }
    let mut code = Scratch::zeroed(eigenpairs * padded);
    let mut store = Store { out: &mut code, row_stride: padded };
    product(eigenpairs, channels, hidden, Left::row_major(&scaled, channels), packed_b, &mut store);
    code
}

simd_fn! {
    fn piece_through_q<S>(
        inputs: SpectralInputs<'_>,
        graph: usize,
        nodes: Range<usize>,
        table: &[f32],
        packed_b: &[f32],
        s: &mut [f32],
    ) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = inputs;
        let f = inputs.f_of(graph);
        let code = sum_code(&inputs, f, table, packed_b);
        let per_block = (DEPTH / channels.max(1)).max(1);
        let mut q = Scratch::new(packed_len(per_block * channels, hidden));
        let mut outer = Scratch::new(ROWS * per_block * channels);
        if eigenpairs * channels == 0 {
            s.fill(0.0);
        }
        for first in (0..eigenpairs).step_by(per_block) {
            let pairs = first..(first + per_block).min(eigenpairs);
            let depth = pairs.len() * channels;
            form_q::<S>(&inputs, f, &code, packed_b, pairs.clone(), &mut q);
            for start in nodes.clone().step_by(ROWS) {
                let block = start..(start + ROWS).min(nodes.end);
                form_outer(&inputs, &block, pairs.clone(), &mut outer);
                let left = Left::row_major(&outer, depth);
                let out = &mut s[(start - nodes.start) * hidden..(block.end - nodes.start) * hidden];
                if first == 0 {
                    let mut store = Store { out, row_stride: hidden };
                    product_body::<S, _>(block.len(), depth, hidden, left, &q, &mut store);
                } else {
                    let mut add = Add { out, row_stride: hidden };
                    product_body::<S, _>(block.len(), depth, hidden, left, &q, &mut add);
                }
            }
        }
    }
}

/// `Q[(i,j),k] = B[k,j]·F[i,j]·ā[k,i]` for the eigenpairs given, packed as the right operand of a product.
#[inline(always)]
fn form_q<S: Arithmetic>(
    inputs: &SpectralInputs<'_>,
    f: &[f32],
    code: &[f32],
    packed_b: &[f32],
    pairs: Range<usize>,
    q: &mut [f32],
) {
    let SpectralInputs { channels, hidden, .. } = *inputs;
    let panels = hidden.div_ceil(PANEL);
    let depth = pairs.len() * channels;
    for panel in 0..panels {
        let b_panel = &packed_b[panel * PANEL * channels..(panel + 1) * PANEL * channels];
        let q_panel = &mut q[panel * PANEL * depth..(panel + 1) * PANEL * depth];
        for (pair, q_pair) in pairs.clone().zip(q_panel.chunks_exact_mut((PANEL * channels).max(1))) {
            let code = load_lanes::<PANEL>(&code[(pair * panels + panel) * PANEL..], PANEL);
            let f = &f[pair * channels..(pair + 1) * channels];
            for ((q, b), f) in q_pair.chunks_exact_mut(PANEL).zip(b_panel.chunks_exact(PANEL)).zip(f) {
                let mut lanes = load_lanes::<PANEL>(b, PANEL);
                for c in 0..PANEL {
                    lanes[c] = lanes[c] * f * code[c];
                }
                q.copy_from_slice(&lanes);
            }
        }
    }
}

/// Rows `p_u ⊗ w_u`, restricted to the eigenpairs given.
#[inline(always)]
fn form_outer(inputs: &SpectralInputs<'_>, nodes: &Range<usize>, pairs: Range<usize>, outer: &mut [f32]) {
    let SpectralInputs { channels, eigenpairs, .. } = *inputs;
    let rows = inputs.w_rows(nodes).chunks_exact(channels).zip(inputs.p_rows(nodes).chunks_exact(eigenpairs));
    for ((w, p), outer) in rows.zip(outer.chunks_exact_mut(pairs.len() * channels)) {
        for (p, outer) in p[pairs.clone()].iter().zip(outer.chunks_exact_mut(channels)) {
            let w = &w[..outer.len()];
            for j in 0..outer.len() {
                outer[j] = p * w[j];
            }
        }
    }
}

/// Adds `ā[k,i]·(sum)` to the row of the node.
struct AddTimesCode<'a> {
    s: &'a mut [f32],
    hidden: usize,
    code: &'a [f32],
}

impl Epilogue for AddTimesCode<'_> {
    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let out = &mut self.s[row * self.hidden + column..];
        let code = load_lanes::<W>(&self.code[column..], width);
        let mut total = load_lanes::<W>(out, width);
        for c in 0..W {
            total[c] = S::fma(sums[c], code[c], total[c]);
        }
        store_lanes(out, width, total);
    }
}

simd_fn! {
    fn piece_direct<S>(
        inputs: SpectralInputs<'_>,
        graph: usize,
        nodes: Range<usize>,
        table: &[f32],
        packed_b: &[f32],
        s: &mut [f32],
    ) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = inputs;
        let padded = hidden.div_ceil(PANEL) * PANEL;
        let f = inputs.f_of(graph);
        let code = sum_code(&inputs, f, table, packed_b);
        let mut scaled = Scratch::new(nodes.len() * channels);
        s.fill(0.0);
        if channels == 0 {
            return;
        }
        for pair in 0..eigenpairs {
            let f = &f[pair * channels..(pair + 1) * channels];
            let p = inputs.p_rows(&nodes);
            let rows = inputs.w_rows(&nodes).chunks_exact(channels).zip(scaled.chunks_exact_mut(channels));
            for (node, (w, scaled)) in rows.enumerate() {
                let p = p[node * eigenpairs + pair];
                for j in 0..channels {
                    scaled[j] = p * f[j] * w[j];
                }
            }
            let mut add = AddTimesCode { s, hidden, code: &code[pair * padded..(pair + 1) * padded] };
            let left = Left::row_major(&scaled, channels);
            product_body::<S, _>(nodes.len(), channels, hidden, left, packed_b, &mut add);
        }
    }
}
