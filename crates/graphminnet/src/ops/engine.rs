//! The one place that knows the tensor engine's backend types: how a CPU kernel becomes a differentiable operation.
//!
//! An operation has two bodies. The **generic body** is made of ordinary tensor operations; every device runs it and
//! the engine differentiates it. The **kernel** is hand-written for the CPU, with a hand-derived gradient. Which one
//! runs is decided by the device of the tensors, in [`on_cpu`]; both compute the same function, and tests hold them
//! to each other.
//!
//! A kernel sees contiguous arrays of 32-bit floats ([`Array`]) and nothing of the engine.

use super::buffers;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::NoCheckpointing};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, DispatchDevice, Flex, tensor::FloatTensor};
use burn::tensor::{DType, Device, Tensor, TensorData};
use graphminnet_kernels::add::accumulate;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

/// Whether tensors on this device are in main memory and can be handed to a kernel.
pub(crate) fn on_cpu(device: &Device) -> bool {
    matches!(device.clone().inner().as_dispatch(), DispatchDevice::Flex(_))
}

/// A contiguous array of floats in main memory, with its shape. Cloning shares the memory; the last owner's buffer
/// is kept for reuse.
#[derive(Clone, Debug)]
pub(crate) struct Array(
    /// Always there, except while the array is being taken apart.
    Option<FlexTensor>,
);

impl Array {
    /// An array that owns `values`, row-major.
    pub(crate) fn new(values: Vec<f32>, shape: impl Into<Vec<usize>>) -> Self {
        Self(Some(FlexTensor::from_data(TensorData::new(values, shape.into()))))
    }

    fn from_tensor(tensor: FlexTensor) -> Self {
        // A slice of an empty tensor may start beyond its end.
        if tensor.layout().num_elements() == 0 {
            return Self::new(Vec::new(), tensor.layout().shape().to_vec());
        }
        let usable = tensor.is_contiguous() && tensor.as_slice::<f32>().is_some();
        Self(Some(if usable { tensor } else { tensor.to_contiguous() }))
    }

    fn tensor(&self) -> &FlexTensor {
        self.0.as_ref().unwrap_or_else(|| unreachable!("an array holds its tensor until it is dropped"))
    }

    fn into_tensor(mut self) -> FlexTensor {
        self.0.take().unwrap_or_else(|| unreachable!("an array holds its tensor until it is dropped"))
    }

    /// An array of the given shape, written by `write`, which must overwrite every value.
    pub(crate) fn written(shape: impl Into<Vec<usize>>, write: impl FnOnce(&mut [f32])) -> Self {
        let shape = shape.into();
        let mut values = buffers::take(shape.iter().product());
        write(&mut values);
        Self::new(values, shape)
    }

    /// The values as a buffer to write to, if nobody else reads them; otherwise the array as it was.
    pub(crate) fn into_values(mut self) -> Result<Vec<f32>, Self> {
        let Some(tensor) = self.0.take() else { return Err(self) };
        let length = tensor.layout().num_elements();
        let whole = tensor.is_unique() && tensor.layout().contiguous_offsets() == Some((0, length));
        if !whole || tensor.storage::<f32>().len() != length {
            self.0 = Some(tensor);
            return Err(self);
        }
        let shape = tensor.layout().shape().to_vec();
        let data = tensor.data_arc();
        drop(tensor);
        let Ok(bytes) = Arc::try_unwrap(data) else { unreachable!("the array was the only owner") };
        // Memory that the engine allocated in its own way cannot become a vector.
        bytes.try_into_vec::<f32>().map_err(|bytes| {
            Self(Some(FlexTensor::from_data(TensorData::from_bytes(bytes, shape, DType::F32))))
        })
    }

    /// The values, row-major.
    pub(crate) fn values(&self) -> &[f32] {
        self.tensor().as_slice::<f32>().expect("an array is contiguous and holds 32-bit floats")
    }

    /// The shape.
    pub(crate) fn shape(&self) -> &[usize] {
        self.tensor().layout().shape()
    }

    /// The values as a buffer to write to; a copy if somebody else reads them.
    pub(crate) fn into_own_values(self) -> Vec<f32> {
        self.into_values().unwrap_or_else(|shared| {
            let mut copy = buffers::take(shared.values().len());
            copy.copy_from_slice(shared.values());
            copy
        })
    }

    /// A tensor of these values that is not recorded for differentiation.
    pub(crate) fn into_untracked<const D: usize>(self) -> Tensor<D> {
        Tensor::from_primitive::<Flex>(self.into_tensor())
    }

    /// The sum with an array of the same shape, in the memory of one of the two if it has no other reader.
    fn plus(self, other: Self) -> Self {
        let shape = self.shape().to_vec();
        let (mut sum, other) = match self.into_values() {
            Ok(values) => (values, other),
            Err(shared) => (other.into_own_values(), shared),
        };
        accumulate(&mut sum, other.values());
        Self::new(sum, shape)
    }

    /// Size of dimension `dim`.
    pub(crate) fn dim(&self, dim: usize) -> usize {
        self.shape()[dim]
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let Some(tensor) = self.0.take() else { return };
        let data = tensor.data_arc();
        drop(tensor);
        if let Ok(bytes) = Arc::try_unwrap(data)
            && let Ok(values) = bytes.try_into_vec::<f32>()
        {
            buffers::give(values);
        }
    }
}

/// A differentiable operation with `N` inputs and one output, computed by a CPU kernel.
pub(crate) trait Kernel<const N: usize>: Clone + Debug + Send + 'static {
    /// What the gradient needs from the forward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// Computes the output, and what the gradient will need if `keep`.
    fn forward(&self, inputs: &[Array; N], keep: bool) -> (Array, Option<Self::Saved>);

    /// The gradients of those inputs that are `wanted`, given the gradient of the output.
    fn backward(&self, saved: Self::Saved, gradient: Array, wanted: [bool; N]) -> [Option<Array>; N];

    /// The same, where the first input has a gradient already, from other uses, to which this one is added.
    ///
    /// A kernel that can add while it computes saves a pass over memory by an implementation of its own.
    fn backward_onto(
        &self,
        onto: Array,
        saved: Self::Saved,
        gradient: Array,
        wanted: [bool; N],
    ) -> [Option<Array>; N] {
        let mut results = self.backward(saved, gradient, wanted);
        if let Some(first) = results.first_mut() {
            *first = Some(match first.take() {
                Some(result) => result.plus(onto),
                None => onto,
            });
        }
        results
    }
}

/// Where a wanted gradient is to be written; `None` for one that is not wanted.
///
/// Kernels take `Option<&mut [f32]>`; this keeps the buffer between the call and the result.
pub(crate) struct Slot {
    shape: Vec<usize>,
    values: Option<Vec<f32>>,
}

impl Slot {
    /// A buffer of the given shape if `wanted`.
    pub(crate) fn new(shape: impl Into<Vec<usize>>, wanted: bool) -> Self {
        let shape = shape.into();
        let values = wanted.then(|| buffers::take(shape.iter().product()));
        Self { shape, values }
    }

    /// A buffer shaped like `like` if `wanted`.
    pub(crate) fn like(like: &Array, wanted: bool) -> Self {
        Self::new(like.shape(), wanted)
    }

    /// A buffer with the values of an array, to be added to.
    pub(crate) fn onto(array: Array) -> Self {
        Self { shape: array.shape().to_vec(), values: Some(array.into_own_values()) }
    }

    /// The buffer for a kernel to write.
    pub(crate) fn as_mut(&mut self) -> Option<&mut [f32]> {
        self.values.as_deref_mut()
    }

    /// The gradient that was written.
    pub(crate) fn into_array(self) -> Option<Array> {
        self.values.map(|values| Array::new(values, self.shape))
    }
}

/// A tensor on its way into a kernel.
pub(crate) enum Operand {
    Plain(FlexTensor),
    Tracked(FloatTensor<Autodiff<Flex>>),
}

impl Operand {
    /// Stands for an operand that is not there.
    pub(crate) fn absent() -> Self {
        Self::Plain(Array::new(Vec::new(), [0]).into_tensor())
    }

    /// A tensor that may not be there.
    pub(crate) fn optional<const D: usize>(tensor: Option<Tensor<D>>) -> Self {
        tensor.map_or_else(Self::absent, Self::from)
    }
}

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(tensor: Tensor<D>) -> Self {
        const WRONG: &str = "the operands of a kernel are float tensors on the CPU device";
        if tensor.device().is_autodiff() {
            Self::Tracked(tensor.try_into_primitive::<Autodiff<Flex>>().expect(WRONG))
        } else {
            Self::Plain(tensor.try_into_primitive::<Flex>().expect(WRONG))
        }
    }
}

/// The operands' values, unless one of them is tracked; then the operands as they were.
pub(crate) fn untracked<const N: usize>(operands: [Operand; N]) -> Result<[Array; N], [Operand; N]> {
    if operands.iter().any(|operand| matches!(operand, Operand::Tracked(_))) {
        return Err(operands);
    }
    Ok(operands.map(|operand| match operand {
        Operand::Plain(tensor) => Array::from_tensor(tensor),
        Operand::Tracked(tensor) => Array::from_tensor(tensor.into_primitive()),
    }))
}

/// Runs a kernel on the operands and records it for differentiation where one of them is tracked.
///
/// # Panics
///
/// If an operand is not a float tensor on the CPU; callers check the device with [`on_cpu`].
pub(crate) fn run<K: Kernel<N>, const N: usize, const D: usize>(
    kernel: K,
    operands: [Operand; N],
) -> Tensor<D> {
    let operands = match untracked(operands) {
        Ok(inputs) => return kernel.forward(&inputs, false).0.into_untracked(),
        Err(operands) => operands,
    };
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

    #[test]
    fn the_buffer_of_a_dropped_array_is_used_again() {
        let length = 50_000;
        let array = Array::written([length], |values| values.fill(3.0));
        let address = array.values().as_ptr();
        let shared = array.clone();
        drop(array);
        assert_eq!(shared.values()[0], 3.0, "another owner keeps the values");
        assert!(shared.clone().into_values().is_err(), "the values have another reader");
        let values = shared.into_values().expect("one owner");
        assert_eq!(values.as_ptr(), address);
        drop(Array::new(values, [length]));
        let again = Array::written([length], |_| {});
        assert_eq!(again.values().as_ptr(), address);
    }

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
