//! `SiLU(LayerNorm(x))` over rows, as the set encoder uses it.

use super::engine::{self, Array, Kernel, Slot};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::batch_norm::{NORM_EPSILON, NormGradients};
use graphminnet_kernels::layer_norm_silu as kernels;

/// `SiLU(γ·(x − mean(x)) / sqrt(var(x) + ε) + β)`, mean and biased variance over each row.
///
/// # Shapes
///
/// * `x`: `[rows, columns]`
/// * `scale`, `shift`: `[columns]`
/// * returns `[rows, columns]`
pub fn layer_norm_silu(x: Tensor<2>, scale: Tensor<1>, shift: Tensor<1>) -> Tensor<2> {
    if !engine::on_cpu(&x.device()) {
        return generic(x, scale, shift);
    }
    engine::run(Fused, [x.into(), scale.into(), shift.into()])
}

/// The kernel; operands `x`, `scale`, `shift`.
#[derive(Debug, Clone)]
struct Fused;

impl Kernel<3> for Fused {
    type Saved = [Array; 3];

    fn forward(&self, inputs: &[Array; 3], keep: bool) -> (Array, Option<Self::Saved>) {
        let [x, scale, shift] = inputs;
        let y = Array::written(x.shape(), |y| {
            kernels::layer_norm_silu(x.values(), scale.values(), shift.values(), y);
        });
        (y, keep.then(|| inputs.clone()))
    }

    fn backward(
        &self,
        [x, scale, shift]: Self::Saved,
        gradient: Array,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let mut dx = Slot::like(&x, wanted[0]);
        let mut d_scale = Slot::like(&scale, wanted[1]);
        let mut d_shift = Slot::like(&shift, wanted[2]);
        kernels::layer_norm_silu_backward(
            x.values(),
            scale.values(),
            shift.values(),
            gradient.values(),
            NormGradients { input: dx.as_mut(), gamma: d_scale.as_mut(), beta: d_shift.as_mut() },
        );
        [dx.into_array(), d_scale.into_array(), d_shift.into_array()]
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, vector};

    #[test]
    fn kernel_and_generic_body_agree() {
        assert_same_bodies(
            &[[11, 6], [1, 6], [1, 6]],
            |t| layer_norm_silu(t[0].clone(), vector(&t[1]), vector(&t[2])),
            |t| generic(t[0].clone(), vector(&t[1]), vector(&t[2])),
        );
    }
}
