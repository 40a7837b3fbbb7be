//! The model's configuration: every option of the architecture, with its default, its range and its effect.

use super::choices::{
    Activation, Aggregate, Beta, BetaRange, DropoutSite, EdgeEncoderKind, EndsKind, GlobalKind, HeadKind,
    InnerProduct, InputNorm, Layout, LevelKind, LocalKind, NodeEncoderKind, NodePeKind, PairKind, Phi,
    Pooling,
};
use super::{ConfigError, keys};
use graphminnet_data::spectral::PrepareOptions;
use serde::{Deserialize, Serialize};

/// The section of a recipe that holds it.
pub(super) const SECTION: &str = "model";

/// Everything that decides a model's parameters and what it computes.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `hidden` | 64 | width of node and edge features, `l` | 1 to 65,536 |
/// | `layers` | 3 | number of layers | 1 to 1,000 |
/// | `local` | gatedgcn | local branch | gatedgcn, gine, gin, gcn, gat, none |
/// | `global` | graphminnet | global branch | graphminnet, attention, gssc, none |
/// | `attention_heads` | 4 | heads of `gat` and of `attention` | a divisor of `hidden`, at most 1,024 |
/// | `pe_width` | 32 | positional channels, `D` | 1 to 65,536 |
/// | `lap_dim` | 16 | eigenpairs used by the block, `M`; 0 switches positions off | at most 4,096 |
/// | `whole_eigenspaces` | false | mask an eigenspace that the cut at `M` splits | |
/// | `layout`, `aggregate`, `inner_product`, `type4_first`, `type4_second` | channel, mul, type1, type1, type3 | form of the block | |
/// | `phi_a`, `phi_c` | deepset | φ of the feature and of the positional component | deepset, power:k with k at most 64, zero |
/// | `allocate_set_encoder` | unset | keep the set encoder's parameters even if unused | |
/// | `self_term`, `beta`, `beta_range` | false, learn, clamp | self term and its weight | |
/// | `nonlinear_wb`, `nonlinear_zh`, `zh_bias` | none, none, true | ablations of W, B, z, h | |
/// | `degree_scaling` | false | mix the block's input with its log-degree | |
/// | `input_norm` | ball | bound the block's input | none, rms, ball |
/// | `drop_ffn`, `drop_local`, `drop_res`, `drop_gmn`, `drop_gmn_at` | 0, 0, 0, 0, output | dropout | `[0, 1)` |
/// | `node_encoder`, `node_in`, `node_vocab` | linear, 1, [] | node features | at most 1,000,000 columns or categories |
/// | `encoder_hops`, `drop_encoder` | 0, 0 | averages over neighbours before the first layer, after dropout at this rate | at most 100 hops, `[0, 1)` |
/// | `node_pe`, `pe_dim`, `rwse_steps`, `lappe_sign_flip` | none, 16, 0, true | positional part of the node features | `pe_dim` below `hidden`, at most 4,096 steps |
/// | `edge_encoder`, `edge_in`, `edge_vocab` | dummy, 1, [] | edge features | as of nodes |
/// | `graph_in` | 0 | numbers of whole graphs (descriptors) that join the pooled vector before the head, on the scale of the training data | at most 1,000,000 |
/// | `standardize` | false | put numeric features on the scale of the training data | |
/// | `head`, `head_layers`, `head_l2norm` | mlp, 1, true | head | 1 to 1,000 layers |
/// | `level`, `pooling`, `out_dim` | graph, mean, 1 | what is predicted | graph, node, edge, pair; at most 1,000,000 outputs |
/// | `ends`, `ends_symmetric` | both, true | what the head reads of the two ends of an edge or pair, and whether their order does not matter | hadamard, concat, both |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default = "ModelConfig::baseline", deny_unknown_fields)]
pub struct ModelConfig {
    /// Width of node and edge features.
    pub hidden: usize,
    /// Number of layers.
    pub layers: usize,
    /// Local branch.
    pub local: LocalKind,
    /// Global branch.
    pub global: GlobalKind,
    /// Number of heads of `local = gat` and of `global = attention`.
    pub attention_heads: usize,
    /// Number of positional channels `D`.
    pub pe_width: usize,
    /// Number of eigenpairs `M` that the block uses.
    pub lap_dim: usize,
    /// Mask an eigenspace that the cut at `M` splits.
    pub whole_eigenspaces: bool,
    /// What rows and columns stand for.
    pub layout: Layout,
    /// The paper's ⊕.
    pub aggregate: Aggregate,
    /// Type of inner product.
    pub inner_product: InnerProduct,
    /// First inner product of type 4.
    pub type4_first: PairKind,
    /// Second inner product of type 4.
    pub type4_second: PairKind,
    /// φ of the feature component.
    pub phi_a: Phi,
    /// φ of the positional component.
    pub phi_c: Phi,
    /// Keep the set encoder's parameters even where no φ uses them; unset keeps them only where used.
    pub allocate_set_encoder: Option<bool>,
    /// Whether the block has the self term.
    pub self_term: bool,
    /// Weight between the global and the self term.
    pub beta: Beta,
    /// How β is kept in `[0, 2]`.
    pub beta_range: BetaRange,
    /// Non-linearity inside W and B.
    pub nonlinear_wb: Activation,
    /// Non-linearity inside z and h̃.
    pub nonlinear_zh: Activation,
    /// Whether z and h̃ have biases.
    pub zh_bias: bool,
    /// Mix the block's input with its log-degree.
    pub degree_scaling: bool,
    /// How the block's input is bounded.
    pub input_norm: InputNorm,
    /// Dropout in the feed-forward block.
    pub drop_ffn: f64,
    /// Dropout in the local branch.
    pub drop_local: f64,
    /// Dropout on the global branch before its residual sum.
    pub drop_res: f64,
    /// The global branch's own dropout.
    pub drop_gmn: f64,
    /// Where the block's own dropout sits.
    pub drop_gmn_at: DropoutSite,
    /// Node encoder.
    pub node_encoder: NodeEncoderKind,
    /// Number of numeric node columns.
    pub node_in: usize,
    /// Sizes of the categorical node columns.
    pub node_vocab: Vec<usize>,
    /// How often encoded node features are averaged over neighbours (as GCN does) before the first layer. Where few
    /// nodes are labelled, features of single nodes are learnt by heart.
    pub encoder_hops: usize,
    /// Dropout of encoded node features, before they are averaged.
    pub drop_encoder: f64,
    /// Positional part of the node features.
    pub node_pe: NodePeKind,
    /// Width of the positional part.
    pub pe_dim: usize,
    /// Random-walk steps.
    pub rwse_steps: usize,
    /// Random signs of the eigenvectors in the positional encoder while training.
    pub lappe_sign_flip: bool,
    /// Edge encoder.
    pub edge_encoder: EdgeEncoderKind,
    /// Number of numeric edge columns.
    pub edge_in: usize,
    /// Numbers of whole graphs (descriptors) that join the pooled vector before the head.
    pub graph_in: usize,
    /// Put numeric features on a common scale: mean 0 and standard deviation 1 over the training data.
    pub standardize: bool,
    /// Sizes of the categorical edge columns.
    pub edge_vocab: Vec<usize>,
    /// Head.
    pub head: HeadKind,
    /// Number of linear layers of the `mlp` head.
    pub head_layers: usize,
    /// L2 row normalisation between the layers of the `mlp` head.
    pub head_l2norm: bool,
    /// What there is a prediction for.
    pub level: LevelKind,
    /// What the head reads of the two ends of an edge or pair.
    pub ends: EndsKind,
    /// Whether the head cannot tell which end is which; features side by side are then their sum and their distance.
    pub ends_symmetric: bool,
    /// Pooling of graph-level models.
    pub pooling: Pooling,
    /// Number of outputs.
    pub out_dim: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self::baseline()
    }
}

impl ModelConfig {
    /// What a stored configuration means where it does not name a key.
    ///
    /// Frozen: a key that is added here has the value that means what was done before it existed. Another default for
    /// new configurations belongs into [`ModelConfig::default`].
    pub(crate) fn baseline() -> Self {
        Self {
            hidden: 64,
            layers: 3,
            local: LocalKind::Gated,
            global: GlobalKind::Graphminnet,
            attention_heads: 4,
            pe_width: 32,
            lap_dim: 16,
            whole_eigenspaces: false,
            layout: Layout::Channel,
            aggregate: Aggregate::Mul,
            inner_product: InnerProduct::Type1,
            type4_first: PairKind::Type1,
            type4_second: PairKind::Type3,
            phi_a: Phi::Deepset,
            phi_c: Phi::Deepset,
            allocate_set_encoder: None,
            self_term: false,
            beta: Beta::Learn,
            beta_range: BetaRange::Clamp,
            nonlinear_wb: Activation::None,
            nonlinear_zh: Activation::None,
            zh_bias: true,
            degree_scaling: false,
            input_norm: InputNorm::Ball,
            drop_ffn: 0.0,
            drop_local: 0.0,
            drop_res: 0.0,
            drop_gmn: 0.0,
            drop_gmn_at: DropoutSite::Output,
            node_encoder: NodeEncoderKind::Linear,
            node_in: 1,
            node_vocab: Vec::new(),
            encoder_hops: 0,
            drop_encoder: 0.0,
            node_pe: NodePeKind::None,
            pe_dim: 16,
            rwse_steps: 0,
            lappe_sign_flip: true,
            edge_encoder: EdgeEncoderKind::Dummy,
            edge_in: 1,
            graph_in: 0,
            standardize: false,
            edge_vocab: Vec::new(),
            head: HeadKind::Mlp,
            head_layers: 1,
            head_l2norm: true,
            level: LevelKind::Graph,
            ends: EndsKind::Both,
            ends_symmetric: true,
            pooling: Pooling::Mean,
            out_dim: 1,
        }
    }

    /// Reads the `[model]` section of a configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for an unknown key, a bad value, a key without effect or a contradiction.
    pub fn from_table(table: &toml::Table) -> Result<Self, ConfigError> {
        let config = keys::read_section(SECTION, table, &Self::default())?;
        config.check()?;
        match config.keys_without_effect().into_iter().find(|(key, _)| table.contains_key(*key)) {
            None => Ok(config),
            Some((key, reason)) => {
                Err(ConfigError::UnusedKey { key: keys::path(SECTION, key), reason: reason.into() })
            }
        }
    }

    /// The keys of the `[model]` section that have an effect.
    pub(crate) fn to_table(&self) -> toml::Table {
        let Ok(toml::Value::Table(mut table)) = toml::Value::try_from(self) else {
            unreachable!("a configuration section always serialises to a table")
        };
        let idle: Vec<&str> = self.keys_without_effect().into_iter().map(|(key, _)| key).collect();
        table.retain(|key, _| !idle.contains(&key));
        table
    }

    /// Number of stored eigenpairs `K`: the `M` used ones and the trivial first one.
    pub fn stored_eigenpairs(&self) -> usize {
        self.lap_dim + 1
    }

    /// What has to be prepared for every graph before this model can see it.
    pub fn prepare_options(&self) -> PrepareOptions {
        PrepareOptions {
            eigenpairs: self.stored_eigenpairs(),
            whole_eigenspaces: self.whole_eigenspaces,
            random_walk_steps: if self.node_pe == NodePeKind::Rwse { self.rwse_steps } else { 0 },
            degree_profile: matches!(self.node_encoder, NodeEncoderKind::Premp | NodeEncoderKind::Degrees),
        }
    }

    /// Rows of the paper's matrices: positional channels, or eigenpairs in the `eigen` layout.
    pub fn rows(&self) -> usize {
        match self.layout {
            Layout::Channel => self.pe_width,
            Layout::Eigen => self.lap_dim,
        }
    }

    /// Columns of the paper's matrices: eigenpairs (at least one), or positional channels in the `eigen` layout.
    pub fn columns(&self) -> usize {
        match self.layout {
            Layout::Channel => self.lap_dim.max(1),
            Layout::Eigen => self.pe_width,
        }
    }

    /// Whether the model has a set encoder.
    pub fn has_set_encoder(&self) -> bool {
        self.allocate_set_encoder.unwrap_or_else(|| self.uses_set_encoder())
    }

    /// Whether the global branch reads the set encoder.
    pub(super) fn uses_set_encoder(&self) -> bool {
        match self.global {
            GlobalKind::Graphminnet => self.phi_a == Phi::Deepset || self.phi_c == Phi::Deepset,
            GlobalKind::Gssc => self.phi_c == Phi::Deepset,
            GlobalKind::Attention | GlobalKind::None => false,
        }
    }

    /// Whether the layers read positions and coefficients of the spectrum.
    pub fn reads_spectrum(&self) -> bool {
        self.lap_dim > 0 && matches!(self.global, GlobalKind::Graphminnet | GlobalKind::Gssc)
    }

    /// Whether the layers read the nodes' degrees.
    pub fn reads_degrees(&self) -> bool {
        match self.global {
            GlobalKind::Graphminnet => self.degree_scaling,
            GlobalKind::Gssc => true,
            GlobalKind::Attention | GlobalKind::None => false,
        }
    }

    /// Whether the model has an edge encoder: only where the local branch reads its output.
    pub fn has_edge_encoder(&self) -> bool {
        self.local.reads_edges() && self.edge_encoder != EdgeEncoderKind::None
    }

    /// Numbers of whole graphs that the head reads.
    pub fn graph_numbers(&self) -> usize {
        if self.level == LevelKind::Graph { self.graph_in } else { 0 }
    }

    /// Whether the model answers for edges or for pairs, of which the head reads both ends.
    pub fn reads_ends(&self) -> bool {
        matches!(self.level, LevelKind::Edge | LevelKind::Pair)
    }

    /// Whether the head reads the features of the edges that it answers for.
    pub fn head_reads_edges(&self) -> bool {
        self.level == LevelKind::Edge
            && !matches!(self.edge_encoder, EdgeEncoderKind::Dummy | EdgeEncoderKind::None)
    }

    /// Whether anything in the model reads features of edges.
    pub fn reads_edge_features(&self) -> bool {
        self.has_edge_encoder() || self.head_reads_edges()
    }

    /// Width of what the head reads.
    pub fn head_in(&self) -> usize {
        let parts = match (self.reads_ends(), self.ends) {
            (false, _) | (true, EndsKind::Hadamard) => 1,
            (true, EndsKind::Concat) => 2,
            (true, EndsKind::Both) => 3,
        };
        (parts + usize::from(self.head_reads_edges())) * self.hidden + self.graph_numbers()
    }

    /// Width of the positional part of the node features.
    pub fn positional_width(&self) -> usize {
        if self.node_pe == NodePeKind::None { 0 } else { self.pe_dim }
    }
}
