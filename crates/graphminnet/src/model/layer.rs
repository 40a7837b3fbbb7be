//! One layer: the local and the global branch side by side, then a feed-forward block.
//!
//! ```text
//! g   = Dropout_gmn(global(x))
//! h_G = BN_global(x + Dropout_res(g))
//! h_L = BN_local(local(x, ε))                 GatedGCN has its own residual; the others get x + Dropout_local(·)
//! y   = h_L + h_G
//! x'  = BN_ffn(y + Dropout_ffn(Linear(Dropout_ffn(ReLU(Linear(y))))))
//! ```

use super::block_use::{BlockUse, block_use};
use super::{Attention, Block, Gssc, ModelInput, Spectrum};
use crate::config::{DropoutSite, GlobalKind, LocalKind, ModelConfig};
use crate::nn::{
    Around, BatchNorm, FeedForward, Gat, GatedGcn, Gcn, Gin, Gine, Init, Linear, LocalPass, Pass, Site,
};
use crate::ops::{Across, Dropout, Structure};
use burn::module::Module;
use burn::tensor::Tensor;
use std::sync::Arc;

/// The local branch.
#[derive(Module, Debug)]
pub enum Local {
    /// GatedGCN.
    Gated(GatedGcn),
    /// GINE.
    Gine(Gine),
    /// GIN.
    Gin(Gin),
    /// GCN.
    Gcn(Gcn),
    /// GAT.
    Gat(Gat),
}

impl Local {
    fn new(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        let hidden = config.hidden;
        match config.local {
            LocalKind::Gated => Some(Self::Gated(GatedGcn::new(hidden, init))),
            LocalKind::Gine => Some(Self::Gine(Gine::new(hidden, init))),
            LocalKind::Gin => Some(Self::Gin(Gin::new(hidden, init))),
            LocalKind::Gcn => Some(Self::Gcn(Gcn::new(hidden, init))),
            LocalKind::Gat => {
                let (heads, with_edges) = (config.attention_heads, config.has_edge_encoder());
                Some(Self::Gat(Gat::new(hidden, heads, with_edges, init)))
            }
            LocalKind::None => None,
        }
    }

    /// What a branch without a residual of its own adds to the nodes.
    fn change(
        &self,
        nodes: Tensor<2>,
        edges: Option<Tensor<2>>,
        (structure, across): (&Arc<Structure>, Option<&Arc<Across>>),
    ) -> Tensor<2> {
        match (self, edges) {
            (Self::Gine(gine), Some(edges)) => gine.forward_across(nodes, edges, (structure, across)),
            (Self::Gat(gat), edges) => gat.forward(nodes, edges, structure),
            (Self::Gin(gin), _) => gin.forward(nodes, structure),
            (Self::Gcn(gcn), _) => gcn.forward(nodes, structure),
            (Self::Gated(_) | Self::Gine(_), _) => {
                unreachable!("GatedGCN has its own residual, and a checked model gives GINE its edges")
            }
        }
    }
}

/// The global branch. A variant has the name that its parameters have in a weights file, in the place of the field's.
#[allow(non_camel_case_types)]
#[derive(Module, Debug)]
enum Global {
    /// The GraphMinNet block.
    gmn(Block),
    /// Attention among all nodes of a graph.
    attention(Attention),
    /// Graph state space convolution.
    gssc(Gssc),
}

impl Global {
    fn new(config: &ModelConfig, init: &mut Init) -> Option<Self> {
        match config.global {
            GlobalKind::Graphminnet => Some(Self::gmn(Block::new(config, init))),
            GlobalKind::Attention => {
                Some(Self::attention(Attention::new(config.hidden, config.attention_heads, init)))
            }
            GlobalKind::Gssc => Some(Self::gssc(Gssc::new(config, init))),
            GlobalKind::None => None,
        }
    }

    /// The branch's output before its dropout: `[nodes, hidden]`.
    fn forward(&self, nodes: Tensor<2>, shared: Shared<'_>, layer: usize, pass: Pass) -> Tensor<2> {
        let Shared { config, input, spectrum } = shared;
        match self {
            Self::gmn(block) => block.forward(nodes, input, spectrum, config, layer, pass),
            Self::attention(attention) => attention.forward(nodes, &input.structure),
            Self::gssc(gssc) => gssc.forward(nodes, input, spectrum),
        }
    }
}

/// What all layers of a pass read.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) config: &'a ModelConfig,
    pub(crate) input: &'a ModelInput,
    pub(crate) spectrum: &'a Spectrum,
}

/// Where in a pass a layer stands.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Number of the layer.
    pub(crate) layer: usize,
    pub(crate) pass: Pass,
    /// Whether anybody will read the layer's edge features.
    pub(crate) update_edges: bool,
}

/// One layer's parameters.
#[derive(Module, Debug)]
pub struct Layer {
    local: Option<Local>,
    global: Option<Global>,
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
        let (local, global) = (Local::new(config, init), Global::new(config, init));
        let norm_local = local.is_some().then(|| BatchNorm::new(hidden, init));
        let norm_global = global.is_some().then(|| BatchNorm::new(hidden, init));
        let norm_ffn = BatchNorm::new(hidden, init);
        let (ffn1, ffn2) = FeedForward::layers(hidden, init);
        Self { local, global, norm_local, norm_global, norm_ffn, ffn1, ffn2 }
    }

    /// The block of this layer, where it has one.
    pub fn block(&self) -> Option<&Block> {
        if let Some(Global::gmn(block)) = &self.global { Some(block) } else { None }
    }

    /// The local branch of this layer, where it has one.
    pub fn local(&self) -> Option<&Local> {
        self.local.as_ref()
    }

    /// The attention of this layer, where it has one.
    pub fn attention(&self) -> Option<&Attention> {
        if let Some(Global::attention(attention)) = &self.global { Some(attention) } else { None }
    }

    /// The state space convolution of this layer, where it has one.
    pub fn gssc(&self) -> Option<&Gssc> {
        if let Some(Global::gssc(gssc)) = &self.global { Some(gssc) } else { None }
    }

    /// New node features, and the edge features for the next layer.
    ///
    /// `edges` may be returned unchanged or not at all: `update_edges` says whether anybody will read them.
    pub(crate) fn forward(
        &self,
        nodes: Tensor<2>,
        edges: Option<Tensor<2>>,
        shared: Shared<'_>,
        place: Place,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let (mixed, edges) = self.mix(nodes, edges, shared, place);
        (self.feed_forward(mixed, shared, place), edges)
    }

    /// The first half of the layer: both branches side by side, `y` of the formulas, and the edge features for the
    /// next layer.
    pub(crate) fn mix(
        &self,
        nodes: Tensor<2>,
        edges: Option<Tensor<2>>,
        shared: Shared<'_>,
        place: Place,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let Shared { config, input, .. } = shared;
        let Place { layer, pass, update_edges } = place;
        let (around, across) = (input.around(pass), input.across());
        let global = match (&self.global, &self.norm_global) {
            (Some(global), Some(norm)) => {
                let output = global.forward(nodes.clone(), shared, layer, pass);
                let branch = Some((output, output_dropout(config, layer, around)));
                Some(norm.residual(nodes.clone(), branch, None, around))
            }
            _ => None,
        };
        match (&self.local, &self.norm_local, edges) {
            (Some(Local::Gated(gated)), Some(norm), Some(edges)) => {
                let (local, edges) = gated.forward_across(
                    nodes,
                    edges,
                    (&input.structure, across),
                    LocalPass { drop: config.drop_local, layer, pass },
                    update_edges,
                );
                (norm.residual(local, None, global, around), edges)
            }
            (Some(local), Some(norm), edges) => {
                let change = local.change(nodes.clone(), edges.clone(), (&input.structure, across));
                let site = Site { layer, place: config.local.word() };
                let rate = around.dropout(config.drop_local, site, config.hidden);
                (norm.residual(nodes, Some((change, rate)), global, around), edges)
            }
            (_, _, edges) => (global.unwrap_or(nodes), edges),
        }
    }

    /// What the block does in this layer; `None` where the layer has no block.
    pub(crate) fn block_use(
        &self,
        nodes: Tensor<2>,
        edges: Option<Tensor<2>>,
        shared: Shared<'_>,
        place: Place,
    ) -> Option<BlockUse> {
        let (Some(Global::gmn(block)), Some(norm)) = (&self.global, &self.norm_global) else { return None };
        let (mixed, _) = self.mix(nodes.clone(), edges, shared, place);
        let Shared { config, input, spectrum } = shared;
        Some(block_use((block, norm), nodes, mixed, (input, spectrum, config), place))
    }

    /// The second half of the layer: from `y` to the new node features.
    pub(crate) fn feed_forward(&self, mixed: Tensor<2>, shared: Shared<'_>, place: Place) -> Tensor<2> {
        let Place { layer, pass, .. } = place;
        let feed_forward = FeedForward { expand: &self.ffn1, contract: &self.ffn2 };
        let (around, hidden) = (shared.input.around(pass), shared.config.hidden);
        let rate = |place, columns| around.dropout(shared.config.drop_ffn, Site { layer, place }, columns);
        let change = feed_forward.forward(mixed.clone(), rate("ffn inner", 2 * hidden));
        self.norm_ffn.residual(mixed, Some((change, rate("ffn outer", hidden))), None, around)
    }
}

/// The global branch's own dropout (where it sits on the output) and the residual dropout as one. GSSC has none of its
/// own.
///
/// Two independent masks on the same tensor keep a value with probability `(1 − p)(1 − q)` and scale it by the
/// inverse: that is a single dropout with rate `1 − (1 − p)(1 − q)`.
fn output_dropout(config: &ModelConfig, layer: usize, pass: Around<'_>) -> Option<Dropout> {
    let own = match config.global {
        GlobalKind::Graphminnet if config.drop_gmn_at != DropoutSite::Output => 0.0,
        GlobalKind::Gssc => 0.0,
        _ => config.drop_gmn,
    };
    let rate = 1.0 - (1.0 - own) * (1.0 - config.drop_res);
    pass.dropout(rate, Site { layer, place: "block output" }, config.hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_dropout_is_not_applied_to_gssc() {
        let rate = |global| {
            let config = ModelConfig { global, drop_gmn: 0.5, drop_res: 0.2, ..ModelConfig::default() };
            output_dropout(&config, 0, Pass::Train { seed: 0 }.into()).map(|dropout| dropout.probability)
        };
        assert_eq!(rate(GlobalKind::Graphminnet), Some(0.6));
        assert_eq!(rate(GlobalKind::Gssc), Some(0.2));
    }
}
