//! Initial values of parameters, drawn in a fixed order from a stream that depends on the seed alone.

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet_data::rng::{self, Stream};

/// Draws initial parameters on a device.
pub struct Init {
    stream: Stream,
    device: Device,
}

impl Init {
    /// Initial values for `seed` on `device`.
    pub fn new(seed: u64, device: &Device) -> Self {
        Self { stream: rng::stream(seed, "init", &[]), device: device.clone() }
    }

    /// The device that parameters are made on.
    pub fn device(&self) -> &Device {
        &self.device
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
        Param::from_tensor(Tensor::full(shape, value, &self.device))
    }

    /// Values of one's own making, row-major.
    pub fn drawn<const D: usize>(
        &mut self,
        shape: [usize; D],
        mut value: impl FnMut(&mut Stream) -> f64,
    ) -> Param<Tensor<D>> {
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| value(&mut self.stream) as f32).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), &self.device))
    }
}
