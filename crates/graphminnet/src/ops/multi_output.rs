//! Operations with several outputs.
//!
//! The engine's tape records operations with one output. Here an operation with several is recorded as a **root**,
//! whose output has no values, and one **branch** per output that follows from it. In the backward pass a branch leaves
//! its gradient with the root, and the root, which comes after all branches, computes the gradients of the operands
//! from all of them at once.

use super::engine::{self, Array, Kernel, Operand};
use burn::tensor::Tensor;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A differentiable operation with `N` inputs and `M` outputs, computed by a CPU kernel.
pub(super) trait MultiOutputKernel<const N: usize, const M: usize>:
    Clone + Debug + Send + 'static
{
    /// What the gradients need from the forward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// Computes the outputs, and what the gradients will need if `keep`. An input nobody else reads may be overwritten.
    fn forward(&self, inputs: [Array; N], keep: bool) -> ([Array; M], Option<Self::Saved>);

    /// The gradients of those inputs that are `wanted`, given the gradients of the outputs that have one.
    fn backward(
        &self,
        saved: Self::Saved,
        gradients: [Option<Array>; M],
        wanted: [bool; N],
    ) -> [Option<Array>; N];
}

/// Runs a kernel on the operands and records it for differentiation where one of them is tracked.
///
/// # Panics
///
/// As [`engine::run`].
pub(super) fn run<K: MultiOutputKernel<N, M>, const N: usize, const M: usize, const D: usize>(
    kernel: K,
    operands: [Operand; N],
) -> [Tensor<D>; M] {
    let operands = match engine::untracked(operands) {
        Ok(inputs) => return kernel.forward(inputs, false).0.map(Array::into_untracked),
        Err(operands) => operands,
    };
    let exchange = Exchange::default();
    let root: Tensor<1> = engine::run(Root { kernel, exchange: exchange.clone() }, operands);
    std::array::from_fn(|output| {
        engine::run(Branch { output, exchange: exchange.clone() }, [root.clone().into()])
    })
}

/// What root and branches hand to each other: values in the forward pass, gradients in the backward pass.
#[derive(Debug, Clone)]
struct Exchange<const M: usize>(Arc<Mutex<[Option<Array>; M]>>);

impl<const M: usize> Default for Exchange<M> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new([const { None }; M])))
    }
}

impl<const M: usize> Exchange<M> {
    fn arrays(&self) -> MutexGuard<'_, [Option<Array>; M]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of the root, and its gradient.
fn nothing() -> Array {
    Array::new(Vec::new(), [0])
}

#[derive(Debug, Clone)]
struct Root<K, const M: usize> {
    kernel: K,
    exchange: Exchange<M>,
}

impl<K: MultiOutputKernel<N, M>, const N: usize, const M: usize> Kernel<N> for Root<K, M> {
    type Saved = K::Saved;

    fn forward(&self, inputs: &[Array; N], keep: bool) -> (Array, Option<Self::Saved>) {
        let (outputs, saved) = self.kernel.forward(inputs.clone(), keep);
        *self.exchange.arrays() = outputs.map(Some);
        (nothing(), saved)
    }

    fn backward(&self, saved: Self::Saved, _: Array, wanted: [bool; N]) -> [Option<Array>; N] {
        let gradients = self.exchange.arrays().each_mut().map(Option::take);
        self.kernel.backward(saved, gradients, wanted)
    }
}

#[derive(Debug, Clone)]
struct Branch<const M: usize> {
    output: usize,
    exchange: Exchange<M>,
}

impl<const M: usize> Kernel<1> for Branch<M> {
    type Saved = ();

    fn forward(&self, _: &[Array; 1], _: bool) -> (Array, Option<()>) {
        let output = self.exchange.arrays()[self.output].take();
        (output.unwrap_or_else(|| unreachable!("the root has left all outputs")), Some(()))
    }

    fn backward(&self, (): (), gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        self.exchange.arrays()[self.output] = Some(gradient);
        [Some(nothing())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    /// `(x·y, x + y)`, value by value.
    #[derive(Debug, Clone)]
    struct ProductAndSum;

    fn combine(a: &Array, b: &Array, f: impl Fn(f32, f32) -> f32) -> Array {
        let values = a.values().iter().zip(b.values()).map(|(a, b)| f(*a, *b)).collect();
        Array::new(values, a.shape())
    }

    impl MultiOutputKernel<2, 2> for ProductAndSum {
        type Saved = [Array; 2];

        fn forward(&self, inputs: [Array; 2], keep: bool) -> ([Array; 2], Option<Self::Saved>) {
            let [x, y] = &inputs;
            let outputs = [combine(x, y, |x, y| x * y), combine(x, y, |x, y| x + y)];
            (outputs, keep.then_some(inputs))
        }

        fn backward(
            &self,
            [x, y]: Self::Saved,
            [product, sum]: [Option<Array>; 2],
            wanted: [bool; 2],
        ) -> [Option<Array>; 2] {
            let zero = combine(&x, &x, |_, _| 0.0);
            let sum = sum.unwrap_or_else(|| zero.clone());
            let product = product.unwrap_or(zero);
            let gradient =
                |other: &Array| combine(&combine(&product, other, |p, o| p * o), &sum, |a, b| a + b);
            [wanted[0].then(|| gradient(&y)), wanted[1].then(|| gradient(&x))]
        }
    }

    fn gradients(outputs: impl Fn([Tensor<1>; 2]) -> Tensor<1>) -> [Option<Vec<f32>>; 2] {
        let device = Device::flex().autodiff();
        let x = Tensor::<1>::from_floats([2.0, 3.0], &device).require_grad();
        let y = Tensor::<1>::from_floats([5.0, 7.0], &device).require_grad();
        let loss = outputs(run(ProductAndSum, [x.clone().into(), y.clone().into()])).sum();
        let gradients = loss.backward();
        [x, y].map(|input| input.grad(&gradients).map(|gradient| gradient.into_data().try_to_vec().unwrap()))
    }

    #[test]
    fn gradients_of_all_outputs_add_up() {
        let both = gradients(|[product, sum]| product + sum.clone() * 10.0 + sum);
        assert_eq!(both, [Some(vec![16.0, 18.0]), Some(vec![13.0, 14.0])]);
    }

    #[test]
    fn an_output_that_is_not_used_has_no_gradient() {
        assert_eq!(gradients(|[product, _]| product), [Some(vec![5.0, 7.0]), Some(vec![2.0, 3.0])]);
        assert_eq!(gradients(|[_, sum]| sum), [Some(vec![1.0; 2]), Some(vec![1.0; 2])]);
    }

    #[test]
    fn untracked_and_half_tracked_operands() {
        let device = Device::flex();
        let plain = |values: [f32; 2]| Tensor::<1>::from_floats(values, &device);
        let [product, sum] = run(ProductAndSum, [plain([2.0, 3.0]).into(), plain([5.0, 7.0]).into()]);
        let values = |tensor: Tensor<1>| tensor.into_data().try_to_vec::<f32>().unwrap();
        assert_eq!((values(product), values(sum)), (vec![10.0, 21.0], vec![7.0, 10.0]));

        let x = Tensor::<1>::from_floats([2.0, 3.0], &device.clone().autodiff()).require_grad();
        let [product, _]: [Tensor<1>; 2] = run(ProductAndSum, [x.clone().into(), plain([5.0, 7.0]).into()]);
        let gradient = x.grad(&product.sum().backward()).unwrap();
        assert_eq!(values(gradient), [5.0, 7.0]);
    }
}
