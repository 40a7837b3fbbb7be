//! Self product of a node's spectral code: `q_u = Σ_i p_u[i]²·κ[g(u), i]`.
//!
//! Shapes: `p [nodes, M]`, `κ [graphs, M]`, `q [nodes]`; graph `g` has the nodes `offsets[g]..offsets[g + 1]`.
//!
//! Gradient: `dκ[g,i] = Σ_{u∈g} dq_u·p_u[i]²`, `dp_u[i] = 2·dq_u·p_u[i]·κ[g,i]`.

use crate::dispatch::simd_fn;
use crate::math::dot3;
use crate::parallel::Disjoint;
use crate::segments::{check_offsets, pieces};
use rayon::prelude::*;

/// Nodes per piece of work.
const PIECE: usize = 1024;

/// Computes `q`. Backward needs the inputs.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn weighted_squares(offsets: &[u32], eigenpairs: usize, p: &[f32], kappa: &[f32], q: &mut [f32]) {
    check(offsets, eigenpairs, p, kappa, q.len());
    let q = Disjoint::new(q);
    pieces(offsets, PIECE).into_par_iter().with_min_len(8).for_each(|piece| {
        let kappa = &kappa[piece.graph * eigenpairs..][..eigenpairs];
        let p = &p[piece.nodes.start * eigenpairs..piece.nodes.end * eigenpairs];
        // SAFETY: pieces are disjoint.
        forward_rows(eigenpairs, p, kappa, unsafe { q.range(piece.nodes) });
    });
}

fn check(offsets: &[u32], eigenpairs: usize, p: &[f32], kappa: &[f32], nodes: usize) {
    let graphs = check_offsets("weighted_squares", offsets, nodes);
    assert_eq!(p.len(), nodes * eigenpairs, "weighted_squares: length of p");
    assert_eq!(kappa.len(), graphs * eigenpairs, "weighted_squares: length of kappa");
}

simd_fn! {
    fn forward_rows<S>(eigenpairs: usize, p: &[f32], kappa: &[f32], q: &mut [f32]) {
        for (node, q) in q.iter_mut().enumerate() {
            let p = &p[node * eigenpairs..(node + 1) * eigenpairs];
            *q = dot3::<S>(p, p, kappa);
        }
    }
}

/// Computes the wanted gradients from `dq`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn weighted_squares_backward(
    offsets: &[u32],
    eigenpairs: usize,
    p: &[f32],
    kappa: &[f32],
    dq: &[f32],
    d_kappa: Option<&mut [f32]>,
    dp: Option<&mut [f32]>,
) {
    check(offsets, eigenpairs, p, kappa, dq.len());
    if let Some(dp) = dp {
        assert_eq!(dp.len(), p.len(), "weighted_squares_backward: length of dp");
        let dp = Disjoint::new(dp);
        pieces(offsets, PIECE).into_par_iter().with_min_len(8).for_each(|piece| {
            let kappa = &kappa[piece.graph * eigenpairs..][..eigenpairs];
            let p = &p[piece.nodes.start * eigenpairs..piece.nodes.end * eigenpairs];
            // SAFETY: pieces are disjoint.
            let dp = unsafe { dp.rows(&piece.nodes, eigenpairs) };
            gradient_rows(eigenpairs, p, kappa, &dq[piece.nodes], dp);
        });
    }
    if let Some(d_kappa) = d_kappa {
        assert_eq!(d_kappa.len(), kappa.len(), "weighted_squares_backward: length of d_kappa");
        let pieces = pieces(offsets, PIECE);
        let partials: Vec<Vec<f32>> = pieces
            .par_iter()
            .with_min_len(8)
            .map(|piece| {
                let p = &p[piece.nodes.start * eigenpairs..piece.nodes.end * eigenpairs];
                let mut sum = vec![0.0; eigenpairs];
                add_squares(p, &dq[piece.nodes.clone()], &mut sum);
                sum
            })
            .collect();
        d_kappa.fill(0.0);
        for (piece, partial) in pieces.iter().zip(partials) {
            for (sum, value) in d_kappa[piece.graph * eigenpairs..].iter_mut().zip(partial) {
                *sum += value;
            }
        }
    }
}

simd_fn! {
    fn gradient_rows<S>(eigenpairs: usize, p: &[f32], kappa: &[f32], dq: &[f32], dp: &mut [f32]) {
        let rows = p.chunks_exact(eigenpairs.max(1)).zip(dp.chunks_exact_mut(eigenpairs.max(1)));
        for ((p, dp), dq) in rows.zip(dq) {
            let kappa = &kappa[..p.len()];
            let dp = &mut dp[..p.len()];
            for i in 0..p.len() {
                dp[i] = 2.0 * dq * p[i] * kappa[i];
            }
        }
    }
}

simd_fn! {
    fn add_squares<S>(p: &[f32], dq: &[f32], sum: &mut [f32]) {
        for (p, &dq) in p.chunks_exact(sum.len().max(1)).zip(dq) {
            let p = &p[..sum.len()];
            for i in 0..sum.len() {
                sum[i] = S::fma(dq * p[i], p[i], sum[i]);
            }
        }
    }
}
