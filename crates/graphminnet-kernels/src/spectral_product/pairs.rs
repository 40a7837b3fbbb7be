//! The spectral product through pairs of channels.
//!
//! Writing out `ā` in `s_u[k] = Σ_{i,j} p_u[i]·w_u[j]·B[k,j]·F[i,j]·ā[k,i]` gives a quadratic form in the rows of `B`,
//!
//! `s_u[k] = Σ_{j,j'} B[k,j]·B[k,j']·w_u[j]·U_u[j,j']`, with `U_u[j,j'] = Σ_i p_u[i]·F[i,j]·F[i,j']·T[i,j']`.
//!
//! Both orders of a pair of channels meet the same `B[k,j]·B[k,j']`, so they are added first:
//!
//! 1. `K[i,(j,j')] = F[i,j]·F[i,j']·T[i,j']`, once per graph
//! 2. `U = p·K`: `M·D²` multiplications per node
//! 3. `R_u{j,j'} = w_u[j]·U_u[j,j'] + w_u[j']·U_u[j',j]`, and `w_u[j]·U_u[j,j]` for a channel with itself
//! 4. `s = R·Aᵀ` with `A[k,{j,j'}] = B[k,j]·B[k,j']`, which is the same for all graphs: `l·D(D+1)/2` per node
//!
//! Where eigenpairs and hidden channels are many against D, that is fewer than the `M·D·l` of the way through `Q`.
//!
//! The `D(D+1)/2` pairs are numbered along the diagonals of the table of all pairs, which go round: pair `s` is made of
//! the channels `j = s mod D` and `j' = (j + ⌊s/D⌋) mod D`. Neighbouring pairs are then neighbouring channels on
//! both sides, and the first `D` pairs are the channels with themselves. "First" is what belongs to `(j,j')`,
//! "second" to `(j',j)`.

use super::SpectralInputs;
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{
    Add, Epilogue, Left, PANEL, Place, Right, Store, load_lanes, packed_len, product_body, product_right,
    store_lanes,
};
use crate::scratch::Scratch;
use std::ops::Range;

/// Panels of pairs whose `R` is formed at a time.
const PANELS: usize = 17;
/// Nodes whose `R` is formed at a time.
const ROWS: usize = 24;

/// Number of pairs of channels, each channel with itself included.
pub(super) fn num_pairs(channels: usize) -> usize {
    channels * (channels + 1) / 2
}

/// Whether every panel of pairs is full and stays on one diagonal, which this way relies on.
pub(super) fn pairs_fill_panels(channels: usize) -> bool {
    channels.is_multiple_of(2 * PANEL) && channels > 0
}

/// Whether pairs need clearly fewer operations than `Q`: their products are of smaller depth and a little slower.
pub(super) fn pairs_are_cheaper(channels: usize, eigenpairs: usize, hidden: usize) -> bool {
    let through_q = eigenpairs * channels * hidden;
    pairs_fill_panels(channels) && 10 * through_pairs(channels, eigenpairs, hidden) < 9 * through_q
}

/// Multiplications per node.
fn through_pairs(channels: usize, eigenpairs: usize, hidden: usize) -> usize {
    eigenpairs * channels * channels + num_pairs(channels) * hidden
}

/// Multiplications per node that the forward pass takes in its cheapest order; the backward pass takes twice as many.
pub fn multiplications_per_node(channels: usize, eigenpairs: usize, hidden: usize) -> usize {
    if pairs_are_cheaper(channels, eigenpairs, hidden) {
        through_pairs(channels, eigenpairs, hidden)
    } else {
        eigenpairs * channels * hidden
    }
}

/// The pairs in parts of about equal size, at most `panels` panels each.
pub(super) fn parts_of_pairs(channels: usize, panels: usize) -> impl Iterator<Item = Range<usize>> {
    let all = num_pairs(channels) / PANEL;
    let parts = all.div_ceil(panels);
    (0..parts).map(move |part| {
        let [start, end] = [part, part + 1].map(|part| part * all / parts * PANEL);
        start..end
    })
}

/// Where a panel of pairs finds its channels in rows that hold all channels twice.
#[derive(Clone, Copy)]
pub(super) struct Channels {
    pub first: usize,
    pub second: usize,
}

impl Channels {
    /// Of the panel that begins with pair `pair`.
    #[inline(always)]
    pub(super) fn of(pair: usize, channels: usize) -> Self {
        let first = pair % channels;
        Self { first, second: first + pair / channels }
    }
}

/// Rows of `width` values, each twice in a row.
#[inline(always)]
pub(super) fn twice(rows: &[f32], width: usize, out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(2 * width)) {
        let (near, far) = out.split_at_mut(width);
        near.copy_from_slice(row);
        far.copy_from_slice(row);
    }
}

/// `K` of a graph as right operands `[M, pairs]`.
pub(super) struct PairFactors {
    /// `F[i,j]·F[i,j']·T[i,j']`
    pub first: Scratch,
    /// `F[i,j]·F[i,j']·T[i,j]`, without the first D pairs
    pub second: Scratch,
}

impl PairFactors {
    pub(super) fn new(inputs: &SpectralInputs<'_>, graph: usize, table: &[f32]) -> Self {
        let SpectralInputs { channels, eigenpairs, .. } = *inputs;
        let pairs = num_pairs(channels);
        let mut factors = Self {
            first: Scratch::new(packed_len(eigenpairs, pairs)),
            second: Scratch::new(packed_len(eigenpairs, pairs - channels)),
        };
        form_factors(inputs, graph, table, &mut factors);
        factors
    }

    /// The part of `first` with the pairs from `pair` on.
    #[inline(always)]
    pub(super) fn first_from(&self, pair: usize, eigenpairs: usize) -> &[f32] {
        &self.first[pair * eigenpairs..]
    }

    /// The part of `second` with the pairs from `pair` on.
    #[inline(always)]
    pub(super) fn second_from(&self, pair: usize, channels: usize, eigenpairs: usize) -> &[f32] {
        &self.second[(pair - channels) * eigenpairs..]
    }
}

simd_fn! {
    fn form_factors<S>(inputs: &SpectralInputs<'_>, graph: usize, table: &[f32], factors: &mut PairFactors) {
        let SpectralInputs { channels, eigenpairs, .. } = *inputs;
        let (mut f, mut t) = (Scratch::new(2 * table.len()), Scratch::new(2 * table.len()));
        twice(inputs.f_of(graph), channels, &mut f);
        twice(table, channels, &mut t);
        let size = PANEL * eigenpairs;
        for (panel, lines) in factors.first.chunks_exact_mut(size.max(1)).enumerate() {
            let at = Channels::of(panel * PANEL, channels);
            multiply_panel(&f, &t, channels, at, at.second, lines);
        }
        for (panel, lines) in factors.second.chunks_exact_mut(size.max(1)).enumerate() {
            let at = Channels::of(channels + panel * PANEL, channels);
            multiply_panel(&f, &t, channels, at, at.first, lines);
        }
    }
}

/// `F[i,j]·F[i,j']·T[i,·]` of a panel of pairs, line by line; all rows hold their channels twice.
#[inline(always)]
fn multiply_panel(f: &[f32], t: &[f32], channels: usize, at: Channels, table_at: usize, lines: &mut [f32]) {
    for (pair, line) in lines.chunks_exact_mut(PANEL).enumerate() {
        let row = 2 * channels * pair;
        let mut lanes = load_lanes::<PANEL>(&f[row + at.first..], PANEL);
        let (second, table) = (
            load_lanes::<PANEL>(&f[row + at.second..], PANEL),
            load_lanes::<PANEL>(&t[row + table_at..], PANEL),
        );
        for c in 0..PANEL {
            lanes[c] *= second[c] * table[c];
        }
        line.copy_from_slice(&lanes);
    }
}

simd_fn! {
    /// `A` as a right operand `[pairs, l]`, from `Bᵀ` as one.
    pub(super) fn pack_squares<S>(packed_b: &[f32], channels: usize, packed: &mut [f32]) {
        let pairs = num_pairs(channels);
        let panels = packed_b.chunks_exact(PANEL * channels).zip(packed.chunks_exact_mut(PANEL * pairs));
        for (b, lines) in panels {
            for (pair, line) in lines.chunks_exact_mut(PANEL).enumerate() {
                let Channels { first, second } = Channels::of(pair, channels);
                let mut lanes = load_lanes::<PANEL>(&b[first * PANEL..], PANEL);
                let other = load_lanes::<PANEL>(&b[second % channels * PANEL..], PANEL);
                for c in 0..PANEL {
                    lanes[c] *= other[c];
                }
                line.copy_from_slice(&lanes);
            }
        }
    }
}

simd_fn! {
    /// `s` of some nodes of a graph; `squares` is `A` as a right operand `[pairs, l]`.
    pub(super) fn piece_through_pairs<S>(
        inputs: SpectralInputs<'_>,
        graph: usize,
        nodes: Range<usize>,
        table: &[f32],
        squares: &[f32],
        s: &mut [f32],
    ) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = inputs;
        let factors = PairFactors::new(&inputs, graph, table);
        let mut w = Scratch::new(2 * channels * nodes.len());
        twice(inputs.w_rows(&nodes), channels, &mut w);
        let mut joined = Scratch::new(ROWS * PANELS * PANEL);
        for part in parts_of_pairs(channels, PANELS) {
            let second = part.start.max(channels)..part.end.max(channels);
            for start in nodes.clone().step_by(ROWS) {
                let block = start..(start + ROWS).min(nodes.end);
                let rows = start - nodes.start..block.end - nodes.start;
                let w = &w[rows.start * 2 * channels..rows.end * 2 * channels];
                let p = Left::row_major(inputs.p_rows(&block), eigenpairs);
                let stride = part.len();
                let mut times = TimesChannels::<true> { out: &mut joined, stride, first_pair: part.start, channels, w };
                let first = factors.first_from(part.start, eigenpairs);
                product_body::<S, _>(rows.len(), eigenpairs, part.len(), p, first, &mut times);
                if !second.is_empty() {
                    let out = &mut joined[second.start - part.start..];
                    let mut times = TimesChannels::<false> { out, stride, first_pair: second.start, channels, w };
                    let factors = factors.second_from(second.start, channels, eigenpairs);
                    product_body::<S, _>(rows.len(), eigenpairs, second.len(), p, factors, &mut times);
                }
                let left = Left::row_major(&joined, stride);
                let right = Right::packed_steps(squares, num_pairs(channels), hidden, &part);
                let out = &mut s[rows.start * hidden..rows.end * hidden];
                if part.start == 0 {
                    let mut store = Store { out, row_stride: hidden };
                    product_right::<S, _>(rows.len(), left, right, &mut store);
                } else {
                    let mut add = Add { out, row_stride: hidden };
                    product_right::<S, _>(rows.len(), left, right, &mut add);
                }
            }
        }
    }
}

/// Multiplies `U` by the channels of its nodes: writes `w_u[j]·U_u[j,j']` or adds `w_u[j']·U_u[j',j]`.
struct TimesChannels<'a, const FIRST: bool> {
    out: &'a mut [f32],
    stride: usize,
    /// The pair of column 0.
    first_pair: usize,
    channels: usize,
    /// Channels of the nodes, twice.
    w: &'a [f32],
}

impl<const FIRST: bool> Epilogue for TimesChannels<'_, FIRST> {
    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let Channels { first, second } = Channels::of(self.first_pair + column, self.channels);
        let channel = if FIRST { first } else { second };
        let w = load_lanes::<W>(&self.w[row * 2 * self.channels + channel..], W);
        let out = &mut self.out[row * self.stride + column..];
        let mut values = sums;
        if FIRST {
            for c in 0..W {
                values[c] *= w[c];
            }
        } else {
            let there = load_lanes::<W>(out, width);
            for c in 0..W {
                values[c] = S::fma(sums[c], w[c], there[c]);
            }
        }
        store_lanes(out, width, values);
    }
}
