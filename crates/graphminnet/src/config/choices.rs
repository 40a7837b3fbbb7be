//! The named choices of a configuration, each with the words that a configuration file uses for it.

use graphminnet_data::Level;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::str::FromStr;

/// Declares an enum whose variants are written as fixed words, with parsing, printing and serde through those words.
/// A word may be followed by others that are read as the same choice but never written.
macro_rules! choice {
    ($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $variant:ident = $word:literal $(| $alias:literal)*),+ $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All choices, in the order in which they are documented.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that stands for this choice in a configuration.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word $(| $alias)* => Ok(Self::$variant),)+
                    _ => {
                        let words: Vec<&str> = Self::ALL.iter().map(|choice| choice.word()).collect();
                        Err(format!("`{}` is not one of {}", word.escape_debug(), words.join(", ")))
                    }
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.word())
            }
        }

        as_text!($name);
    };
}

/// Serde through `Display` and `FromStr`.
macro_rules! as_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

mod forms;
mod train;

pub use forms::{Beta, PartitionBy, Phi};
pub use train::{Loss, MetricKind, NormEstimates, Schedule, ScheduleUnit, TargetScaling};

choice! {
    /// The local branch of a layer: message passing along the edges.
    LocalKind {
        /// GatedGCN: gated mean over neighbours, edge features are updated.
        Gated = "gatedgcn" | "gated",
        /// GINE: sum of `ReLU(neighbour + edge)`, edge features stay.
        Gine = "gine",
        /// GIN: sum over neighbours, no edge features.
        Gin = "gin",
        /// GCN: sum over neighbours weighted by degrees, no edge features.
        Gcn = "gcn",
        /// GAT: neighbours weighted by attention along the edges; edge features take part where there are any.
        Gat = "gat",
        /// No local branch.
        None = "none",
    }
}

impl LocalKind {
    /// Whether the branch can read edge features.
    pub const fn reads_edges(self) -> bool {
        matches!(self, Self::Gated | Self::Gine | Self::Gat)
    }

    /// Whether the branch cannot do without edge features.
    pub const fn needs_edges(self) -> bool {
        matches!(self, Self::Gated | Self::Gine)
    }
}
choice! {
    /// The global branch of a layer: information from the whole graph at once.
    GlobalKind {
        /// The GraphMinNet block.
        Graphminnet = "graphminnet",
        /// Multi-head attention between all nodes of a graph.
        Attention = "attention",
        /// Graph state space convolution: a kernel of positions alone, linear in the features.
        Gssc = "gssc",
        /// No global branch: plain message passing.
        None = "none",
    }
}
choice! {
    /// What the rows and columns of the paper's matrices stand for.
    Layout {
        /// One column per eigenpair, one row per positional channel.
        Channel = "channel",
        /// One row per eigenpair, one column per positional channel (the paper read to the letter).
        Eigen = "eigen",
    }
}
choice! {
    /// The paper's ⊕ between the feature and the positional component.
    Aggregate {
        /// Element-wise product.
        Mul = "mul",
        /// Element-wise sum.
        Add = "add",
    }
}
choice! {
    /// How two matrices become a vector: the paper's four types of inner product.
    InnerProduct {
        /// Sum over columns: one number per hidden channel.
        Type1 = "type1",
        /// Sum over rows: one number per column.
        Type2 = "type2",
        /// Sum over both: one number for all channels.
        Type3 = "type3",
        /// Positions transformed, features plain, pairwise product.
        Type4a = "type4a",
        /// Features transformed, positions plain, pairwise product.
        Type4b = "type4b",
    }
}
choice! {
    /// The inner products inside type 4.
    PairKind {
        /// Sum over columns.
        Type1 = "type1",
        /// Sum over rows.
        Type2 = "type2",
        /// Sum over both.
        Type3 = "type3",
    }
}
choice! {
    /// How the effective β is kept in `[0, 2]`.
    BetaRange {
        /// Clamp the parameter.
        Clamp = "clamp",
        /// Use the parameter as it is.
        Raw = "raw",
        /// `2·sigmoid` of the parameter.
        Sigmoid = "sigmoid",
    }
}
choice! {
    /// A non-linearity, or none.
    Activation {
        /// The identity (a plain linear map).
        None = "none",
        /// `max(0, x)`.
        Relu = "relu",
        /// The exact (erf) GELU.
        Gelu = "gelu",
        /// `x·sigmoid(x)`.
        Silu = "silu",
    }
}
choice! {
    /// Whether and how the block's input is bounded.
    InputNorm {
        /// Not at all: the paper to the letter.
        None = "none",
        /// Divide each row by its root mean square.
        Rms = "rms",
        /// Project each row onto the ball of root mean square 1.
        Ball = "ball",
    }
}
choice! {
    /// Where the block's own dropout sits.
    DropoutSite {
        /// On the block's output.
        Output = "output",
        /// On the node embeddings `a`, before they are summed.
        Embedding = "a",
        /// On the candidate `h̃`.
        Candidate = "htilde",
    }
}
choice! {
    /// How node features become the first hidden features.
    NodeEncoderKind {
        /// A linear map of numbers.
        Linear = "linear",
        /// One embedding table.
        Embed = "embed",
        /// The sum of one embedding per categorical column.
        Atoms = "atoms",
        /// Linear, batch norm, ReLU, L2 rows.
        Premp = "premp",
        /// Numbers beside categories: a linear map plus one embedding per categorical column.
        Mixed = "mixed",
        /// A linear map of the degrees of a node and its neighbours, for graphs without node features.
        Degrees = "degrees",
    }
}
choice! {
    /// The positional part of the node features.
    NodePeKind {
        /// None.
        None = "none",
        /// A set encoder over (eigenvector entry, eigenvalue) pairs.
        Lappe = "lappe",
        /// Random-walk return probabilities.
        Rwse = "rwse",
    }
}
choice! {
    /// How edge features become the first hidden edge features.
    EdgeEncoderKind {
        /// A linear map of numbers.
        Linear = "linear",
        /// One embedding table.
        Embed = "embed",
        /// The sum of one embedding per categorical column.
        Atoms = "atoms",
        /// Numbers beside categories: a linear map plus one embedding per categorical column.
        Mixed = "mixed",
        /// One learned vector for every edge.
        Dummy = "dummy",
        /// No edge features at all.
        None = "none",
    }
}
choice! {
    /// The prediction head.
    HeadKind {
        /// Layers of equal width.
        Mlp = "mlp",
        /// Three layers, each half as wide as the one before.
        San = "san",
    }
}
choice! {
    /// What there is a prediction for.
    LevelKind {
        /// One prediction per graph.
        Graph = "graph",
        /// One prediction per node.
        Node = "node",
        /// One prediction per edge.
        Edge = "edge",
        /// One prediction per pair of nodes that is asked about.
        Pair = "pair",
    }
}
choice! {
    /// What the head reads of the two ends of an edge or pair.
    EndsKind {
        /// The product of their features.
        Hadamard = "hadamard",
        /// Their features side by side.
        Concat = "concat",
        /// Both.
        Both = "both",
    }
}
choice! {
    /// How node features become graph features.
    Pooling {
        /// Mean over the nodes.
        Mean = "mean",
        /// Sum over the nodes.
        Add = "add",
        /// Maximum over the nodes.
        Max = "max",
    }
}
impl From<LevelKind> for Level {
    fn from(level: LevelKind) -> Self {
        match level {
            LevelKind::Graph => Self::Graph,
            LevelKind::Node => Self::Node,
            LevelKind::Edge => Self::Edge,
            LevelKind::Pair => Self::Pair,
        }
    }
}
