//! Gradients of the spectral product with respect to the rows of nodes, `dw` and `dp`; formulas in the parent module.

use super::SpectralInputs;
use super::backward::{GraphTerms, Pass, Sink};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{Epilogue, Left, PANEL, Place, load_lanes, packed_len, product_body, store_lanes};
use crate::math::dot;
use crate::scratch::Scratch;
use std::ops::Range;

/// Gradients of the rows of some nodes of one graph.
pub(super) struct RowGradients<'a> {
    pass: Pass<'a>,
    graph: usize,
    nodes: Range<usize>,
    dw: Option<&'a mut [f32]>,
    dp: Option<&'a mut [f32]>,
    q: Scratch,
}

impl<'a> RowGradients<'a> {
    /// Starts with zeros.
    ///
    /// # Safety
    ///
    /// No other borrow of the rows of `nodes` may be alive.
    pub(super) unsafe fn new(pass: &Pass<'a>, graph: usize, nodes: Range<usize>, sink: &Sink<'a>) -> Self {
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

    /// Adds what all eigenpairs contribute.
    pub(super) fn add_all(&mut self, terms: &GraphTerms) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.pass.inputs;
        let padded = hidden.div_ceil(PANEL) * PANEL;
        for pair in 0..eigenpairs {
            let dt = &terms.dt[pair * channels..(pair + 1) * channels];
            add_pair_to_rows(self, pair, &terms.code[pair * padded..][..hidden], dt);
        }
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
            let f = if width == PANEL { load_lanes::<PANEL>(f, PANEL) } else { load_lanes::<PANEL>(f, width) };
            for (k, line) in lines.chunks_exact_mut(PANEL).enumerate() {
                let b = &b[k * channels + column..];
                let mut lanes = if width == PANEL { load_lanes::<PANEL>(b, PANEL) } else { load_lanes(b, width) };
                for c in 0..PANEL {
                    lanes[c] *= f[c] * code[k];
                }
                line.copy_from_slice(&lanes);
            }
        }
        let left = Left::row_major(&rows.pass.ds[rows.nodes.start * hidden..rows.nodes.end * hidden], hidden);
        let (p, w) = (inputs.p_rows(&rows.nodes), inputs.w_rows(&rows.nodes));
        match (rows.dw.as_deref_mut(), rows.dp.as_deref_mut()) {
            (Some(dw), None) => {
                let mut contract = ContractToRows { pair, channels, eigenpairs, p, dt, dw };
                product_body::<S, _>(rows.nodes.len(), hidden, channels, left, &rows.q, &mut contract);
            }
            (dw, dp) => {
                let mut contract = Contract { pair, channels, eigenpairs, p, w, dt, dw, dp };
                product_body::<S, _>(rows.nodes.len(), hidden, channels, left, &rows.q, &mut contract);
            }
        }
    }
}

/// Contracts `d(p⊗w)_u[i,·] + dT_i` with `p_u[i]` to dw: all that training needs while eigenvectors are constants.
struct ContractToRows<'a> {
    pair: usize,
    channels: usize,
    eigenpairs: usize,
    p: &'a [f32],
    dt: &'a [f32],
    dw: &'a mut [f32],
}

impl Epilogue for ContractToRows<'_> {
    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let p = self.p[row * self.eigenpairs + self.pair];
        let dt = load_lanes::<W>(&self.dt[column..], width);
        let dw = &mut self.dw[row * self.channels + column..];
        let mut total = load_lanes::<W>(dw, width);
        for c in 0..W {
            total[c] = S::fma(p, sums[c] + dt[c], total[c]);
        }
        store_lanes(dw, width, total);
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
    const IN_REGISTERS: bool = false;

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
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
