//! What the trainer must know of a kind of model besides the model itself.

use super::{GradientPass, TrainError};
use crate::config::{ConfigError, Identity, ModelConfig, SUMS_ALONE, TrainConfig, no_parts};
use crate::model::{Beyond, Carried, GraphMinNet, Model, ModelInput, Noted};
use crate::nn::Pass;
use burn::tensor::{Device, Tensor};
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

    /// The sums of the global branch over each piece of the graph of a batch, per layer, by a pass over all of it.
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] for a model that needs more of a graph than sums.
    #[doc(hidden)]
    fn piece_sums(
        &self,
        _model: &Self::Model,
        _input: <Self::Model as Model>::Input,
        _pieces: &[Vec<usize>],
    ) -> Result<Vec<Tensor<3>>, TrainError> {
        Err(no_pieces("this kind of model cannot be trained on pieces of a graph; leave it out"))
    }

    /// Gives the batch of a piece the sums over the others, per layer.
    ///
    /// # Errors
    ///
    /// As [`Architecture::piece_sums`].
    #[doc(hidden)]
    fn carry(
        &self,
        _input: &mut <Self::Model as Model>::Input,
        _sums: Vec<Tensor<2>>,
    ) -> Result<(), TrainError> {
        Err(no_pieces("this kind of model cannot be trained on pieces of a graph; leave it out"))
    }

    /// Fails unless the model can be trained on a graph in parts, each of which knows no more of the others than sums and
    /// the features of neighbours.
    ///
    /// # Errors
    ///
    /// [`TrainError::Config`] with what stands in the way.
    #[doc(hidden)]
    fn check_parts(&self) -> Result<(), TrainError> {
        let expected = "this kind of model cannot be trained on parts of a graph; leave it out";
        Err(no_parts("train.parts", "some", expected).into())
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

    fn piece_sums(
        &self,
        model: &GraphMinNet,
        input: ModelInput,
        pieces: &[Vec<usize>],
    ) -> Result<Vec<Tensor<3>>, TrainError> {
        if !self.needs_sums_alone() {
            return Err(no_pieces(SUMS_ALONE));
        }
        let noted = Noted::new(pieces).map_err(TrainError::Graph)?;
        let input = ModelInput { beyond: Some(Beyond::Noted(noted.clone())), ..input };
        model.embed(&input, Pass::Measure { share: 1.0 });
        Ok(noted.take_sums())
    }

    fn check_parts(&self) -> Result<(), TrainError> {
        Ok(Self::check_parts(self)?)
    }

    fn carry(&self, input: &mut ModelInput, sums: Vec<Tensor<2>>) -> Result<(), TrainError> {
        if !sums.is_empty() {
            let nodes = input.structure.num_nodes();
            input.beyond = Some(Beyond::Carried(Carried::new(sums, nodes).map_err(TrainError::Graph)?));
        }
        Ok(())
    }
}

fn no_pieces(expected: &str) -> TrainError {
    TrainError::Config(ConfigError::Invalid {
        key: "train.pieces".to_owned(),
        value: "some".to_owned(),
        expected: expected.to_owned(),
    })
}
