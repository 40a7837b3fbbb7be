//! Gradients of the Laplacian positional encoding; formulas in the parent module.

use super::{GraphTerms, LapPe, NODES, form_hidden};
use crate::add::add_row;
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{Add, Left, Store, pack, pack_transposed, packed_len, product_body};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::dot;
use crate::parallel::{Disjoint, map_pieces};
use crate::scratch::Scratch;
use crate::segments::Piece;

/// Where [`lap_pe_backward`] writes gradients; those not wanted are not written.
#[derive(Default)]
pub struct LapPeGradients<'a> {
    /// `[H, 2]`
    pub w1: Option<&'a mut [f32]>,
    /// `[H]`
    pub b1: Option<&'a mut [f32]>,
    /// `[P, H]`
    pub w2: Option<&'a mut [f32]>,
    /// `[P]`
    pub b2: Option<&'a mut [f32]>,
    /// `[nodes, K]`
    pub eigvecs: Option<&'a mut [f32]>,
    /// `[graphs, K]`
    pub eigvals: Option<&'a mut [f32]>,
}

/// Sums of a part of the work.
struct Partial {
    /// `[dW₁[:,0] | dW₁[:,1] | db₁]`, `3 H` values.
    first: Scratch,
    /// `dW₂`
    w2: Scratch,
    /// `db₂`
    b2: Scratch,
    /// `dλ` of graphs, if wanted.
    eigvals: Vec<(usize, Vec<f32>)>,
}

/// Computes the wanted gradients from `d_out`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn lap_pe_backward(pe: LapPe<'_>, d_out: &[f32], gradients: LapPeGradients<'_>) {
    let nodes = pe.check();
    let (hidden, width, pairs) = (pe.hidden(), pe.width(), pe.num_pairs());
    assert_eq!(d_out.len(), nodes * width, "lap_pe_backward: length of d_out");
    let LapPeGradients { w1, b1, w2, b2, eigvecs, eigvals } = gradients;
    for (gradient, len) in [
        (&w1, 2 * hidden),
        (&b1, hidden),
        (&w2, width * hidden),
        (&b2, width),
        (&eigvecs, pe.eigvecs.len()),
        (&eigvals, pe.eigvals.len()),
    ] {
        assert!(gradient.as_ref().is_none_or(|g| g.len() == len), "lap_pe_backward: length of a gradient");
    }
    let mut packed = Scratch::new(packed_len(hidden, width));
    pack_transposed(pe.w2, hidden, width, &mut packed);
    let mut packed_back = Scratch::new(packed_len(width, hidden));
    pack(pe.w2, width, hidden, hidden, &mut packed_back);
    let weights = Weights {
        first: pe.w1_column(0),
        second: pe.w1_column(1),
        forward: &packed,
        back: &packed_back,
        wants_eigvals: eigvals.is_some(),
    };
    let eigvecs = eigvecs.map(Disjoint::new);
    let work = pe.pieces(nodes);
    // At most 64 sets of sums, in order.
    let partials = map_pieces(work.len(), work.len().div_ceil(64).max(1), |range| {
        let mut partial = Partial {
            first: Scratch::zeroed(3 * hidden),
            w2: Scratch::zeroed(width * hidden),
            b2: Scratch::zeroed(width),
            eigvals: Vec::new(),
        };
        for piece in &work[range] {
            // SAFETY: pieces are disjoint.
            let d_eigvecs = eigvecs.as_ref().map(|g| unsafe { g.rows(&piece.nodes, pairs) });
            backward_piece(&pe, piece, &weights, d_out, d_eigvecs, &mut partial);
        }
        partial
    });
    let mut first = Scratch::zeroed(3 * hidden);
    partials.iter().for_each(|partial| add_row(&mut first, &partial.first));
    if let Some(w1) = w1 {
        for (h, row) in w1.chunks_exact_mut(2).enumerate() {
            row[0] = first[h];
            row[1] = first[hidden + h];
        }
    }
    if let Some(b1) = b1 {
        b1.copy_from_slice(&first[2 * hidden..]);
    }
    if let Some(w2) = w2 {
        w2.fill(0.0);
        partials.iter().for_each(|partial| add_row(w2, &partial.w2));
    }
    if let Some(b2) = b2 {
        b2.fill(0.0);
        partials.iter().for_each(|partial| add_row(b2, &partial.b2));
    }
    if let Some(eigvals) = eigvals {
        eigvals.fill(0.0);
        for (graph, row) in partials.iter().flat_map(|partial| &partial.eigvals) {
            add_row(&mut eigvals[graph * pairs..(graph + 1) * pairs], row);
        }
    }
}

struct Weights<'a> {
    first: Vec<f32>,
    second: Vec<f32>,
    /// `W₂ᵀ` packed.
    forward: &'a [f32],
    /// `W₂` packed.
    back: &'a [f32],
    wants_eigvals: bool,
}

simd_fn! {
    fn backward_piece<S>(
        pe: &LapPe<'_>,
        piece: &Piece,
        weights: &Weights<'_>,
        d_out: &[f32],
        d_eigvecs: Option<&mut [f32]>,
        partial: &mut Partial,
    ) {
        let (hidden, width, count) = (pe.hidden(), pe.width(), pe.num_pairs());
        let mut d_eigvecs = d_eigvecs;
        if let Some(d_eigvecs) = &mut d_eigvecs {
            d_eigvecs.fill(0.0);
        }
        let terms = GraphTerms::new(pe, piece.graph);
        let pairs = terms.pairs.len();
        let mut values = Scratch::new(NODES * pairs * hidden);
        let mut packed_values = Scratch::new(packed_len(NODES * pairs, hidden));
        let mut before = Scratch::new(NODES * pairs * width);
        let mut d_values = Scratch::new(NODES * pairs * hidden);
        // Σ_u f per pair: gives db₁, dW₁[:,1] and dλ at the end.
        let mut d_offset = Scratch::zeroed(pairs * hidden);
        let mut entries = Scratch::new(pairs);
        for start in piece.nodes.clone().step_by(NODES) {
            let nodes = start..(start + NODES).min(piece.nodes.end);
            let rows = nodes.len() * pairs;
            form_hidden::<S>(pe, &terms, nodes.clone(), &weights.first, &mut values);
            let values = &values[..rows * hidden];
            let mut store = Store { out: &mut before, row_stride: width };
            product_body::<S, _>(rows, hidden, width, Left::row_major(values, hidden), weights.forward, &mut store);
            for (local, node) in nodes.clone().enumerate() {
                let before = &mut before[local * pairs * width..(local + 1) * pairs * width];
                let d_out = &d_out[node * width..(node + 1) * width];
                for_lanes::<S, _>(width, &mut KeepActive { before, d_out, b2: pe.b2, d_b2: &mut partial.b2 });
            }
            let d_before = &before[..rows * width];
            let packed_values = &mut packed_values[..packed_len(rows, hidden)];
            pack(values, rows, hidden, hidden, packed_values);
            let mut add = Add { out: &mut partial.w2, row_stride: hidden };
            let left = Left::transposed(d_before, width);
            product_body::<S, _>(width, rows, hidden, left, packed_values, &mut add);
            let mut store = Store { out: &mut d_values, row_stride: hidden };
            let left = Left::row_major(d_before, width);
            product_body::<S, _>(rows, width, hidden, left, weights.back, &mut store);
            for (local, node) in nodes.enumerate() {
                let eigvec = &pe.eigvecs[node * count..(node + 1) * count];
                for (entry, &pair) in entries.iter_mut().zip(&terms.pairs) {
                    *entry = pe.signs[pair] * eigvec[pair];
                }
                let at = local * pairs * hidden..(local + 1) * pairs * hidden;
                let mut gradient = HiddenGradient {
                    d_values: &mut d_values[at.clone()],
                    values: &values[at.clone()],
                    entries: &entries,
                    d_offset: &mut d_offset,
                    d_first: &mut partial.first[..hidden],
                };
                for_lanes::<S, _>(hidden, &mut gradient);
                if let Some(d_eigvecs) = &mut d_eigvecs {
                    for (d_value, &pair) in d_values[at].chunks_exact(hidden.max(1)).zip(&terms.pairs) {
                        let entry = (node - piece.nodes.start) * count + pair;
                        d_eigvecs[entry] = pe.signs[pair] * dot::<S>(d_value, &weights.first);
                    }
                }
            }
        }
        let mut d_eigvals = vec![0.0; if weights.wants_eigvals { count } else { 0 }];
        for (&pair, d_offset) in terms.pairs.iter().zip(d_offset.chunks_exact(hidden.max(1))) {
            let eigval = pe.eigvals[piece.graph * count + pair];
            let (d_second, d_b1) = partial.first[hidden..].split_at_mut(hidden);
            for h in 0..hidden {
                d_second[h] = S::fma(eigval, d_offset[h], d_second[h]);
                d_b1[h] += d_offset[h];
            }
            if weights.wants_eigvals {
                d_eigvals[pair] = dot::<S>(d_offset, &weights.second);
            }
        }
        if weights.wants_eigvals {
            partial.eigvals.push((piece.graph, d_eigvals));
        }
    }
}

/// Turns one node's values before the last ReLU, `[pairs, P]`, into their gradients; adds to db₂.
struct KeepActive<'a> {
    before: &'a mut [f32],
    d_out: &'a [f32],
    b2: &'a [f32],
    d_b2: &'a mut [f32],
}

impl Lanes for KeepActive<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let (d_out, b2) = (load_lanes::<W>(&self.d_out[at..], width), load_lanes::<W>(&self.b2[at..], width));
        let mut d_b2 = load_lanes::<W>(&self.d_b2[at..], width);
        for row in self.before.chunks_exact_mut(self.d_out.len()) {
            let mut gradient = load_lanes::<W>(&row[at..], width);
            for c in 0..W {
                gradient[c] = if gradient[c] + b2[c] > 0.0 { d_out[c] } else { 0.0 };
                d_b2[c] += gradient[c];
            }
            store_lanes(&mut row[at..], width, gradient);
        }
        store_lanes(&mut self.d_b2[at..], width, d_b2);
    }
}

/// Masks one node's dh, `[pairs, H]`, by the ReLU and adds it to the sums.
struct HiddenGradient<'a> {
    d_values: &'a mut [f32],
    values: &'a [f32],
    /// `sign·v` of the pairs.
    entries: &'a [f32],
    d_offset: &'a mut [f32],
    d_first: &'a mut [f32],
}

impl Lanes for HiddenGradient<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let hidden = self.d_first.len();
        let mut d_first = load_lanes::<W>(&self.d_first[at..], width);
        let rows = self.d_values.chunks_exact_mut(hidden).zip(self.values.chunks_exact(hidden));
        for (((d_value, value), d_offset), &entry) in
            rows.zip(self.d_offset.chunks_exact_mut(hidden)).zip(self.entries)
        {
            let mut gradient = load_lanes::<W>(&d_value[at..], width);
            let value = load_lanes::<W>(&value[at..], width);
            let mut total = load_lanes::<W>(&d_offset[at..], width);
            for c in 0..W {
                gradient[c] = if value[c] > 0.0 { gradient[c] } else { 0.0 };
                total[c] += gradient[c];
                d_first[c] = S::fma(gradient[c], entry, d_first[c]);
            }
            store_lanes(&mut d_value[at..], width, gradient);
            store_lanes(&mut d_offset[at..], width, total);
        }
        store_lanes(&mut self.d_first[at..], width, d_first);
    }
}
