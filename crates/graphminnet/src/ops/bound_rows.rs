//! Row-wise bounds: the block's input norm, and L2 normalisation.
//!
//! With `r_u = sqrt(mean_k x_u[k]² + 10⁻⁶)`: `rms` is `x_u / r_u`, `ball` is `x_u / max(1, r_u)`.
//! `unit` is `x_u / max(‖x_u‖₂, 10⁻¹²)`.

pub use graphminnet_kernels::bound_rows::Bound as RowBound;

use super::engine::{self, Array, Kernel};
use burn::tensor::Tensor;
use graphminnet_kernels::bound_rows::{self as kernels, RMS_EPSILON, SMALLEST_NORM};

/// Bounds every row; shape `[rows, columns]` in and out.
pub fn bound_rows(x: Tensor<2>, bound: RowBound) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        return generic(x, bound);
    }
    engine::run(Fused { bound }, [x.into()])
}

/// Divides every row by its L2 norm (at least 10⁻¹²); shape `[rows, columns]` in and out.
pub fn l2_rows(x: Tensor<2>) -> Tensor<2> {
    bound_rows(x, RowBound::Unit)
}

fn generic(x: Tensor<2>, bound: RowBound) -> Tensor<2> {
    if x.dims()[0] == 0 {
        return x;
    }
    let squares = x.clone().powi_scalar(2);
    match bound {
        RowBound::Rms => x / (squares.mean_dim(1) + RMS_EPSILON).sqrt(),
        RowBound::Ball => x / (squares.mean_dim(1) + RMS_EPSILON).sqrt().clamp_min(1.0),
        // The square root's gradient is infinite at 0: a zero row is divided by a constant instead.
        RowBound::Unit => x / squares.sum_dim(1).clamp_min(SMALLEST_NORM * SMALLEST_NORM).sqrt(),
    }
}

/// The kernel; operand `x`.
#[derive(Debug, Clone)]
struct Fused {
    bound: RowBound,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernels_and_generic_bodies_agree() {
        for bound in [RowBound::Rms, RowBound::Ball, RowBound::Unit] {
            assert_same_bodies(
                &[[40, 3]],
                |t| bound_rows(t[0].clone(), bound),
                |t| generic(t[0].clone(), bound),
            );
        }
    }
}
