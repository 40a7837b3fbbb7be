//! Gate of the gated graph convolution before the sigmoid:
//! `ê[e] = C·ε[e] + c + D[target(e)] + E[source(e)]`.
//!
//! Shapes: edge features `ε [edges, l]`, weight `C [l, l]`, bias `c [l]`, node rows `de [nodes, 2l] = [D | E]`
//! (two linear maps of the node features, computed as one), gate `ê [edges, l]`.
//!
//! Gradient: `dε = dê·C`, `dC = dêᵀ·ε`, `dc = Σ_e dê` as for any linear layer, and per node
//! `dD[i] = Σ_{e → i} dê[e]`, `dE[j] = Σ_{j → e} dê[e]`.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::edges::Edges;
use crate::gemm::{
    Epilogue, Left, Place, load_lanes, pack_transposed, packed_len, prefetch_rows, product,
    rows_per_product_piece, store_lanes,
};
use crate::linear::{Activation, LinearGradients, LinearShape, linear_backward};
use crate::parallel::{Disjoint, balanced_ranges, for_each_piece, for_each_range, prefetch, rows_of};
use crate::scratch::Scratch;
use std::ops::Range;

/// Computes the gate. Backward needs `edge_features` and `weight`.
///
/// # Panics
///
/// If a slice has another length than its shape says, or an edge names a node that does not exist.
pub fn edge_gate(
    edges: Edges<'_>,
    width: usize,
    edge_features: &[f32],
    weight: &[f32],
    bias: &[f32],
    de: &[f32],
    gate: &mut [f32],
) {
    edges.check();
    let num_edges = edges.num_edges();
    assert_eq!(edge_features.len(), num_edges * width, "edge_gate: length of the edge features");
    assert_eq!(weight.len(), width * width, "edge_gate: length of the weight");
    assert_eq!(bias.len(), width, "edge_gate: length of the bias");
    assert_eq!(de.len(), edges.num_nodes * 2 * width, "edge_gate: length of de");
    assert_eq!(gate.len(), num_edges * width, "edge_gate: length of the gate");
    let mut packed = Scratch::new(packed_len(width, width));
    pack_transposed(weight, width, width, &mut packed);
    let packed = &packed[..];
    let gate = Disjoint::new(gate);
    for_each_piece(num_edges, rows_per_product_piece(width, width), |range| {
        let left = Left::row_major(rows_of(edge_features, &range, width), width);
        let mut store = StoreGate {
            // SAFETY: pieces are disjoint.
            gate: unsafe { gate.rows(&range, width) },
            bias,
            de,
            source: &edges.source[range.clone()],
            target: &edges.target[range.clone()],
        };
        product(range.len(), width, width, left, packed, &mut store);
    });
}

struct StoreGate<'a> {
    gate: &'a mut [f32],
    bias: &'a [f32],
    de: &'a [f32],
    source: &'a [u32],
    target: &'a [u32],
}

impl Epilogue for StoreGate<'_> {
    #[inline(always)]
    fn prepare(&self, rows: Range<usize>, column: usize) {
        let stride = self.bias.len();
        prefetch_rows(self.gate, stride, rows.clone(), column);
        for (&target, &source) in self.target[rows.clone()].iter().zip(&self.source[rows]) {
            prefetch(&self.de[target as usize * 2 * stride + column..][..1]);
            prefetch(&self.de[(source as usize * 2 + 1) * stride + column..][..1]);
        }
    }

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let stride = self.bias.len();
        let bias = load_lanes::<W>(&self.bias[column..], width);
        let d = load_lanes::<W>(&self.de[self.target[row] as usize * 2 * stride + column..], width);
        let e = load_lanes::<W>(&self.de[(self.source[row] as usize * 2 + 1) * stride + column..], width);
        let mut values = sums;
        for c in 0..W {
            values[c] += bias[c] + d[c] + e[c];
        }
        store_lanes(&mut self.gate[row * stride + column..], width, values);
    }
}

/// Where [`edge_gate_backward`] writes gradients; those not wanted are not computed.
#[derive(Default)]
pub struct EdgeGateGradients<'a> {
    /// `[edges, l]`
    pub edge_features: Option<&'a mut [f32]>,
    /// Whether the gradient of the edge features is added to what is there instead of written over it.
    pub add_to_edge_features: bool,
    /// `[l, l]`
    pub weight: Option<&'a mut [f32]>,
    /// `[l]`
    pub bias: Option<&'a mut [f32]>,
    /// `[nodes, 2l]`
    pub de: Option<&'a mut [f32]>,
}

/// Computes the wanted gradients from `d_gate`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn edge_gate_backward(
    edges: Edges<'_>,
    width: usize,
    edge_features: &[f32],
    weight: &[f32],
    d_gate: &[f32],
    gradients: EdgeGateGradients<'_>,
) {
    edges.check();
    let EdgeGateGradients { edge_features: input, add_to_edge_features, weight: d_weight, bias, de } =
        gradients;
    if input.is_some() || d_weight.is_some() || bias.is_some() {
        let shape = LinearShape { rows: edges.num_edges(), inputs: width, outputs: width };
        let gradients = LinearGradients { input, add_to_input: add_to_edge_features, weight: d_weight, bias };
        linear_backward(shape, edge_features, weight, Activation::None, None, d_gate, gradients);
    }
    if let Some(de) = de {
        assert_eq!(de.len(), edges.num_nodes * 2 * width, "edge_gate_backward: length of d_de");
        assert_eq!(d_gate.len(), edges.num_edges() * width, "edge_gate_backward: length of d_gate");
        let de = Disjoint::new(de);
        for_each_range(balanced_ranges(edges.incoming, 1 + 16_384 / width.max(1)), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            sum_at_nodes(edges, width, d_gate, nodes.clone(), unsafe { de.rows(&nodes, 2 * width) });
        });
    }
}

/// Edges between asking for a row and reading it.
pub(crate) const AHEAD: usize = 3;

simd_fn! {
    fn sum_at_nodes<S>(edges: Edges<'_>, width: usize, d_gate: &[f32], nodes: Range<usize>, de: &mut [f32]) {
        if width == 0 {
            return;
        }
        for (node, row) in nodes.zip(de.chunks_exact_mut(2 * width)) {
            row.fill(0.0);
            let (d, e) = row.split_at_mut(width);
            for edge in edges.incoming[node] as usize..edges.incoming[node + 1] as usize {
                add_row(d, &d_gate[edge * width..][..width]);
            }
            let outgoing = edges.outgoing[node] as usize..edges.outgoing[node + 1] as usize;
            let outgoing = &edges.outgoing_edges[outgoing];
            for (position, &edge) in outgoing.iter().enumerate() {
                if let Some(&next) = outgoing.get(position + AHEAD) {
                    prefetch(&d_gate[next as usize * width..][..width]);
                }
                add_row(e, &d_gate[edge as usize * width..][..width]);
            }
        }
    }
}

#[inline(always)]
pub(crate) fn add_row(sum: &mut [f32], row: &[f32]) {
    let row = &row[..sum.len()];
    for c in 0..sum.len() {
        sum[c] += row[c];
    }
}
