//! Arrays as kernels see them.

use super::super::buffers;
use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Tensor, TensorData};
use graphminnet_kernels::add::accumulate;
use std::sync::Arc;

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

    pub(super) fn from_tensor(tensor: FlexTensor) -> Self {
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

    pub(super) fn into_tensor(mut self) -> FlexTensor {
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
    pub(super) fn plus(self, other: Self) -> Self {
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
}
