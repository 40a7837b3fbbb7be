//! A running average of the weights: it varies less from step to step than they do, and so does what is selected.
//!
//! Running statistics of norms are averaged with the weights that they belong to.

use crate::weights::{self, NamedTensor, WeightsError};
use burn::module::Module;

/// Weights and running statistics, averaged over the steps so far with weights that fade into the past.
#[derive(Debug, Clone)]
pub(super) struct Average {
    decay: f64,
    tensors: Vec<NamedTensor>,
}

impl Average {
    /// An average that begins with these weights.
    pub(super) fn start<M: Module>(decay: f64, module: &M) -> Self {
        Self { decay, tensors: weights::named_tensors(module) }
    }

    /// Takes in the weights after a step; `steps` were taken so far, that one included.
    pub(super) fn add<M: Module>(&mut self, module: &M, steps: u64) {
        // The first weights are far from anything good and are forgotten sooner.
        let decay = self.decay.min((1 + steps) as f64 / (10 + steps) as f64);
        for (average, new) in self.tensors.iter_mut().zip(weights::named_tensors(module)) {
            for (average, new) in average.values.iter_mut().zip(new.values) {
                *average = (f64::from(*average) * decay + f64::from(new) * (1.0 - decay)) as f32;
            }
        }
    }

    /// The module with the averaged weights.
    ///
    /// # Errors
    ///
    /// [`WeightsError::NonFinite`] if they are no numbers any more.
    pub(super) fn apply<M: Module>(&self, module: M) -> Result<M, WeightsError> {
        weights::replace(module, self.tensors.iter().cloned())
    }
}
