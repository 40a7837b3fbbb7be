//! `SiLU(LayerNorm(x))` over rows, as the set encoder uses it.

use super::normalize::NORM_EPSILON;
use burn::tensor::{Tensor, activation};

/// `SiLU(γ·(x − mean(x)) / sqrt(var(x) + ε) + β)`, mean and biased variance over each row.
///
/// # Shapes
///
/// * `x`: `[rows, columns]`
/// * `scale`, `shift`: `[columns]`
/// * returns `[rows, columns]`
pub fn layer_norm_silu(x: Tensor<2>, scale: Tensor<1>, shift: Tensor<1>) -> Tensor<2> {
    generic(x, scale, shift)
}

fn generic(x: Tensor<2>, scale: Tensor<1>, shift: Tensor<1>) -> Tensor<2> {
    if x.dims()[0] == 0 {
        return x;
    }
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().powi_scalar(2).mean_dim(1);
    let normalised = centred / (variance + NORM_EPSILON).sqrt() * scale.unsqueeze() + shift.unsqueeze();
    activation::silu(normalised)
}
