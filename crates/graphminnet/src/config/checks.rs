//! What makes a model's configuration sound: ranges of its values, and keys that have no effect beside others.

use super::choices::{
    Aggregate, Beta, EdgeEncoderKind, GlobalKind, HeadKind, InnerProduct, Layout, LevelKind, LocalKind,
    NodeEncoderKind, NodePeKind, PairKind, Phi,
};
use super::model::{ModelConfig, SECTION};
use super::{ConfigError, keys};

impl ModelConfig {
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
        for (key, value, least, most) in [
            ("hidden", self.hidden, if self.head == HeadKind::San { 4 } else { 1 }, MOST_CHANNELS),
            ("layers", self.layers, 1, MOST_LAYERS),
            ("attention_heads", self.attention_heads, 1, MOST_HEADS),
            ("pe_width", self.pe_width, 1, MOST_CHANNELS),
            ("lap_dim", self.lap_dim, 0, MOST_PAIRS),
            ("pe_dim", self.pe_dim, 0, MOST_CHANNELS),
            ("rwse_steps", self.rwse_steps, 0, MOST_STEPS),
            ("encoder_hops", self.encoder_hops, 0, MOST_HOPS),
            ("node_in", self.node_in, 0, MOST_COLUMNS),
            ("edge_in", self.edge_in, 0, MOST_COLUMNS),
            ("graph_in", self.graph_in, 0, MOST_COLUMNS),
            ("head_layers", self.head_layers, 1, MOST_LAYERS),
            ("out_dim", self.out_dim, 1, MOST_COLUMNS),
        ] {
            require(value >= least, key, value, || format!("must be at least {least}"))?;
            require(value <= most, key, value, || format!("must be at most {most}"))?;
        }
        for (key, phi) in [("phi_a", self.phi_a), ("phi_c", self.phi_c)] {
            let exponent = if let Phi::Power(exponent) = phi { exponent } else { 0 };
            require(exponent <= MOST_POWER, key, phi, || format!("the power must be at most {MOST_POWER}"))?;
        }
        for (key, tables) in [("node_vocab", &self.node_vocab), ("edge_vocab", &self.edge_vocab)] {
            require(tables.len() <= MOST_TABLES, key, format!("{} sizes", tables.len()), || {
                format!("there must be at most {MOST_TABLES}")
            })?;
        }
        for (key, rate) in [
            ("drop_ffn", self.drop_ffn),
            ("drop_local", self.drop_local),
            ("drop_res", self.drop_res),
            ("drop_gmn", self.drop_gmn),
            ("drop_encoder", self.drop_encoder),
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
        matches!(
            self.node_encoder,
            NodeEncoderKind::Linear
                | NodeEncoderKind::Premp
                | NodeEncoderKind::Degrees
                | NodeEncoderKind::Mixed
        )
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

    /// Whether there are numeric columns to put on a common scale; the norm of `premp` is one.
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
                require(tables.iter().all(|size| (1..=MOST_CATEGORIES).contains(size)), key, &shown, || {
                    format!("every size must lie between 1 and {MOST_CATEGORIES}")
                })
            };
        if self.node_encoder == NodeEncoderKind::Degrees {
            require(self.node_in == DEGREE_COLUMNS, "node_in", self.node_in, || {
                format!("the degrees of a node and its neighbours are {DEGREE_COLUMNS} numbers")
            })?;
        }
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
    pub(super) fn keys_without_effect(&self) -> Vec<(&'static str, &'static str)> {
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
            (self.global == GlobalKind::Gssc, &["drop_gmn"], "gssc has no dropout of its own"),
            (!attends, &["attention_heads"], "local is not gat and global is not attention"),
            (
                !self.local.reads_edges() && self.level != LevelKind::Edge,
                &["edge_encoder", "edge_in", "edge_vocab"],
                "the local branch reads no edge features",
            ),
            (!self.reads_ends(), &["ends", "ends_symmetric"], "level is neither edge nor pair"),
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
                "no encoder takes numbers that it has no norm for",
            ),
            (self.head == HeadKind::San, &["head_layers", "head_l2norm"], "the san head has a fixed form"),
            (
                self.head == HeadKind::Mlp && self.head_layers == 1,
                &["head_l2norm"],
                "a single layer has nothing to normalise",
            ),
            (self.level != LevelKind::Graph, &["pooling", "graph_in"], "level is not graph"),
            (self.lap_dim == 0, &["whole_eigenspaces"], "lap_dim is 0"),
        ]
        .into_iter()
        .filter(|(without_effect, _, _)| *without_effect)
        .flat_map(|(_, keys, reason)| keys.iter().map(move |key| (*key, reason)))
        .collect()
    }
}

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

/// Most averages over neighbours before the first layer.
const MOST_HOPS: usize = 100;

/// Numbers in the profile of degrees.
const DEGREE_COLUMNS: usize = 5;

/// Most channels of nodes, edges or positions.
const MOST_CHANNELS: usize = 65_536;
/// Most layers of the model or of its head.
const MOST_LAYERS: usize = 1_000;
/// Most heads of an attention.
const MOST_HEADS: usize = 1_024;
/// Most eigenpairs.
const MOST_PAIRS: usize = 4_096;
/// Most steps of the random walk.
const MOST_STEPS: usize = 4_096;
/// Largest power of an eigenvalue.
const MOST_POWER: u32 = 64;
/// Most numeric columns, and most outputs.
const MOST_COLUMNS: usize = 1_000_000;
/// Most categories of a column.
const MOST_CATEGORIES: usize = 1_000_000;
/// Most categorical columns.
const MOST_TABLES: usize = 10_000;

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
