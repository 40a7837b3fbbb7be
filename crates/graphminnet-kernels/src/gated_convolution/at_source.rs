//! The part of the gated convolution's backward pass that goes by source: each node's gradient as a sum over its outgoing
//! edges, which are scattered over all edges.

use super::{AHEAD, GatedConvolution, PART_A, PART_B, PART_E, PARTS};
use crate::add::add_row;
use crate::dispatch::{Arithmetic, simd_fn};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::sigmoid;
use crate::parallel::prefetch;
use std::ops::Range;

simd_fn! {
    /// `dA_j = dx̂_j` and `dB_j = Σ_{j→i} q_i ⊙ σ(ê_ij)`; zeros without a gradient of x̂.
    pub(super) fn sum_open_gates<S>(
        convolution: &GatedConvolution<'_>,
        gate: &[f32],
        d_mixed: Option<&[f32]>,
        q: &[f32],
        nodes: Range<usize>,
        d_nodes: &mut [f32],
    ) {
        let GatedConvolution { edges, width, .. } = *convolution;
        for (node, row) in nodes.zip(d_nodes.chunks_exact_mut((PARTS * width).max(1))) {
            let [d_a, d_b] = [PART_A, PART_B].map(|part| part * width..(part + 1) * width);
            row[d_b.clone()].fill(0.0);
            let Some(d_mixed) = d_mixed else {
                row[d_a].fill(0.0);
                continue;
            };
            row[d_a].copy_from_slice(&d_mixed[node * width..][..width]);
            let sum = &mut row[d_b];
            let outgoing = outgoing(convolution, node);
            for (position, &edge) in outgoing.iter().enumerate() {
                if let Some(&next) = outgoing.get(position + AHEAD) {
                    let next = next as usize;
                    prefetch(&gate[next * width..][..width]);
                    prefetch(&q[edges.target[next] as usize * width..][..width]);
                }
                let (edge, target) = (edge as usize, edges.target[edge as usize] as usize);
                let (gate, q) = (&gate[edge * width..][..width], &q[target * width..][..width]);
                for_lanes::<S, _>(width, &mut AddOpen { sum, gate, q });
            }
        }
    }
}

/// Adds one edge to the gradient of its source's `B`.
struct AddOpen<'a> {
    sum: &'a mut [f32],
    gate: &'a [f32],
    q: &'a [f32],
}

impl Lanes for AddOpen<'_> {
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
    /// `dE_j = Σ_{j→i} dê_ij`.
    pub(super) fn sum_gradients<S>(
        convolution: &GatedConvolution<'_>,
        d_gate: &[f32],
        nodes: Range<usize>,
        d_nodes: &mut [f32],
    ) {
        let width = convolution.width;
        for (node, row) in nodes.zip(d_nodes.chunks_exact_mut((PARTS * width).max(1))) {
            let sum = &mut row[PART_E * width..][..width];
            sum.fill(0.0);
            let outgoing = outgoing(convolution, node);
            for (position, &edge) in outgoing.iter().enumerate() {
                if let Some(&next) = outgoing.get(position + AHEAD) {
                    prefetch(&d_gate[next as usize * width..][..width]);
                }
                add_row(sum, &d_gate[edge as usize * width..][..width]);
            }
        }
    }
}

/// Numbers of the edges that leave a node.
#[inline(always)]
fn outgoing<'a>(convolution: &GatedConvolution<'a>, node: usize) -> &'a [u32] {
    let edges = convolution.edges;
    &edges.outgoing_edges[edges.outgoing[node] as usize..edges.outgoing[node + 1] as usize]
}
