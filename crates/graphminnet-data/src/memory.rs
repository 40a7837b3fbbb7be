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

use crate::formats::{jsonl_names, molecule_reading};
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
    /// One row per graph or, where the options' level says so, per node or per edge.
    pub targets: Vec<TableColumns>,
    /// The part of each graph.
    pub parts: Option<Vec<Split>>,
    /// The part of each node, where nodes are split; a node may be in none.
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
        let level = options.schema.as_ref().map(|schema| schema.level).or(options.level);
        let level = level.unwrap_or(Level::Graph);
        let target_rows = match level {
            Level::Graph => self.nodes.len(),
            Level::Node => sum(&self.nodes),
            Level::Edge => sum(&self.edges),
            // There are no pairs in the tables, and so no targets of them.
            Level::Pair => 0,
        };
        self.check(target_rows, &place)?;

        let mut collector = Collector::new(Path::new(name), options);
        collector.level = level;
        collector.name_node_columns(names("node", &self.node_columns, options))?;
        collector.name_edge_columns(names("edge", &self.edge_columns, options))?;
        collector.name_target_columns(names("target", &self.targets, options))?;
        let (mut node, mut edge) = (0, 0);
        for (at, (&nodes, &edges)) in self.nodes.iter().zip(&self.edges).enumerate() {
            let place = Place::file(format!("graph {at}"));
            let record = self.record(at, [node, nodes], [edge, edges], place.clone(), &mut collector);
            (node, edge) = (node + nodes, edge + edges);
            match record {
                Ok(record) => collector.push(Ok(record))?,
                Err(error) => collector.push(Err(error.into_bad_row(place)?))?,
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

    fn check(&self, target_rows: usize, place: &Place) -> Result<(), DataError> {
        let rows = |columns: &[TableColumns], what: &str, expected: usize| {
            let wrong = columns.iter().find(|columns| columns.cells.len() != expected * columns.width);
            wrong.map_or(Ok(()), |columns| {
                let found = columns.cells.len() / columns.width.max(1);
                let place = place.clone().in_column(what);
                Err(DataError::malformed(place, format!("{found} rows"), format!("{expected} rows")))
            })
        };
        let (nodes, edges) = (sum(&self.nodes), sum(&self.edges));
        rows(&self.node_columns, "x", nodes)?;
        rows(&self.edge_columns, "edge_attr", edges)?;
        rows(&self.targets, "y", target_rows)?;
        let counts = [
            ("graphs in `edges`", self.edges.len(), self.nodes.len()),
            ("sources in `edge_index`", self.edge_index[0].len(), edges),
            ("targets in `edge_index`", self.edge_index[1].len(), edges),
            ("parts", self.parts.as_ref().map_or(self.nodes.len(), Vec::len), self.nodes.len()),
            ("parts of nodes", self.node_parts.as_ref().map_or(nodes, Vec::len), nodes),
        ];
        match counts.into_iter().find(|(_, found, expected)| found != expected) {
            None => Ok(()),
            Some((what, found, expected)) => {
                Err(DataError::malformed(place.clone(), format!("{found} {what}"), expected.to_string()))
            }
        }
    }

    /// One graph, whose nodes and edges begin somewhere and are so many.
    fn record(
        &self,
        at: usize,
        [node, nodes]: [usize; 2],
        [edge, edges]: [usize; 2],
        place: Place,
        collector: &mut Collector<'_>,
    ) -> Result<Record, DataError> {
        let limits = &collector.options.limits;
        for (what, found, limit) in [
            ("nodes_per_graph", nodes, limits.nodes_per_graph),
            ("edges_per_graph", edges, limits.edges_per_graph),
        ] {
            within(what, found as u64, limit).map_err(DataError::limit(place.clone()))?;
        }
        let end = |end: i64| match u32::try_from(end).ok().filter(|end| (*end as usize) < nodes) {
            Some(end) => Ok(end),
            None => Err(DataError::value(
                place.clone().in_column("edge_index"),
                end.to_string(),
                format!("a node: the graph has {nodes}, counted from 0"),
            )),
        };
        let [sources, targets] = self.edge_index.each_ref().map(|ends| &ends[edge..edge + edges]);
        let pairs = sources.iter().zip(targets).map(|(source, target)| Ok([end(*source)?, end(*target)?]));
        let pairs = pairs.collect::<Result<Vec<_>, DataError>>()?;
        let labels = match collector.level {
            Level::Graph => [at, 1],
            Level::Node => [node, nodes],
            Level::Edge => [edge, edges],
            Level::Pair => [0, 0],
        };
        Ok(Record {
            id: None,
            num_nodes: nodes,
            edges: pairs,
            nodes: cut(&self.node_columns, [node, nodes], &mut collector.node_columns, &place, false)?,
            edge_rows: cut(&self.edge_columns, [edge, edges], &mut collector.edge_columns, &place, false)?,
            targets: cut(&self.targets, labels, &mut collector.target_columns, &place, true)?,
            split: self.parts.as_ref().and_then(|parts| parts.get(at).copied()),
            node_split: self.node_parts.as_ref().map(|parts| parts[node..node + nodes].to_vec()),
            pairs: Vec::new(),
            graph: None,
            place,
        })
    }
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
mod tests {
    use super::*;
    use crate::{ColumnKind, OnBadRow, Task};

    fn two_graphs() -> GraphTables {
        GraphTables {
            nodes: vec![3, 2],
            edges: vec![2, 2],
            edge_index: [vec![0, 1, 0, 1], vec![1, 2, 1, 0]],
            node_columns: vec![
                TableColumns::new(1, Cells::Integers(vec![6, 6, 8, 6, 7])),
                TableColumns::new(2, Cells::Numbers((0..10).map(f64::from).collect())),
            ],
            edge_columns: vec![TableColumns::new(
                1,
                Cells::Text(["single", "double", "single", "single"].map(|text| Some(text.into())).to_vec()),
            )],
            targets: vec![TableColumns::new(1, Cells::Numbers(vec![0.5, f64::NAN]))],
            parts: Some(vec![Split::Train, Split::Valid]),
            node_parts: None,
        }
    }

    #[test]
    fn tables_are_read_as_the_same_graphs_written_as_json_lines_are() {
        let text = concat!(
            r#"{"num_nodes":3,"edges":[[0,1],[1,2]],"node_features":[[6,0.0,1.0],[6,2.0,3.0],[8,4.0,5.0]],"edge_features":[["single"],["double"]],"target":0.5,"split":"train"}"#,
            "\n",
            r#"{"num_nodes":2,"edges":[[0,1],[1,0]],"node_features":[[6,6.0,7.0],[7,8.0,9.0]],"edge_features":[["single"],["single"]],"target":null,"split":"valid"}"#,
            "\n",
        );
        let options = ReadOptions { format: Some(crate::formats::Format::Jsonl), ..Default::default() };
        let written = crate::read_stream(Box::new(text.as_bytes()), "graphs", &options).unwrap();
        let read = two_graphs().read("graphs", &ReadOptions::default()).unwrap();
        // NaN is not equal to itself.
        assert_eq!(format!("{:?}", read.dataset), format!("{:?}", written.dataset));
        assert_eq!(read.dataset.schema.task, Task::Regression);
    }

    #[test]
    fn targets_may_belong_to_nodes_and_columns_have_their_names() {
        let mut tables = two_graphs();
        tables.node_columns.truncate(1);
        tables.node_columns[0].names = Some(vec!["element".to_owned()]);
        let classes = ["a", "b", "a", "c", "b"].map(|text| Some(text.to_owned()));
        tables.targets = vec![TableColumns::new(1, Cells::Text(classes.to_vec()))];
        let options = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
        let read = tables.read("graphs", &options).unwrap();
        let schema = &read.dataset.schema;
        assert_eq!((schema.level, schema.task), (Level::Node, Task::MultiClass { classes: 3 }));
        assert_eq!(schema.node_columns[0].name, "element");
        assert_eq!(schema.node_columns[0].kind, ColumnKind::Category { size: 9, names: vec![] });
        assert_eq!(read.dataset.samples[1].targets, [2.0, 1.0]);
    }

    #[test]
    fn parts_of_nodes_are_those_of_the_same_graph_written_as_json_lines() {
        let text = r#"{"num_nodes":3,"edges":[[0,1],[1,2]],"target":[0,1,1],"split":["train",null,"test"]}"#;
        let options = ReadOptions {
            format: Some(crate::formats::Format::Jsonl),
            level: Some(Level::Node),
            ..Default::default()
        };
        let written = crate::read_stream(Box::new(text.as_bytes()), "graphs", &options).unwrap();
        let mut tables = GraphTables {
            nodes: vec![3],
            edges: vec![2],
            edge_index: [vec![0, 1], vec![1, 2]],
            targets: vec![TableColumns::new(1, Cells::Integers(vec![0, 1, 1]))],
            node_parts: Some(vec![Some(Split::Train), None, Some(Split::Test)]),
            ..GraphTables::default()
        };
        let options = ReadOptions { level: Some(Level::Node), ..ReadOptions::default() };
        let read = tables.read("graphs", &options).unwrap();
        assert!(read.dataset.node_parts.is_some());
        assert_eq!(read.dataset, written.dataset);
        tables.node_parts = Some(vec![None; 2]);
        let error = tables.read("graphs", &options).unwrap_err().to_string();
        assert!(error.contains("2 parts of nodes") && error.contains('3'), "{error}");
    }

    #[test]
    fn a_graph_that_makes_no_sense_is_a_bad_row_with_its_number() {
        let mut tables = two_graphs();
        tables.edge_index[1][3] = 2;
        let error = tables.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("graph 1, column `edge_index`: `2`"), "{error}");
        let options = ReadOptions { on_bad_row: OnBadRow::Skip, ..ReadOptions::default() };
        assert_eq!(tables.read("graphs", &options).unwrap().dataset.samples.len(), 1);
        let schema = two_graphs().read("graphs", &ReadOptions::default()).unwrap().dataset.schema;
        tables.targets.clear();
        let rows = tables.rows(&ReadOptions::with_schema(schema)).unwrap();
        assert!(rows[0].graph.is_ok() && rows[1].graph.is_err());
    }

    #[test]
    fn tables_that_do_not_fit_each_other_are_refused() {
        let mut short = two_graphs();
        short.node_columns[1].width = 3;
        let error = short.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("column `x`") && error.contains("5 rows"), "{error}");
        let mut short = two_graphs();
        short.edge_index[0].pop();
        let error = short.read("graphs", &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("3 sources in `edge_index`"), "{error}");
        let mut short = two_graphs();
        short.parts = Some(vec![Split::Test]);
        assert!(short.read("graphs", &ReadOptions::default()).is_err());
    }

    #[test]
    fn molecules_keep_their_places() {
        let smiles = ["CCO", "C1CC", "c1ccccc1"].map(str::to_owned);
        let rows = molecule_rows(&smiles, &ReadOptions::default()).unwrap();
        let nodes: Vec<_> = rows.iter().map(|row| row.graph.as_ref().ok().map(|g| g.num_nodes())).collect();
        assert_eq!(nodes, [Some(3), None, Some(6)]);
        let reason = rows[1].graph.as_ref().unwrap_err().to_string();
        assert!(reason.starts_with("row 1: `C1CC`: not a SMILES string"), "{reason}");
        let schema = two_graphs().read("graphs", &ReadOptions::default()).unwrap().dataset.schema;
        assert!(molecule_rows(&smiles, &ReadOptions::with_schema(schema)).is_err());
    }
}
