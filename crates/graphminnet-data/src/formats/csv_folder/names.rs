//! The names of nodes: the `node_id`s of `nodes.csv`, by which people know them.

use super::{open_table, require};
use crate::budget::{Budget, bytes_of};
use crate::formats::{Folder, Format, detect};
use crate::{DataError, ReadOptions, escape};
use std::collections::HashMap;
use std::path::Path;

/// The graph of tables without `graph_id`.
const NAMELESS: &str = "0";

/// Names of nodes, graph by graph.
#[derive(Debug, Clone, Default)]
pub struct NodeNames {
    graphs: HashMap<String, Names>,
}

#[derive(Debug, Clone, Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl NodeNames {
    /// Reads the names of a CSV folder; `None` for other formats, and where nodes have no names but their numbers.
    ///
    /// # Errors
    ///
    /// [`DataError`] if the file cannot be read. Whoever reads the graphs says what is wrong with their rows.
    pub fn read(path: &Path, options: &ReadOptions) -> Result<Option<Self>, DataError> {
        let format = match options.format {
            Some(format) => format,
            None => detect(path)?,
        };
        if format != Format::CsvFolder {
            return Ok(None);
        }
        let folder = Folder::new(path, &options.limits);
        // Names that are kept take memory, and most are numbers.
        if are_numbers(&folder, options)? { Ok(None) } else { Self::of_folder(&folder, options).map(Some) }
    }

    fn of_folder(folder: &Folder, options: &ReadOptions) -> Result<Self, DataError> {
        let (mut found, mut held) = (Self::default(), Budget::new(&options.limits).share());
        let Some(mut table) = open_table(folder, "nodes.csv", options)? else { return Ok(found) };
        let (graph, id) = (table.column_called(&["graph_id"]), require(&table, &["node_id", "id"])?);
        while let Some(row) = table.advance()? {
            // A bad row makes its graph a bad one, and nobody asks for its names.
            if row.is_err() {
                continue;
            }
            let name = table.field(id).trim().to_owned();
            let bytes = bytes_of::<(String, String, u32)>(2) + 2 * name.len() as u64;
            held.grow(bytes).map_err(DataError::limit(table.place()))?;
            let graph = graph.map_or(NAMELESS, |column| table.field(column).trim());
            let graph = match found.graphs.get_mut(graph) {
                Some(names) => names,
                None => found.graphs.entry(graph.to_owned()).or_default(),
            };
            graph.numbers.insert(name.clone(), graph.names.len() as u32);
            graph.names.push(name);
        }
        Ok(found)
    }

    /// The number of a node within its graph. A graph without a name is the only one.
    ///
    /// # Errors
    ///
    /// That there is no such node, in words.
    pub fn number(&self, graph: Option<&str>, name: &str) -> Result<u32, String> {
        let names = match graph {
            Some(graph) => self.of(graph),
            None => self.graphs.values().next().filter(|_| self.graphs.len() == 1),
        };
        let found = names.and_then(|names| names.numbers.get(name).copied());
        found.ok_or_else(|| format!("`{}`: not the node_id of a node of the graph", escape(name)))
    }

    /// The names of a graph. Without `graph_id` there is one graph, whatever graphs.csv calls it.
    fn of(&self, graph: &str) -> Option<&Names> {
        let only = || self.graphs.get(NAMELESS).filter(|_| self.graphs.len() == 1);
        self.graphs.get(graph).or_else(only)
    }

    /// The name of a node.
    pub fn name(&self, graph: &str, node: u32) -> Option<&str> {
        self.of(graph)?.names.get(node as usize).map(String::as_str)
    }
}

/// Whether the nodes of every graph are called 0, 1, 2 and so on, or have no names.
fn are_numbers(folder: &Folder, options: &ReadOptions) -> Result<bool, DataError> {
    let Some(mut table) = open_table(folder, "nodes.csv", options)? else { return Ok(true) };
    let (graph, id) = (table.column_called(&["graph_id"]), require(&table, &["node_id", "id"])?);
    let mut counts: HashMap<String, u64> = HashMap::new();
    while let Some(row) = table.advance()? {
        if row.is_err() {
            continue;
        }
        let graph = graph.map_or(NAMELESS, |column| table.field(column).trim());
        let count = match counts.get_mut(graph) {
            Some(count) => count,
            None => counts.entry(graph.to_owned()).or_default(),
        };
        if table.field(id).trim() != count.to_string() {
            return Ok(false);
        }
        *count += 1;
    }
    Ok(true)
}

/// A node as people know it: by its name, or else by its number.
pub fn node_text(names: Option<&NodeNames>, graph: &str, node: u32) -> String {
    names.and_then(|names| names.name(graph, node)).map_or_else(|| node.to_string(), str::to_owned)
}
