//! The model's configuration: every option of the architecture, with its default, its range and its effect.

use super::choices::{
    Activation, Aggregate, Beta, BetaRange, DropoutSite, EdgeEncoderKind, GlobalKind, HeadKind, InnerProduct,
    InputNorm, Layout, LevelKind, LocalKind, NodeEncoderKind, NodePeKind, PairKind, Phi, Pooling,
};
use super::{ConfigError, keys};
use graphminnet_data::spectral::PrepareOptions;
use serde::{Deserialize, Serialize};

/// Everything that decides a model's parameters and what it computes.
///
/// | name | default | purpose | range |
/// |---|---|---|---|
/// | `hidden` | 64 | width of node and edge features, `l` | ≥ 1 |
/// | `layers` | 3 | number of layers | ≥ 1 |
/// | `local` | gatedgcn | local branch | gatedgcn, gine, gin, gcn, gat, none |
/// | `global` | graphminnet | global branch | graphminnet, attention, gssc, none |
/// | `attention_heads` | 4 | heads of `gat` and of `attention` | a divisor of `hidden` |
/// | `pe_width` | 32 | positional channels, `D` | ≥ 1 |
/// | `lap_dim` | 16 | eigenpairs used by the block, `M`; 0 switches positions off | |
/// | `whole_eigenspaces` | false | mask an eigenspace that the cut at `M` splits | |
/// | `layout`, `aggregate`, `inner_product`, `type4_first`, `type4_second` | channel, mul, type1, type1, type3 | form of the block | |
/// | `phi_a`, `phi_c` | deepset | φ of the feature and of the positional component | deepset, power:k, zero |
/// | `allocate_set_encoder` | unset | keep the set encoder's parameters even if unused | |
/// | `self_term`, `beta`, `beta_range` | false, learn, clamp | self term and its weight | |
/// | `nonlinear_wb`, `nonlinear_zh`, `zh_bias` | none, none, true | ablations of W, B, z, h | |
/// | `degree_scaling` | false | mix the block's input with its log-degree | |
/// | `input_norm` | ball | bound the block's input | none, rms, ball |
/// | `drop_ffn`, `drop_local`, `drop_res`, `drop_gmn`, `drop_gmn_at` | 0, 0, 0, 0, output | dropout | `[0, 1)` |
/// | `node_encoder`, `node_in`, `node_vocab` | linear, 1, [] | node features | |
/// | `node_pe`, `pe_dim`, `rwse_steps`, `lappe_sign_flip` | none, 16, 0, true | positional part of the node features | |
/// | `edge_encoder`, `edge_in`, `edge_vocab` | dummy, 1, [] | edge features | |
/// | `standardize` | false | put numeric features on the scale of the training data | |
/// | `head`, `head_layers`, `head_l2norm` | mlp, 1, true | head | |
/// | `level`, `pooling`, `out_dim` | graph, mean, 1 | what is predicted | |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Put numeric features on a common scale: mean 0 and deviation 1 over the training data.
    pub standardize: bool,
    /// Sizes of the categorical edge columns.
    pub edge_vocab: Vec<usize>,
    /// Head.
    pub head: HeadKind,
    /// Number of linear layers of the `mlp` head.
    pub head_layers: usize,
    /// L2 row normalisation between the layers of the `mlp` head.
    pub head_l2norm: bool,
    /// Graph-level or node-level predictions.
    pub level: LevelKind,
    /// Pooling of graph-level models.
    pub pooling: Pooling,
    /// Number of outputs.
    pub out_dim: usize,
}

impl Default for ModelConfig {
    fn default() -> Self {
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
            node_pe: NodePeKind::None,
            pe_dim: 16,
            rwse_steps: 0,
            lappe_sign_flip: true,
            edge_encoder: EdgeEncoderKind::Dummy,
            edge_in: 1,
            standardize: false,
            edge_vocab: Vec::new(),
            head: HeadKind::Mlp,
            head_layers: 1,
            head_l2norm: true,
            level: LevelKind::Graph,
            pooling: Pooling::Mean,
            out_dim: 1,
        }
    }
}

impl ModelConfig {
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
            degree_profile: self.node_encoder == NodeEncoderKind::Premp,
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
    fn uses_set_encoder(&self) -> bool {
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

    /// Width of the positional part of the node features.
    pub fn positional_width(&self) -> usize {
        if self.node_pe == NodePeKind::None { 0 } else { self.pe_dim }
    }

    /// Fails if a value is out of range or contradicts another.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`], naming the key, its value and what is expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_sizes()?;
        self.check_block()?;
        self.check_encoders()
    }

    fn check_sizes(&self) -> Result<(), ConfigError> {
        for (key, value, least) in [
            ("hidden", self.hidden, if self.head == HeadKind::San { 4 } else { 1 }),
            ("layers", self.layers, 1),
            ("pe_width", self.pe_width, 1),
            ("out_dim", self.out_dim, 1),
            ("head_layers", self.head_layers, 1),
            ("attention_heads", self.attention_heads, 1),
        ] {
            require(value >= least, key, value, || format!("must be at least {least}"))?;
            require(value <= LARGEST, key, value, || format!("must be at most {LARGEST}"))?;
        }
        require(self.lap_dim <= LARGEST, "lap_dim", self.lap_dim, || format!("must be at most {LARGEST}"))?;
        for (key, rate) in [
            ("drop_ffn", self.drop_ffn),
            ("drop_local", self.drop_local),
            ("drop_res", self.drop_res),
            ("drop_gmn", self.drop_gmn),
        ] {
            require((0.0..1.0).contains(&rate), key, rate, || "a dropout rate lies in [0, 1)".into())?;
        }
        Ok(())
    }

    fn check_block(&self) -> Result<(), ConfigError> {
        if self.local == LocalKind::Gat || self.global == GlobalKind::Attention {
            let heads = self.attention_heads;
            require(self.hidden.is_multiple_of(heads), "attention_heads", heads, || {
                format!("must divide hidden = {}", self.hidden)
            })?;
        }
        require(
            !(self.uses_set_encoder() && self.allocate_set_encoder == Some(false)),
            "allocate_set_encoder",
            false,
            || "phi_a or phi_c is deepset, which needs the set encoder".into(),
        )?;
        match self.global {
            GlobalKind::Graphminnet => self.check_graphminnet(),
            GlobalKind::Attention => Ok(()),
            GlobalKind::Gssc => require(self.lap_dim >= 1, "lap_dim", self.lap_dim, || {
                "global = \"gssc\" is a convolution over eigenpairs and needs at least one".into()
            }),
            GlobalKind::None => require(self.local != LocalKind::None, "global", self.global, || {
                "a layer needs a local or a global branch, and local is none too".into()
            }),
        }
    }

    fn check_graphminnet(&self) -> Result<(), ConfigError> {
        if self.lap_dim == 0 {
            let needed = (Phi::Power(0), Phi::Zero, Layout::Channel, Aggregate::Add);
            require((self.phi_a, self.phi_c, self.layout, self.aggregate) == needed, "lap_dim", 0, || {
                "without eigenpairs the block needs phi_a = \"power:0\", phi_c = \"zero\", layout = \"channel\", aggregate = \"add\"".into()
            })?;
        }
        let type4 = matches!(self.inner_product, InnerProduct::Type4a | InnerProduct::Type4b);
        require(self.type4_second != PairKind::Type1, "type4_second", self.type4_second, || {
            "must be type2 or type3".into()
        })?;
        let needs_square = self.inner_product == InnerProduct::Type2
            || type4 && (self.type4_first == PairKind::Type2 || self.type4_second == PairKind::Type2);
        require(!needs_square || self.columns() == self.hidden, "inner_product", self.inner_product, || {
            format!(
                "type2 needs as many columns as hidden channels, but there are {} columns and hidden = {}",
                self.columns(),
                self.hidden
            )
        })?;
        if let Beta::Fixed(value) = self.beta {
            require((0.0..=2.0).contains(&value), "beta", self.beta, || "a fixed β lies in [0, 2]".into())?;
        }
        Ok(())
    }

    /// Whether the node encoder reads numbers.
    pub(crate) fn takes_node_numbers(&self) -> bool {
        matches!(self.node_encoder, NodeEncoderKind::Linear | NodeEncoderKind::Premp | NodeEncoderKind::Mixed)
    }

    /// Whether the node encoder reads categories.
    pub(crate) fn takes_node_categories(&self) -> bool {
        matches!(self.node_encoder, NodeEncoderKind::Embed | NodeEncoderKind::Atoms | NodeEncoderKind::Mixed)
    }

    /// Whether the edge encoder reads numbers.
    pub(crate) fn takes_edge_numbers(&self) -> bool {
        matches!(self.edge_encoder, EdgeEncoderKind::Linear | EdgeEncoderKind::Mixed)
    }

    /// Whether the edge encoder reads categories.
    pub(crate) fn takes_edge_categories(&self) -> bool {
        matches!(self.edge_encoder, EdgeEncoderKind::Embed | EdgeEncoderKind::Atoms | EdgeEncoderKind::Mixed)
    }

    /// Whether there are numeric columns of the data to put on a common scale; the degree profile has its own.
    fn standardizes_nodes_or_edges(&self) -> bool {
        self.takes_edge_numbers()
            || (self.takes_node_numbers() && self.node_encoder != NodeEncoderKind::Premp)
    }

    fn check_encoders(&self) -> Result<(), ConfigError> {
        let positional = self.positional_width();
        match self.node_pe {
            NodePeKind::None => {}
            kind => {
                require(self.node_encoder != NodeEncoderKind::Premp, "node_pe", kind, || {
                    "the premp node encoder fills the whole width; use node_pe = \"none\"".into()
                })?;
                require(positional >= 1 && positional < self.hidden, "pe_dim", positional, || {
                    format!("must lie between 1 and hidden − 1 = {}", self.hidden.saturating_sub(1))
                })?;
            }
        }
        if self.node_pe == NodePeKind::Rwse {
            require(self.rwse_steps >= 1, "rwse_steps", self.rwse_steps, || {
                "node_pe = \"rwse\" needs at least 1 step".into()
            })?;
        }
        let tables =
            |key: &'static str, kind: &str, tables: &[usize]| {
                let shown = format!("{tables:?}");
                require(!tables.is_empty() && (kind != "embed" || tables.len() == 1), key, &shown, || {
                    match kind {
                        "atoms" | "mixed" => "needs the size of every categorical column".to_owned(),
                        _ => format!("the {kind} encoder needs the size of exactly one categorical column"),
                    }
                })?;
                require(tables.iter().all(|size| (1..=LARGEST).contains(size)), key, &shown, || {
                    format!("every size must lie between 1 and {LARGEST}")
                })
            };
        if self.takes_node_numbers() {
            require(self.node_in >= 1, "node_in", self.node_in, || {
                "needs at least one numeric node column".into()
            })?;
        }
        if self.takes_node_categories() {
            tables("node_vocab", self.node_encoder.word(), &self.node_vocab)?;
        }
        if self.takes_edge_numbers() {
            require(self.edge_in >= 1, "edge_in", self.edge_in, || {
                "needs at least one numeric edge column".into()
            })?;
        }
        if self.takes_edge_categories() {
            tables("edge_vocab", self.edge_encoder.word(), &self.edge_vocab)?;
        }
        if self.edge_encoder == EdgeEncoderKind::None {
            require(!self.local.needs_edges(), "edge_encoder", "none", || {
                format!(
                    "the local branch `{}` needs edge features; \"dummy\" learns one vector for all edges",
                    self.local
                )
            })?;
        }
        Ok(())
    }

    /// Keys that change nothing given the other choices, with the reason.
    fn keys_without_effect(&self) -> Vec<(&'static str, &'static str)> {
        let type4 = matches!(self.inner_product, InnerProduct::Type4a | InnerProduct::Type4b);
        let attends = self.local == LocalKind::Gat || self.global == GlobalKind::Attention;
        [
            (self.global != GlobalKind::Graphminnet, BLOCK_KEYS, "global is not graphminnet"),
            (
                !matches!(self.global, GlobalKind::Graphminnet | GlobalKind::Gssc),
                SPECTRAL_KEYS,
                "global is neither graphminnet nor gssc",
            ),
            (self.global == GlobalKind::None, &["drop_res", "drop_gmn"], "global is none"),
            (!attends, &["attention_heads"], "local is not gat and global is not attention"),
            (
                !self.local.reads_edges(),
                &["edge_encoder", "edge_in", "edge_vocab"],
                "the local branch reads no edge features",
            ),
            (!type4, &["type4_first", "type4_second"][..], "inner_product is not type4a or type4b"),
            (type4, &["aggregate"], "type 4 inner products do not aggregate"),
            (!self.self_term, &["beta", "beta_range"], "self_term is false"),
            (self.self_term && self.beta != Beta::Learn, &["beta_range"], "beta is fixed"),
            (self.drop_gmn == 0.0, &["drop_gmn_at"], "drop_gmn is 0"),
            (self.local == LocalKind::None, &["drop_local"], "local is none"),
            (self.node_pe == NodePeKind::None, &["pe_dim"], "node_pe is none"),
            (self.node_pe != NodePeKind::Rwse, &["rwse_steps"], "node_pe is not rwse"),
            (self.node_pe != NodePeKind::Lappe, &["lappe_sign_flip"], "node_pe is not lappe"),
            (!self.takes_node_numbers(), &["node_in"], "the node encoder embeds categories"),
            (!self.takes_node_categories(), &["node_vocab"], "the node encoder takes numbers"),
            (!self.takes_edge_numbers(), &["edge_in"], "the edge encoder takes no numbers"),
            (!self.takes_edge_categories(), &["edge_vocab"], "the edge encoder embeds no categories"),
            (
                !self.standardizes_nodes_or_edges(),
                &["standardize"],
                "no encoder takes numeric columns of the data",
            ),
            (self.head == HeadKind::San, &["head_layers", "head_l2norm"], "the san head has a fixed form"),
            (
                self.head == HeadKind::Mlp && self.head_layers == 1,
                &["head_l2norm"],
                "a single layer has nothing to normalise",
            ),
            (self.level == LevelKind::Node, &["pooling"], "level is node"),
            (self.lap_dim == 0, &["whole_eigenspaces"], "lap_dim is 0"),
        ]
        .into_iter()
        .filter(|(without_effect, _, _)| *without_effect)
        .flat_map(|(_, keys, reason)| keys.iter().map(move |key| (*key, reason)))
        .collect()
    }
}

const SECTION: &str = "model";

/// Keys that the branches over the spectrum read.
const SPECTRAL_KEYS: &[&str] = &["pe_width", "whole_eigenspaces", "phi_c", "allocate_set_encoder"];

/// Keys that only the GraphMinNet block reads.
const BLOCK_KEYS: &[&str] = &[
    "layout",
    "aggregate",
    "inner_product",
    "type4_first",
    "type4_second",
    "phi_a",
    "self_term",
    "beta",
    "beta_range",
    "nonlinear_wb",
    "nonlinear_zh",
    "zh_bias",
    "degree_scaling",
    "input_norm",
    "drop_gmn_at",
];

/// Largest width, depth or vocabulary that is accepted.
const LARGEST: usize = 1_000_000;

fn require(
    holds: bool,
    key: &str,
    value: impl std::fmt::Display,
    expected: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Invalid {
        key: keys::path(SECTION, key),
        value: value.to_string(),
        expected: expected(),
    })
}
