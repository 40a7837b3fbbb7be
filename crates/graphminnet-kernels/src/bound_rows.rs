//! Rescaling of rows to a bounded length: root mean square, ball, and Euclidean.
//!
//! `x` and `y` are `[rows, width]`; every row is divided by a number `N`:
//!
//! * [`Bound::Rms`]: `N = r` with `r = √(mean_k x[k]² + 1e-6)`,
//! * [`Bound::Ball`]: `N = max(1, r)`, the projection onto the ball of root mean square 1,
//! * [`Bound::Unit`]: `N = max(‖x‖₂, 1e-12)`.
//!
//! Gradient: where `N` depends on the row, `dx = (dy − y·(dy·y)/c) / N`, with `c = width` for the first two and 1 for
//! the last; else `dx = dy / N`.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::math::dot;
use crate::parallel::{Disjoint, for_each_piece, rows_of, rows_per_piece};

/// Keeps the root mean square of a zero row away from zero.
pub const RMS_EPSILON: f64 = 1e-6;

/// Smallest Euclidean norm that a row is divided by.
pub const SMALLEST_NORM: f64 = 1e-12;

/// What rows are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Their root mean square.
    Rms,
    /// Their root mean square if above 1.
    Ball,
    /// Their Euclidean norm.
    Unit,
}

/// Computes `y`. Backward needs `x`.
///
/// # Panics
///
/// If a slice is not made of rows of `width`, or lengths differ.
pub fn bound_rows(bound: Bound, width: usize, x: &[f32], y: &mut [f32]) {
    let rows = check(width, x, y.len());
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        forward_rows(bound, width, rows_of(x, &range, width), unsafe { y.rows(&range, width) });
    });
}

fn check(width: usize, x: &[f32], other: usize) -> usize {
    assert!(x.len().is_multiple_of(width.max(1)), "bound_rows: length of x");
    assert_eq!(x.len(), other, "bound_rows: slices differ in length");
    x.len() / width.max(1)
}

/// `1 / N`, and the factor 1/c of the gradient (0 where `N` is constant).
#[inline(always)]
fn inverse<S: Arithmetic>(bound: Bound, x: &[f32]) -> (f32, f32) {
    let square = dot::<S>(x, x);
    let width = x.len() as f32;
    let root = match bound {
        Bound::Rms | Bound::Ball => (square / width + RMS_EPSILON as f32).sqrt(),
        Bound::Unit => square.sqrt(),
    };
    // Squares of numbers beyond 1e19 are infinite in single precision, and their row would become 0.
    let root = if root == f32::INFINITY { wide_root(bound, x) } else { root };
    match bound {
        Bound::Rms => (1.0 / root, 1.0 / width),
        // Written so that NaN is not taken for a short row.
        Bound::Ball if root <= 1.0 => (1.0, 0.0),
        Bound::Ball => (1.0 / root, 1.0 / width),
        Bound::Unit if root <= SMALLEST_NORM as f32 => ((1.0 / SMALLEST_NORM) as f32, 0.0),
        Bound::Unit => (1.0 / root, 1.0),
    }
}

#[cold]
fn wide_root(bound: Bound, x: &[f32]) -> f32 {
    let square: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
    let count = if bound == Bound::Unit { 1.0 } else { x.len() as f64 };
    (square / count).sqrt() as f32
}

simd_fn! {
    fn forward_rows<S>(bound: Bound, width: usize, x: &[f32], y: &mut [f32]) {
        for (x, y) in x.chunks_exact(width.max(1)).zip(y.chunks_exact_mut(width.max(1))) {
            let (inverse, _) = inverse::<S>(bound, x);
            for (x, y) in x.iter().zip(y) {
                *y = x * inverse;
            }
        }
    }
}

/// Computes `dx` from `dy`.
///
/// # Panics
///
/// As [`bound_rows`].
pub fn bound_rows_backward(bound: Bound, width: usize, x: &[f32], dy: &[f32], dx: &mut [f32]) {
    let rows = check(width, x, dy.len());
    assert_eq!(dx.len(), x.len(), "bound_rows_backward: length of dx");
    let dx = Disjoint::new(dx);
    for_each_piece(rows, rows_per_piece(width), |range| {
        // SAFETY: pieces are disjoint.
        let dx = unsafe { dx.rows(&range, width) };
        backward_rows(bound, width, rows_of(x, &range, width), rows_of(dy, &range, width), dx);
    });
}

simd_fn! {
    fn backward_rows<S>(bound: Bound, width: usize, x: &[f32], dy: &[f32], dx: &mut [f32]) {
        let rows = x.chunks_exact(width.max(1)).zip(dy.chunks_exact(width.max(1)));
        for ((x, dy), dx) in rows.zip(dx.chunks_exact_mut(width.max(1))) {
            let (inverse, share) = inverse::<S>(bound, x);
            // y = x·inverse, so y·(dy·y)/c·inverse = x·inverse³·(dy·x)/c; the grouping avoids the cube of a small norm.
            let along = dot::<S>(dy, x) * inverse * share * inverse;
            for ((x, dy), dx) in x.iter().zip(dy).zip(dx) {
                *dx = inverse * S::fma(-along, *x, *dy);
            }
        }
    }
}
