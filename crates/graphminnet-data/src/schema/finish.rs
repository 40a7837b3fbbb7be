//! Turns records into samples, once all columns are judged.

use super::collect::{Collector, Record};
use super::columns::Table;
use super::infer::{EncodeError, Encoder};
use super::targets::TargetEncoder;
use crate::graph::{Features, Graph};
use crate::{BadRow, Level, Place, Sample, Schema};
use std::sync::Arc;

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
        let mut targets = Vec::with_capacity(record.targets.values.len());
        if record.targets.values.is_empty() {
            targets.resize(rows.saturating_mul(self.schema.num_targets()), f32::NAN);
        } else if record.targets.rows != expected_rows {
            return Err(BadRow::new(
                place.clone(),
                record.targets.rows.to_string(),
                format!("rows of targets, expected {expected_rows} at {} level", self.schema.level),
            ));
        } else {
            let width = self.schema.num_targets().max(1);
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

fn not_encoded(error: EncodeError, place: &Place) -> BadRow {
    match error {
        EncodeError::Unknown(unknown) => BadRow::new(
            place.clone().in_column(&unknown.column),
            &unknown.value,
            format!("not {}", unknown.expected),
        ),
        EncodeError::Graph(error) => BadRow::new(place.clone(), "", error.to_string()),
    }
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
