//! Kernels on the engine's tape of recorded operations, and their gradients.

use super::{Array, Kernel, Operand};
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Flex, tensor::FloatTensor};
use burn::tensor::Tensor;
use std::cell::RefCell;
use std::collections::HashMap;

/// Runs a kernel of which an operand is tracked, and records it.
pub(super) fn record<K: Kernel<N>, const N: usize, const D: usize>(
    kernel: K,
    operands: [Operand; N],
) -> Tensor<D> {
    // A plain operand among tracked ones is a constant.
    let mut guards = Vec::with_capacity(N);
    let inputs = operands.map(|operand| {
        let tensor = match operand {
            Operand::Plain(tensor) => FloatTensor::<Autodiff<Flex>>::new(tensor),
            Operand::Tracked(tensor) => tensor,
        };
        let (values, guard) = tensor.into_parts();
        guards.push(guard);
        Array::from_tensor(values)
    });
    let guards = guards.try_into().unwrap_or_else(|_| unreachable!("one guard per operand"));
    let output = match Recorded(kernel.clone()).prepare::<NoCheckpointing>(guards).compute_bound().stateful()
    {
        OpsKind::Tracked(preparation) => {
            let (output, saved) = kernel.forward(&inputs, true);
            let saved = saved.expect("a kernel keeps what its gradient needs when asked to");
            let output = preparation.finish(saved, output.into_tensor());
            OPEN.with_borrow_mut(|open| open.begin(output.id()));
            output
        }
        OpsKind::UnTracked(preparation) => preparation.finish(kernel.forward(&inputs, false).0.into_tensor()),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// A kernel on the tape of recorded operations.
#[derive(Debug)]
struct Recorded<K>(K);

impl<K: Kernel<N>, const N: usize> Backward<Flex, N> for Recorded<K> {
    type State = K::Saved;

    fn backward(self, operation: Ops<K::Saved, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = Array::from_tensor(gradients.consume::<Flex>(&operation.node));
        let wanted = operation.parents.each_ref().map(Option::is_some);
        let is_delivered = |value: NodeId| OPEN.with_borrow(|open| open.is_delivered(value));
        OPEN.with_borrow_mut(|open| open.end(operation.node.id));
        let results = match operation.parents.first() {
            Some(Some(first)) if is_delivered(first.id) => {
                let onto = Array::from_tensor(gradients.consume::<Flex>(first));
                OPEN.with_borrow_mut(|open| open.begin(first.id));
                self.0.backward_onto(onto, operation.state, gradient, wanted)
            }
            _ => self.0.backward(operation.state, gradient, wanted),
        };
        for (parent, result) in operation.parents.into_iter().zip(results) {
            let (Some(parent), Some(mut result)) = (parent, result) else { continue };
            if is_delivered(parent.id) {
                result = result.plus(Array::from_tensor(gradients.consume::<Flex>(&parent)));
            }
            gradients.register::<Flex>(parent.id, result.into_tensor());
            OPEN.with_borrow_mut(|open| open.deliver(parent.id));
        }
    }
}

// The engine adds the gradients of a value that was used twice on one thread, and drops the memory of one of them. To
// do better one has to know that there is a gradient already, which the engine does not tell.
thread_local! {
    static OPEN: RefCell<OpenValues> = RefCell::default();
}

/// What kernels have computed and not differentiated yet, and whether a kernel has delivered a gradient of it.
///
/// Only a value's own kernel takes its gradient away, and then the value is no longer listed: what is listed as
/// delivered is there. A value that is not listed costs time, never a gradient: then the engine adds.
#[derive(Default)]
struct OpenValues(HashMap<u64, bool>);

impl OpenValues {
    /// Values of a tape that is dropped without a backward pass stay behind; so many may pile up.
    const MOST: usize = 1 << 16;

    /// The value has no gradient yet.
    fn begin(&mut self, value: NodeId) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(value.value, false);
    }

    /// A kernel has delivered a gradient.
    fn deliver(&mut self, value: NodeId) {
        if let Some(delivered) = self.0.get_mut(&value.value) {
            *delivered = true;
        }
    }

    fn is_delivered(&self, value: NodeId) -> bool {
        self.0.get(&value.value).is_some_and(|delivered| *delivered)
    }

    /// The value's gradient is complete and was taken.
    fn end(&mut self, value: NodeId) {
        self.0.remove(&value.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    /// A value that kernels and operations of the engine use, in every order.
    #[test]
    fn all_uses_of_a_value_add_to_its_gradient() {
        use crate::ops::{Epilogue, linear};
        let device = Device::flex().autodiff();
        let by_kernel = |y: &Tensor<2>, factor: f32| {
            let weight = Tensor::<2>::eye(2, &y.device()) * factor;
            linear(y.clone(), weight, None, Epilogue::None)
        };
        let (kernel, engine) = (true, false);
        let cases: [&[(bool, f32)]; 5] = [
            &[(kernel, 2.0), (kernel, 3.0)],
            &[(kernel, 2.0), (kernel, 3.0), (engine, 5.0)],
            &[(engine, 5.0), (kernel, 2.0), (kernel, 3.0)],
            &[(kernel, 2.0), (engine, 5.0), (kernel, 2.0), (engine, 5.0), (kernel, 3.0)],
            &[(engine, 5.0), (engine, 5.0)],
        ];
        for uses in cases {
            let x = Tensor::<2>::ones([30_000, 2], &device).require_grad();
            // Computed by a kernel, computed by the engine, the parameter itself.
            for y in [by_kernel(&x, 1.0), x.clone() * 1.0, x.clone()] {
                let used = uses.iter().map(|(by, factor)| match by {
                    true => by_kernel(&y, *factor),
                    false => y.clone() * *factor,
                });
                let sum = used.reduce(|sum, next| sum + next).unwrap();
                let gradient = x.grad(&sum.sum().backward()).unwrap().into_data();
                let expected: f32 = uses.iter().map(|(_, factor)| factor).sum();
                let values = gradient.as_slice::<f32>().unwrap();
                assert!(values.iter().all(|value| *value == expected), "{uses:?}: {}", values[0]);
            }
        }
        // Twice by one kernel, and by another before it: the sum of the entries of y yᵀ + 3 y.
        for order in [0, 1] {
            let x = Tensor::<2>::ones([2, 2], &device).require_grad();
            let y = by_kernel(&x, 1.0);
            let square = || linear(y.clone(), y.clone(), None, Epilogue::None);
            let sum = if order == 0 { square() + by_kernel(&y, 3.0) } else { by_kernel(&y, 3.0) + square() };
            let gradient = x.grad(&sum.sum().backward()).unwrap().into_data();
            assert_eq!(gradient.as_slice::<f32>().unwrap(), [7.0; 4]);
        }
    }
}
