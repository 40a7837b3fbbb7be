//! One layer: the local and the global branch side by side, then a feed-forward block.
//!
//! ```text
//! g   = Dropout_gmn(global(x))
//! h_G = BN_global(x + Dropout_res(g))
//! h_L = BN_local(local(x, ε))                 GatedGCN has its own residual; the others get x + Dropout_local(·)
//! y   = h_L + h_G
//! x'  = BN_ffn(y + Dropout_ffn(Linear(Dropout_ffn(ReLU(Linear(y))))))
//! ```

use super::{Attention, Block, Gssc, ModelInput, Spectrum};
use crate::config::{DropoutSite, GlobalKind, LocalKind, ModelConfig};
use crate::nn::{BatchNorm, FeedForward, Gat, GatedGcn, Gcn, Gin, Gine, Init, Linear, LocalPass, Pass, Site};
use crate::ops::{Dropout, Structure};
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
    fn change(&self, nodes: Tensor<2>, edges: Option<Tensor<2>>, structure: &Arc<Structure>) -> Tensor<2> {
        match (self, edges) {
            (Self::Gine(gine), Some(edges)) => gine.forward(nodes, edges, structure),
            (Self::Gat(gat), edges) => gat.forward(nodes, edges, structure),
            (Self::Gin(gin), _) => gin.forward(nodes, structure),
            (Self::Gcn(gcn), _) => gcn.forward(nodes, structure),
            (Self::Gated(_) | Self::Gine(_), _) => {
                unreachable!("GatedGCN has its own residual, and a checked model gives GINE its edges")
            }
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

/// One layer's parameters; at most one of the global branches is there.
#[derive(Module, Debug)]
pub struct Layer {
    local: Option<Local>,
    gmn: Option<Block>,
    attention: Option<Attention>,
    gssc: Option<Gssc>,
    norm_local: Option<BatchNorm>,
    norm_global: Option<BatchNorm>,
    norm_ffn: BatchNorm,
    ffn1: Linear,
    ffn2: Linear,
}

impl Layer {
    /// Fresh parameters.
    pub fn new(config: &ModelConfig, init: &mut Init) -> Self {
        let (hidden, global) = (config.hidden, config.global);
        let local = Local::new(config, init);
        let gmn = (global == GlobalKind::Graphminnet).then(|| Block::new(config, init));
        let attention =
            (global == GlobalKind::Attention).then(|| Attention::new(hidden, config.attention_heads, init));
        let gssc = (global == GlobalKind::Gssc).then(|| Gssc::new(config, init));
        let norm_local = local.is_some().then(|| BatchNorm::new(hidden, init));
        let norm_global = (global != GlobalKind::None).then(|| BatchNorm::new(hidden, init));
        let norm_ffn = BatchNorm::new(hidden, init);
        let (ffn1, ffn2) = FeedForward::layers(hidden, init);
        Self { local, gmn, attention, gssc, norm_local, norm_global, norm_ffn, ffn1, ffn2 }
    }

    /// The block of this layer, where it has one.
    pub fn block(&self) -> Option<&Block> {
        self.gmn.as_ref()
    }

    /// The local branch of this layer, where it has one.
    pub fn local(&self) -> Option<&Local> {
        self.local.as_ref()
    }

    /// The attention of this layer, where it has one.
    pub fn attention(&self) -> Option<&Attention> {
        self.attention.as_ref()
    }

    /// The state space convolution of this layer, where it has one.
    pub fn gssc(&self) -> Option<&Gssc> {
        self.gssc.as_ref()
    }

    /// The global branch's output before its dropout: `[nodes, hidden]`.
    fn global(&self, nodes: &Tensor<2>, shared: Shared<'_>, layer: usize, pass: Pass) -> Option<Tensor<2>> {
        let Shared { config, input, spectrum } = shared;
        match (&self.gmn, &self.attention, &self.gssc) {
            (Some(block), _, _) => Some(block.forward(nodes.clone(), input, spectrum, config, layer, pass)),
            (_, Some(attention), _) => Some(attention.forward(nodes.clone(), &input.structure)),
            (_, _, Some(gssc)) => Some(gssc.forward(nodes.clone(), input, spectrum)),
            (None, None, None) => None,
        }
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
        let global = match (self.global(&nodes, shared, layer, pass), &self.norm_global) {
            (Some(output), Some(norm)) => {
                let branch = Some((output, output_dropout(config, layer, pass)));
                Some(norm.residual(nodes.clone(), branch, None, pass))
            }
            _ => None,
        };
        match (&self.local, &self.norm_local, edges) {
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
            (Some(local), Some(norm), edges) => {
                let change = local.change(nodes.clone(), edges.clone(), &input.structure);
                let rate = pass.dropout(config.drop_local, Site { layer, place: config.local.word() });
                (norm.residual(nodes, Some((change, rate)), global, pass), edges)
            }
            (_, _, edges) => (global.unwrap_or(nodes), edges),
        }
    }

    /// The second half of the layer: from `y` to the new node features.
    pub(crate) fn feed_forward(&self, mixed: Tensor<2>, shared: Shared<'_>, place: Place) -> Tensor<2> {
        let Place { layer, pass, .. } = place;
        let feed_forward = FeedForward { expand: &self.ffn1, contract: &self.ffn2 };
        let rate = |place| pass.dropout(shared.config.drop_ffn, Site { layer, place });
        let change = feed_forward.forward(mixed.clone(), rate("ffn inner"));
        self.norm_ffn.residual(mixed, Some((change, rate("ffn outer"))), None, pass)
    }
}

/// The global branch's own dropout (where it sits on the output) and the residual dropout as one.
///
/// Two independent masks on the same tensor keep a value with probability `(1 − p)(1 − q)` and scale it by the
/// inverse: that is a single dropout with rate `1 − (1 − p)(1 − q)`.
fn output_dropout(config: &ModelConfig, layer: usize, pass: Pass) -> Option<Dropout> {
    let inside = config.global == GlobalKind::Graphminnet && config.drop_gmn_at != DropoutSite::Output;
    let own = if inside { 0.0 } else { config.drop_gmn };
    let rate = 1.0 - (1.0 - own) * (1.0 - config.drop_res);
    pass.dropout(rate, Site { layer, place: "block output" })
}
