//! What the trainer must know of a kind of model besides the model itself.

use super::{GradientPass, TrainError};
use crate::config::{ConfigError, Identity, ModelConfig, TrainConfig};
use crate::model::{GraphMinNet, Model, ModelInput};
use burn::tensor::Device;
use graphminnet_data::spectral::PrepareOptions;
use serde::Serialize;

/// A configuration from which a model is made.
pub trait Architecture: Serialize {
    /// The model.
    type Model: Model;

    /// A model with fresh parameters that depend on the seed alone.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration is not valid.
    fn build(&self, seed: u64, device: &Device) -> Result<Self::Model, ConfigError>;

    /// What is computed for every graph before the model sees it.
    fn prepare_options(&self) -> PrepareOptions;

    /// By what a run knows that it resumes the same model and protocol: all keys of this configuration, unless a kind
    /// of model says otherwise.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration cannot be written down.
    fn identity(&self, protocol: &TrainConfig) -> Result<Identity, ConfigError> {
        Identity::of_keys(self, protocol)
    }

    /// Whether weight decay acts on the parameter of this name: on every one, unless a kind of model says otherwise.
    fn decays(&self, _parameter: &str) -> bool {
        true
    }

    /// The configuration that a model file holds. A kind of model without one leaves its weights alone in the run
    /// directory (`best.safetensors`), and no predictions.
    fn model_file(&self) -> Option<&ModelConfig> {
        None
    }

    /// A forward pass in training, with the random numbers of `seed`.
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] if the protocol asks for something that this kind of model cannot do.
    fn gradient_pass<'a>(
        &self,
        model: &'a Self::Model,
        input: &'a <Self::Model as Model>::Input,
        seed: u64,
        protocol: &TrainConfig,
    ) -> Result<GradientPass<'a, Self::Model>, TrainError> {
        match protocol.recompute_layers {
            None => Ok(GradientPass::kept(model, input, seed)),
            Some(layers) => Err(TrainError::Config(ConfigError::Invalid {
                key: "train.recompute_layers".to_owned(),
                value: layers.to_string(),
                expected: "this kind of model cannot compute layers again; leave it out".to_owned(),
            })),
        }
    }
}

impl Architecture for ModelConfig {
    type Model = GraphMinNet;

    fn build(&self, seed: u64, device: &Device) -> Result<GraphMinNet, ConfigError> {
        GraphMinNet::new(self, seed, device)
    }

    fn prepare_options(&self) -> PrepareOptions {
        Self::prepare_options(self)
    }

    fn identity(&self, protocol: &TrainConfig) -> Result<Identity, ConfigError> {
        Ok(Identity::of(self, protocol))
    }

    fn model_file(&self) -> Option<&ModelConfig> {
        Some(self)
    }

    fn gradient_pass<'a>(
        &self,
        model: &'a GraphMinNet,
        input: &'a ModelInput,
        seed: u64,
        protocol: &TrainConfig,
    ) -> Result<GradientPass<'a, GraphMinNet>, TrainError> {
        Ok(GradientPass::forward(model, input, seed, protocol.recompute_layers))
    }
}
