//! A list of pairs of nodes to ask a model about: a CSV table with `source` and `destination` (or `target`), and `graph_id`
//! where there are several graphs. Nodes are named as the data names them, or else numbered from 0, in the order of their graph.

use super::NodeNames;
use super::csv::CsvReader;
use crate::limits::within;
use crate::{DataError, Limits};
use std::path::Path;

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRow {
    /// The graph, where the list names it.
    pub graph: Option<String>,
    /// What is written in the place of the two nodes.
    pub written: [String; 2],
    /// The nodes, or what is wrong with the row.
    pub ends: Result<[u32; 2], String>,
}

/// Reads a list of pairs of named nodes, or of numbers where nodes have no names; a row that names no two nodes keeps its
/// place, with the reason.
///
/// # Errors
///
/// [`DataError`] if the file cannot be read, lacks a column, or is longer than the limits allow.
pub fn read_pair_list(
    path: &Path,
    limits: &Limits,
    names: Option<&NodeNames>,
) -> Result<Vec<PairRow>, DataError> {
    let mut table = CsvReader::open(path, limits)?;
    let column = |names: &[&str]| table.column_called(names).ok_or_else(|| table.lacks(names));
    let source = column(&["source", "src_id", "src"])?;
    let destination = column(&["destination", "target", "dst_id", "dst"])?;
    let graph = table.column_called(&["graph_id", "id"]);
    let mut rows = Vec::new();
    while let Some(record) = table.advance()? {
        within("edges_per_graph", rows.len() as u64 + 1, limits.edges_per_graph)
            .map_err(DataError::limit(table.place()))?;
        if let Err(error) = record {
            rows.push(PairRow { graph: None, written: Default::default(), ends: Err(error.to_string()) });
            continue;
        }
        let written = [source, destination].map(|column| table.field(column).trim().to_owned());
        let graph = graph.map(|column| table.field(column).trim().to_owned());
        let node = |text: &String| {
            let found = match names {
                Some(names) => names.number(graph.as_deref(), text),
                None => text.parse().map_err(|_| {
                    format!("`{}`: not the number of a node, counted from 0", crate::escape(text))
                }),
            };
            found.map_err(|reason| format!("{}: {reason}", table.place()))
        };
        let ends = node(&written[0]).and_then(|first| Ok([first, node(&written[1])?]));
        rows.push(PairRow { graph, written, ends });
    }
    Ok(rows)
}
