//! The frame of a system: encoders, its own layers, pooling and head; and how the harness sees it.
//!
//! ```text
//! node features, positions ─ encoders ─→ x ┐
//!                                          ├─ the system's own layers ─→ x' ─ (pool) ─ head ─→ answers
//! edge features ─ encoder ─────────────→ ε ┘
//! ```

use super::encoder::{FeatureEncoder, features, first_category};
use super::exphormer::{Exphormer, ExphormerInput};
use super::graph_mamba::{GraphMamba, MambaInput};
use super::gred::{Gred, GredInput, decays_in_gred, dense};
use super::grit::{Grit, GritInput};
use super::norm::gelu;
use super::positions::{PositionEncoder, PositionInput};
use super::san::{MissingPair, San, SanInput};
use super::{Body, Encoder, HeadKind, SystemConfig};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet::ModelConfig;
use graphminnet::config::{self, ConfigError, Pooling};
use graphminnet::model::{FeatureInput, InputError, Model};
use graphminnet::nn::{Head, Init, Linear, Pass};
use graphminnet::ops::{PoolKind, Structure, pool};
use graphminnet::train::Architecture;
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::{Batch, Level};
use std::sync::Arc;

/// A system with its parameters.
#[derive(Module, Debug)]
pub struct System {
    nodes: FeatureEncoder,
    positions: Option<PositionEncoder>,
    edges: Option<FeatureEncoder>,
    body: Layers,
    head: SystemHead,
    #[module(skip)]
    config: SystemConfig,
}

/// A system's own part.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant)] // One per model.
pub(crate) enum Layers {
    /// SAN.
    San(San),
    /// Exphormer.
    Exphormer(Exphormer),
    /// GRIT.
    Grit(Grit),
    /// GRED.
    Gred(Gred),
    /// Graph-Mamba.
    GraphMamba(GraphMamba),
}

/// The last layers.
#[derive(Module, Debug)]
pub(crate) enum SystemHead {
    /// With ReLU between.
    Relu(Head),
    /// With a gelu between.
    Gelu((Linear, Linear)),
}

/// A batch as a system reads it.
#[derive(Debug)]
pub struct SystemInput {
    structure: Arc<Structure>,
    nodes: FeatureInput,
    positions: Option<PositionInput>,
    edges: Option<FeatureInput>,
    absent_edge: Option<FeatureInput>,
    own: OwnInput,
}

#[derive(Debug)]
enum OwnInput {
    San(SanInput),
    Exphormer(ExphormerInput),
    Grit(GritInput),
    Gred(GredInput),
    GraphMamba(MambaInput),
}

/// What the layers of a system start from.
pub(crate) struct Encoded<'a> {
    /// `[nodes, hidden]`.
    pub(crate) nodes: Tensor<2>,
    /// `[edges, hidden]`, sorted by target, for systems that read them.
    pub(crate) edges: Option<Tensor<2>>,
    /// What a pair that is no edge looks like, `[1, hidden]`, for systems that read it from the encoder of edges.
    pub(crate) absent_edge: Option<Tensor<2>>,
    /// The batch.
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
        let width = config.hidden - config.positions.width();
        let nodes = FeatureEncoder::new(config, &config.nodes, width, init);
        let positions = PositionEncoder::new(&config.positions, init);
        let edges = config.edges.as_ref().map(|kind| FeatureEncoder::new(config, kind, config.hidden, init));
        let body = match &config.system {
            Body::San(own) => Layers::San(San::new(config, own, init)),
            Body::Exphormer(own) => Layers::Exphormer(Exphormer::new(config, own, init)),
            Body::Grit(own) => Layers::Grit(Grit::new(config, own, init)),
            Body::Gred(own) => Layers::Gred(Gred::new(config, own, init)),
            Body::GraphMamba(own) => Layers::GraphMamba(GraphMamba::new(config, own, init)),
        };
        Ok(Self {
            nodes,
            positions,
            edges,
            body,
            head: SystemHead::new(config, init),
            config: config.clone(),
        })
    }
}

/// Parts that tests look at.
#[cfg(test)]
impl System {
    pub(crate) fn body(&self) -> &Layers {
        &self.body
    }

    pub(crate) fn positions(&self) -> Option<&PositionEncoder> {
        self.positions.as_ref()
    }

    /// The features of nodes before the first layer.
    pub(crate) fn nodes_of(&self, input: &SystemInput) -> Tensor<2> {
        self.nodes.forward(&input.nodes, Pass::Eval)
    }
}

impl System {
    /// What the last layer says of the nodes, `[nodes, hidden]`.
    pub(crate) fn node_features(&self, input: &SystemInput, pass: Pass) -> Tensor<2> {
        let structure = &input.structure;
        let mut nodes = self.nodes.forward(&input.nodes, pass);
        if let (Some(encoder), Some(positions)) = (&self.positions, &input.positions) {
            nodes = Tensor::cat(vec![nodes, encoder.forward(positions, structure, pass)], 1);
        }
        let encoded =
            |features: &Option<FeatureInput>| Some(self.edges.as_ref()?.forward(features.as_ref()?, pass));
        let (edges, absent_edge) = (encoded(&input.edges), encoded(&input.absent_edge));
        let start = Encoded { nodes, edges, absent_edge, structure, pass };
        match (&self.body, &input.own) {
            (Layers::San(san), OwnInput::San(own)) => san.forward(start, own),
            (Layers::Exphormer(exphormer), OwnInput::Exphormer(own)) => exphormer.forward(start, own),
            (Layers::Grit(grit), OwnInput::Grit(own)) => grit.forward(start, own),
            (Layers::Gred(gred), OwnInput::Gred(own)) => gred.forward(start, own),
            (Layers::GraphMamba(mamba), OwnInput::GraphMamba(own)) => mamba.forward(start, own),
            _ => unreachable!("a system's input is made by the system"),
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

impl SystemHead {
    fn new(config: &SystemConfig, init: &mut Init) -> Self {
        let (hidden, out_dim) = (config.hidden, config.outputs);
        let gred = matches!(config.system, Body::Gred(_));
        let (head, head_layers) = match config.head {
            HeadKind::Gelu => {
                return Self::Gelu((dense(hidden, hidden, init), dense(hidden, out_dim, init)));
            }
            HeadKind::San => (config::HeadKind::San, 1),
            HeadKind::Mlp(layers) => (config::HeadKind::Mlp, layers),
        };
        let base = ModelConfig::default();
        let library = ModelConfig { hidden, head, head_layers, head_l2norm: true, out_dim, ..base };
        let mut head = Head::new(&library, init);
        if gred {
            head.lins = head
                .lins
                .iter()
                .map(|layer| layer.weight.dims())
                .map(|[out, r#in]| dense(r#in, out, init))
                .collect();
        }
        Self::Relu(head)
    }

    fn forward(&self, rows: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Relu(head) => head.forward(rows),
            Self::Gelu((first, last)) => last.forward(gelu(first.forward(rows))),
        }
    }
}

impl Model for System {
    type Input = SystemInput;

    fn input(&self, mut batch: Batch, device: &Device) -> Result<SystemInput, InputError> {
        let config = &self.config;
        let node_features = std::mem::take(&mut batch.node_features);
        let edge_features = std::mem::take(&mut batch.edge_features);
        let nodes = features(&config.nodes, "node", node_features, device)?;
        let edges =
            config.edges.as_ref().map(|kind| features(kind, "edge", edge_features, device)).transpose()?;
        let absent_edge = match &config.system {
            Body::San(own) if own.missing == MissingPair::FirstCategory => {
                config.edges.as_ref().and_then(first_category)
            }
            _ => None,
        };
        let own = match &self.body {
            Layers::San(_) => OwnInput::San(SanInput::new(&batch)),
            Layers::Exphormer(exphormer) => {
                OwnInput::Exphormer(ExphormerInput::new(exphormer.config(), &batch, device)?)
            }
            Layers::Grit(grit) => OwnInput::Grit(grit.input(&batch, device)),
            Layers::Gred(gred) => OwnInput::Gred(GredInput::new(&batch, gred.shells())),
            Layers::GraphMamba(_) => OwnInput::GraphMamba(MambaInput::new(&batch)),
        };
        let positions = PositionInput::new(&config.positions, &batch, device)?;
        let structure = Structure::new(batch.layout);
        Ok(SystemInput { structure, nodes, positions, edges, absent_edge, own })
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

    fn decays(&self, parameter: &str) -> bool {
        !matches!(self.system, Body::Gred(_)) || decays_in_gred(parameter)
    }

    fn prepare_options(&self) -> PrepareOptions {
        let degree_profile = self.nodes == Encoder::DegreeProfile;
        PrepareOptions { degree_profile, ..self.positions.prepare_options() }
    }
}
