//! From arrays to a data set: what all importers of pickled graphs share.

use super::pickle::Array;
use crate::budget::{Budget, Share};
use crate::graph::{Features, Graph};
use crate::limits::within;
use crate::registry::DatasetInfo;
use crate::{
    Column, ColumnKind, DataError, Dataset, Limits, Place, Read, ReadOptions, Report, Sample, Schema, Split,
    Task, smiles,
};
use std::sync::Arc;

/// One graph as arrays.
#[derive(Debug, Clone)]
pub(super) struct RawGraph {
    /// `[nodes, columns]`.
    pub(super) nodes: Array,
    /// `[2, edges]`.
    pub(super) edges: Array,
    /// `[edges, columns]`, if there are edge features.
    pub(super) edge_features: Option<Array>,
    /// One row of targets, or one per node.
    pub(super) targets: Array,
}

/// Collects graphs that all have the same columns.
pub(super) struct Builder<'a> {
    info: &'a DatasetInfo,
    limits: &'a Limits,
    node_table: TableKind,
    edge_table: TableKind,
    samples: Vec<Sample>,
    splits: Vec<Split>,
    held: Share,
}

/// What the columns of a table hold.
#[derive(Debug, Clone, Default)]
struct TableKind {
    columns: Option<usize>,
    /// Largest category of every column; `None` if the columns are numbers.
    largest: Option<Vec<u32>>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(info: &'a DatasetInfo, options: &'a ReadOptions, budget: &Budget) -> Self {
        Self {
            info,
            limits: &options.limits,
            node_table: TableKind::default(),
            edge_table: TableKind::default(),
            samples: Vec::new(),
            splits: Vec::new(),
            held: budget.share(),
        }
    }

    /// Adds a graph.
    pub(super) fn push(&mut self, graph: RawGraph, split: Split, place: &Place) -> Result<(), DataError> {
        let index = self.samples.len();
        let fail = |reason: String| super::invalid(place, format!("graph {index}: {reason}"));
        within("graphs", index as u64 + 1, self.limits.graphs).map_err(DataError::limit(place.clone()))?;
        let num_nodes = graph.nodes.shape.first().copied().unwrap_or(0);
        within("nodes_per_graph", num_nodes as u64, self.limits.nodes_per_graph)
            .map_err(DataError::limit(place.clone()))?;
        let edges = edge_pairs(&graph.edges, num_nodes).map_err(fail)?;
        within("edges_per_graph", edges.len() as u64, self.limits.edges_per_graph)
            .map_err(DataError::limit(place.clone()))?;
        let nodes = one_hot_to_category(graph.nodes, &self.info.node_sizes).map_err(fail)?;
        let node_features = self.node_table.features(nodes, self.limits).map_err(fail)?;
        let edge_features = match graph.edge_features {
            Some(array) => self.edge_table.features(array, self.limits).map_err(fail)?,
            None => Features::none(edges.len()),
        };
        let targets = &graph.targets;
        let graph = Graph::new(num_nodes, edges, node_features, edge_features)
            .map_err(|error| fail(error.to_string()))?;
        let targets = self.targets(targets, &graph).map_err(fail)?;
        let sample = Sample { id: index.to_string(), graph: Arc::new(graph), targets };
        self.held.grow(sample.bytes()).map_err(DataError::limit(place.clone()))?;
        self.samples.push(sample);
        self.splits.push(split);
        Ok(())
    }

    fn targets(&self, array: &Array, graph: &Graph) -> Result<Vec<f32>, String> {
        let expected = self.info.level.rows(graph).saturating_mul(self.info.targets.len());
        if array.values.len() != expected {
            return Err(format!("{} target values, expected {expected}", array.values.len()));
        }
        let classes = match self.info.task() {
            Task::Regression => None,
            Task::Binary => Some(2),
            Task::MultiClass { classes } => Some(classes),
        };
        for value in array.values.iter().filter(|value| !value.is_nan()) {
            let is_class = |classes: usize| *value >= 0.0 && value.fract() == 0.0 && *value < classes as f64;
            if classes.is_some_and(|classes| !is_class(classes)) || !(*value as f32).is_finite() {
                return Err(format!("target {value} is not of the task {:?}", self.info.task()));
            }
        }
        Ok(array.values.iter().map(|value| *value as f32).collect())
    }

    /// The data set.
    pub(super) fn finish(self) -> Read {
        let schema = Schema {
            level: self.info.level,
            task: self.info.task(),
            targets: self.info.targets.clone(),
            class_names: self.info.class_names.clone(),
            positive_class: None,
            molecules: None,
            node_columns: self.node_table.into_columns("node", &self.info.node_sizes),
            edge_columns: self.edge_table.into_columns("edge", &self.info.edge_sizes),
        };
        let rows = (0..self.samples.len()).map(Some).collect();
        let dataset = Dataset {
            name: self.info.name.clone(),
            schema,
            samples: self.samples,
            official_split: Some(self.splits),
            node_parts: None,
            qualifiers: Default::default(),
        };
        Read { dataset, report: Report { rows, ..Report::default() } }
    }
}

impl TableKind {
    fn features(&mut self, array: Array, limits: &Limits) -> Result<Features, String> {
        let (rows, columns) = array.rows_and_columns().ok_or("features that are not a table")?;
        within("features", columns as u64, limits.features)
            .map_err(|e| format!("{} feature columns", e.found))?;
        let is_new = self.columns.is_none();
        if *self.columns.get_or_insert(columns) != columns {
            return Err(format!("{columns} feature columns, {:?} before", self.columns.unwrap_or(0)));
        }
        if is_new {
            self.largest = array.is_integer.then(|| vec![0; columns]);
        }
        let Some(largest) = &mut self.largest else {
            let values = array.values.iter().map(|value| *value as f32).collect();
            return Features::numbers(rows, columns, values).map_err(|error| error.to_string());
        };
        let mut categories = Vec::with_capacity(array.values.len());
        for (position, value) in array.values.iter().enumerate() {
            let is_category = *value >= 0.0 && value.fract() == 0.0 && *value < limits.categories as f64;
            if !is_category {
                return Err(format!("feature {value} is not a category below {}", limits.categories));
            }
            let category = *value as u32;
            if let Some(largest) = largest.get_mut(position % columns.max(1)) {
                *largest = (*largest).max(category);
            }
            categories.push(category);
        }
        Features::categories(rows, columns, categories).map_err(|error| error.to_string())
    }

    fn into_columns(self, what: &str, sizes: &[usize]) -> Vec<Column> {
        let count = self.columns.unwrap_or(0);
        let Some(largest) = self.largest else {
            return (0..count)
                .map(|column| Column::new(format!("{what}_feature_{column}"), ColumnKind::Number))
                .collect();
        };
        let observed: Vec<u64> = largest.iter().map(|largest| u64::from(*largest) + 1).collect();
        let stated: Vec<u64> = sizes.iter().map(|size| *size as u64).collect();
        let sizes = if stated.len() == observed.len() {
            stated
        } else {
            smiles::completed_sizes(&observed).unwrap_or(observed)
        };
        let known = smiles::column_names(what, &sizes);
        sizes
            .iter()
            .enumerate()
            .map(|(column, size)| {
                Column::new(
                    known
                        .and_then(|names| names.get(column))
                        .map_or_else(|| format!("{what}_feature_{column}"), |name| (*name).to_owned()),
                    ColumnKind::Category { size: *size as usize, names: Vec::new() },
                )
            })
            .collect()
    }
}

/// Edges from a table with sources in the first and targets in the second row.
fn edge_pairs(array: &Array, num_nodes: usize) -> Result<Vec<[u32; 2]>, String> {
    let [2, count] = array.shape.as_slice() else {
        return Err(format!("edges of shape {:?}, expected [2, edges]", array.shape));
    };
    let (sources, targets) = array.values.split_at((*count).min(array.values.len()));
    let node = |value: f64| {
        let is_node = value >= 0.0 && value.fract() == 0.0 && value < num_nodes as f64;
        is_node.then_some(value as u32).ok_or_else(|| format!("node {value} of {num_nodes}"))
    };
    sources.iter().zip(targets).map(|(source, target)| Ok([node(*source)?, node(*target)?])).collect()
}

/// Published one-hot rows as the categories that they are.
fn one_hot_to_category(array: Array, sizes: &[usize]) -> Result<Array, String> {
    let ([size], Some((rows, columns))) = (sizes, array.rows_and_columns()) else { return Ok(array) };
    if columns == 1 {
        return Ok(Array { is_integer: true, ..array });
    }
    if columns != *size {
        return Err(format!("{columns} feature columns, expected {size} that say which category a node has"));
    }
    let mut values = Vec::with_capacity(rows);
    for row in array.values.chunks_exact(columns) {
        let mut ones = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
        match (ones.next(), ones.next()) {
            (Some((category, value)), None) if *value == 1.0 => values.push(category as f64),
            _ => return Err("a node without exactly one category".to_owned()),
        }
    }
    Ok(Array { shape: vec![rows, 1], values, is_integer: true })
}
