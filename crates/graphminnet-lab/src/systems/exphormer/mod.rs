//! Exphormer (Shirzad et al., 2023): attention over the edges, the edges of an expander graph and a few virtual nodes,
//! beside GatedGCN in every layer.
//!
//! | symbol | meaning |
//! |---|---|
//! | `x_u`, `ε_ji` | features of a node, of an edge `j→i` |
//! | `z_m,g` | features of virtual node `m` of graph `g`; it takes part in attention only |
//! | `η_ji` | features of an attention edge, the same in all layers |
//! | `q_u` | learned map of eigenvector entries, where the gates read them |
//!
//! | attention edges | feature η |
//! |---|---|
//! | edges as given | `ε` right after the encoder |
//! | expander edges | `exp_edge` |
//! | node → virtual node `m` | `virt_in[m]` |
//! | virtual node `m` → node | `virt_out[m]` |
//!
//! Time and memory are linear in nodes and edges.

mod expander;
mod input;
mod layer;
#[cfg(test)]
mod tests;

use super::config::require;
use super::{Encoded, SystemConfig};
use burn::module::{Module, Param};
use burn::tensor::Tensor;
pub(crate) use expander::{EXPANDER, expander_edges};
use graphminnet::config::ConfigError;
use graphminnet::nn::{Init, Linear};
use graphminnet::ops::gather_rows;
pub(crate) use input::ExphormerInput;
use layer::ExphormerLayer;
use serde::{Deserialize, Serialize};

/// Exphormer's own keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExphormerConfig {
    /// Heads `H`.
    pub heads: usize,
    /// Virtual nodes `v` per graph.
    pub virtual_nodes: usize,
    /// Permutations `r` of the expander, whose nodes have `2r` edges; 0 for none.
    pub expander: usize,
    /// Eigenvectors of the normalised Laplacian that the gates of GatedGCN read; 0 for none.
    #[serde(default)]
    pub gate_eigenvectors: usize,
}

impl ExphormerConfig {
    pub(super) fn check(&self, frame: &SystemConfig) -> Result<(), ConfigError> {
        frame.check_heads("system.exphormer.heads", self.heads)?;
        let (key, most) = ("system.exphormer.virtual_nodes", 1000);
        require(self.virtual_nodes <= most, key, self.virtual_nodes, "must be at most 1000")
    }
}

/// The tables of the attention graph and the layers.
#[derive(Module, Debug)]
pub(crate) struct Exphormer {
    /// Map of eigenvector entries.
    spectral: Option<Linear>,
    /// `[1, d]`; there even if no expander is used.
    exp_edge: Param<Tensor<2>>,
    /// The three tables of virtual nodes, where there are any.
    virtual_nodes: Option<VirtualNodes>,
    layers: Vec<ExphormerLayer>,
    #[module(skip)]
    own: ExphormerConfig,
}

/// Tables `[v, d]`.
#[derive(Module, Debug)]
pub(crate) struct VirtualNodes {
    node: Param<Tensor<2>>,
    outwards: Param<Tensor<2>>,
    inwards: Param<Tensor<2>>,
}

impl Exphormer {
    pub(super) fn new(frame: &SystemConfig, own: &ExphormerConfig, init: &mut Init) -> Self {
        let d = frame.hidden;
        let pairs = own.gate_eigenvectors;
        let spectral = (pairs > 0).then(|| Linear::new(pairs, d, true, init));
        let exp_edge = init.normal([1, d], 1.0);
        let virtual_nodes = (own.virtual_nodes > 0).then(|| VirtualNodes {
            node: init.normal([own.virtual_nodes, d], 1.0),
            outwards: init.normal([own.virtual_nodes, d], 1.0),
            inwards: init.normal([own.virtual_nodes, d], 1.0),
        });
        let layers = (0..frame.layers).map(|_| ExphormerLayer::new(frame, own, init)).collect();
        Self { spectral, exp_edge, virtual_nodes, layers, own: own.clone() }
    }

    pub(super) fn config(&self) -> &ExphormerConfig {
        &self.own
    }

    pub(super) fn forward(&self, start: Encoded<'_>, input: &ExphormerInput) -> Tensor<2> {
        let Encoded { nodes: mut x, edges, structure, pass, .. } = start;
        let mut edges = edges.unwrap_or_else(|| unreachable!("Exphormer has an edge encoder"));
        // ‖q_i − q_j‖² of every edge.
        let distances = match (&self.spectral, &input.eigenvectors) {
            (Some(map), Some(eigenvectors)) => {
                let q = map.forward(eigenvectors.clone());
                let apart = gather_rows(q.clone(), structure.targets()) - gather_rows(q, structure.sources());
                Some(apart.powi_scalar(2).sum_dim(1))
            }
            _ => None,
        };
        let mut factors = vec![edges.clone(), self.exp_edge.val()];
        let mut z = None;
        if let Some(tables) = &self.virtual_nodes {
            factors.extend([tables.inwards.val(), tables.outwards.val()]);
            z = Some(gather_rows(tables.node.val(), &input.kind_of_virtual));
        }
        let factors = Tensor::cat(factors, 0);
        for (number, layer) in self.layers.iter().enumerate() {
            let last = number + 1 == self.layers.len();
            let state = layer::State { x, edges, z };
            let next =
                layer.forward(state, &factors, distances.clone(), input, structure, (number, last, pass));
            (x, edges, z) = (next.x, next.edges, next.z);
        }
        x
    }
}
