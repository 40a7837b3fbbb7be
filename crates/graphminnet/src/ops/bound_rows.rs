//! Row-wise bounds: the block's input norm, and L2 normalisation.
//!
//! With `r_u = sqrt(mean_k x_u[k]² + 10⁻⁶)`: `rms` is `x_u / r_u`, `ball` is `x_u / max(1, r_u)`.

use super::engine::{self, Array, Kernel};
use burn::tensor::Tensor;
use graphminnet_kernels::bound_rows::{self as kernels, Bound};

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
    if !engine::on_cpu(&x.device()) {
        return generic_bound(x, bound);
    }
    let bound = match bound {
        RowBound::Rms => Bound::Rms,
        RowBound::Ball => Bound::Ball,
    };
    engine::run(Fused { bound }, [x.into()])
}

fn generic_bound(x: Tensor<2>, bound: RowBound) -> Tensor<2> {
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
    if !engine::on_cpu(&x.device()) {
        return generic_l2(x);
    }
    engine::run(Fused { bound: Bound::Unit }, [x.into()])
}

fn generic_l2(x: Tensor<2>) -> Tensor<2> {
    if x.dims()[0] == 0 {
        return x;
    }
    // The square root's gradient is infinite at 0: a zero row is divided by a constant instead.
    let squares = x.clone().powi_scalar(2).sum_dim(1);
    let norm = squares.clamp_min(SMALLEST_NORM * SMALLEST_NORM).sqrt();
    x / norm
}

/// The kernel; operand `x`.
#[derive(Debug, Clone)]
struct Fused {
    bound: Bound,
}

impl Kernel<1> for Fused {
    type Saved = Array;

    fn forward(&self, [x]: &[Array; 1], keep: bool) -> (Array, Option<Array>) {
        let y = Array::written(x.shape(), |y| kernels::bound_rows(self.bound, x.dim(1), x.values(), y));
        (y, keep.then(|| x.clone()))
    }

    fn backward(&self, x: Array, gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let dx = Array::written(x.shape(), |dx| {
            kernels::bound_rows_backward(self.bound, x.dim(1), x.values(), gradient.values(), dx);
        });
        [Some(dx)]
    }
}
