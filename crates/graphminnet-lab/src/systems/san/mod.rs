//! SAN (Kreuzer et al., 2021): a graph transformer in which edges and pairs that are no edges attend with weights of their
//! own, and a small transformer reads the spectrum.
//!
//! | symbol | meaning |
//! |---|---|
//! | `x_i`, `ε_ji` | features of a node, of an edge `j→i`; `ε` is the same in all layers |
//! | `f` | feature of every pair that is no edge |
//! | `γ` | how much such pairs count |
//! | `k` | width of a head |
//!
//! Time is quadratic in the nodes of a graph; memory is linear but for the list of pairs.

mod encoder;
mod layer;
#[cfg(test)]
pub(crate) mod tests;

use super::config::require;
use super::{Encoded, SystemConfig};
use burn::module::{Module, Param};
use burn::tensor::Tensor;
pub use encoder::SpectrumConfig;
pub(crate) use encoder::{SpectrumEncoder, SpectrumInput};
use graphminnet::config::ConfigError;
use graphminnet::nn::Init;
use graphminnet::ops::{PairList, RowIndex};
use graphminnet_data::Batch;
use layer::SanLayer;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// SAN's own keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SanConfig {
    /// Heads.
    pub heads: usize,
    /// γ, the weight of pairs that are no edges against that of edges.
    pub gamma: f64,
    /// What is the feature `f` of a pair that is no edge.
    pub missing: MissingPair,
    /// Allocate the table that the original has for molecules and does not use; the published count includes it.
    #[serde(default)]
    pub allocate_unused_table: bool,
}

/// The feature of pairs that are no edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingPair {
    /// That of an edge whose categories are all 0, as in the original.
    FirstCategory,
    /// A learned vector, as in the port to the long-range benchmarks.
    Learned,
}

impl SanConfig {
    pub(super) fn check(&self, frame: &SystemConfig) -> Result<(), ConfigError> {
        frame.check_heads("system.san.heads", self.heads)?;
        let positive = self.gamma.is_finite() && self.gamma > 0.0;
        require(positive, "system.san.gamma", self.gamma, "must be a positive number")
    }
}

/// The layers, and the feature of a missing pair where it is learned.
#[derive(Module, Debug)]
pub(crate) struct San {
    missing: Option<Param<Tensor<2>>>,
    unused: Option<Param<Tensor<2>>>,
    layers: Vec<SanLayer>,
}

/// What SAN reads of a batch.
#[derive(Debug)]
pub(crate) struct SanInput {
    /// The edges.
    edges: (Arc<PairList>, Arc<RowIndex>),
    /// All other pairs of different nodes of a graph.
    others: (Arc<PairList>, Arc<RowIndex>),
}

impl San {
    pub(super) fn new(frame: &SystemConfig, own: &SanConfig, init: &mut Init) -> Self {
        let missing = (own.missing == MissingPair::Learned).then(|| init.normal([1, frame.hidden], 1.0));
        let unused = own.allocate_unused_table.then(|| init.normal([1, frame.hidden], 1.0));
        let layers = (0..frame.layers).map(|_| SanLayer::new(frame, own, init)).collect();
        Self { missing, unused, layers }
    }

    pub(super) fn forward(&self, start: Encoded<'_>, input: &SanInput) -> Tensor<2> {
        let Encoded { nodes: mut x, edges, absent_edge, pass, .. } = start;
        let edges = edges.unwrap_or_else(|| unreachable!("SAN has an edge encoder"));
        let missing = self.missing.as_ref().map(Param::val).or(absent_edge);
        let missing = missing.unwrap_or_else(|| unreachable!("a missing pair has a feature"));
        for (number, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, edges.clone(), missing.clone(), input, number, pass);
        }
        x
    }
}

impl SanInput {
    pub(super) fn new(batch: &Batch) -> Self {
        let (layout, topology) = (&batch.layout, batch.layout.topology());
        let nodes = layout.num_nodes();
        let given: Vec<[u32; 2]> =
            topology.source.iter().zip(&topology.target).map(|(&from, &to)| [from, to]).collect();
        let known: HashSet<[u32; 2]> = given.iter().copied().collect();
        let mut others = Vec::new();
        for range in layout.node_offsets().windows(2) {
            for to in range[0]..range[1] {
                let sources = (range[0]..range[1]).filter(|&from| from != to);
                others.extend(sources.map(|from| [from, to]).filter(|ends| !known.contains(ends)));
            }
        }
        let (edges, order) = PairList::new(nodes, &given);
        let (missing, _) = PairList::new(nodes, &others);
        let shared = RowIndex::new(1, vec![0; others.len()]);
        Self { edges: (edges, RowIndex::new(given.len(), order)), others: (missing, shared) }
    }
}
