//! Initial values of parameters, drawn in a fixed order from a stream that depends on the seed alone.

use super::Running;
use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::rng::{self, Stream};

/// Draws initial parameters on a device.
pub struct Init {
    /// `None` draws nothing: parameters have their shapes, and take no memory.
    stream: Option<Stream>,
    device: Device,
}

impl Init {
    /// Initial values for `seed` on `device`.
    pub fn new(seed: u64, device: &Device) -> Self {
        Self { stream: Some(rng::stream(seed, "init", &[])), device: device.clone() }
    }

    /// Shapes alone: every parameter is a single number, seen as many times as its shape says. Whoever reads a model
    /// from a file compares them with what the file holds, before anything of their size is set aside.
    pub fn outline(device: &Device) -> Self {
        Self { stream: None, device: device.clone() }
    }

    /// Uniform values between `-bound` and `bound`.
    pub fn uniform<const D: usize>(&mut self, shape: [usize; D], bound: f64) -> Param<Tensor<D>> {
        self.drawn(shape, |stream| (stream.uniform() * 2.0 - 1.0) * bound)
    }

    /// Normal values with mean 0.
    pub fn normal<const D: usize>(&mut self, shape: [usize; D], deviation: f64) -> Param<Tensor<D>> {
        self.drawn(shape, |stream| stream.normal() * deviation)
    }

    /// One value everywhere.
    pub fn constant<const D: usize>(&self, shape: [usize; D], value: f32) -> Param<Tensor<D>> {
        Param::from_tensor(self.full(shape, value))
    }

    /// A running estimate that starts from one value everywhere.
    pub fn running(&self, columns: usize, value: f32) -> Running {
        Running::new(self.full([columns], value))
    }

    /// Values of one's own making, row-major.
    pub fn drawn<const D: usize>(
        &mut self,
        shape: [usize; D],
        mut value: impl FnMut(&mut Stream) -> f64,
    ) -> Param<Tensor<D>> {
        let Some(stream) = &mut self.stream else { return self.constant(shape, 0.0) };
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| value(stream) as f32).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), &self.device))
    }

    fn full<const D: usize>(&self, shape: [usize; D], value: f32) -> Tensor<D> {
        match self.stream {
            Some(_) => Tensor::full(shape, value, &self.device),
            None => Tensor::<D>::full([1; D], value, &self.device).expand(shape),
        }
    }
}
