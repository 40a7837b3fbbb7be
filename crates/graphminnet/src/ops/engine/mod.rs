//! The one place that knows the tensor engine's backend types: how a CPU kernel becomes a differentiable operation.
//!
//! An operation has two bodies. The **generic body** is made of ordinary tensor operations; every device runs it and
//! the engine differentiates it. The **kernel** is hand-written for the CPU, with a hand-derived gradient. Which one
//! runs is decided by the device of the tensors, in [`on_cpu`]; both compute the same function, and tests hold them
//! to each other.
//!
//! A kernel sees contiguous arrays of 32-bit floats ([`Array`]) and nothing of the engine. Without the feature `gradients`
//! nothing is recorded, and kernels run forward alone.

mod array;
#[cfg(feature = "gradients")]
mod tape;

pub(crate) use array::Array;

use super::buffers;
use burn::backend::flex::FlexTensor;
#[cfg(feature = "gradients")]
use burn::backend::{Autodiff, tensor::FloatTensor};
use burn::backend::{DispatchDevice, Flex};
use burn::tensor::{Device, Tensor};
use std::fmt::Debug;

/// Whether tensors on this device are in main memory and can be handed to a kernel.
pub(crate) fn on_cpu(device: &Device) -> bool {
    matches!(device.clone().inner().as_dispatch(), DispatchDevice::Flex(_))
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
    #[cfg(feature = "gradients")]
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
        #[cfg(feature = "gradients")]
        if tensor.device().is_autodiff() {
            return Self::Tracked(tensor.try_into_primitive::<Autodiff<Flex>>().expect(WRONG));
        }
        Self::Plain(tensor.try_into_primitive::<Flex>().expect(WRONG))
    }
}

/// The operands' values, unless one of them is tracked; then the operands as they were.
pub(crate) fn untracked<const N: usize>(operands: [Operand; N]) -> Result<[Array; N], [Operand; N]> {
    #[cfg(feature = "gradients")]
    if operands.iter().any(|operand| matches!(operand, Operand::Tracked(_))) {
        return Err(operands);
    }
    Ok(operands.map(|operand| match operand {
        Operand::Plain(tensor) => Array::from_tensor(tensor),
        #[cfg(feature = "gradients")]
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
    match untracked(operands) {
        Ok(inputs) => kernel.forward(&inputs, false).0.into_untracked(),
        #[cfg(feature = "gradients")]
        Err(operands) => tape::record(kernel, operands),
        #[cfg(not(feature = "gradients"))]
        Err(_) => unreachable!("nothing is tracked in a build without gradients"),
    }
}
