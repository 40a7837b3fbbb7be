//! Dropout whose mask is a pure function of a seed and the position of the value.
//!
//! `y = x / (1 − p)` where kept, 0 elsewhere. No generator state exists: the same seed gives the same mask on every
//! device and for every number of threads, and the gradient recomputes the mask instead of storing it.

pub use graphminnet_kernels::dropout::Dropout;

use super::engine::{self, Array, Kernel};
use burn::tensor::{Tensor, TensorData};
use graphminnet_kernels::dropout::{self as kernels, dropout_mask};

/// The mask as a tensor of zeros and `1 / (1 − p)`.
pub(super) fn mask<const D: usize>(like: &Tensor<D>, dropout: Dropout) -> Tensor<D> {
    let shape = like.shape();
    let mut values = vec![0.0; shape.num_elements()];
    dropout_mask(dropout, &mut values);
    Tensor::from_data(TensorData::new(values, shape), &like.device())
}

/// Applies dropout; `None` is the identity.
pub fn dropout<const D: usize>(tensor: Tensor<D>, dropout: Option<Dropout>) -> Tensor<D> {
    match dropout {
        None => tensor,
        Some(dropout) if engine::on_cpu(&tensor.device()) => engine::run(Fused { dropout }, [tensor.into()]),
        Some(dropout) => {
            let mask = mask(&tensor, dropout);
            tensor * mask
        }
    }
}

/// The kernel; its gradient is the same mask.
#[derive(Debug, Clone)]
struct Fused {
    dropout: Dropout,
}

impl Fused {
    fn apply(&self, x: &Array) -> Array {
        Array::written(x.shape(), |out| kernels::dropout(self.dropout, x.values(), out))
    }
}

impl Kernel<1> for Fused {
    type Saved = ();

    fn forward(&self, [x]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        (self.apply(x), keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        [Some(self.apply(&gradient))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernel_and_mask_agree() {
        let rate = Dropout { probability: 0.4, seed: 11, first: 0 };
        assert_same_bodies(
            &[[20, 7]],
            |t| dropout(t[0].clone(), Some(rate)),
            |t| t[0].clone() * mask(&t[0], rate),
        );
    }
}
