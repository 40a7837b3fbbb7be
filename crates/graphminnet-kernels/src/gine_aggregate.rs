//! Sum of the GINE convolution: `y_i = x_i + Σ_{j→i} ReLU(x_j + ε_ij)`.
//!
//! Shapes: nodes `x`, `y` are `[nodes, l]`, edge features `ε [edges, l]`.
//!
//! Gradient: `dε_ij = dy_i ⊙ [x_j + ε_ij > 0]` and `dx_j = dy_j + Σ_{j→i} dε_ij`.

use crate::dispatch::simd_fn;
use crate::edges::Edges;
use crate::math::relu;
use crate::parallel::{Disjoint, balanced_ranges, for_each_range};
use std::ops::Range;

/// Computes `y`. Backward needs `x` and `edge_features`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gine_aggregate(edges: Edges<'_>, width: usize, x: &[f32], edge_features: &[f32], y: &mut [f32]) {
    check(edges, width, x, edge_features);
    assert_eq!(y.len(), x.len(), "gine_aggregate: length of y");
    let y = Disjoint::new(y);
    for_each_range(balanced_ranges(edges.incoming, min_cost(width)), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let y = unsafe { y.rows(&nodes, width) };
        forward_nodes(edges, width, x, edge_features, nodes, y);
    });
}

fn check(edges: Edges<'_>, width: usize, x: &[f32], edge_features: &[f32]) {
    edges.check();
    assert_eq!(x.len(), edges.num_nodes * width, "gine_aggregate: length of x");
    assert_eq!(edge_features.len(), edges.num_edges() * width, "gine_aggregate: length of the edge features");
}

fn min_cost(width: usize) -> usize {
    1 + 16_384 / width.max(1)
}

simd_fn! {
    fn forward_nodes<S>(
        edges: Edges<'_>,
        width: usize,
        x: &[f32],
        edge_features: &[f32],
        nodes: Range<usize>,
        y: &mut [f32],
    ) {
        if width == 0 {
            return;
        }
        for (node, y) in nodes.zip(y.chunks_exact_mut(width)) {
            y.copy_from_slice(&x[node * width..][..width]);
            for edge in edges.incoming[node] as usize..edges.incoming[node + 1] as usize {
                let source = edges.source[edge] as usize;
                add_message(y, &x[source * width..][..width], &edge_features[edge * width..][..width]);
            }
        }
    }
}

#[inline(always)]
fn add_message(y: &mut [f32], x: &[f32], feature: &[f32]) {
    let (x, feature) = (&x[..y.len()], &feature[..y.len()]);
    for c in 0..y.len() {
        y[c] += relu(x[c] + feature[c]);
    }
}

/// Computes the wanted gradients from `dy`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gine_aggregate_backward(
    edges: Edges<'_>,
    width: usize,
    x: &[f32],
    edge_features: &[f32],
    dy: &[f32],
    dx: Option<&mut [f32]>,
    d_edge_features: Option<&mut [f32]>,
) {
    check(edges, width, x, edge_features);
    assert_eq!(dy.len(), x.len(), "gine_aggregate_backward: length of dy");
    if let Some(dx) = dx {
        assert_eq!(dx.len(), x.len(), "gine_aggregate_backward: length of dx");
        let dx = Disjoint::new(dx);
        for_each_range(balanced_ranges(edges.outgoing, min_cost(width)), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let dx = unsafe { dx.rows(&nodes, width) };
            by_source(edges, width, x, edge_features, dy, nodes, dx);
        });
    }
    if let Some(d_edge_features) = d_edge_features {
        assert_eq!(d_edge_features.len(), edge_features.len(), "gine_aggregate_backward: length of dε");
        let d_edge_features = Disjoint::new(d_edge_features);
        for_each_range(balanced_ranges(edges.incoming, min_cost(width)), |nodes| {
            let incoming = edges.incoming[nodes.start] as usize..edges.incoming[nodes.end] as usize;
            // SAFETY: edges are sorted by target, so ranges of nodes have disjoint ranges of edges.
            let out = unsafe { d_edge_features.rows(&incoming, width) };
            by_edge(edges, width, x, edge_features, dy, incoming, out);
        });
    }
}

simd_fn! {
    fn by_source<S>(
        edges: Edges<'_>,
        width: usize,
        x: &[f32],
        edge_features: &[f32],
        dy: &[f32],
        nodes: Range<usize>,
        dx: &mut [f32],
    ) {
        if width == 0 {
            return;
        }
        for (node, dx) in nodes.zip(dx.chunks_exact_mut(width)) {
            dx.copy_from_slice(&dy[node * width..][..width]);
            let x = &x[node * width..][..width];
            for &edge in &edges.outgoing_edges[edges.outgoing[node] as usize..edges.outgoing[node + 1] as usize] {
                let (edge, target) = (edge as usize, edges.target[edge as usize] as usize);
                add_active(dx, x, &edge_features[edge * width..][..width], &dy[target * width..][..width]);
            }
        }
    }
}

#[inline(always)]
fn add_active(dx: &mut [f32], x: &[f32], feature: &[f32], dy: &[f32]) {
    let (x, feature, dy) = (&x[..dx.len()], &feature[..dx.len()], &dy[..dx.len()]);
    for c in 0..dx.len() {
        dx[c] += if x[c] + feature[c] > 0.0 { dy[c] } else { 0.0 };
    }
}

simd_fn! {
    fn by_edge<S>(
        edges: Edges<'_>,
        width: usize,
        x: &[f32],
        edge_features: &[f32],
        dy: &[f32],
        range: Range<usize>,
        out: &mut [f32],
    ) {
        for (edge, out) in range.zip(out.chunks_exact_mut(width.max(1))) {
            out.fill(0.0);
            let (source, target) = (edges.source[edge] as usize, edges.target[edge] as usize);
            let feature = &edge_features[edge * width..][..width];
            add_active(out, &x[source * width..][..width], feature, &dy[target * width..][..width]);
        }
    }
}
