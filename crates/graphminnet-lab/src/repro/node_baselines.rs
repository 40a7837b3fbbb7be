//! Plain models of nodes to compare with: SGC (Wu et al. 2019) and GCN (Kipf and Welling 2017).
//!
//! ```text
//! SGC: y = Â Â X W + b          GCN: y = Â dropout(ReLU(Â dropout(X) W₁ + b₁)) W₂ + b₂
//! ```

use burn::module::Module;
use burn::tensor::{Device, Tensor, activation};
use graphminnet::config::ConfigError;
use graphminnet::data::{Batch, Level};
use graphminnet::model::{FeatureInput, InputError, Model};
use graphminnet::nn::{Gcn, Init, Linear, Pass, Site};
use graphminnet::ops::{Structure, dropout};
use graphminnet::train::Architecture;
use graphminnet_data::spectral::PrepareOptions;
use serde::Serialize;
use std::sync::Arc;

/// SGC without a hidden width, GCN with one.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PlainConfig {
    /// Numeric node columns.
    pub node_in: usize,
    /// Hidden width.
    pub hidden: Option<usize>,
    /// Outputs.
    pub classes: usize,
    /// Dropout rate of the inputs and of the hidden features.
    pub drop: f64,
}

/// One or two linear maps between sums over neighbours.
#[derive(Module, Debug)]
pub(super) struct Plain {
    first: Linear,
    second: Option<Linear>,
    #[module(skip)]
    config: PlainConfig,
}

/// Features and edges.
#[derive(Debug)]
pub(super) struct PlainInput {
    nodes: Tensor<2>,
    structure: Arc<Structure>,
}

impl Model for Plain {
    type Input = PlainInput;

    fn input(&self, batch: Batch, device: &Device) -> Result<PlainInput, InputError> {
        let numbers = Some(self.config.node_in);
        let FeatureInput::Numbers(nodes) =
            FeatureInput::new("node", batch.node_features, numbers, None, device)?
        else {
            unreachable!("numbers were asked for")
        };
        Ok(PlainInput { nodes, structure: Structure::new(batch.layout) })
    }

    fn forward(&self, input: &PlainInput, pass: Pass) -> Tensor<2> {
        let drop = |x: Tensor<2>, layer: usize| {
            dropout(x, pass.dropout(self.config.drop, Site { layer, place: "plain" }))
        };
        // The map goes first because it is narrow; sums over neighbours and maps commute.
        let first = Gcn::propagate(self.first.forward(drop(input.nodes.clone(), 0)), &input.structure);
        let second = match &self.second {
            None => first,
            Some(second) => second.forward(drop(activation::relu(first), 1)),
        };
        Gcn::propagate(second, &input.structure)
    }

    fn level(&self) -> Level {
        Level::Node
    }

    fn out_dim(&self) -> usize {
        self.config.classes
    }
}

impl Architecture for PlainConfig {
    type Model = Plain;

    fn build(&self, seed: u64, device: &Device) -> Result<Plain, ConfigError> {
        let init = &mut Init::new(seed, device);
        let first = Linear::new(self.node_in, self.hidden.unwrap_or(self.classes), true, init);
        let second = self.hidden.map(|hidden| Linear::new(hidden, self.classes, true, init));
        Ok(Plain { first, second, config: self.clone() })
    }

    fn prepare_options(&self) -> PrepareOptions {
        PrepareOptions::default()
    }
}
