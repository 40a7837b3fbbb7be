//! Dropout whose mask is a pure function of a seed and the position of the value.
//!
//! `y = x / (1 − p)` where kept, 0 elsewhere. No generator state exists: the same seed gives the same mask on every
//! device and for every number of threads, and the gradient recomputes the mask instead of storing it.

pub use graphminnet_kernels::dropout::Dropout;

use burn::tensor::{Tensor, TensorData};
use graphminnet_kernels::dropout::dropout_mask;

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
        Some(dropout) => {
            let mask = mask(&tensor, dropout);
            tensor * mask
        }
    }
}
