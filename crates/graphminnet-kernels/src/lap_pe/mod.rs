//! Laplacian positional encoding: a small network applied to every (eigenvector entry, eigenvalue) pair of a node,
//! summed over the pairs that exist:
//! `out_u = Σ_{i: exist[g,i]} ReLU(W₂·ReLU(W₁·(sign_i·v_u[i], λ_g[i]) + b₁) + b₂)`.
//!
//! Shapes: `v [nodes, K]`, `λ` and `exist` (0 or 1) `[graphs, K]`, `sign [K]`, `W₁ [H, 2]`, `b₁ [H]`, `W₂ [P, H]`,
//! `b₂ [P]`, `out [nodes, P]`; graph `g` has the nodes `offsets[g]..offsets[g + 1]`.
//!
//! `W₁[:,1]·λ + b₁` is computed once per graph and pair. The hidden values of a few nodes (all their pairs) are formed
//! in the nearest cache and multiplied by `W₂` as one small matrix product; no nodes × K × H array exists.
//!
//! Gradient, with hidden values `h` and `e = d_out ⊙ [W₂·h + b₂ > 0]`, computed again in the same small blocks:
//! `dW₂ = Σ e·hᵀ`, `db₂ = Σ e`, `f = (W₂ᵀ·e) ⊙ [h > 0]`, `dW₁[:,0] = Σ f·sign·v`, `dW₁[:,1] = Σ f·λ`, `db₁ = Σ f`,
//! `dv = sign·f·W₁[:,0]`, `dλ = Σ_u f·W₁[:,1]`, sums over nodes and pairs.

mod backward;

pub use backward::{LapPeGradients, lap_pe_backward};

use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{Left, Store, pack_transposed, packed_len, product_body};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::relu;
use crate::parallel::Disjoint;
use crate::scratch::Scratch;
use crate::segments::{Piece, check_offsets, pieces};
use rayon::prelude::*;
use std::ops::Range;

/// Nodes whose pairs are worked on together.
const NODES: usize = 3;

/// Inputs and parameters of the encoding.
#[derive(Clone, Copy, Debug)]
pub struct LapPe<'a> {
    /// Graph `g` has the nodes `offsets[g]..offsets[g + 1]`.
    pub offsets: &'a [u32],
    /// `[nodes, K]`
    pub eigvecs: &'a [f32],
    /// `[graphs, K]`
    pub eigvals: &'a [f32],
    /// 1 where the pair exists, else 0: `[graphs, K]`
    pub exist: &'a [f32],
    /// `[K]`
    pub signs: &'a [f32],
    /// `[H, 2]`
    pub w1: &'a [f32],
    /// `[H]`
    pub b1: &'a [f32],
    /// `[P, H]`
    pub w2: &'a [f32],
    /// `[P]`
    pub b2: &'a [f32],
}

impl LapPe<'_> {
    fn num_pairs(&self) -> usize {
        self.signs.len()
    }

    fn hidden(&self) -> usize {
        self.b1.len()
    }

    fn width(&self) -> usize {
        self.b2.len()
    }

    fn check(&self) -> usize {
        let nodes = self.offsets.last().map_or(0, |&end| end as usize);
        let graphs = check_offsets("lap_pe", self.offsets, nodes);
        assert_eq!(self.eigvecs.len(), nodes * self.num_pairs(), "lap_pe: length of the eigenvectors");
        assert_eq!(self.eigvals.len(), graphs * self.num_pairs(), "lap_pe: length of the eigenvalues");
        assert_eq!(self.exist.len(), graphs * self.num_pairs(), "lap_pe: length of exist");
        assert_eq!(self.w1.len(), 2 * self.hidden(), "lap_pe: length of W1");
        assert_eq!(self.w2.len(), self.width() * self.hidden(), "lap_pe: length of W2");
        nodes
    }

    /// Parts of work: graphs, large ones cut.
    fn pieces(&self, nodes: usize) -> Vec<Piece> {
        pieces(self.offsets, nodes.div_ceil(256).max(96))
    }

    /// Column `column` of `W₁`.
    fn w1_column(&self, column: usize) -> Vec<f32> {
        self.w1.iter().skip(column).step_by(2).copied().collect()
    }
}

/// What depends on the graph only.
struct GraphTerms {
    /// Pairs that exist.
    pairs: Vec<usize>,
    /// `W₁[:,1]·λ + b₁` of those pairs, `[pairs, H]`.
    offset: Scratch,
}

impl GraphTerms {
    fn new(pe: &LapPe<'_>, graph: usize) -> Self {
        let (count, hidden) = (pe.num_pairs(), pe.hidden());
        let exist = &pe.exist[graph * count..(graph + 1) * count];
        let pairs: Vec<usize> = (0..count).filter(|&pair| exist[pair] != 0.0).collect();
        let mut offset = Scratch::new(pairs.len() * hidden);
        for (&pair, offset) in pairs.iter().zip(offset.chunks_exact_mut(hidden.max(1))) {
            let eigval = pe.eigvals[graph * count + pair];
            for (h, offset) in offset.iter_mut().enumerate() {
                *offset = pe.w1[2 * h + 1] * eigval + pe.b1[h];
            }
        }
        Self { pairs, offset }
    }
}

/// Computes `out [nodes, P]`. Backward needs the inputs.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn lap_pe(pe: LapPe<'_>, out: &mut [f32]) {
    let nodes = pe.check();
    let (hidden, width) = (pe.hidden(), pe.width());
    assert_eq!(out.len(), nodes * width, "lap_pe: length of the output");
    let mut packed = Scratch::new(packed_len(hidden, width));
    pack_transposed(pe.w2, hidden, width, &mut packed);
    let (packed, first) = (&packed[..], &pe.w1_column(0)[..]);
    let out = Disjoint::new(out);
    pe.pieces(nodes).into_par_iter().for_each(|piece| {
        // SAFETY: pieces are disjoint.
        let out = unsafe { out.rows(&piece.nodes, width) };
        forward_piece(&pe, &piece, first, packed, out);
    });
}

simd_fn! {
    fn forward_piece<S>(pe: &LapPe<'_>, piece: &Piece, first: &[f32], packed: &[f32], out: &mut [f32]) {
        let (hidden, width) = (pe.hidden(), pe.width());
        let terms = GraphTerms::new(pe, piece.graph);
        let pairs = terms.pairs.len();
        let mut values = Scratch::new(NODES * pairs * hidden);
        let mut before = Scratch::new(NODES * pairs * width);
        for start in piece.nodes.clone().step_by(NODES) {
            let nodes = start..(start + NODES).min(piece.nodes.end);
            let rows = nodes.len() * pairs;
            form_hidden::<S>(pe, &terms, nodes.clone(), first, &mut values);
            let mut store = Store { out: &mut before, row_stride: width };
            product_body::<S, _>(rows, hidden, width, Left::row_major(&values, hidden), packed, &mut store);
            for (local, node) in nodes.enumerate() {
                let out = &mut out[(node - piece.nodes.start) * width..][..width];
                let before = &before[local * pairs * width..(local + 1) * pairs * width];
                for_lanes::<S, _>(width, &mut SumActive { out, before, b2: pe.b2 });
            }
        }
    }
}

/// Hidden values of all pairs of some nodes, `[nodes · pairs, H]`.
#[inline(always)]
fn form_hidden<S: Arithmetic>(
    pe: &LapPe<'_>,
    terms: &GraphTerms,
    nodes: Range<usize>,
    first: &[f32],
    values: &mut [f32],
) {
    let size = terms.pairs.len() * first.len();
    for (node, values) in nodes.zip(values.chunks_exact_mut(size.max(1))) {
        let eigvec = &pe.eigvecs[node * pe.num_pairs()..][..pe.num_pairs()];
        for_lanes::<S, _>(first.len(), &mut FormHidden { values, eigvec, signs: pe.signs, terms, first });
    }
}

struct FormHidden<'a> {
    values: &'a mut [f32],
    eigvec: &'a [f32],
    signs: &'a [f32],
    terms: &'a GraphTerms,
    first: &'a [f32],
}

impl Lanes for FormHidden<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let hidden = self.first.len();
        let first = load_lanes::<W>(&self.first[at..], width);
        let rows = self.values.chunks_exact_mut(hidden).zip(self.terms.offset.chunks_exact(hidden));
        for ((row, offset), &pair) in rows.zip(&self.terms.pairs) {
            let entry = self.signs[pair] * self.eigvec[pair];
            let mut lanes = load_lanes::<W>(&offset[at..], width);
            for c in 0..W {
                lanes[c] = relu(S::fma(first[c], entry, lanes[c]));
            }
            store_lanes(&mut row[at..], width, lanes);
        }
    }
}

/// `out = Σ_rows ReLU(before + b2)`, rows `[pairs, P]` of one node.
struct SumActive<'a> {
    out: &'a mut [f32],
    before: &'a [f32],
    b2: &'a [f32],
}

impl Lanes for SumActive<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let b2 = load_lanes::<W>(&self.b2[at..], width);
        let mut sums = [0.0; W];
        for row in self.before.chunks_exact(self.b2.len()) {
            let row = load_lanes::<W>(&row[at..], width);
            for c in 0..W {
                sums[c] += relu(row[c] + b2[c]);
            }
        }
        store_lanes(&mut self.out[at..], width, sums);
    }
}
