//! Pooling of node rows per graph: sum, mean or maximum.
//!
//! Shapes: `x [nodes, width]`, graph `g` has the nodes `offsets[g]..offsets[g + 1]`, `y [graphs, width]`. An empty graph
//! gives 0.
//!
//! Gradient: `dx_u = dy_g` for the sum, divided by the graph's size for the mean; for the maximum, in every channel the
//! first node that has it receives `dy_g` and the others nothing.

use crate::add::add_row;
use crate::dispatch::simd_fn;
use crate::math::larger;
use crate::parallel::Disjoint;
use crate::segments::{check_offsets, pieces};
use rayon::prelude::*;

/// How the rows of the nodes of a graph are pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Sum.
    Sum,
    /// Mean.
    Mean,
    /// Maximum.
    Max,
}

/// Nodes per piece of work.
const PIECE: usize = 512;

/// Computes `y`. Backward needs, for the maximum only, `x` and `y`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn pool(pooling: Pooling, offsets: &[u32], width: usize, x: &[f32], y: &mut [f32]) {
    let graphs = check_offsets("pool", offsets, x.len() / width.max(1));
    assert_eq!(y.len(), graphs * width, "pool: length of y");
    if width == 0 {
        return;
    }
    let pieces = pieces(offsets, PIECE);
    // A piece that is a whole graph writes its row; the others hand in a partial result.
    let rows = Disjoint::new(y);
    let partials: Vec<Option<Vec<f32>>> = pieces
        .par_iter()
        .with_min_len(4)
        .map(|piece| {
            let x = &x[piece.nodes.start * width..piece.nodes.end * width];
            let size = (offsets[piece.graph + 1] - offsets[piece.graph]) as usize;
            if size == piece.nodes.len() {
                // SAFETY: no other piece has this graph.
                reduce(pooling == Pooling::Max, x, unsafe {
                    rows.range(piece.graph * width..(piece.graph + 1) * width)
                });
                return None;
            }
            let mut partial = vec![0.0; width];
            reduce(pooling == Pooling::Max, x, &mut partial);
            Some(partial)
        })
        .collect();
    let mut previous = usize::MAX;
    for (piece, partial) in pieces.iter().zip(partials) {
        if let Some(partial) = partial {
            let row = &mut y[piece.graph * width..(piece.graph + 1) * width];
            if previous != piece.graph {
                row.copy_from_slice(&partial);
            } else if pooling == Pooling::Max {
                keep_larger(row, &partial);
            } else {
                add_row(row, &partial);
            }
            previous = piece.graph;
        }
    }
    if pooling == Pooling::Mean {
        for (row, ends) in y.chunks_exact_mut(width).zip(offsets.windows(2)) {
            let size = (ends[1] - ends[0]).max(1) as f32;
            row.iter_mut().for_each(|value| *value /= size);
        }
    }
}

simd_fn! {
    fn reduce<S>(maximum: bool, x: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        let mut rows = x.chunks_exact(out.len());
        if let Some(first) = rows.next() {
            out.copy_from_slice(first);
        }
        for row in rows {
            if maximum {
                keep_larger(out, row);
            } else {
                add_row(out, row);
            }
        }
    }
}

#[inline(always)]
fn keep_larger(best: &mut [f32], row: &[f32]) {
    let row = &row[..best.len()];
    for c in 0..best.len() {
        best[c] = larger(best[c], row[c]);
    }
}

/// Computes `dx` from `dy`; `saved` is `(x, y)` of the forward pass, needed for the maximum.
///
/// # Panics
///
/// If a slice has another length than its shape says, or `saved` is missing for the maximum.
pub fn pool_backward(
    pooling: Pooling,
    offsets: &[u32],
    width: usize,
    saved: Option<(&[f32], &[f32])>,
    dy: &[f32],
    dx: &mut [f32],
) {
    let graphs = check_offsets("pool_backward", offsets, dx.len() / width.max(1));
    assert_eq!(dy.len(), graphs * width, "pool_backward: length of dy");
    if width == 0 {
        return;
    }
    let nodes = dx.len();
    let dx = Disjoint::new(dx);
    if pooling == Pooling::Max {
        let (x, y) = saved.expect("pool_backward: the maximum needs x and y");
        assert_eq!(x.len(), nodes, "pool_backward: length of x");
        assert_eq!(y.len(), dy.len(), "pool_backward: length of y");
        (0..graphs).into_par_iter().with_min_len(4).for_each(|graph| {
            let rows = offsets[graph] as usize..offsets[graph + 1] as usize;
            let row = graph * width..(graph + 1) * width;
            let x = &x[rows.start * width..rows.end * width];
            // SAFETY: graphs are disjoint.
            let dx = unsafe { dx.rows(&rows, width) };
            to_first_maximum(x, &y[row.clone()], &dy[row], dx);
        });
        return;
    }
    pieces(offsets, PIECE).into_par_iter().with_min_len(4).for_each(|piece| {
        let size = (offsets[piece.graph + 1] - offsets[piece.graph]).max(1) as f32;
        let dy = &dy[piece.graph * width..(piece.graph + 1) * width];
        // SAFETY: pieces are disjoint.
        for row in unsafe { dx.rows(&piece.nodes, width) }.chunks_exact_mut(width) {
            row.copy_from_slice(dy);
            if pooling == Pooling::Mean {
                row.iter_mut().for_each(|value| *value /= size);
            }
        }
    });
}

fn to_first_maximum(x: &[f32], y: &[f32], dy: &[f32], dx: &mut [f32]) {
    let width = y.len();
    let mut given = vec![false; width];
    for (x, dx) in x.chunks_exact(width).zip(dx.chunks_exact_mut(width)) {
        for c in 0..width {
            let first = !given[c] && x[c] == y[c];
            dx[c] = if first { dy[c] } else { 0.0 };
            given[c] |= first;
        }
    }
}
