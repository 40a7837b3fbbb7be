//! GRIT (Ma et al., 2023): a graph transformer without message passing, in which every pair of nodes has features.
//!
//! | symbol | meaning |
//! |---|---|
//! | `h_i`, `e_ij` | features of node `i`, of the pair of target `i` and source `j` (`i = j` included) |
//! | `d`, `H`, `dh` | width, heads, width of a head |
//! | `R_ij` | probabilities of walks of 0 … `k − 1` steps between two nodes (RRWP) |
//!
//! ```text
//! h_i  = node encoder + W_n R_ii
//! e_ij = W_e R_ij + Σ over edges j→i of the edge encoder
//! ```
//! and then the layers, which update both. Time and memory are quadratic in the nodes of a graph.

mod layer;
mod rrwp;
#[cfg(test)]
mod tests;

use super::config::{check_rate, require};
use super::{Encoded, SystemConfig};
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use graphminnet::config::ConfigError;
use graphminnet::nn::{Init, Linear};
use graphminnet::ops::sum_rows;
use graphminnet_data::Batch;
use layer::GritLayer;
pub(crate) use rrwp::GritInput;
use serde::{Deserialize, Serialize};

/// GRIT's own keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GritConfig {
    /// Heads `H`.
    pub heads: usize,
    /// Walk lengths `k`, the length 0 included.
    pub steps: usize,
    /// Dropout of the attention weights.
    pub attention_dropout: f64,
    /// Which walk a pair looks at.
    #[serde(default)]
    pub orientation: Orientation,
}

/// Which walk the pair of target `i` and source `j` looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// From `i` to `j`, as the code of the authors has it since December 2024.
    #[default]
    TargetToSource,
    /// From `j` to `i`, as it was when the published numbers were made.
    SourceToTarget,
}

impl GritConfig {
    pub(super) fn check(&self, frame: &SystemConfig) -> Result<(), ConfigError> {
        frame.check_heads("system.grit.heads", self.heads)?;
        require(self.steps >= 1, "system.grit.steps", self.steps, "must be at least 1")?;
        check_rate("system.grit.attention_dropout", self.attention_dropout)
    }
}

/// The maps of the walks and the layers.
#[derive(Module, Debug)]
pub(crate) struct Grit {
    /// `W_n`.
    walk_nodes: Linear,
    /// `W_e`.
    walk_pairs: Linear,
    layers: Vec<GritLayer>,
    #[module(skip)]
    own: GritConfig,
}

impl Grit {
    pub(super) fn new(frame: &SystemConfig, own: &GritConfig, init: &mut Init) -> Self {
        let mut walk = || {
            let bound = (6.0 / (own.steps + frame.hidden) as f64).sqrt();
            let weight: Param<Tensor<2>> = init.uniform([frame.hidden, own.steps], bound);
            Linear { weight, bias: None }
        };
        let (walk_nodes, walk_pairs) = (walk(), walk());
        let layers = (0..frame.layers).map(|_| GritLayer::new(frame, own, init)).collect();
        Self { walk_nodes, walk_pairs, layers, own: own.clone() }
    }

    /// All pairs of every graph with their walks.
    pub(super) fn input(&self, batch: &Batch, device: &Device) -> GritInput {
        GritInput::new(batch, self.own.steps, self.own.orientation, device)
    }

    pub(super) fn forward(&self, start: Encoded<'_>, input: &GritInput) -> Tensor<2> {
        let edges = start.edges.unwrap_or_else(|| unreachable!("GRIT has an edge encoder"));
        let mut h = start.nodes + self.walk_nodes.forward(input.node_walks.clone());
        let mut e = self.walk_pairs.forward(input.pair_walks.clone()) + sum_rows(edges, &input.pair_of_edge);
        for (number, layer) in self.layers.iter().enumerate() {
            let last = number + 1 == self.layers.len();
            let (nodes, pairs) = layer.forward(h, e.clone(), input, number, last, start.pass);
            h = nodes;
            e = pairs.unwrap_or(e);
        }
        h
    }
}
