//! What a system is made of, as its configuration files say it.

use super::exphormer::ExphormerConfig;
use super::graph_mamba::GraphMambaConfig;
use super::gred::GredConfig;
use super::grit::GritConfig;
use super::positions::Positions;
use super::san::{MissingPair, SanConfig};
use graphminnet::config::{ConfigError, LevelKind, Pooling};
use serde::{Deserialize, Serialize};

/// A system: the frame that all have, and its own part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemConfig {
    /// Width `d`.
    pub hidden: usize,
    /// Layers `L`.
    pub layers: usize,
    /// Dropout rate; where it acts is the system's own matter.
    pub dropout: f64,
    /// How node features become numbers.
    pub nodes: Encoder,
    /// How edge features become numbers; systems that read no edge features have none.
    #[serde(default)]
    pub edges: Option<Encoder>,
    /// What stands behind the features of a node; it takes its share of the width.
    #[serde(default)]
    pub positions: Positions,
    /// What a node answers for.
    pub level: LevelKind,
    /// How the nodes of a graph are summarised; of no effect where every node answers for itself.
    #[serde(default = "mean")]
    pub pooling: Pooling,
    /// The last layers.
    pub head: HeadKind,
    /// Numbers per answer.
    pub outputs: usize,
    /// The system's own part.
    pub system: Body,
}

/// How features become `d` numbers per node or edge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoder {
    /// A linear map with bias of so many numbers.
    Linear(usize),
    /// A table with a row for each of so many categories.
    Table(usize),
    /// The sum of a row per categorical column.
    Tables(Vec<usize>),
    /// A table with so many rows, chosen by numbers of which one is 1 and the others 0.
    OneHot {
        /// Numbers.
        columns: usize,
        /// Rows of the table, at least as many.
        rows: usize,
    },
    /// A table with a row for edges and one for pairs that are none.
    Marked,
    /// The local degree profile: a linear map, and one more with normalisation and rows of unit length.
    DegreeProfile,
    /// One learned vector for all.
    Constant,
}

/// The last layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// `d → ⌊d/2⌋ → ⌊d/4⌋ → out` with ReLU between.
    San,
    /// So many linear maps of width `d`, with ReLU and rows of unit length between.
    Mlp(usize),
    /// Two linear maps of width `d` with a gelu between.
    Gelu,
}

/// The part that makes a system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// SAN.
    San(SanConfig),
    /// Exphormer.
    Exphormer(ExphormerConfig),
    /// GRIT.
    Grit(GritConfig),
    /// GRED.
    Gred(GredConfig),
    /// Graph-Mamba.
    GraphMamba(GraphMambaConfig),
}

const fn mean() -> Pooling {
    Pooling::Mean
}

impl SystemConfig {
    /// Fails if a value is out of range.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`], naming the key, its value and what is expected.
    pub fn check(&self) -> Result<(), ConfigError> {
        for (key, value) in [("hidden", self.hidden), ("layers", self.layers), ("outputs", self.outputs)] {
            require(value >= 1, key, value, "must be at least 1")?;
        }
        check_rate("dropout", self.dropout)?;
        if let HeadKind::Mlp(layers) = self.head {
            require(layers >= 1, "head.mlp", layers, "must be at least 1")?;
        }
        self.positions.check()?;
        let (width, all) = (self.positions.width(), self.hidden);
        require(width < all, "positions.width", width, &format!("must be smaller than hidden = {all}"))?;
        if let Encoder::OneHot { columns, rows } = self.nodes {
            require(columns <= rows, "nodes.one_hot.rows", rows, "must be at least the columns")?;
        }
        let reads_edges = !matches!(self.system, Body::Gred(_));
        require(
            self.edges.is_some() || !reads_edges,
            "edges",
            "nothing",
            "this system needs an edge encoder",
        )?;
        match &self.system {
            Body::San(own) => {
                let by_category =
                    matches!(self.edges, Some(Encoder::Table(_) | Encoder::Tables(_) | Encoder::Marked));
                let known = own.missing == MissingPair::Learned || by_category;
                require(known, "system.san.missing", "first_category", "needs edges with categories")?;
                own.check(self)
            }
            Body::Exphormer(own) => own.check(self),
            Body::Grit(own) => own.check(self),
            Body::Gred(own) => own.check(),
            Body::GraphMamba(own) => own.check(),
        }
    }

    /// Fails unless `heads` divides the width.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Invalid`].
    pub(super) fn check_heads(&self, key: &str, heads: usize) -> Result<(), ConfigError> {
        let divides = heads >= 1 && self.hidden.is_multiple_of(heads);
        require(divides, key, heads, &format!("must divide hidden = {}", self.hidden))
    }
}

/// Fails unless a dropout rate is in its range.
pub(super) fn check_rate(key: &str, rate: f64) -> Result<(), ConfigError> {
    require((0.0..1.0).contains(&rate), key, rate, "must be at least 0 and below 1")
}

/// Fails unless a condition on a key of the model holds.
pub(super) fn require(
    holds: bool,
    key: &str,
    value: impl ToString,
    expected: &str,
) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Invalid {
        key: format!("model.{key}"),
        value: value.to_string(),
        expected: expected.to_owned(),
    })
}
