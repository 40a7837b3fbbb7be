//! Graph-Mamba (Wang et al., 2024): nodes in the order of their degrees, a selective state-space scan over them, beside
//! GatedGCN in every layer.
//!
//! | symbol | meaning |
//! |---|---|
//! | `d`, `c` | width of nodes, of the scan's channels (equal here) |
//! | `N`, `r` | states per channel, rank of the map to step sizes |
//! | `ξ_u` | a random number in `[0, 1)` that orders nodes of equal degree |
//!
//! Time and memory are linear in nodes and edges.

mod block;
mod layer;
mod order;
#[cfg(test)]
mod tests;

use super::config::require;
use super::{Encoded, SystemConfig};
use burn::module::Module;
use burn::tensor::Tensor;
use graphminnet::config::ConfigError;
use graphminnet::nn::Init;
use layer::MambaLayer;
pub(crate) use order::MambaInput;
use serde::{Deserialize, Serialize};

/// Graph-Mamba's own keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphMambaConfig {
    /// States `N` per channel.
    pub states: usize,
    /// Sequences that the nodes of a graph are dealt to at random; 1 for a single one.
    pub buckets: usize,
    /// Orders that are drawn and averaged in every layer outside of training.
    #[serde(default = "five")]
    pub evaluation_draws: usize,
    /// Where the draws outside of training come from.
    #[serde(default)]
    pub evaluation_order: EvaluationOrder,
}

const fn five() -> usize {
    5
}

/// Where the draws outside of training come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationOrder {
    /// From a fixed seed: the same weights give the same answers.
    #[default]
    Seeded,
    /// Anew in every pass, as published.
    Random,
}

impl GraphMambaConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in
            [("states", self.states), ("buckets", self.buckets), ("evaluation_draws", self.evaluation_draws)]
        {
            require(value >= 1, &format!("system.graph-mamba.{key}"), value, "must be at least 1")?;
        }
        Ok(())
    }
}

/// The layers.
#[derive(Module, Debug)]
pub(crate) struct GraphMamba {
    layers: Vec<MambaLayer>,
}

impl GraphMamba {
    pub(super) fn new(frame: &SystemConfig, own: &GraphMambaConfig, init: &mut Init) -> Self {
        Self { layers: (0..frame.layers).map(|_| MambaLayer::new(frame, own, init)).collect() }
    }

    pub(super) fn forward(&self, start: Encoded<'_>, input: &MambaInput) -> Tensor<2> {
        let Encoded { nodes: mut x, edges, structure, pass, .. } = start;
        let mut edges = edges.unwrap_or_else(|| unreachable!("Graph-Mamba has an edge encoder"));
        for (number, layer) in self.layers.iter().enumerate() {
            let last = number + 1 == self.layers.len();
            (x, edges) = layer.forward(x, edges, input, structure, (number, last, pass));
        }
        x
    }
}
