//! The vectors of encoders by what they stand for: a category, a numeric column, or every row.

use super::{TakenOver, TransferError};
use crate::config::{EdgeEncoderKind, ModelConfig, NodeEncoderKind};
use crate::weights::NamedTensor;
use graphminnet_data::{Column, ColumnKind, Schema};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a vector of an encoder stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    /// A category of a column; `None` for text that training never saw.
    Category(String, Option<String>),
    /// A numeric column.
    Number(String),
    /// What is added for every node or edge.
    Every,
}

/// Where a vector lies in its tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    Row(usize),
    Column(usize),
}

/// One vector of an encoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Vector {
    /// Nodes or edges.
    of: &'static str,
    /// Its encoder: of nodes, of edges, or of edges for the head. One has nothing to do with another.
    encoder: &'static str,
    pub(super) tensor: String,
    lies: Lies,
    meaning: Meaning,
}

impl Vector {
    /// Its values.
    fn read(&self, tensor: &NamedTensor) -> Option<Vec<f32>> {
        self.places(tensor).map(|at| tensor.values.get(at).copied()).collect()
    }

    fn write(&self, tensor: &mut NamedTensor, values: &[f32]) {
        for (at, value) in self.places(tensor).zip(values) {
            if let Some(place) = tensor.values.get_mut(at) {
                *place = *value;
            }
        }
    }

    fn places(&self, tensor: &NamedTensor) -> std::iter::StepBy<std::ops::Range<usize>> {
        let width = tensor.shape.get(1).copied().unwrap_or(1).max(1);
        match self.lies {
            // A bias is all of its tensor.
            Lies::Row(_) if tensor.shape.len() == 1 => (0..tensor.values.len()).step_by(1),
            Lies::Row(row) => (row * width..(row + 1) * width).step_by(1),
            Lies::Column(column) => (column..tensor.values.len()).step_by(width),
        }
    }
}

/// Whether a tensor holds the scale of numeric columns.
pub(super) fn is_scale(tensor: &str) -> bool {
    tensor.starts_with("node_scale.") || tensor.starts_with("edge_scale.")
}

/// All vectors of a model's encoders of nodes and edges, for data of a schema. The encoder `premp` is none of columns.
pub(super) fn vectors(config: &ModelConfig, schema: &Schema) -> Vec<Vector> {
    let mut found = Vec::new();
    let nodes = &schema.node_columns;
    let mut nodes_have = List { of: "node", encoder: "node_encoder", found: &mut found };
    match config.node_encoder {
        NodeEncoderKind::Linear => nodes_have.numbers("", &numeric(nodes), config.node_in),
        NodeEncoderKind::Degrees => {
            let names: Vec<String> = (0..config.node_in).map(|at| format!("degrees {at}")).collect();
            nodes_have.numbers("", &names, config.node_in);
        }
        NodeEncoderKind::Embed => nodes_have.one_table(nodes, &config.node_vocab),
        NodeEncoderKind::Atoms => nodes_have.tables("", nodes, &config.node_vocab),
        NodeEncoderKind::Mixed => {
            nodes_have.numbers(".numbers", &numeric(nodes), config.node_in);
            nodes_have.tables(".categories", nodes, &config.node_vocab);
        }
        NodeEncoderKind::Premp => {}
    }
    for (encoder, is_there) in [(EDGES, config.has_edge_encoder()), (HEAD_EDGES, config.head_reads_edges())] {
        if is_there {
            List { of: "edge", encoder, found: &mut found }.edges(config, &schema.edge_columns);
        }
    }
    found
}

/// The encoder of edges.
const EDGES: &str = "edge_encoder";

/// The encoder of edges for the head of a model that answers for them.
pub(super) const HEAD_EDGES: &str = "head_edges";

struct List<'a> {
    of: &'static str,
    encoder: &'static str,
    found: &'a mut Vec<Vector>,
}

impl List<'_> {
    /// A vector in a tensor of the encoder.
    fn add(&mut self, tensor: &str, lies: Lies, meaning: Meaning) {
        let Self { of, encoder, .. } = *self;
        self.found.push(Vector { of, encoder, tensor: format!("{encoder}{tensor}"), lies, meaning });
    }

    /// What an encoder of edges reads.
    fn edges(&mut self, config: &ModelConfig, columns: &[Column]) {
        match config.edge_encoder {
            EdgeEncoderKind::Linear => self.numbers("", &numeric(columns), config.edge_in),
            EdgeEncoderKind::Embed => self.one_table(columns, &config.edge_vocab),
            EdgeEncoderKind::Atoms => self.tables("", columns, &config.edge_vocab),
            EdgeEncoderKind::Mixed => {
                self.numbers(".numbers", &numeric(columns), config.edge_in);
                self.tables(".categories", columns, &config.edge_vocab);
            }
            EdgeEncoderKind::Dummy => self.add(".weight", Lies::Row(0), Meaning::Every),
            EdgeEncoderKind::None => {}
        }
    }

    /// A linear map of numeric columns.
    fn numbers(&mut self, part: &str, names: &[String], columns: usize) {
        let weight = format!("{part}.weight");
        for at in 0..columns {
            let name = names.get(at).cloned().unwrap_or_else(|| format!("number {at}"));
            self.add(&weight, Lies::Column(at), Meaning::Number(name));
        }
        self.add(&format!("{part}.bias"), Lies::Row(0), Meaning::Every);
    }

    /// One table, for the only categorical column.
    fn one_table(&mut self, columns: &[Column], sizes: &[usize]) {
        self.table(".weight", categorical(columns).first(), 0, sizes.first());
    }

    /// One table per categorical column.
    fn tables(&mut self, part: &str, columns: &[Column], sizes: &[usize]) {
        let columns = categorical(columns);
        for (at, size) in sizes.iter().enumerate() {
            self.table(&format!("{part}.tables.{at}.weight"), columns.get(at), at, Some(size));
        }
    }

    fn table(&mut self, tensor: &str, column: Option<&(&str, &[String])>, at: usize, size: Option<&usize>) {
        let (name, names) = match column {
            Some((name, names)) => ((*name).to_owned(), *names),
            None => (format!("category {at}"), &[][..]),
        };
        for row in 0..size.copied().unwrap_or(0) {
            let category = match names.get(row) {
                Some(category) => Some(category.clone()),
                None if names.is_empty() => Some(row.to_string()),
                None => None,
            };
            self.add(tensor, Lies::Row(row), Meaning::Category(name.clone(), category));
        }
    }
}

fn numeric(columns: &[Column]) -> Vec<String> {
    let numbers = columns.iter().filter(|column| column.kind == ColumnKind::Number);
    numbers.map(|column| column.name.clone()).collect()
}

fn categorical(columns: &[Column]) -> Vec<(&str, &[String])> {
    let categories = columns.iter().filter_map(|column| match &column.kind {
        ColumnKind::Category { names, .. } => Some((column.name.as_str(), names.as_slice())),
        ColumnKind::Number => None,
    });
    categories.collect()
}

/// Takes over the vectors of encoders, and with a numeric column the scale that its weights were trained with.
pub(super) fn take_over(
    tensors: &mut [NamedTensor],
    ours: &[Vector],
    source: &BTreeMap<String, NamedTensor>,
    theirs: &[Vector],
    file: &str,
    report: &mut TakenOver,
    whole: &mut BTreeSet<String>,
) -> Result<(), TransferError> {
    let known: HashMap<(&str, &Meaning), &Vector> =
        theirs.iter().map(|vector| ((vector.encoder, &vector.meaning), vector)).collect();
    let at: HashMap<String, usize> =
        tensors.iter().enumerate().map(|(at, tensor)| (tensor.name.clone(), at)).collect();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let reads_edges = ours.iter().any(|vector| vector.encoder == EDGES);
    for vector in ours {
        // A column is known or not, however many encoders read it.
        let is_reported = !(reads_edges && vector.encoder == HEAD_EDGES);
        let scales = scale_places(vector, &at, source, &known);
        let other = known.get(&(vector.encoder, &vector.meaning)).copied();
        let values = other.and_then(|other| other.read(source.get(&other.tensor)?));
        let (Some(&place), Some(other), Some(values), Some(scales)) =
            (at.get(&vector.tensor), other, values, scales)
        else {
            count(report, &mut counts, vector, false, is_reported);
            continue;
        };
        let width = vector.places(&tensors[place]).len();
        if width != values.len() {
            return Err(TransferError::Shape {
                file: file.to_owned(),
                tensor: other.tensor.clone(),
                found: vec![values.len()],
                expected: vec![width],
            });
        }
        vector.write(&mut tensors[place], &values);
        for (place, column, value) in scales {
            tensors[place].values[column] = value;
        }
        count(report, &mut counts, vector, true, is_reported);
    }
    let complete = counts.iter().filter(|(_, (taken, all))| taken == all);
    whole.extend(complete.map(|(tensor, _)| (*tensor).to_owned()));
    Ok(())
}

/// Counts a vector, for its tensor and for the report.
fn count<'a>(
    report: &mut TakenOver,
    counts: &mut BTreeMap<&'a str, (usize, usize)>,
    vector: &'a Vector,
    taken: bool,
    is_reported: bool,
) {
    let of_tensor = counts.entry(&vector.tensor).or_default();
    *of_tensor = (of_tensor.0 + usize::from(taken), of_tensor.1 + 1);
    let (counted, name) = match &vector.meaning {
        _ if !is_reported => return,
        Meaning::Category(column, category) => {
            let counted = report.categories.entry(format!("{} column `{column}`", vector.of)).or_default();
            (counted, category.clone().unwrap_or_else(|| "(unseen)".to_owned()))
        }
        Meaning::Number(column) => (report.numbers.entry(vector.of).or_default(), column.clone()),
        Meaning::Every => return,
    };
    counted.taken += usize::from(taken);
    counted.all += 1;
    if !taken {
        counted.new.push(name);
    }
}

/// Where the scale of a numeric column lies, and what it was when the weights of that column were trained: the numbers as
/// they are where the other model had no scale. `None` if this model has none and the other had.
fn scale_places(
    vector: &Vector,
    at: &HashMap<String, usize>,
    source: &BTreeMap<String, NamedTensor>,
    known: &HashMap<(&str, &Meaning), &Vector>,
) -> Option<Vec<(usize, usize, f32)>> {
    let (Meaning::Number(_), Lies::Column(column)) = (&vector.meaning, vector.lies) else {
        return Some(Vec::new());
    };
    let mut places = Vec::new();
    for (statistic, neutral) in [("running_mean", 0.0), ("running_var", 1.0)] {
        let name = format!("{}_scale.{statistic}", vector.of);
        let theirs = source.get(&name).zip(known.get(&(vector.encoder, &vector.meaning)));
        let theirs = theirs.and_then(|(scale, other)| match other.lies {
            Lies::Column(column) => scale.values.get(column).copied(),
            Lies::Row(_) => None,
        });
        match (at.get(&name), theirs) {
            (Some(&place), theirs) => places.push((place, column, theirs.unwrap_or(neutral))),
            (None, Some(_)) => return None,
            (None, None) => {}
        }
    }
    Some(places)
}
