//! Output of the block: `out = σ(z) ⊙ h ⊙ s'`, where `s' = s`, or with the self term
//! `s'_u = β·s_u + (2 − β)·q_u`.
//!
//! Shapes: `zh [nodes, 2l] = [z | h]`, `s` and `out` `[nodes, l]`, `q [nodes]`, β a number.
//!
//! Gradient, with `g = d_out`, `o = σ(z)` and `t = g ⊙ o ⊙ h`: `dz = g ⊙ h ⊙ s' ⊙ o ⊙ (1 − o)`, `dh = g ⊙ o ⊙ s'`, and
//! `ds = β·t`, `dq_u = (2 − β)·Σ_k t_u[k]`, `dβ = Σ_{u,k} t_u[k]·(s_u[k] − q_u)` (without self term `ds = t`).

use crate::dispatch::{Arithmetic, simd_fn};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::sigmoid;
use crate::parallel::{Disjoint, for_each_piece, map_pieces, rows_of, rows_per_piece};
use std::ops::Range;

/// Emphasis of a node on itself.
#[derive(Clone, Copy, Debug)]
pub struct SelfTerm<'a> {
    /// `[nodes]`
    pub q: &'a [f32],
    /// Weight of the others' part, 0 to 2.
    pub beta: f32,
}

/// Computes `out`. Backward needs the inputs.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gate_product(width: usize, zh: &[f32], s: &[f32], self_term: Option<SelfTerm<'_>>, out: &mut [f32]) {
    let nodes = check(width, zh, s, self_term);
    assert_eq!(out.len(), s.len(), "gate_product: length of the output");
    let out = Disjoint::new(out);
    for_each_piece(nodes, rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { out.rows(&range, width) };
        forward_rows(width, rows_of(zh, &range, 2 * width), rows_of(s, &range, width), self_term, range, out);
    });
}

fn check(width: usize, zh: &[f32], s: &[f32], self_term: Option<SelfTerm<'_>>) -> usize {
    assert!(s.len().is_multiple_of(width.max(1)), "gate_product: length of s");
    assert_eq!(zh.len(), 2 * s.len(), "gate_product: length of zh");
    let nodes = s.len() / width.max(1);
    assert!(self_term.is_none_or(|term| term.q.len() == nodes), "gate_product: length of q");
    nodes
}

/// `(β, (2 − β)·q_u)` of a node.
#[inline(always)]
fn mixture(self_term: Option<SelfTerm<'_>>, node: usize) -> (f32, f32) {
    match self_term {
        Some(SelfTerm { q, beta }) => (beta, (2.0 - beta) * q[node]),
        None => (1.0, 0.0),
    }
}

simd_fn! {
    fn forward_rows<S>(
        width: usize,
        zh: &[f32],
        s: &[f32],
        self_term: Option<SelfTerm<'_>>,
        nodes: Range<usize>,
        out: &mut [f32],
    ) {
        let rows = zh.chunks_exact(2 * width.max(1)).zip(s.chunks_exact(width.max(1)));
        for (node, ((zh, s), out)) in nodes.zip(rows.zip(out.chunks_exact_mut(width.max(1)))) {
            let (z, h) = zh.split_at(width);
            for_lanes::<S, _>(width, &mut ForwardRow { z, h, s, mixture: mixture(self_term, node), out });
        }
    }
}

struct ForwardRow<'a> {
    z: &'a [f32],
    h: &'a [f32],
    s: &'a [f32],
    mixture: (f32, f32),
    out: &'a mut [f32],
}

impl Lanes for ForwardRow<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let (z, h) = (load_lanes::<W>(&self.z[at..], width), load_lanes::<W>(&self.h[at..], width));
        let (s, (beta, own)) = (load_lanes::<W>(&self.s[at..], width), self.mixture);
        let mut out = [0.0; W];
        for c in 0..W {
            out[c] = sigmoid::<S>(z[c]) * h[c] * S::fma(beta, s[c], own);
        }
        store_lanes(&mut self.out[at..], width, out);
    }
}

/// Where [`gate_product_backward`] writes gradients; those not wanted are not computed.
#[derive(Default)]
pub struct GateProductGradients<'a> {
    /// `[nodes, 2l]`
    pub zh: Option<&'a mut [f32]>,
    /// `[nodes, l]`
    pub s: Option<&'a mut [f32]>,
    /// `[nodes]`, only with a self term
    pub q: Option<&'a mut [f32]>,
    /// only with a self term
    pub beta: Option<&'a mut f32>,
}

/// Computes the wanted gradients from `d_out`.
///
/// # Panics
///
/// If a slice has another length than its shape says, or gradients of an absent self term are asked for.
pub fn gate_product_backward(
    width: usize,
    zh: &[f32],
    s: &[f32],
    self_term: Option<SelfTerm<'_>>,
    d_out: &[f32],
    gradients: GateProductGradients<'_>,
) {
    let nodes = check(width, zh, s, self_term);
    let GateProductGradients { zh: d_zh, s: d_s, q: d_q, beta: d_beta } = gradients;
    assert_eq!(d_out.len(), s.len(), "gate_product_backward: length of d_out");
    assert!(d_zh.as_ref().is_none_or(|g| g.len() == zh.len()), "gate_product_backward: length of d_zh");
    assert!(d_s.as_ref().is_none_or(|g| g.len() == s.len()), "gate_product_backward: length of ds");
    assert!(d_q.as_ref().is_none_or(|g| g.len() == nodes), "gate_product_backward: length of dq");
    assert!(
        self_term.is_some() || (d_q.is_none() && d_beta.is_none()),
        "gate_product_backward: there is no self term"
    );
    let (d_zh, d_s, d_q) = (d_zh.map(Disjoint::new), d_s.map(Disjoint::new), d_q.map(Disjoint::new));
    let partials = map_pieces(nodes, rows_per_piece(width), |range| {
        // SAFETY (of all): pieces are disjoint.
        let rows = Rows {
            zh: rows_of(zh, &range, 2 * width),
            s: rows_of(s, &range, width),
            d_out: rows_of(d_out, &range, width),
            d_zh: d_zh.as_ref().map(|g| unsafe { g.rows(&range, 2 * width) }),
            d_s: d_s.as_ref().map(|g| unsafe { g.rows(&range, width) }),
            d_q: d_q.as_ref().map(|g| unsafe { g.rows(&range, 1) }),
        };
        backward_rows(width, rows, self_term, range)
    });
    if let Some(d_beta) = d_beta {
        *d_beta = partials.iter().sum::<f64>() as f32;
    }
}

struct Rows<'a> {
    zh: &'a [f32],
    s: &'a [f32],
    d_out: &'a [f32],
    d_zh: Option<&'a mut [f32]>,
    d_s: Option<&'a mut [f32]>,
    d_q: Option<&'a mut [f32]>,
}

simd_fn! {
    /// Returns the rows' part of dβ.
    fn backward_rows<S>(width: usize, rows: Rows<'_>, self_term: Option<SelfTerm<'_>>, nodes: Range<usize>) -> f64 {
        let mut rows = rows;
        let mut d_beta = 0.0;
        if width == 0 {
            if let Some(d_q) = rows.d_q {
                d_q.fill(0.0);
            }
            return d_beta;
        }
        // `t` of a row, where its sums are needed.
        let mut through = vec![0.0; if self_term.is_some() { width } else { 0 }];
        for (row, node) in nodes.enumerate() {
            let at = row * width..(row + 1) * width;
            let (z, h) = rows.zh[2 * at.start..2 * at.end].split_at(width);
            let s = &rows.s[at.clone()];
            let mut backward = BackwardRow {
                z,
                h,
                s,
                d_out: &rows.d_out[at.clone()],
                mixture: mixture(self_term, node),
                d_zh: rows.d_zh.as_deref_mut().map(|d_zh| &mut d_zh[2 * at.start..2 * at.end]),
                d_s: rows.d_s.as_deref_mut().map(|d_s| &mut d_s[at.clone()]),
                through: &mut through,
            };
            for_lanes::<S, _>(width, &mut backward);
            if let Some(term) = self_term {
                let (total, product) = sum_and_dot::<S>(&through, s);
                if let Some(d_q) = &mut rows.d_q {
                    d_q[row] = (2.0 - term.beta) * total;
                }
                d_beta += f64::from(product) - f64::from(total) * f64::from(term.q[node]);
            }
        }
        d_beta
    }
}

struct BackwardRow<'a> {
    z: &'a [f32],
    h: &'a [f32],
    s: &'a [f32],
    d_out: &'a [f32],
    mixture: (f32, f32),
    d_zh: Option<&'a mut [f32]>,
    d_s: Option<&'a mut [f32]>,
    /// `t`, if as long as the row.
    through: &'a mut [f32],
}

impl Lanes for BackwardRow<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let (z, h) = (load_lanes::<W>(&self.z[at..], width), load_lanes::<W>(&self.h[at..], width));
        let (s, d_out) = (load_lanes::<W>(&self.s[at..], width), load_lanes::<W>(&self.d_out[at..], width));
        let (beta, own) = self.mixture;
        let (mut d_z, mut d_h, mut through, mut d_s) = ([0.0; W], [0.0; W], [0.0; W], [0.0; W]);
        for c in 0..W {
            let open = sigmoid::<S>(z[c]);
            let through_gate = d_out[c] * open;
            through[c] = through_gate * h[c];
            d_s[c] = beta * through[c];
            d_h[c] = through_gate * S::fma(beta, s[c], own);
            d_z[c] = d_h[c] * h[c] * (1.0 - open);
        }
        if let Some(d_zh) = &mut self.d_zh {
            let (to_z, to_h) = d_zh.split_at_mut(self.s.len());
            store_lanes(&mut to_z[at..], width, d_z);
            store_lanes(&mut to_h[at..], width, d_h);
        }
        if let Some(to_s) = &mut self.d_s {
            store_lanes(&mut to_s[at..], width, d_s);
        }
        if !self.through.is_empty() {
            store_lanes(&mut self.through[at..], width, through);
        }
    }
}

/// `(Σ a, Σ a·b)`.
#[inline(always)]
fn sum_and_dot<S: Arithmetic>(a: &[f32], b: &[f32]) -> (f32, f32) {
    (crate::math::sum(a), crate::math::dot::<S>(a, b))
}
