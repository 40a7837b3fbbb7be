//! The frame of a system: encoders, its own layers, pooling and head; and how the harness sees it.
//!
//! ```text
//! node features ─ encoder ─→ x ┐
//!                              ├─ the system's own layers ─→ x' ─ (pool) ─ head ─→ answers
//! edge features ─ encoder ─→ ε ┘
//! ```

use super::encoder::{FeatureEncoder, features};
use super::grit::{Grit, GritInput};
use super::{Body, HeadKind, SystemConfig};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet::ModelConfig;
use graphminnet::config::{self, ConfigError, Pooling};
use graphminnet::model::{FeatureInput, InputError, Model};
use graphminnet::nn::{Head, Init, Pass};
use graphminnet::ops::{PoolKind, Structure, pool};
use graphminnet::train::Architecture;
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::{Batch, Level};
use std::sync::Arc;

/// A system with its parameters.
#[derive(Module, Debug)]
pub struct System {
    nodes: FeatureEncoder,
    edges: FeatureEncoder,
    body: Layers,
    head: Head,
    #[module(skip)]
    config: SystemConfig,
}

/// A system's own part.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)] // One per model.
pub(crate) enum Layers {
    /// GRIT.
    Grit(Grit),
}

/// A batch as a system reads it.
#[derive(Debug)]
pub struct SystemInput {
    structure: Arc<Structure>,
    nodes: FeatureInput,
    edges: FeatureInput,
    own: OwnInput,
}

#[derive(Debug)]
enum OwnInput {
    Grit(GritInput),
}

/// What the layers of a system start from.
pub(crate) struct Encoded<'a> {
    /// `[nodes, hidden]`.
    pub(crate) nodes: Tensor<2>,
    /// `[edges, hidden]`, sorted by target.
    pub(crate) edges: Tensor<2>,
    /// The batch.
    #[allow(dead_code)]
    pub(crate) structure: &'a Arc<Structure>,
    /// The pass.
    pub(crate) pass: Pass,
}

impl System {
    /// Fresh parameters that depend on the seed alone.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration is not valid.
    pub fn new(config: &SystemConfig, seed: u64, device: &Device) -> Result<Self, ConfigError> {
        config.check()?;
        let init = &mut Init::new(seed, device);
        let (nodes, edges) = (
            FeatureEncoder::new(&config.nodes, config.hidden, init),
            FeatureEncoder::new(&config.edges, config.hidden, init),
        );
        let body = match &config.system {
            Body::Grit(own) => Layers::Grit(Grit::new(config, own, init)),
        };
        Ok(Self { nodes, edges, body, head: head(config, init), config: config.clone() })
    }
}

impl System {
    /// What the last layer says of the nodes, `[nodes, hidden]`.
    pub(crate) fn node_features(&self, input: &SystemInput, pass: Pass) -> Tensor<2> {
        let (nodes, edges) = (self.nodes.forward(&input.nodes), self.edges.forward(&input.edges));
        let start = Encoded { nodes, edges, structure: &input.structure, pass };
        match (&self.body, &input.own) {
            (Layers::Grit(grit), OwnInput::Grit(own)) => grit.forward(start, own),
        }
    }

    /// The answers, given the features of the nodes.
    pub(crate) fn answers(&self, nodes: Tensor<2>, input: &SystemInput) -> Tensor<2> {
        if self.level() == Level::Node {
            return self.head.forward(nodes);
        }
        let kind = match self.config.pooling {
            Pooling::Add => PoolKind::Sum,
            Pooling::Mean => PoolKind::Mean,
            Pooling::Max => PoolKind::Max,
        };
        self.head.forward(pool(nodes, kind, &input.structure))
    }
}

/// The head as the library has it.
fn head(config: &SystemConfig, init: &mut Init) -> Head {
    let (head, head_layers) = match config.head {
        HeadKind::San => (config::HeadKind::San, 1),
        HeadKind::Mlp(layers) => (config::HeadKind::Mlp, layers),
    };
    let (hidden, out_dim) = (config.hidden, config.outputs);
    Head::new(
        &ModelConfig { hidden, head, head_layers, head_l2norm: true, out_dim, ..ModelConfig::default() },
        init,
    )
}

impl Model for System {
    type Input = SystemInput;

    fn input(&self, mut batch: Batch, device: &Device) -> Result<SystemInput, InputError> {
        let node_features = std::mem::take(&mut batch.node_features);
        let edge_features = std::mem::take(&mut batch.edge_features);
        let nodes = features(&self.config.nodes, "node", node_features, device)?;
        let edges = features(&self.config.edges, "edge", edge_features, device)?;
        let own = match &self.body {
            Layers::Grit(grit) => OwnInput::Grit(grit.input(&batch, device)),
        };
        Ok(SystemInput { structure: Structure::new(batch.layout), nodes, edges, own })
    }

    fn forward(&self, input: &SystemInput, pass: Pass) -> Tensor<2> {
        self.answers(self.node_features(input, pass), input)
    }

    fn level(&self) -> Level {
        self.config.level.into()
    }

    fn out_dim(&self) -> usize {
        self.config.outputs
    }
}

impl Architecture for SystemConfig {
    type Model = System;

    fn build(&self, seed: u64, device: &Device) -> Result<System, ConfigError> {
        System::new(self, seed, device)
    }

    fn prepare_options(&self) -> PrepareOptions {
        PrepareOptions::default()
    }
}
