//! Turns records into samples, once all columns are judged.

use super::collect::{Collector, Record};
use super::columns::Table;
use super::infer::{EncodeError, Encoder};
use super::targets::TargetEncoder;
use crate::graph::{Features, Graph};
use crate::{BadRow, Level, Place, Sample, Schema};
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// So many edges may all have their reverse beside them by chance, as two calls in a small graph of calls.
const FEW_EDGES: u64 = 5;

/// Turns records into samples.
pub(crate) struct Finisher {
    pub(super) nodes: Encoder,
    pub(super) edges: Encoder,
    pub(super) targets: TargetEncoder,
    pub(super) schema: Schema,
}

impl Finisher {
    pub(super) fn sample(
        &self,
        from: &Collector<'_>,
        mut record: Record,
        id: String,
    ) -> Result<Sample, BadRow> {
        // The row keeps its name.
        let bad = |bad: BadRow| BadRow { id: Some(id.clone()), ..bad };
        let graph = match record.graph.take() {
            Some(graph) => graph,
            None => self.graph(from, &mut record, &id).map_err(bad)?,
        };
        let targets = self.targets(from, &record, &graph).map_err(bad)?;
        Ok(Sample { id, graph: Arc::new(graph), targets })
    }

    /// Number of target columns.
    pub(crate) fn num_targets(&self) -> usize {
        self.schema.num_targets()
    }

    /// The features of nodes.
    pub(crate) fn node_features(
        &self,
        from: &Collector<'_>,
        table: &Table,
        place: &Place,
    ) -> Result<Features, BadRow> {
        self.nodes.encode(&from.node_columns, table).map_err(|error| not_encoded(error, place))
    }

    /// The features of edges.
    pub(crate) fn edge_features(
        &self,
        from: &Collector<'_>,
        table: &Table,
        place: &Place,
    ) -> Result<Features, BadRow> {
        self.edges.encode(&from.edge_columns, table).map_err(|error| not_encoded(error, place))
    }

    fn graph(&self, from: &Collector<'_>, record: &mut Record, id: &str) -> Result<Graph, BadRow> {
        let place = &record.place;
        // Without a model all graphs are judged together.
        if from.is_both_ways() && from.options.schema.is_some() {
            Directions::of(&record.edges).check(place)?;
        }
        let node_features = self.node_features(from, &record.nodes, place)?;
        let mut edge_features = self.edge_features(from, &record.edge_rows, place)?;
        let mut edges = std::mem::take(&mut record.edges);
        if from.is_both_ways() {
            (edges, edge_features) = both_ways(&edges, &edge_features);
        }
        let pairs = std::mem::take(&mut record.pairs);
        Graph::new(record.num_nodes, edges, node_features, edge_features)
            .and_then(|graph| graph.with_pairs(pairs))
            .map_err(|error| BadRow::new(place.clone(), id, error.to_string()))
    }

    fn targets(&self, from: &Collector<'_>, record: &Record, graph: &Graph) -> Result<Vec<f32>, BadRow> {
        let place = &record.place;
        let rows = self.schema.level.rows(graph);
        let expected_rows = match self.schema.level {
            Level::Edge => graph.written_edges(from.is_both_ways()).len(),
            _ => rows,
        };
        let width = self.schema.num_targets().max(1);
        let mut targets = Vec::with_capacity(record.targets.values.len());
        if record.targets.values.is_empty() {
            targets.resize(rows.saturating_mul(self.schema.num_targets()), f32::NAN);
        } else if record.targets.rows != expected_rows {
            return Err(BadRow::new(
                place.clone(),
                record.targets.rows.to_string(),
                format!("rows of targets, expected {expected_rows} at {} level", self.schema.level),
            ));
        } else if record.targets.values.len() != expected_rows.saturating_mul(width) {
            let columns = record.targets.values.len() / expected_rows.max(1);
            let reason =
                format!("target columns, expected {width}: a model has a place for each of its targets");
            return Err(BadRow::new(place.clone(), columns.to_string(), reason));
        } else {
            for (position, value) in record.targets.values.iter().enumerate() {
                let target = self.targets.encode(*value).map_err(|reason| {
                    let column = position % width;
                    let trace = from.target_columns.traces().get(column);
                    let written = trace.map_or_else(|| value.to_string(), |trace| trace.written(*value));
                    BadRow::new(place.clone().in_column(from.target_columns.name(column)), written, reason)
                })?;
                targets.push(target);
            }
            if expected_rows < rows {
                let given = targets.chunks_exact(width).map(|row| Some(row.to_vec())).collect();
                let all = from.at_written_edges(&self.schema, graph, given, rows).into_iter();
                targets = all.flat_map(|row| row.unwrap_or_else(|| vec![f32::NAN; width])).collect();
            }
        }
        Ok(targets)
    }
}

/// The reason in words.
pub(crate) fn not_encoded(error: EncodeError, place: &Place) -> BadRow {
    match error {
        EncodeError::Unknown(unknown) => BadRow::new(
            place.clone().in_column(&unknown.column),
            &unknown.value,
            format!("not {}", unknown.expected),
        ),
        EncodeError::Graph(error) => BadRow::new(place.clone(), "", error.to_string()),
    }
}

/// Which directions graphs list their edges in, found out without keeping them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Directions {
    /// Those that are no loops.
    edges: u64,
    /// A sum over them to which an edge and its reverse add nothing.
    balance: u64,
}

impl Directions {
    pub(super) fn of(edges: &[[u32; 2]]) -> Self {
        let mut directions = Self::default();
        edges.iter().for_each(|edge| directions.add(*edge));
        directions
    }

    pub(crate) fn add(&mut self, [source, target]: [u32; 2]) {
        let mut hasher = DefaultHasher::new();
        [source.min(target), source.max(target)].hash(&mut hasher);
        self.balance = match source.cmp(&target) {
            Ordering::Equal => return,
            Ordering::Less => self.balance.wrapping_add(hasher.finish()),
            Ordering::Greater => self.balance.wrapping_sub(hasher.finish()),
        };
        self.edges += 1;
    }

    /// Edges that are no loops.
    pub(crate) fn edges(&self) -> u64 {
        self.edges
    }

    /// Takes those of another graph as well.
    pub(super) fn join(&mut self, other: Self) {
        self.edges += other.edges;
        self.balance |= other.balance;
    }

    /// Fails where every edge is listed in both directions, of a graph whose edges are read both ways.
    pub(crate) fn check(&self, place: &Place) -> Result<(), BadRow> {
        if self.edges <= FEW_EDGES || self.balance != 0 {
            return Ok(());
        }
        let reason = "every edge is listed in both directions, and each is read both ways, so that it would be there twice: list \
                      each once, or use `--edges as-given` in training (a model keeps what it was trained with)";
        Err(BadRow::new(place.clone().in_column("edges"), "", reason))
    }
}

/// How many edges have their reverse beside them.
pub(super) fn count_reversed(edges: &[[u32; 2]]) -> usize {
    let mut sorted = edges.to_vec();
    sorted.sort_unstable();
    let is_reversed =
        |[source, target]: &&[u32; 2]| source != target && sorted.binary_search(&[*target, *source]).is_ok();
    edges.iter().filter(is_reversed).count()
}

/// Every edge followed by its reverse (loops once), with the features repeated.
pub(crate) fn both_ways(edges: &[[u32; 2]], features: &Features) -> (Vec<[u32; 2]>, Features) {
    let mut doubled = Vec::with_capacity(edges.len().saturating_mul(2));
    let mut rows = Vec::with_capacity(edges.len().saturating_mul(2));
    for (row, &[source, target]) in edges.iter().enumerate().take(features.rows()) {
        doubled.push([source, target]);
        rows.push(row);
        if source != target {
            doubled.push([target, source]);
            rows.push(row);
        }
    }
    (doubled, features.select_rows(rows.into_iter()))
}
