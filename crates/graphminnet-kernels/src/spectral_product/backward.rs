//! Backward pass of the spectral product; formulas in the parent module.

use super::forward::{Order, sum_code};
use super::pairs_backward::{PairSums, pack_squares_by_pair, through_squares};
use super::row_gradients::RowGradients;
use super::{DEPTH, LARGE, SpectralInputs};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{
    Add, Left, PANEL, Store, load_lanes, pack, pack_transposed, packed_len, product, product_body,
    store_lanes,
};
use crate::linear::add_weight_gradient;
use crate::math::sum;
use crate::others::join_sums;
use crate::parallel::{Disjoint, balanced_ranges, for_each_piece, map_pieces};
use crate::scratch::Scratch;
use rayon::prelude::*;
use std::ops::Range;

/// Where [`spectral_product_backward`] writes gradients; those not wanted are not computed.
#[derive(Default)]
pub struct SpectralGradients<'a> {
    /// `[nodes, D]`
    pub w: Option<&'a mut [f32]>,
    /// `[nodes, M]`
    pub p: Option<&'a mut [f32]>,
    /// `[graphs, M, D]`
    pub f: Option<&'a mut [f32]>,
    /// `[l, D]`
    pub b: Option<&'a mut [f32]>,
}

/// Computes the wanted gradients from `ds [nodes, l]`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn spectral_product_backward(inputs: SpectralInputs<'_>, ds: &[f32], gradients: SpectralGradients<'_>) {
    spectral_product_backward_with(inputs, Order::Cheapest, ds, gradients);
}

/// As [`spectral_product_backward`], with a choice of the order (results differ by rounding only). Where dp is wanted,
/// which training does without, the order is always that through `Q`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn spectral_product_backward_with(
    inputs: SpectralInputs<'_>,
    order: Order,
    ds: &[f32],
    gradients: SpectralGradients<'_>,
) {
    inputs.check();
    let SpectralInputs { channels, eigenpairs, hidden, .. } = inputs;
    assert_eq!(ds.len(), inputs.num_nodes() * hidden, "spectral product: length of ds");
    let SpectralGradients { w, p, f, b } = gradients;
    assert!(w.as_ref().is_none_or(|g| g.len() == inputs.w.len()), "spectral product: length of dw");
    assert!(p.as_ref().is_none_or(|g| g.len() == inputs.p.len()), "spectral product: length of dp");
    assert!(f.as_ref().is_none_or(|g| g.len() == inputs.f.len()), "spectral product: length of dF");
    assert!(b.as_ref().is_none_or(|g| g.len() == inputs.b.len()), "spectral product: length of dB");
    let mut sink = Sink { w: w.map(Disjoint::new), p: p.map(Disjoint::new), f: f.map(Disjoint::new) };
    if channels == 0 || eigenpairs == 0 || inputs.num_nodes() == 0 {
        // The others wait for what the nodes here add, be it nothing.
        if let (Some(others), true) = (inputs.others, channels * eigenpairs > 0) {
            join_sums(others.holders, &mut vec![0.0; channels * eigenpairs]);
        }
        sink.clear(&inputs);
        if let Some(b) = b {
            b.fill(0.0);
        }
        return;
    }
    let mut packed_b_transposed = Scratch::new(packed_len(channels, hidden));
    pack_transposed(inputs.b, channels, hidden, &mut packed_b_transposed);
    let mut packed_b = Scratch::new(packed_len(hidden, channels));
    pack(inputs.b, hidden, channels, channels, &mut packed_b);
    let pass = Pass { inputs, ds, packed_b_transposed: &packed_b_transposed, packed_b: &packed_b };
    // What others have to be asked for is asked for on this thread, where large graphs begin.
    let is_large = |graph: usize| inputs.others.is_some() || inputs.nodes(graph).len() > LARGE;
    let squares = (sink.p.is_none() && order.takes_pairs(&inputs)).then(|| pack_squares_by_pair(&inputs));
    let mut b_parts: Vec<Scratch> = balanced_ranges(inputs.offsets, 24)
        .into_par_iter()
        .map(|graphs| {
            let mut db = Scratch::zeroed(hidden * channels);
            let mut small = graphs.filter(|&graph| !is_large(graph)).peekable();
            match &squares {
                Some(squares) if small.peek().is_some() => {
                    let mut sums = PairSums::zeroed(&inputs);
                    small.for_each(|graph| pass.small_graph_through_pairs(graph, squares, &sink, &mut sums));
                    through_squares(&inputs, &sums.squares, &mut db);
                }
                _ => small.for_each(|graph| pass.small_graph(graph, &sink, &mut db)),
            }
            db
        })
        .collect();
    for graph in (0..inputs.num_graphs()).filter(|&graph| is_large(graph)) {
        match &squares {
            Some(squares) => b_parts.push(pass.large_graph_through_pairs(graph, squares, &sink)),
            None => b_parts.extend(pass.large_graph(graph, &sink)),
        }
    }
    if let Some(b) = b {
        b.fill(0.0);
        for part in &b_parts {
            b.iter_mut().zip(&part[..]).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Outputs written by many pieces of work.
pub(super) struct Sink<'a> {
    pub w: Option<Disjoint<'a>>,
    pub p: Option<Disjoint<'a>>,
    f: Option<Disjoint<'a>>,
}

impl Sink<'_> {
    fn clear(&mut self, inputs: &SpectralInputs<'_>) {
        let outputs = [(&self.w, inputs.w.len()), (&self.p, inputs.p.len()), (&self.f, inputs.f.len())];
        for (output, len) in outputs {
            if let Some(output) = output {
                // SAFETY: no other borrow is alive.
                unsafe { output.range(0..len) }.fill(0.0);
            }
        }
    }

    fn wants_rows(&self) -> bool {
        self.w.is_some() || self.p.is_some()
    }

    /// Writes dF of one graph.
    ///
    /// # Safety
    ///
    /// No other borrow of the same graph may be alive.
    pub(super) unsafe fn write_f(&self, inputs: &SpectralInputs<'_>, graph: usize, df: &[f32]) {
        if let Some(f) = &self.f {
            let size = inputs.eigenpairs * inputs.channels;
            // SAFETY: promised by the caller.
            unsafe { f.range(graph * size..(graph + 1) * size) }.copy_from_slice(df);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    pub inputs: SpectralInputs<'a>,
    pub ds: &'a [f32],
    /// `Bᵀ` as a right operand `[D, l]`.
    packed_b_transposed: &'a [f32],
    /// `B` as a right operand `[l, D]`.
    packed_b: &'a [f32],
}

/// What the gradients of one graph's nodes need, eigenpair by eigenpair.
pub(super) struct GraphTerms {
    /// `T`, `[M, D]`
    table: Scratch,
    /// `ā`, `[M, padded l]`
    pub code: Scratch,
    /// `dā`, `[M, l]`
    d_code: Scratch,
    /// `dF`, `[M, D]`
    df: Scratch,
    /// `dT`, `[M, D]`
    pub dt: Scratch,
}

impl GraphTerms {
    fn new(pass: &Pass<'_>, graph: usize) -> Self {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = pass.inputs;
        let size = eigenpairs * channels;
        let mut table = Scratch::new(size);
        pass.inputs.table(graph, &mut table);
        let code = sum_code(&pass.inputs, pass.inputs.f_of(graph), &table, pass.packed_b_transposed);
        let (df, dt) = (Scratch::new(size), Scratch::new(size));
        Self { table, code, d_code: Scratch::new(eigenpairs * hidden), df, dt }
    }
}

impl Pass<'_> {
    /// One graph, on this thread; dB is added to `db`.
    fn small_graph(&self, graph: usize, sink: &Sink<'_>, db: &mut [f32]) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut terms = GraphTerms::new(self, graph);
        let padded = hidden.div_ceil(PANEL) * PANEL;
        let mut dq = Scratch::new(hidden * channels);
        for pair in 0..eigenpairs {
            sum_dq(*self, nodes.clone(), pair, &mut dq);
            let at = pair * channels..(pair + 1) * channels;
            let f = &self.inputs.f_of(graph)[at.clone()];
            let code = &terms.code[pair * padded..][..hidden];
            let d_code = &mut terms.d_code[pair * hidden..(pair + 1) * hidden];
            through_q(self.inputs.b, f, code, &dq, d_code, &mut terms.df[at], db);
        }
        self.through_code(graph, &mut terms, db);
        // SAFETY: each graph is worked on once.
        unsafe { sink.write_f(&self.inputs, graph, &terms.df) };
        if sink.wants_rows() {
            // SAFETY: as above.
            unsafe { RowGradients::new(self, graph, nodes, sink) }.add_all(&terms);
        }
    }

    /// One large graph, by all threads; returns dB in parts.
    fn large_graph(&self, graph: usize, sink: &Sink<'_>) -> Vec<Scratch> {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut terms = GraphTerms::new(self, graph);
        let padded = hidden.div_ceil(PANEL) * PANEL;
        // Few enough parts to keep the memory small, enough for many threads.
        let parts = nodes.len().div_ceil(32_768).clamp(1, 8);
        let part = nodes.len().div_ceil(parts).div_ceil(DEPTH) * DEPTH;
        let dq_parts: Vec<Scratch> = map_pieces(eigenpairs * parts, 1, |task| {
            let (pair, index) = (task.start / parts, task.start % parts);
            let start = (nodes.start + index * part).min(nodes.end);
            let mut dq = Scratch::new(hidden * channels);
            sum_dq(*self, start..(start + part).min(nodes.end), pair, &mut dq);
            dq
        });
        let (d_code, df) = (Disjoint::new(&mut terms.d_code), Disjoint::new(&mut terms.df));
        let code = &terms.code;
        let mut db_parts: Vec<Scratch> = map_pieces(eigenpairs, 1, |task| {
            let pair = task.start;
            let mut dq = Scratch::zeroed(hidden * channels);
            for part in &dq_parts[pair * parts..(pair + 1) * parts] {
                dq.iter_mut().zip(&part[..]).for_each(|(sum, value)| *sum += value);
            }
            let mut db = Scratch::zeroed(hidden * channels);
            let f = &self.inputs.f_of(graph)[pair * channels..(pair + 1) * channels];
            // SAFETY: each eigenpair is worked on once.
            let (d_code, df) = unsafe { (d_code.rows(&task, hidden), df.rows(&task, channels)) };
            through_q(self.inputs.b, f, &code[pair * padded..][..hidden], &dq, d_code, df, &mut db);
            db
        });
        self.through_code(graph, &mut terms, &mut db_parts[0]);
        // SAFETY: each graph is worked on once.
        unsafe { sink.write_f(&self.inputs, graph, &terms.df) };
        if sink.wants_rows() {
            for_each_piece(nodes.len(), DEPTH, |range| {
                let block = nodes.start + range.start..nodes.start + range.end;
                // SAFETY: pieces are disjoint.
                unsafe { RowGradients::new(self, graph, block, sink) }.add_all(&terms);
            });
        }
        db_parts
    }

    /// From dā of all eigenpairs to dT, and what goes through `ā` to dF and dB.
    fn through_code(&self, graph: usize, terms: &mut GraphTerms, db: &mut [f32]) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let f = self.inputs.f_of(graph);
        // b̃, which becomes dT.
        let dt = &mut terms.dt[..];
        let left = Left::row_major(&terms.d_code, hidden);
        product(
            eigenpairs,
            hidden,
            channels,
            left,
            self.packed_b,
            &mut Store { out: dt, row_stride: channels },
        );
        let mut scaled = Scratch::new(eigenpairs * channels);
        for i in 0..eigenpairs * channels {
            let (table, back) = (terms.table[i], dt[i]);
            scaled[i] = f[i] * table;
            terms.df[i] += table * back;
            dt[i] = f[i] * back;
        }
        let mut packed = Scratch::new(packed_len(eigenpairs, channels));
        add_weight_gradient(eigenpairs, hidden, channels, &terms.d_code, &scaled, &mut packed, db);
        if let Some(others) = self.inputs.others {
            join_sums(others.holders, &mut terms.dt);
        }
    }
}

simd_fn! {
    /// `dQ[k,j] = Σ_u g_u[k]·p_u[i]·w_u[j]` for one eigenpair i, over the nodes given.
    fn sum_dq<S>(pass: Pass<'_>, nodes: Range<usize>, pair: usize, dq: &mut [f32]) {
        let SpectralInputs { channels, hidden, .. } = pass.inputs;
        if nodes.is_empty() {
            dq.fill(0.0);
        }
        let mut scaled = Scratch::new(packed_len(DEPTH.min(nodes.len()), channels));
        for start in nodes.clone().step_by(DEPTH) {
            let block = start..(start + DEPTH).min(nodes.end);
            form_scaled(&pass.inputs, &block, pair, &mut scaled);
            let left = Left::transposed(&pass.ds[block.start * hidden..block.end * hidden], hidden);
            if start == nodes.start {
                let mut store = Store { out: dq, row_stride: channels };
                product_body::<S, _>(hidden, block.len(), channels, left, &scaled, &mut store);
            } else {
                let mut add = Add { out: dq, row_stride: channels };
                product_body::<S, _>(hidden, block.len(), channels, left, &scaled, &mut add);
            }
        }
    }
}

/// `p_u[i]·w_u` of some nodes, packed as a right operand `[nodes, D]`.
#[inline(always)]
fn form_scaled(inputs: &SpectralInputs<'_>, nodes: &Range<usize>, pair: usize, scaled: &mut [f32]) {
    let SpectralInputs { channels, eigenpairs, p, w, .. } = *inputs;
    let panels = scaled[..packed_len(nodes.len(), channels)].chunks_exact_mut(PANEL * nodes.len());
    for (panel, lines) in panels.enumerate() {
        let column = panel * PANEL;
        let width = PANEL.min(channels - column);
        for (node, line) in nodes.clone().zip(lines.chunks_exact_mut(PANEL)) {
            let scale = p[node * eigenpairs + pair];
            let mut lanes = if width == PANEL {
                load_lanes::<PANEL>(&w[node * channels + column..], PANEL)
            } else {
                load_lanes::<PANEL>(&w[node * channels + column..], width)
            };
            for lane in &mut lanes {
                *lane *= scale;
            }
            line.copy_from_slice(&lanes);
        }
    }
}

simd_fn! {
    /// From dQ of one eigenpair to dā, and what goes through `Q` to dF (written) and dB (added).
    fn through_q<S>(
        b: &[f32],
        f: &[f32],
        code: &[f32],
        dq: &[f32],
        d_code: &mut [f32],
        df: &mut [f32],
        db: &mut [f32],
    ) {
        let channels = f.len();
        df.fill(0.0);
        let rows = b.chunks_exact(channels).zip(dq.chunks_exact(channels)).zip(db.chunks_exact_mut(channels));
        for (((b, dq), db), (code, d_code)) in rows.zip(code.iter().zip(d_code)) {
            *d_code = pair_row::<S>(*code, b, dq, f, db, df);
        }
    }
}

/// One row k of [`through_q`]; returns dā[k].
#[inline(always)]
fn pair_row<S: Arithmetic>(
    code: f32,
    b: &[f32],
    dq: &[f32],
    f: &[f32],
    db: &mut [f32],
    df: &mut [f32],
) -> f32 {
    let channels = b.len();
    let mut sums = [0.0; PANEL];
    for start in (0..channels).step_by(PANEL) {
        let at = start..(start + PANEL).min(channels);
        let (b, dq, f) = (&b[at.clone()], &dq[at.clone()], &f[at.clone()]);
        let (db, df) = (&mut db[at.clone()], &mut df[at]);
        // A branch of its own, so that the usual case is compiled for the full width.
        if b.len() == PANEL {
            pair_lanes::<S>(PANEL, code, b, dq, f, db, df, &mut sums);
        } else {
            pair_lanes::<S>(b.len(), code, b, dq, f, db, df, &mut sums);
        }
    }
    sum(&sums)
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn pair_lanes<S: Arithmetic>(
    width: usize,
    code: f32,
    b: &[f32],
    dq: &[f32],
    f: &[f32],
    db: &mut [f32],
    df: &mut [f32],
    sums: &mut [f32; PANEL],
) {
    let (dq, f) = (load_lanes::<PANEL>(dq, width), load_lanes::<PANEL>(f, width));
    let (mut db_lanes, mut df_lanes) = (load_lanes::<PANEL>(db, width), load_lanes::<PANEL>(df, width));
    let mut products = load_lanes::<PANEL>(b, width);
    for c in 0..PANEL {
        products[c] *= dq[c];
        sums[c] = S::fma(f[c], products[c], sums[c]);
        df_lanes[c] = S::fma(code, products[c], df_lanes[c]);
        db_lanes[c] = S::fma(f[c], code * dq[c], db_lanes[c]);
    }
    store_lanes(db, width, db_lanes);
    store_lanes(df, width, df_lanes);
}
