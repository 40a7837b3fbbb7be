//! The one in-memory form that every reader and generator produces and that everything downstream consumes.

use crate::graph::Graph;
use crate::node_parts::NodeParts;
use crate::qualifiers::Qualifiers;
use crate::smiles::MoleculeForm;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a row of targets belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// One row of targets per graph.
    Graph,
    /// One row of targets per node.
    Node,
    /// One row of targets per directed edge.
    Edge,
    /// One row of targets per pair of nodes that is asked about ([`Graph::pairs`]).
    Pair,
}

impl Level {
    /// Rows of targets that a graph has.
    pub fn rows(self, graph: &Graph) -> usize {
        match self {
            Self::Graph => 1,
            Self::Node => graph.num_nodes(),
            Self::Edge => graph.num_edges(),
            Self::Pair => graph.pairs().len(),
        }
    }
}

impl Level {
    /// Columns of a table that say where in a graph a row belongs.
    pub fn place_columns(self) -> &'static [&'static str] {
        match self {
            Self::Graph => &[],
            Self::Node => &["node"],
            Self::Edge | Self::Pair => &["source", "destination"],
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Graph => "graph",
            Self::Node => "node",
            Self::Edge => "edge",
            Self::Pair => "pair",
        })
    }
}

/// What the targets mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Task {
    /// Real-valued targets, any number of columns.
    Regression,
    /// Binary targets (0 or 1), any number of columns, each on its own.
    Binary,
    /// One column holding one of `classes` classes, `0..classes`.
    MultiClass {
        /// Number of classes.
        classes: usize,
    },
}

impl fmt::Display for Task {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regression => out.write_str("regression"),
            Self::Binary => out.write_str("binary"),
            Self::MultiClass { classes } => write!(out, "{classes} classes"),
        }
    }
}

/// A part of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Used to fit the weights.
    Train,
    /// Used to choose among epochs and settings.
    Valid,
    /// Used once, to report.
    Test,
}

impl Split {
    /// All parts, in order.
    pub const ALL: [Self; 3] = [Self::Train, Self::Valid, Self::Test];
}

impl fmt::Display for Split {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Train => "train",
            Self::Valid => "valid",
            Self::Test => "test",
        })
    }
}

/// What one feature column holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ColumnKind {
    /// Categories `0..size`; embedded by the model. Values from `names.len()` on have no name.
    ///
    /// A column with names and `size > names.len()` has a reserved slot: text that is not among the names is read
    /// as category `names.len()`. Without such a slot an unseen value is an error of its row.
    Category {
        /// Number of categories (rows of the embedding table).
        size: usize,
        /// The original text of each category, where the source had text.
        names: Vec<String>,
    },
    /// A finite number, used as it is.
    Number,
}

/// One feature column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name of the column in its source, or a made-up one.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Of categories that are whole numbers, those that came up, ascending; another one is an error of its row. `None` where all
    /// of them did, and where nobody counted: a list of categories that was stated, or a model of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Vec<u32>>,
}

impl Column {
    /// A column of which nothing is known but what it may hold.
    pub fn new(name: impl Into<String>, kind: ColumnKind) -> Self {
        Self { name: name.into(), kind, seen: None }
    }

    /// Whether a model has the same places for both lists, whichever values came up in their data.
    pub fn are_like(some: &[Self], others: &[Self]) -> bool {
        let is_like = |(one, other): (&Self, &Self)| one.name == other.name && one.kind == other.kind;
        some.len() == others.len() && some.iter().zip(others).all(is_like)
    }
}

/// What all graphs of a data set have in common; frozen into a trained model so that new data is read the same way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// What a row of targets belongs to.
    pub level: Level,
    /// What the targets mean.
    pub task: Task,
    /// Names of the target columns.
    pub targets: Vec<String>,
    /// Names of the classes for [`Task::MultiClass`], or of 0 and 1 for [`Task::Binary`] with one column, where the
    /// source had text, or numbers other than these; otherwise empty.
    pub class_names: Vec<String>,
    /// For two named classes, the one that a yes/no answer is the probability of: always the second name. Models of
    /// version 0.1 do not say which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive_class: Option<String>,
    /// How molecules were read, where graphs came from a table of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub molecules: Option<MoleculeTable>,
    /// Node columns: all categorical ones in the order of the feature table, then all numeric ones.
    pub node_columns: Vec<Column>,
    /// Edge columns, in the same order.
    pub edge_columns: Vec<Column>,
}

impl Schema {
    /// Whether a model has the same places for both, whichever values came up in their data.
    pub fn is_like(&self, other: &Self) -> bool {
        let bare = |schema: &Self| {
            let mut schema = schema.clone();
            for column in schema.node_columns.iter_mut().chain(&mut schema.edge_columns) {
                column.seen = None;
            }
            schema
        };
        bare(self) == bare(other)
    }

    /// Number of target values in a row.
    pub fn num_targets(&self) -> usize {
        self.targets.len()
    }

    /// Sizes of the categorical node columns.
    pub fn node_vocabulary(&self) -> Vec<usize> {
        vocabulary(&self.node_columns)
    }

    /// Sizes of the categorical edge columns.
    pub fn edge_vocabulary(&self) -> Vec<usize> {
        vocabulary(&self.edge_columns)
    }

    /// Number of numeric node columns.
    pub fn node_numbers(&self) -> usize {
        self.node_columns.len() - self.node_vocabulary().len()
    }

    /// Number of numeric columns of whole graphs: descriptors of molecules.
    pub fn graph_numbers(&self) -> usize {
        self.molecules.as_ref().map_or(0, |table| table.form.graph_numbers() + table.descriptors.len())
    }

    /// A molecule that somebody gives as a graph, with the descriptors that are computed of molecules of such data; `None` if it
    /// has them already, or there are none to compute.
    pub fn described(&self, graph: &Graph) -> Option<Graph> {
        let table = self.molecules.as_ref()?;
        let is_missing = graph.graph_features().number_columns() == 0;
        let is_computed = table.descriptors.is_empty() && table.form.graph_numbers() > 0;
        let described = (is_missing && is_computed).then(|| table.form.describe(graph.clone()))?;
        described.ok()
    }

    /// Number of numeric edge columns.
    pub fn edge_numbers(&self) -> usize {
        self.edge_columns.len() - self.edge_vocabulary().len()
    }
}

fn vocabulary(columns: &[Column]) -> Vec<usize> {
    columns
        .iter()
        .filter_map(|column| match column.kind {
            ColumnKind::Category { size, .. } => Some(size),
            ColumnKind::Number => None,
        })
        .collect()
}

/// How a table of molecules was read; new ones are read in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoleculeTable {
    /// Name of the column with the molecules.
    pub column: String,
    /// Names of further columns whose molecules are read together with those, as one graph.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<String>,
    /// What was done to them before they became graphs.
    #[serde(default, skip_serializing_if = "MoleculeForm::is_plain")]
    pub form: MoleculeForm,
    /// Names of the columns whose numbers join the graphs, after those that are computed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub descriptors: Vec<String>,
    /// Name of the column with the names of the rows, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// Name of the column with the parts, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_column: Option<String>,
    /// The version of the rules ([`ReadOptions::rules`](crate::ReadOptions::rules)) by which molecules became graphs, if it is 8 or
    /// later: the last one that changed a graph. 0 for all before, which models of them did not say.
    #[serde(default, skip_serializing_if = "is_of_before")]
    pub rules: u32,
}

fn is_of_before(rules: &u32) -> bool {
    *rules == 0
}

/// One graph with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Name of the graph in its source; unique within a data set.
    pub id: String,
    /// The graph.
    pub graph: Arc<Graph>,
    /// Targets, row-major `[rows of the level, target columns]`; NaN where missing, a class as its number.
    pub targets: Vec<f32>,
}

/// Graphs with targets, a schema and, where the source has one, an official split.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Name, for people.
    pub name: String,
    /// What all graphs have in common.
    pub schema: Schema,
    /// The graphs.
    pub samples: Vec<Sample>,
    /// The source's own split, one entry per sample, where it has one.
    pub official_split: Option<Vec<Split>>,
    /// The part of every node (or edge, or pair, at these levels), where these and not graphs are split.
    pub node_parts: Option<NodeParts>,
    /// What is known about labels besides their values.
    pub qualifiers: Qualifiers,
}
