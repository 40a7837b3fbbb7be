//! Gated mean over incoming edges: `x̂_i = A_i + (Σ_{j→i} σ(ê_ij) ⊙ B_j) / (Σ_{j→i} σ(ê_ij) + 1e-6)`.
//!
//! Shapes: gate before the sigmoid `ê [edges, l]`, node rows `ab [nodes, 2l] = [A | B]`, output `x̂ [nodes, l]`.
//! The forward pass also gives `r_i = 1 / (Σ_j σ(ê_ij) + 1e-6)`, `[nodes, l]`, for the backward pass.
//!
//! Gradient. With `m_i = x̂_i − A_i` (the gated mean) and `q_i = dx̂_i ⊙ r_i`:
//!
//! * `dA_i = dx̂_i`
//! * `dê_ij = q_i ⊙ (B_j − m_i) ⊙ σ(ê_ij) ⊙ (1 − σ(ê_ij))`
//! * `dB_j = Σ_{j→i} q_i ⊙ σ(ê_ij)`
//!
//! The sigmoid is computed again rather than stored. One pass goes by target, one by source; no atomics.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::edge_gate::AHEAD;
use crate::edges::Edges;
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::sigmoid;
use crate::parallel::{Disjoint, balanced_ranges, for_each_range, prefetch};
use crate::scratch::Scratch;
use std::ops::Range;

const EPSILON: f32 = 1e-6;

/// Whether a gradient replaces what is in its slice or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Replace.
    Overwrite,
    /// Add.
    Accumulate,
}

/// Computes `out` (x̂) and `inverse` (r). Backward needs `gate`, `ab`, `out` and `inverse`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gated_aggregate(
    edges: Edges<'_>,
    width: usize,
    gate: &[f32],
    ab: &[f32],
    out: &mut [f32],
    inverse: &mut [f32],
) {
    edges.check();
    let num_nodes = edges.num_nodes;
    assert_eq!(gate.len(), edges.num_edges() * width, "gated_aggregate: length of the gate");
    assert_eq!(ab.len(), num_nodes * 2 * width, "gated_aggregate: length of ab");
    assert_eq!(out.len(), num_nodes * width, "gated_aggregate: length of the output");
    assert_eq!(inverse.len(), num_nodes * width, "gated_aggregate: length of the inverse");
    let (out, inverse) = (Disjoint::new(out), Disjoint::new(inverse));
    for_each_range(balanced_ranges(edges.incoming, min_cost(width)), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let (out, inverse) = unsafe { (out.rows(&nodes, width), inverse.rows(&nodes, width)) };
        forward_nodes(edges, width, gate, ab, nodes, out, inverse);
    });
}

fn min_cost(width: usize) -> usize {
    1 + 8192 / width.max(1)
}

simd_fn! {
    fn forward_nodes<S>(
        edges: Edges<'_>,
        width: usize,
        gate: &[f32],
        ab: &[f32],
        nodes: Range<usize>,
        out: &mut [f32],
        inverse: &mut [f32],
    ) {
        if width == 0 {
            return;
        }
        let rows = out.chunks_exact_mut(width).zip(inverse.chunks_exact_mut(width));
        for (node, (numerator, denominator)) in nodes.zip(rows) {
            numerator.fill(0.0);
            denominator.fill(EPSILON);
            for edge in edges.incoming[node] as usize..edges.incoming[node + 1] as usize {
                if let Some(&next) = edges.source.get(edge + AHEAD) {
                    prefetch(&ab[(next as usize * 2 + 1) * width..][..width]);
                }
                let b = &ab[(edges.source[edge] as usize * 2 + 1) * width..][..width];
                let gate = &gate[edge * width..][..width];
                for_lanes::<S, _>(width, &mut AddEdge { numerator, denominator, gate, b });
            }
            divide::<S>(numerator, denominator, &ab[node * 2 * width..][..width]);
        }
    }
}

/// Adds one edge to a node's sums.
struct AddEdge<'a> {
    numerator: &'a mut [f32],
    denominator: &'a mut [f32],
    gate: &'a [f32],
    b: &'a [f32],
}

impl Lanes for AddEdge<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let mut numerator = load_lanes::<W>(&self.numerator[at..], width);
        let mut denominator = load_lanes::<W>(&self.denominator[at..], width);
        let (gate, b) = (load_lanes::<W>(&self.gate[at..], width), load_lanes::<W>(&self.b[at..], width));
        for c in 0..W {
            let open = sigmoid::<S>(gate[c]);
            numerator[c] = S::fma(open, b[c], numerator[c]);
            denominator[c] += open;
        }
        store_lanes(&mut self.numerator[at..], width, numerator);
        store_lanes(&mut self.denominator[at..], width, denominator);
    }
}

/// Turns numerator into `A + numerator / denominator` and denominator into its inverse.
#[inline(always)]
fn divide<S: Arithmetic>(numerator: &mut [f32], denominator: &mut [f32], a: &[f32]) {
    let width = numerator.len();
    let (denominator, a) = (&mut denominator[..width], &a[..width]);
    for c in 0..width {
        denominator[c] = 1.0 / denominator[c];
        numerator[c] = S::fma(numerator[c], denominator[c], a[c]);
    }
}

/// What [`gated_aggregate`] had and made, for its backward pass.
#[derive(Clone, Copy)]
pub struct GatedAggregateSaved<'a> {
    /// Gate before the sigmoid, `[edges, l]`.
    pub gate: &'a [f32],
    /// `[A | B]`, `[nodes, 2l]`.
    pub ab: &'a [f32],
    /// Output x̂, `[nodes, l]`.
    pub out: &'a [f32],
    /// Inverse of the denominator, `[nodes, l]`.
    pub inverse: &'a [f32],
}

/// Computes the gradients of the gate (`d_gate`, replaced or added to) and of `ab`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gated_aggregate_backward(
    edges: Edges<'_>,
    width: usize,
    saved: GatedAggregateSaved<'_>,
    d_out: &[f32],
    d_gate: Option<(&mut [f32], Write)>,
    d_ab: Option<&mut [f32]>,
) {
    edges.check();
    let (num_nodes, num_edges) = (edges.num_nodes, edges.num_edges());
    assert_eq!(saved.gate.len(), num_edges * width, "gated_aggregate_backward: length of the gate");
    assert_eq!(saved.ab.len(), num_nodes * 2 * width, "gated_aggregate_backward: length of ab");
    for (slice, name) in [(saved.out, "the output"), (saved.inverse, "the inverse"), (d_out, "d_out")] {
        assert_eq!(slice.len(), num_nodes * width, "gated_aggregate_backward: length of {name}");
    }
    if let Some((d_gate, write)) = d_gate {
        assert_eq!(d_gate.len(), num_edges * width, "gated_aggregate_backward: length of d_gate");
        let d_gate = Disjoint::new(d_gate);
        for_each_range(balanced_ranges(edges.incoming, min_cost(width)), |nodes| {
            let incoming = edges.incoming[nodes.start] as usize..edges.incoming[nodes.end] as usize;
            // SAFETY: edges are sorted by target, so ranges of nodes have disjoint ranges of edges.
            let d_gate = unsafe { d_gate.rows(&incoming, width) };
            by_target(edges, width, saved, d_out, nodes, d_gate, write);
        });
    }
    if let Some(d_ab) = d_ab {
        assert_eq!(d_ab.len(), num_nodes * 2 * width, "gated_aggregate_backward: length of d_ab");
        let mut q = Scratch::new(num_nodes * width);
        multiply(d_out, saved.inverse, &mut q);
        let (q, d_ab) = (&q[..], Disjoint::new(d_ab));
        for_each_range(balanced_ranges(edges.outgoing, min_cost(width)), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let d_ab = unsafe { d_ab.rows(&nodes, 2 * width) };
            by_source(edges, width, saved.gate, d_out, q, nodes, d_ab);
        });
    }
}

simd_fn! {
    fn by_target<S>(
        edges: Edges<'_>,
        width: usize,
        saved: GatedAggregateSaved<'_>,
        d_out: &[f32],
        nodes: Range<usize>,
        d_gate: &mut [f32],
        write: Write,
    ) {
        match write {
            Write::Overwrite => gate_gradients::<S, false>(edges, width, saved, d_out, nodes, d_gate),
            Write::Accumulate => gate_gradients::<S, true>(edges, width, saved, d_out, nodes, d_gate),
        }
    }
}

#[inline(always)]
fn gate_gradients<S: Arithmetic, const ACCUMULATE: bool>(
    edges: Edges<'_>,
    width: usize,
    saved: GatedAggregateSaved<'_>,
    d_out: &[f32],
    nodes: Range<usize>,
    d_gate: &mut [f32],
) {
    let first = edges.incoming[nodes.start] as usize;
    let mut at_node = Scratch::new(2 * width);
    let (q, mean) = at_node.split_at_mut(width);
    for node in nodes {
        let row = node * width..(node + 1) * width;
        let a = &saved.ab[node * 2 * width..][..width];
        node_terms(q, mean, &d_out[row.clone()], &saved.inverse[row.clone()], &saved.out[row], a);
        for edge in edges.incoming[node] as usize..edges.incoming[node + 1] as usize {
            if let Some(&next) = edges.source.get(edge + AHEAD) {
                prefetch(&saved.ab[(next as usize * 2 + 1) * width..][..width]);
            }
            let b = &saved.ab[(edges.source[edge] as usize * 2 + 1) * width..][..width];
            let gate = &saved.gate[edge * width..][..width];
            let d_gate = &mut d_gate[(edge - first) * width..][..width];
            for_lanes::<S, _>(width, &mut EdgeGradient::<ACCUMULATE> { d_gate, gate, q, mean, b });
        }
    }
}

#[inline(always)]
fn node_terms(q: &mut [f32], mean: &mut [f32], d_out: &[f32], inverse: &[f32], out: &[f32], a: &[f32]) {
    let width = q.len();
    let (mean, d_out, inverse) = (&mut mean[..width], &d_out[..width], &inverse[..width]);
    let (out, a) = (&out[..width], &a[..width]);
    for c in 0..width {
        q[c] = d_out[c] * inverse[c];
        mean[c] = out[c] - a[c];
    }
}

/// Gradient of one edge's gate.
struct EdgeGradient<'a, const ACCUMULATE: bool> {
    d_gate: &'a mut [f32],
    gate: &'a [f32],
    q: &'a [f32],
    mean: &'a [f32],
    b: &'a [f32],
}

impl<const ACCUMULATE: bool> Lanes for EdgeGradient<'_, ACCUMULATE> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let (gate, q) = (load_lanes::<W>(&self.gate[at..], width), load_lanes::<W>(&self.q[at..], width));
        let (mean, b) = (load_lanes::<W>(&self.mean[at..], width), load_lanes::<W>(&self.b[at..], width));
        let mut gradient = if ACCUMULATE { load_lanes::<W>(&self.d_gate[at..], width) } else { [0.0; W] };
        for c in 0..W {
            let open = sigmoid::<S>(gate[c]);
            gradient[c] += q[c] * (b[c] - mean[c]) * (open * (1.0 - open));
        }
        store_lanes(&mut self.d_gate[at..], width, gradient);
    }
}

simd_fn! {
    fn by_source<S>(
        edges: Edges<'_>,
        width: usize,
        gate: &[f32],
        d_out: &[f32],
        q: &[f32],
        nodes: Range<usize>,
        d_ab: &mut [f32],
    ) {
        if width == 0 {
            return;
        }
        for (node, row) in nodes.zip(d_ab.chunks_exact_mut(2 * width)) {
            let (d_a, d_b) = row.split_at_mut(width);
            d_a.copy_from_slice(&d_out[node * width..][..width]);
            d_b.fill(0.0);
            let outgoing = edges.outgoing[node] as usize..edges.outgoing[node + 1] as usize;
            let outgoing = &edges.outgoing_edges[outgoing];
            for (position, &edge) in outgoing.iter().enumerate() {
                if let Some(&next) = outgoing.get(position + AHEAD) {
                    let next = next as usize;
                    prefetch(&gate[next * width..][..width]);
                    prefetch(&q[edges.target[next] as usize * width..][..width]);
                }
                let (edge, target) = (edge as usize, edges.target[edge as usize] as usize);
                let (gate, q) = (&gate[edge * width..][..width], &q[target * width..][..width]);
                for_lanes::<S, _>(width, &mut AddGated { sum: d_b, gate, q });
            }
        }
    }
}

/// Adds one edge to the gradient of its source's `B`.
struct AddGated<'a> {
    sum: &'a mut [f32],
    gate: &'a [f32],
    q: &'a [f32],
}

impl Lanes for AddGated<'_> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let mut sum = load_lanes::<W>(&self.sum[at..], width);
        let (gate, q) = (load_lanes::<W>(&self.gate[at..], width), load_lanes::<W>(&self.q[at..], width));
        for c in 0..W {
            sum[c] = S::fma(sigmoid::<S>(gate[c]), q[c], sum[c]);
        }
        store_lanes(&mut self.sum[at..], width, sum);
    }
}

simd_fn! {
    fn multiply<S>(a: &[f32], b: &[f32], out: &mut [f32]) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for i in 0..out.len() {
            out[i] = a[i] * b[i];
        }
    }
}
