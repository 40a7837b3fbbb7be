//! The same tensor, as if it had been computed by more operations than it was.

use super::engine::{self, Array, Kernel};
use burn::tensor::Tensor;

/// The same values and gradients, recorded `levels` operations further from the leaves.
///
/// The engine adds up the gradients of a tensor's readers in an order that depends on how far from the leaves each of
/// them is. A tensor in the middle of a model that becomes a leaf, so that a part of the model can be differentiated
/// alone, would have its gradients added in another order than in the whole; this puts it back in its place.
///
/// Only the CPU promises the same bits, so elsewhere nothing is done.
pub(crate) fn pad_tape_depth<const D: usize>(tensor: Tensor<D>, levels: usize) -> Tensor<D> {
    if !engine::on_cpu(&tensor.device()) {
        return tensor;
    }
    (0..levels).fold(tensor, |tensor, _| engine::run(Same, [tensor.into()]))
}

#[derive(Debug, Clone)]
struct Same;

impl Kernel<1> for Same {
    type Saved = ();

    fn forward(&self, [tensor]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        (tensor.clone(), keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, wanted: [bool; 1]) -> [Option<Array>; 1] {
        [wanted[0].then_some(gradient)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn values_and_gradients_pass_through() {
        let leaf = Tensor::<2>::ones([2, 3], &Device::flex().autodiff()).require_grad();
        let later = pad_tape_depth(leaf.clone() * 2.0, 3);
        let gradients = (later.clone() * 5.0).sum().backward();
        assert_eq!(later.into_data().try_to_vec::<f32>().unwrap(), [2.0; 6]);
        assert_eq!(leaf.grad(&gradients).unwrap().into_data().try_to_vec::<f32>().unwrap(), [10.0; 6]);
    }
}
