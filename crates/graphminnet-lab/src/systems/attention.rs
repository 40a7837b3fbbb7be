//! What attention with unnormalised weights needs in several systems.

use burn::tensor::Tensor;

/// Added to sums of weights.
const EPSILON: f64 = 1e-6;

/// `y / (z + 10⁻⁶)` head by head, where `y` are the first `d` columns of `sums` and `z` the rest: `[rows, d]`.
pub(crate) fn weighted_mean(sums: Tensor<2>, d: usize, heads: usize) -> Tensor<2> {
    let [rows, _] = sums.dims();
    if rows == 0 {
        return sums.narrow(1, 0, d);
    }
    let y = sums.clone().narrow(1, 0, d).reshape([rows, heads, d / heads]);
    let z = sums.narrow(1, d, heads).reshape([rows, heads, 1]) + EPSILON;
    (y / z).reshape([rows, d])
}
