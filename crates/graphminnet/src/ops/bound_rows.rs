//! Row-wise bounds: the block's input norm, and L2 normalisation.
//!
//! With `r_u = sqrt(mean_k x_u[k]² + 10⁻⁶)`: `rms` is `x_u / r_u`, `ball` is `x_u / max(1, r_u)`.

use burn::tensor::Tensor;

/// Keeps the root mean square of a zero row away from zero.
const RMS_EPSILON: f64 = 1e-6;

/// Smallest L2 norm that a row is divided by.
const SMALLEST_NORM: f64 = 1e-12;

/// How rows are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBound {
    /// Divide by the root mean square.
    Rms,
    /// Divide by the root mean square where it exceeds 1.
    Ball,
}

/// Bounds every row; shape `[rows, columns]` in and out.
pub fn bound_rows(x: Tensor<2>, bound: RowBound) -> Tensor<2> {
    if x.dims()[0] == 0 {
        return x;
    }
    let size = (x.clone().powi_scalar(2).mean_dim(1) + RMS_EPSILON).sqrt();
    match bound {
        RowBound::Rms => x / size,
        RowBound::Ball => x / size.clamp_min(1.0),
    }
}

/// Divides every row by its L2 norm (at least 10⁻¹²); shape `[rows, columns]` in and out.
pub fn l2_rows(x: Tensor<2>) -> Tensor<2> {
    if x.dims()[0] == 0 {
        return x;
    }
    // The square root's gradient is infinite at 0: a zero row is divided by a constant instead.
    let squares = x.clone().powi_scalar(2).sum_dim(1);
    let norm = squares.clamp_min(SMALLEST_NORM * SMALLEST_NORM).sqrt();
    x / norm
}
