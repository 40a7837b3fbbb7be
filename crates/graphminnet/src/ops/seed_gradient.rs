//! Where a backward pass begins: a scalar whose gradient with respect to a tensor is a given one.
//!
//! Multiplying by the gradient and summing does the same, with two more tensors of the same size.

use super::engine::{self, Array, Kernel, Operand};
use burn::tensor::Tensor;

/// A scalar `r` with `∂r/∂output = gradient`, and the gradient of `rest` as well. Its value has no meaning.
///
/// Several tensors can have their gradients given at once: the scalar of one is the `rest` of the next.
///
/// # Shapes
///
/// * `output`, `gradient`: the same, any; `gradient` is not differentiated
/// * `rest`, result: `[1]`
pub(crate) fn seed_gradient<const D: usize>(
    rest: Option<Tensor<1>>,
    output: Tensor<D>,
    gradient: Tensor<D>,
) -> Tensor<1> {
    if !engine::on_cpu(&output.device()) {
        return generic(rest, output, gradient);
    }
    let kernel = Fused { has_rest: rest.is_some() };
    engine::run(kernel, [Operand::optional(rest), output.into(), gradient.into()])
}

/// The kernel; operands `rest`, `output`, `gradient`.
#[derive(Debug, Clone)]
struct Fused {
    has_rest: bool,
}

impl Kernel<3> for Fused {
    type Saved = Array;

    fn forward(&self, [_, _, gradient]: &[Array; 3], keep: bool) -> (Array, Option<Array>) {
        (Array::new(vec![0.0], [1]), keep.then(|| gradient.clone()))
    }

    fn backward(&self, given: Array, gradient: Array, wanted: [bool; 3]) -> [Option<Array>; 3] {
        let given = match gradient.values() {
            // The usual case: this is where the backward pass begins.
            [1.0] => given,
            factor => {
                let factor: f32 = factor.iter().sum();
                Array::new(given.values().iter().map(|value| value * factor).collect(), given.shape())
            }
        };
        [(wanted[0] && self.has_rest).then_some(gradient), wanted[1].then_some(given), None]
    }
}

fn generic<const D: usize>(rest: Option<Tensor<1>>, output: Tensor<D>, gradient: Tensor<D>) -> Tensor<1> {
    let gradient = match gradient.device().is_autodiff() {
        true => gradient.detach(),
        false => Tensor::from_inner(gradient),
    };
    let sum = (output * gradient).sum();
    match rest {
        None => sum,
        Some(rest) => rest + sum,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    type Body = fn(Option<Tensor<1>>, Tensor<2>, Tensor<2>) -> Tensor<1>;

    #[test]
    fn both_bodies_give_the_gradients_that_they_were_given() {
        let (plain, device) = (Device::flex(), Device::flex().autodiff());
        for body in [seed_gradient::<2> as Body, generic::<2>] {
            let first = Tensor::<2>::ones([2, 3], &device).require_grad();
            let second = Tensor::<2>::ones([2, 3], &device).require_grad();
            let gradient = |scale: f32| Tensor::<2>::ones([2, 3], &plain) * scale;
            let rest = body(None, first.clone() * 2.0, gradient(5.0));
            let gradients = (body(Some(rest), second.clone() * 3.0, gradient(7.0)) * 2.0).backward();
            let values =
                |leaf: &Tensor<2>| leaf.grad(&gradients).unwrap().into_data().try_to_vec::<f32>().unwrap();
            assert_eq!(values(&first), [20.0; 6]);
            assert_eq!(values(&second), [42.0; 6]);
        }
    }
}
