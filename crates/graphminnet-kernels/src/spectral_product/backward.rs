//! Backward pass of the spectral product; formulas in the parent module.

use super::{DEPTH, LARGE, SpectralInputs};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{Add, Epilogue, Left, PANEL, load_lanes, packed_len, product_body, store_lanes};
use crate::math::{dot, dot3};
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
        sink.clear(&inputs);
        if let Some(b) = b {
            b.fill(0.0);
        }
        return;
    }
    let pass = Pass { inputs, ds };
    let is_large = |graph: usize| inputs.nodes(graph).len() > LARGE;
    let mut b_parts: Vec<Scratch> = balanced_ranges(inputs.offsets, 24)
        .into_par_iter()
        .map(|graphs| {
            let mut db = Scratch::zeroed(hidden * channels);
            graphs
                .filter(|&graph| !is_large(graph))
                .for_each(|graph| pass.small_graph(graph, &sink, &mut db));
            db
        })
        .collect();
    for graph in (0..inputs.num_graphs()).filter(|&graph| is_large(graph)) {
        b_parts.extend(pass.large_graph(graph, &sink));
    }
    if let Some(b) = b {
        b.fill(0.0);
        for part in &b_parts {
            b.iter_mut().zip(&part[..]).for_each(|(sum, value)| *sum += value);
        }
    }
}

/// Outputs written by many pieces of work.
struct Sink<'a> {
    w: Option<Disjoint<'a>>,
    p: Option<Disjoint<'a>>,
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

    /// Writes dF of one eigenpair.
    ///
    /// # Safety
    ///
    /// No other borrow of the same eigenpair may be alive.
    unsafe fn write_f(&self, inputs: &SpectralInputs<'_>, graph: usize, pair: usize, df: &[f32]) {
        if let Some(f) = &self.f {
            let start = (graph * inputs.eigenpairs + pair) * inputs.channels;
            // SAFETY: promised by the caller.
            unsafe { f.range(start..start + inputs.channels) }.copy_from_slice(df);
        }
    }
}

#[derive(Clone, Copy)]
struct Pass<'a> {
    inputs: SpectralInputs<'a>,
    ds: &'a [f32],
}

/// What is known of one eigenpair of one graph after its dQ: `ā`, `dF`, `dT`.
struct PairTerms {
    values: Scratch,
    channels: usize,
    hidden: usize,
}

impl PairTerms {
    fn new(inputs: &SpectralInputs<'_>) -> Self {
        let SpectralInputs { channels, hidden, .. } = *inputs;
        Self { values: Scratch::new(hidden + 2 * channels), channels, hidden }
    }

    fn code(&self) -> &[f32] {
        &self.values[..self.hidden]
    }

    fn df(&self) -> &[f32] {
        &self.values[self.hidden..self.hidden + self.channels]
    }

    fn dt(&self) -> &[f32] {
        &self.values[self.hidden + self.channels..]
    }
}

impl Pass<'_> {
    /// One graph, on this thread; dB is added to `db`.
    fn small_graph(&self, graph: usize, sink: &Sink<'_>, db: &mut [f32]) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut table = Scratch::new(eigenpairs * channels);
        self.inputs.table(graph, &mut table);
        let mut dq = Scratch::new(hidden * channels);
        let mut terms = PairTerms::new(&self.inputs);
        // SAFETY: each graph is worked on once.
        let mut rows = unsafe { RowGradients::new(self, graph, nodes.clone(), sink) };
        for pair in 0..eigenpairs {
            dq.fill(0.0);
            add_dq(*self, nodes.clone(), pair, &mut dq);
            through_pair(self.inputs, graph, pair, &table, &dq, db, &mut terms);
            // SAFETY: as above.
            unsafe { sink.write_f(&self.inputs, graph, pair, terms.df()) };
            if sink.wants_rows() {
                rows.add_pair(pair, terms.code(), terms.dt());
            }
        }
    }

    /// One large graph, by all threads; returns dB in parts.
    fn large_graph(&self, graph: usize, sink: &Sink<'_>) -> Vec<Scratch> {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut table = Scratch::new(eigenpairs * channels);
        self.inputs.table(graph, &mut table);
        let table = &table[..];
        // Few enough parts to keep the memory small, enough for many threads.
        let parts = nodes.len().div_ceil(32_768).clamp(1, 8);
        let part = nodes.len().div_ceil(parts).div_ceil(DEPTH) * DEPTH;
        let dq_parts: Vec<Scratch> = map_pieces(eigenpairs * parts, 1, |task| {
            let (pair, index) = (task.start / parts, task.start % parts);
            let start = (nodes.start + index * part).min(nodes.end);
            let mut dq = Scratch::zeroed(hidden * channels);
            add_dq(*self, start..(start + part).min(nodes.end), pair, &mut dq);
            dq
        });
        let pairs: Vec<(PairTerms, Scratch)> = map_pieces(eigenpairs, 1, |task| {
            let pair = task.start;
            let mut dq = Scratch::zeroed(hidden * channels);
            for part in &dq_parts[pair * parts..(pair + 1) * parts] {
                dq.iter_mut().zip(&part[..]).for_each(|(sum, value)| *sum += value);
            }
            let mut db = Scratch::zeroed(hidden * channels);
            let mut terms = PairTerms::new(&self.inputs);
            through_pair(self.inputs, graph, pair, table, &dq, &mut db, &mut terms);
            // SAFETY: each eigenpair is worked on once.
            unsafe { sink.write_f(&self.inputs, graph, pair, terms.df()) };
            (terms, db)
        });
        if sink.wants_rows() {
            for_each_piece(nodes.len(), DEPTH, |range| {
                let block = nodes.start + range.start..nodes.start + range.end;
                // SAFETY: pieces are disjoint.
                let mut rows = unsafe { RowGradients::new(self, graph, block, sink) };
                for (pair, (terms, _)) in pairs.iter().enumerate() {
                    rows.add_pair(pair, terms.code(), terms.dt());
                }
            });
        }
        pairs.into_iter().map(|(_, db)| db).collect()
    }
}

simd_fn! {
    /// `dQ[k,j] += Σ_u g_u[k]·p_u[i]·w_u[j]` for one eigenpair i, over the nodes given.
    fn add_dq<S>(pass: Pass<'_>, nodes: Range<usize>, pair: usize, dq: &mut [f32]) {
        let SpectralInputs { channels, eigenpairs, hidden, p, w, .. } = pass.inputs;
        let mut scaled = Scratch::new(packed_len(DEPTH.min(nodes.len()), channels));
        for start in nodes.clone().step_by(DEPTH) {
            let block = start..(start + DEPTH).min(nodes.end);
            // p_u[i]·w_u, packed.
            for (panel, lines) in scaled[..packed_len(block.len(), channels)]
                .chunks_exact_mut(PANEL * block.len())
                .enumerate()
            {
                let column = panel * PANEL;
                let width = PANEL.min(channels - column);
                for (node, line) in block.clone().zip(lines.chunks_exact_mut(PANEL)) {
                    let scale = p[node * eigenpairs + pair];
                    let w = &w[node * channels + column..][..width];
                    if width == PANEL {
                        for c in 0..PANEL {
                            line[c] = scale * w[c];
                        }
                    } else {
                        line[width..].fill(0.0);
                        for c in 0..width {
                            line[c] = scale * w[c];
                        }
                    }
                }
            }
            let left = Left::transposed(&pass.ds[block.start * hidden..block.end * hidden], hidden);
            let mut add = Add { out: dq, row_stride: channels };
            product_body::<S, _>(hidden, block.len(), channels, left, &scaled, &mut add);
        }
    }
}

simd_fn! {
    /// From dQ of one eigenpair to `ā`, dF and dT; adds dB.
    fn through_pair<S>(
        inputs: SpectralInputs<'_>,
        graph: usize,
        pair: usize,
        table: &[f32],
        dq: &[f32],
        db: &mut [f32],
        terms: &mut PairTerms,
    ) {
        let SpectralInputs { channels, hidden, b, .. } = inputs;
        let f = &inputs.f_of(graph)[pair * channels..(pair + 1) * channels];
        let t = &table[pair * channels..(pair + 1) * channels];
        let (code, gradients) = terms.values.split_at_mut(hidden);
        let (df, b_code) = gradients.split_at_mut(channels);
        df.fill(0.0);
        b_code.fill(0.0);
        for k in 0..hidden {
            let row = k * channels..(k + 1) * channels;
            let (b, dq) = (&b[row.clone()], &dq[row.clone()]);
            code[k] = dot3::<S>(b, f, t);
            let d_code = dot3::<S>(b, f, dq);
            pair_row::<S>(code[k], d_code, b, dq, f, t, &mut db[row], df, b_code);
        }
        // df holds Σ_k ā·B·dQ and b_code holds b̃ so far.
        for j in 0..channels {
            df[j] = S::fma(t[j], b_code[j], df[j]);
            b_code[j] *= f[j];
        }
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn pair_row<S: Arithmetic>(
    code: f32,
    d_code: f32,
    b: &[f32],
    dq: &[f32],
    f: &[f32],
    t: &[f32],
    db: &mut [f32],
    df: &mut [f32],
    b_code: &mut [f32],
) {
    let channels = b.len();
    let (dq, f, t) = (&dq[..channels], &f[..channels], &t[..channels]);
    let (db, df, b_code) = (&mut db[..channels], &mut df[..channels], &mut b_code[..channels]);
    for j in 0..channels {
        let scaled = code * dq[j];
        db[j] = S::fma(f[j], S::fma(t[j], d_code, scaled), db[j]);
        df[j] = S::fma(b[j], scaled, df[j]);
        b_code[j] = S::fma(b[j], d_code, b_code[j]);
    }
}

/// Gradients of the rows of some nodes of one graph.
struct RowGradients<'a> {
    pass: Pass<'a>,
    graph: usize,
    nodes: Range<usize>,
    dw: Option<&'a mut [f32]>,
    dp: Option<&'a mut [f32]>,
    q: Scratch,
}

impl<'a> RowGradients<'a> {
    /// # Safety
    ///
    /// No other borrow of the rows of `nodes` may be alive.
    unsafe fn new(pass: &Pass<'a>, graph: usize, nodes: Range<usize>, sink: &Sink<'a>) -> Self {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = pass.inputs;
        // SAFETY: promised by the caller.
        let mut dw = sink.w.as_ref().map(|w| unsafe { w.rows(&nodes, channels) });
        // SAFETY: promised by the caller.
        let mut dp = sink.p.as_ref().map(|p| unsafe { p.rows(&nodes, eigenpairs) });
        for gradient in [&mut dw, &mut dp].into_iter().flatten() {
            gradient.fill(0.0);
        }
        let q = Scratch::new(packed_len(hidden, channels));
        Self { pass: *pass, graph, nodes, dw, dp, q }
    }

    fn add_pair(&mut self, pair: usize, code: &[f32], dt: &[f32]) {
        add_pair_to_rows(self, pair, code, dt);
    }
}

simd_fn! {
    fn add_pair_to_rows<S>(rows: &mut RowGradients<'_>, pair: usize, code: &[f32], dt: &[f32]) {
        let inputs = rows.pass.inputs;
        let SpectralInputs { channels, eigenpairs, hidden, b, .. } = inputs;
        let f = &inputs.f_of(rows.graph)[pair * channels..(pair + 1) * channels];
        // Q of this eigenpair as the right operand [l, D].
        for (panel, lines) in rows.q.chunks_exact_mut((PANEL * hidden).max(1)).enumerate() {
            let column = panel * PANEL;
            let width = PANEL.min(channels - column);
            let f = &f[column..column + width];
            for (k, line) in lines.chunks_exact_mut(PANEL).enumerate() {
                let b = &b[k * channels + column..][..width];
                let code = code[k];
                if width == PANEL {
                    for c in 0..PANEL {
                        line[c] = b[c] * f[c] * code;
                    }
                } else {
                    line[width..].fill(0.0);
                    for c in 0..width {
                        line[c] = b[c] * f[c] * code;
                    }
                }
            }
        }
        let mut contract = Contract {
            pair,
            channels,
            eigenpairs,
            p: inputs.p_rows(&rows.nodes),
            w: inputs.w_rows(&rows.nodes),
            dt,
            dw: rows.dw.as_deref_mut(),
            dp: rows.dp.as_deref_mut(),
        };
        let left = Left::row_major(&rows.pass.ds[rows.nodes.start * hidden..rows.nodes.end * hidden], hidden);
        product_body::<S, _>(rows.nodes.len(), hidden, channels, left, &rows.q, &mut contract);
    }
}

/// Contracts `d(p⊗w)_u[i,·] + dT_i` with `p_u[i]` to dw and with `w_u` to dp.
struct Contract<'a> {
    pair: usize,
    channels: usize,
    eigenpairs: usize,
    p: &'a [f32],
    w: &'a [f32],
    dt: &'a [f32],
    dw: Option<&'a mut [f32]>,
    dp: Option<&'a mut [f32]>,
}

impl Epilogue for Contract<'_> {
    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(
        &mut self,
        row: usize,
        column: usize,
        width: usize,
        sums: [f32; W],
    ) {
        let start = row * self.channels + column;
        let entry = row * self.eigenpairs + self.pair;
        let dt = load_lanes::<W>(&self.dt[column..], width);
        let mut gradient = sums;
        for c in 0..W {
            gradient[c] += dt[c];
        }
        if let Some(dw) = &mut self.dw {
            let p = self.p[entry];
            let mut total = load_lanes::<W>(&dw[start..], width);
            for c in 0..W {
                total[c] = S::fma(p, gradient[c], total[c]);
            }
            store_lanes(&mut dw[start..], width, total);
        }
        if let Some(dp) = &mut self.dp {
            dp[entry] += dot::<S>(&gradient, &load_lanes::<W>(&self.w[start..], width));
        }
    }
}
