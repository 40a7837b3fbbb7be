//! One layer: the local branch and the block side by side, then a feed-forward block.
//!
//! ```text
//! g   = Dropout_gmn(block(x))
//! h_G = BN_global(x + Dropout_res(g))
//! h_L = BN_local(local(x, ε))                 GatedGCN has its own residual; GINE gets x + Dropout_local(·)
//! y   = h_L + h_G
//! x'  = BN_ffn(y + Dropout_ffn(Linear(Dropout_ffn(ReLU(Linear(y))))))
//! ```

use super::{Block, ModelInput, Spectrum};
use crate::config::{DropoutSite, GlobalKind, LocalKind, ModelConfig};
use crate::nn::{BatchNorm, FeedForward, GatedGcn, Gine, Init, Linear, LocalPass, Pass, Site};
use crate::ops::Dropout;
use burn::module::Module;
use burn::tensor::Tensor;

/// The local branch.
#[derive(Module, Debug)]
pub enum Local {
    /// GatedGCN.
    Gated(GatedGcn),
    /// GINE.
    Gine(Gine),
}

/// What all layers of a pass read.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) config: &'a ModelConfig,
    pub(super) input: &'a ModelInput,
    pub(super) spectrum: &'a Spectrum,
}

/// One layer's parameters.
#[derive(Module, Debug)]
pub struct Layer {
    local: Option<Local>,
    gmn: Option<Block>,
    norm_local: Option<BatchNorm>,
    norm_global: Option<BatchNorm>,
    norm_ffn: BatchNorm,
    ffn1: Linear,
    ffn2: Linear,
}

impl Layer {
    /// Fresh parameters.
    pub fn new(config: &ModelConfig, init: &mut Init) -> Self {
        let hidden = config.hidden;
        let local = match config.local {
            LocalKind::Gated => Some(Local::Gated(GatedGcn::new(hidden, init))),
            LocalKind::Gine => Some(Local::Gine(Gine::new(hidden, init))),
            LocalKind::None => None,
        };
        let gmn = match config.global {
            GlobalKind::Graphminnet => Some(Block::new(config, init)),
            GlobalKind::None => None,
        };
        let norm_local = local.is_some().then(|| BatchNorm::new(hidden, init));
        let norm_global = gmn.is_some().then(|| BatchNorm::new(hidden, init));
        let norm_ffn = BatchNorm::new(hidden, init);
        let (ffn1, ffn2) = FeedForward::layers(hidden, init);
        Self { local, gmn, norm_local, norm_global, norm_ffn, ffn1, ffn2 }
    }

    /// The block of this layer, where it has one.
    pub fn block(&self) -> Option<&Block> {
        self.gmn.as_ref()
    }

    /// New node features, and the edge features for the next layer.
    ///
    /// `edges` may be returned unchanged or not at all: `update_edges` says whether anybody will read them.
    pub(super) fn forward(
        &self,
        nodes: Tensor<2>,
        edges: Option<Tensor<2>>,
        shared: Shared<'_>,
        layer: usize,
        pass: Pass,
        update_edges: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let Shared { config, input, spectrum } = shared;
        let site = |place| Site { layer, place };
        let global = match (&self.gmn, &self.norm_global) {
            (Some(block), Some(norm)) => {
                let output = block.forward(nodes.clone(), input, spectrum, config, layer, pass);
                let branch = Some((output, output_dropout(config, layer, pass)));
                Some(norm.residual(nodes.clone(), branch, None, pass))
            }
            _ => None,
        };
        let (mixed, edges) = match (&self.local, &self.norm_local, edges) {
            (Some(Local::Gated(gated)), Some(norm), Some(edges)) => {
                let (local, edges) = gated.forward(
                    nodes,
                    edges,
                    &input.structure,
                    LocalPass { drop: config.drop_local, layer, pass },
                    update_edges,
                );
                (norm.residual(local, None, global, pass), edges)
            }
            (Some(Local::Gine(gine)), Some(norm), Some(edges)) => {
                let local = gine.forward(nodes.clone(), edges.clone(), &input.structure);
                let rate = pass.dropout(config.drop_local, site("gine"));
                (norm.residual(nodes, Some((local, rate)), global, pass), Some(edges))
            }
            (_, _, edges) => (global.unwrap_or(nodes), edges),
        };
        let feed_forward = FeedForward { expand: &self.ffn1, contract: &self.ffn2 };
        let inner = pass.dropout(config.drop_ffn, site("ffn inner"));
        let outer = pass.dropout(config.drop_ffn, site("ffn outer"));
        let change = feed_forward.forward(mixed.clone(), inner);
        (self.norm_ffn.residual(mixed, Some((change, outer)), None, pass), edges)
    }
}

/// The block's own dropout (where it sits on the output) and the residual dropout as one.
///
/// Two independent masks on the same tensor keep a value with probability `(1 − p)(1 − q)` and scale it by the
/// inverse: that is a single dropout with rate `1 − (1 − p)(1 − q)`.
fn output_dropout(config: &ModelConfig, layer: usize, pass: Pass) -> Option<Dropout> {
    let own = if config.drop_gmn_at == DropoutSite::Output { config.drop_gmn } else { 0.0 };
    let rate = 1.0 - (1.0 - own) * (1.0 - config.drop_res);
    pass.dropout(rate, Site { layer, place: "block output" })
}
