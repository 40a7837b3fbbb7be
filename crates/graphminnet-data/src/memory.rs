//! Graphs that a program has in memory, understood by the rules of files: the same columns, vocabularies and bad rows.
//!
//! ```
//! use graphminnet_data::memory::{Cells, GraphTables, TableColumns};
//! use graphminnet_data::{ReadOptions, Task};
//!
//! // A path of three nodes and an edge of two, one number per node and one target per graph.
//! let tables = GraphTables {
//!     nodes: vec![3, 2],
//!     edges: vec![2, 1],
//!     edge_index: [vec![0, 1, 0], vec![1, 2, 1]],
//!     node_columns: vec![TableColumns::new(1, Cells::Numbers(vec![0.5, 1.0, 1.5, 2.0, 2.5]))],
//!     targets: vec![TableColumns::new(1, Cells::Numbers(vec![0.1, 0.2]))],
//!     ..GraphTables::default()
//! };
//! let read = tables.read("paths", &ReadOptions::default())?;
//! assert_eq!((read.dataset.samples.len(), read.dataset.schema.task), (2, Task::Regression));
//! # Ok::<(), graphminnet_data::DataError>(())
//! ```

use crate::formats::{Format, check_effects, jsonl_names, molecule_reading};
use crate::limits::within;
use crate::rows::{input_rows, keeping_all};
use crate::schema::{Collector, ColumnSet, Record, Table};
use crate::{BadRow, DataError, InputRow, Level, Place, Read, ReadOptions, Split};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The cells of some columns, row by row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Integers: categories where they are small and not negative, as in files.
    Integers(Vec<i64>),
    /// Numbers; in targets, NaN is a missing label.
    Numbers(Vec<f64>),
    /// Text; in targets, `None` is a missing label.
    Text(Vec<Option<String>>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }
}

/// Columns that belong together, as a two-dimensional array does.
#[derive(Debug, Clone, PartialEq)]
pub struct TableColumns {
    /// Number of columns.
    pub width: usize,
    /// Their names; without names they are known by their positions.
    pub names: Option<Vec<String>>,
    /// `[rows, width]`, row-major.
    pub cells: Cells,
}

impl TableColumns {
    /// Columns without names.
    pub fn new(width: usize, cells: Cells) -> Self {
        Self { width, names: None, cells }
    }
}

/// Graphs one after the other: tables of all nodes, of all edges and of all targets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphTables {
    /// Number of nodes of each graph.
    pub nodes: Vec<usize>,
    /// Number of edges of each graph.
    pub edges: Vec<usize>,
    /// Sources and targets of all edges; nodes are counted from 0 in each graph.
    pub edge_index: [Vec<i64>; 2],
    /// One row per node.
    pub node_columns: Vec<TableColumns>,
    /// One row per edge.
    pub edge_columns: Vec<TableColumns>,
    /// Number of pairs of nodes of each graph that a model is asked about; empty where there are none.
    pub pairs: Vec<usize>,
    /// The ends of all pairs; nodes are counted from 0 in each graph.
    pub pair_index: [Vec<i64>; 2],
    /// One row per graph or, where the options' level says so, per node, edge or pair.
    pub targets: Vec<TableColumns>,
    /// The part of each graph.
    pub parts: Option<Vec<Split>>,
    /// The part of each node (of each edge or pair, where targets are theirs), where these are split; one may be in none.
    pub node_parts: Option<Vec<Option<Split>>>,
}

impl GraphTables {
    /// A data set of them, by the rules of files; `name` is that of the data set.
    ///
    /// # Errors
    ///
    /// As [`open`](crate::open): the place of a problem is `graph N`, counted from 0.
    pub fn read(&self, name: &str, options: &ReadOptions) -> Result<Read, DataError> {
        let place = Place::file(name);
        // What JSON Lines have no use for, tables have none for either.
        check_effects(Format::Jsonl, Path::new(name), options)?;
        if options.weight_column.is_some() {
            let reason = "graphs in memory have no column of weights".to_owned();
            return Err(DataError::Schema { place, reason });
        }
        let level = options.asked_level().unwrap_or(Level::Graph);
        let target_rows = match level {
            Level::Graph => self.nodes.len(),
            Level::Node => sum(&self.nodes),
            Level::Edge => sum(&self.edges),
            Level::Pair => sum(&self.pairs),
        };
        // Parts of nodes beside targets of graphs are noticed, and not used.
        let split_rows = if level == Level::Graph { sum(&self.nodes) } else { target_rows };
        self.check(target_rows, split_rows, &place)?;

        let mut collector = Collector::new(Path::new(name), options);
        collector.level = level;
        collector.name_node_columns(names("node", &self.node_columns, options))?;
        collector.name_edge_columns(names("edge", &self.edge_columns, options))?;
        if !options.ignore_targets {
            collector.name_target_columns(names("target", &self.targets, options))?;
        }
        let (mut node, mut edge, mut pair) = (0, 0, 0);
        for (at, (&nodes, &edges)) in self.nodes.iter().zip(&self.edges).enumerate() {
            // A model of other targets has no use for pairs.
            let pairs = self.pairs.get(at).copied().filter(|_| level == Level::Pair).unwrap_or(0);
            let rows = Rows { graph: at, nodes: [node, nodes], edges: [edge, edges], pairs: [pair, pairs] };
            let record = self.record(&rows, Place::file(format!("graph {at}")), &mut collector);
            (node, edge, pair) = (node + nodes, edge + edges, pair + pairs);
            match record {
                Ok(record) => collector.push(Ok(record))?,
                Err(error) => collector.push(Err(error.into_bad_row(Place::file(format!("graph {at}")))?))?,
            }
        }
        collector.finish()
    }

    /// The graphs for a model with the options' schema; one that cannot be used keeps its place and has a reason.
    ///
    /// # Errors
    ///
    /// [`DataError`] if the tables do not fit each other, or the schema.
    pub fn rows(&self, options: &ReadOptions) -> Result<Vec<InputRow>, DataError> {
        Ok(input_rows(self.read("graphs", &keeping_all(options))?, 0))
    }

    fn check(&self, target_rows: usize, split_rows: usize, place: &Place) -> Result<(), DataError> {
        let rows = |columns: &[TableColumns], what: &str, expected: usize| {
            let wrong = columns.iter().find(|columns| columns.cells.len() != expected * columns.width);
            wrong.map_or(Ok(()), |columns| {
                let found = columns.cells.len() / columns.width.max(1);
                let place = place.clone().in_column(what);
                Err(DataError::malformed(place, format!("{found} rows"), format!("{expected} rows")))
            })
        };
        let (graphs, nodes, edges) = (self.nodes.len(), sum(&self.nodes), sum(&self.edges));
        let pairs = sum(&self.pairs);
        rows(&self.node_columns, "x", nodes)?;
        rows(&self.edge_columns, "edge_attr", edges)?;
        rows(&self.targets, "y", target_rows)?;
        let counts = [
            ("graphs in `edges`", self.edges.len(), graphs),
            ("sources in `edge_index`", self.edge_index[0].len(), edges),
            ("targets in `edge_index`", self.edge_index[1].len(), edges),
            ("parts", self.parts.as_ref().map_or(graphs, Vec::len), graphs),
            (
                "parts of nodes, edges or pairs",
                self.node_parts.as_ref().map_or(split_rows, Vec::len),
                split_rows,
            ),
            ("graphs in `pairs`", if self.pairs.is_empty() { graphs } else { self.pairs.len() }, graphs),
            ("sources in `pair_index`", self.pair_index[0].len(), pairs),
            ("targets in `pair_index`", self.pair_index[1].len(), pairs),
        ];
        match counts.into_iter().find(|(_, found, expected)| found != expected) {
            None => Ok(()),
            Some((what, found, expected)) => {
                Err(DataError::malformed(place.clone(), format!("{found} {what}"), expected.to_string()))
            }
        }
    }

    /// One graph.
    fn record(&self, rows: &Rows, place: Place, collector: &mut Collector<'_>) -> Result<Record, DataError> {
        let Rows { graph, nodes: [node, nodes], edges: [edge, edges], pairs: [pair, pairs] } = *rows;
        let limits = &collector.options.limits;
        for (what, found, limit) in [
            ("nodes_per_graph", nodes, limits.nodes_per_graph),
            ("edges_per_graph", edges, limits.edges_per_graph),
            ("edges_per_graph", pairs, limits.edges_per_graph),
        ] {
            within(what, found as u64, limit)
                .map_err(|exceeded| DataError::limit(place.clone())(exceeded))?;
        }
        let ends = |index: &[Vec<i64>; 2], [first, count]: [usize; 2], what: &str| {
            let [sources, targets] = index.each_ref().map(|ends| &ends[first..first + count]);
            let node = |end: i64| match u32::try_from(end).ok().filter(|end| (*end as usize) < nodes) {
                Some(end) => Ok(end),
                None => Err(DataError::value(
                    place.clone().in_column(what),
                    end.to_string(),
                    format!("a node: the graph has {nodes}, counted from 0"),
                )),
            };
            let both = sources.iter().zip(targets);
            both.map(|(source, target)| Ok([node(*source)?, node(*target)?]))
                .collect::<Result<Vec<_>, DataError>>()
        };
        let labels = match collector.level {
            Level::Graph => [graph, 1],
            Level::Node => [node, nodes],
            Level::Edge => [edge, edges],
            Level::Pair => [pair, pairs],
        };
        let [first, split_rows] = if collector.level == Level::Graph { [node, nodes] } else { labels };
        Ok(Record {
            id: None,
            num_nodes: nodes,
            edges: ends(&self.edge_index, rows.edges, "edge_index")?,
            nodes: cut(&self.node_columns, rows.nodes, &mut collector.node_columns, &place, false)?,
            edge_rows: cut(&self.edge_columns, rows.edges, &mut collector.edge_columns, &place, false)?,
            targets: match collector.options.ignore_targets {
                true => Table::default(),
                false => cut(&self.targets, labels, &mut collector.target_columns, &place, true)?,
            },
            split: self.parts.as_ref().and_then(|parts| parts.get(graph).copied()),
            node_split: self.node_parts.as_ref().map(|parts| parts[first..first + split_rows].to_vec()),
            pairs: ends(&self.pair_index, rows.pairs, "pair_index")?,
            graph: None,
            weight: None,
            bounds: Vec::new(),
            place,
        })
    }
}

/// Where the rows of one graph begin in the tables, and how many there are.
struct Rows {
    graph: usize,
    nodes: [usize; 2],
    edges: [usize; 2],
    pairs: [usize; 2],
}

fn sum(counts: &[usize]) -> usize {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Names of columns: their own, or the ones that JSON Lines gives them.
fn names(what: &str, columns: &[TableColumns], options: &ReadOptions) -> Vec<String> {
    let own = columns.iter().map(|columns| columns.names.clone()).collect::<Option<Vec<_>>>();
    match own {
        Some(names) if !names.is_empty() => names.concat(),
        _ => jsonl_names(what, columns.iter().map(|columns| columns.width).sum(), options),
    }
}

/// Some rows of tables as the raw table of one graph.
fn cut(
    tables: &[TableColumns],
    [first, rows]: [usize; 2],
    set: &mut ColumnSet,
    place: &Place,
    are_labels: bool,
) -> Result<Table, DataError> {
    let width: usize = tables.iter().map(|columns| columns.width).sum();
    let mut values = Vec::with_capacity(rows * width);
    for row in first..first + rows {
        let mut column = 0;
        for table in tables {
            for at in row * table.width..(row + 1) * table.width {
                values.push(match &table.cells {
                    Cells::Integers(cells) => set.number(column, cells[at] as f64, true, place)?,
                    Cells::Numbers(cells) if are_labels && cells[at].is_nan() => f64::NAN,
                    Cells::Numbers(cells) => set.number(column, cells[at], false, place)?,
                    Cells::Text(cells) => match &cells[at] {
                        Some(text) => set.text(column, text, place)?,
                        None if are_labels => f64::NAN,
                        None => {
                            let place = place.clone().in_column(set.name(column));
                            return Err(DataError::value(place, "None", "a number or text"));
                        }
                    },
                });
                column += 1;
            }
        }
    }
    Ok(Table { rows: if width == 0 && are_labels { 0 } else { rows }, values })
}

/// Molecules for a model with the options' schema; one that cannot be read keeps its place and has a reason.
///
/// # Errors
///
/// [`DataError::Schema`] if the model does not take molecules.
pub fn molecule_rows(smiles: &[String], options: &ReadOptions) -> Result<Vec<InputRow>, DataError> {
    let reading = molecule_reading(Path::new("SMILES"), options)?;
    let row = |(at, smiles): (usize, &String)| {
        let bad = |error| BadRow::new(Place::file(PathBuf::from(format!("row {at}"))), smiles, error);
        let graph = reading.graph(smiles, &options.limits).map(Arc::new);
        InputRow {
            text: Vec::new(),
            id: at.to_string(),
            graph: graph.map_err(|error| bad(error.to_string())),
        }
    };
    Ok(smiles.par_iter().enumerate().map(row).collect())
}

#[cfg(test)]
mod tests;
