//! A folder with `graphs.csv`, `nodes.csv` and `edges.csv`.
//!
//! | file | columns |
//! |---|---|
//! | `graphs.csv` | `graph_id`, `num_nodes` (needed without `nodes.csv`), `split` (optional); every other one is a target |
//! | `nodes.csv` | `graph_id`, `node_id`; `split` (or `train_mask`, `valid_mask`, `test_mask`) for parts of nodes; `target`, `target_…` and `label` are node-level targets, and nothing where others are asked for; the others are features |
//! | `edges.csv` | `graph_id`, `source`, `destination` (or `src_id`, `dst_id`); the others are features; where neither graphs nor nodes have targets, `target`, `target_…` and `label` are targets of edges, and `split` or masks name parts of edges |
//! | `pairs.csv` (optional) | `graph_id`, `source`, `destination`; `split` or masks; every other one is a target of pairs of nodes that a model is asked about |
//!
//! Nodes are numbered in the order of their rows; `node_id` may be any text that is unique within its graph, and edges
//! refer to it. Without `nodes.csv` edges refer to numbers from 0. Without `graphs.csv` graphs appear in the order of
//! `nodes.csv`. A file without a `graph_id` column describes a single graph. Edges are directed as written. A bad row of
//! `nodes.csv` or `edges.csv` makes its graph a bad row. Columns without a name, as pandas writes the numbers of rows, are nothing
//! unless they are asked for as `column_1` and so on.

mod again;
mod columns;
mod draft;
mod edges;
mod in_parts;
mod names;
mod node_ids;
mod nodes;
mod parts;
mod write;

pub(crate) use in_parts::read_in_parts;

pub use names::{NodeNames, node_text};
pub use write::write_csv_folder;

use super::csv::CsvReader;
use super::parse_split;
use crate::budget::{Share, bytes_of};
use crate::formats::weight_column::WeightColumn;
use crate::formats::{Tree, lines_of};
use crate::limits::within;
use crate::schema::Collector;
use crate::{DataError, Level, Place, Read, ReadOptions};
use columns::{TargetColumns, are_elsewhere, note_nameless, wanted_targets};
use draft::Draft;
use in_parts::Kept;
use std::collections::HashMap;

/// The first version of the rules under which rows name their graph where there are several.
const NAMES_ITS_GRAPH: u32 = 7;

/// The first version of the rules under which columns without a name are numbered, and are neither targets nor features.
const NUMBERED: u32 = 8;

/// Reads the layout from a folder or archive.
pub(crate) fn read(tree: &dyn Tree, options: &ReadOptions) -> Result<Read, DataError> {
    let mut collector = Collector::new(tree.root(), options);
    let Graphs { drafts, has_nodes, .. } = collect(tree, &mut collector, options, None)?;
    // From here on the collector counts what it takes over.
    for draft in drafts {
        collector.push(draft.finish(has_nodes, collector.level))?;
    }
    collector.finish()
}

fn open_table(tree: &dyn Tree, name: &str, options: &ReadOptions) -> Result<Option<CsvReader>, DataError> {
    let is_numbered = options.rules >= NUMBERED && !knows_nameless(name, options);
    let lines = lines_of(tree, name, &options.limits)?;
    lines.map(|lines| CsvReader::new(lines, is_numbered, options)).transpose()
}

/// Whether a model of earlier rules has learnt the column without a name of a table.
fn knows_nameless(table: &str, options: &ReadOptions) -> bool {
    let Some(schema) = &options.schema else { return false };
    let (features, level) = match table {
        "nodes.csv" => (&*schema.node_columns, Level::Node),
        "edges.csv" => (&*schema.edge_columns, Level::Edge),
        "pairs.csv" => (&[][..], Level::Pair),
        _ => (&[][..], Level::Graph),
    };
    let is_target = schema.level == level && schema.targets.iter().any(String::is_empty);
    is_target || features.iter().any(|column| column.name.is_empty())
}

/// Takes up the rows of all tables; of the only graph those that are kept, where not all of them are.
fn collect<'a>(
    tree: &dyn Tree,
    collector: &mut Collector<'_>,
    options: &ReadOptions,
    kept: Option<&'a Kept<'a>>,
) -> Result<Graphs<'a>, DataError> {
    let mut graphs = Graphs::new(collector.budget.share(), kept);
    let graph_table = open_table(tree, "graphs.csv", options)?;
    let node_table = open_table(tree, "nodes.csv", options)?;
    let Some(edge_table) = open_table(tree, "edges.csv", options)? else {
        return Err(DataError::Missing {
            path: tree.root().to_path_buf(),
            what: "edges.csv".to_owned(),
            expected: "graphs.csv, nodes.csv and edges.csv (each may be compressed)".to_owned(),
        });
    };
    let pair_table = open_table(tree, "pairs.csv", options)?;
    let tables = [
        ("graphs.csv", graph_table.as_ref()),
        ("nodes.csv", node_table.as_ref()),
        ("edges.csv", Some(&edge_table)),
        ("pairs.csv", pair_table.as_ref()),
    ];
    let headers: Vec<(&str, Vec<String>)> =
        tables.into_iter().filter_map(|(name, table)| Some((name, table?.header().to_vec()))).collect();
    graphs.is_open = graph_table.is_none();
    graphs.has_nodes = node_table.is_some();
    if let (None, Some(column)) = (&graph_table, &options.weight_column) {
        return Err(DataError::Missing {
            path: tree.root().to_path_buf(),
            what: "graphs.csv".to_owned(),
            expected: format!("its column `{}` has the weights", crate::escape(column)),
        });
    }
    if let Some(table) = graph_table {
        graphs.read_graphs(table, collector, options)?;
    }
    if let Some(table) = node_table {
        graphs.read_nodes(table, collector, options)?;
    }
    graphs.read_edges(edge_table, pair_table.is_some(), collector, options)?;
    if let Some(table) = pair_table {
        graphs.read_pairs(table, collector, options)?;
    }
    check_targets(collector, options, &headers, Place::file(tree.root()))?;
    Ok(graphs)
}

/// All graphs of a folder while its tables are read.
struct Graphs<'a> {
    /// What is kept of the only graph, where not all of it is.
    kept: Option<&'a Kept<'a>>,
    drafts: Vec<Draft>,
    by_id: HashMap<String, usize>,
    /// Memory of all of it.
    held: Share,
    /// Whether graphs may still appear: there was no `graphs.csv`.
    is_open: bool,
    has_nodes: bool,
}

impl<'a> Graphs<'a> {
    fn new(held: Share, kept: Option<&'a Kept<'a>>) -> Self {
        Self { kept, drafts: Vec::new(), by_id: HashMap::new(), held, is_open: false, has_nodes: false }
    }

    /// Takes a draft.
    fn add(&mut self, draft: Draft) -> Result<(), DataError> {
        let names = bytes_of::<(String, usize)>(1) + 2 * draft.id.len() as u64;
        let bytes = bytes_of::<Draft>(1) + names + draft.place.bytes() + draft.targets.bytes();
        self.held.grow(bytes).map_err(DataError::limit(draft.place.clone()))?;
        self.drafts.push(draft);
        Ok(())
    }

    fn read_graphs(
        &mut self,
        mut table: CsvReader,
        collector: &mut Collector<'_>,
        options: &ReadOptions,
    ) -> Result<(), DataError> {
        let id = require(&table, &["graph_id", "id"])?;
        let count = table.column_called(&["num_nodes"]);
        let split_name = options.split_column.as_deref().unwrap_or("split");
        let split = match options.split_column {
            // It may be a column of nodes.csv.
            Some(_) if !self.has_nodes || options.rules < 3 => Some(require(&table, &[split_name])?),
            _ => table.column_called(&[split_name]),
        };
        let weights = WeightColumn::find(&table, options, &[Some(id), count, split])?;
        let wanted = options.asked_targets();
        let is_used = !are_elsewhere(Level::Graph, options) && !ignores_targets(options);
        let special = [Some(id), count, split];
        let columns = named_columns(&table, &special)
            .filter(|(column, _)| is_used && !weights.as_ref().is_some_and(|weights| weights.is(*column)));
        let (columns, nameless) = wanted_targets(columns, &table, wanted);
        note_nameless(&nameless, "graphs.csv", collector);
        let targets = TargetColumns::new(columns, options);
        if !targets.is_empty() {
            collector.name_target_columns(targets.names())?;
        }
        while let Some(row) = table.advance()? {
            let place = table.place();
            let name = table.field(id).trim().to_owned();
            within("graphs", self.drafts.len() as u64 + 1, options.limits.graphs)
                .map_err(DataError::limit(place.clone()))?;
            let mut draft = Draft::new(name.clone(), place.clone());
            let result = row.and_then(|()| {
                if let Some(count) = count.filter(|count| !table.field(*count).trim().is_empty()) {
                    let place = place.clone().in_column("num_nodes");
                    let number = integer(table.field(count), &place, "a non-negative number of nodes")?;
                    within("nodes_per_graph", number, options.limits.nodes_per_graph)
                        .map_err(DataError::limit(place))?;
                    draft.num_nodes = Some(number);
                }
                draft.weight = weights.as_ref().map(|weights| weights.value(&table, &place)).transpose()?;
                // Parts are those of targets, and not judged where nobody asks for them.
                let part = split
                    .filter(|_| !options.ignore_targets && !options.ignore_split)
                    .map(|split| table.field(split));
                draft.split = parse_split(part, split_name, &place)?;
                targets.take_row(&table, collector, &place, &mut draft.targets)
            });
            if let Err(error) = result {
                draft.spoil(error, place.clone())?;
            }
            if self.by_id.contains_key(&name) {
                let error = DataError::value(place.clone().in_column("graph_id"), &name, "unique");
                draft.spoil(error, place)?;
            } else {
                self.by_id.insert(name, self.drafts.len());
            }
            self.add(draft)?;
        }
        Ok(())
    }

    /// The graph of all rows of a table without `graph_id`: the only one.
    ///
    /// # Errors
    ///
    /// [`DataError::Malformed`] if there are several; under earlier rules it is the one called `0`.
    fn only(&self, table: &CsvReader, options: &ReadOptions) -> Result<String, DataError> {
        match self.drafts.as_slice() {
            [only] => Ok(only.id.clone()),
            several if several.len() > 1 && options.rules >= NAMES_ITS_GRAPH => Err(DataError::malformed(
                table.place(),
                format!("no column `graph_id`, and {} graphs", several.len()),
                "the graph of every row in a column `graph_id`",
            )),
            _ => Ok("0".to_owned()),
        }
    }

    /// Which draft is that of a graph, made now if there was no `graphs.csv`.
    fn draft(
        &mut self,
        name: &str,
        place: &Place,
        options: &ReadOptions,
    ) -> Result<Option<usize>, DataError> {
        if let Some(&position) = self.by_id.get(name) {
            return Ok(Some(position));
        }
        if !self.is_open {
            return Ok(None);
        }
        within("graphs", self.drafts.len() as u64 + 1, options.limits.graphs)
            .map_err(DataError::limit(place.clone()))?;
        let position = self.drafts.len();
        self.by_id.insert(name.to_owned(), position);
        self.add(Draft::new(name.to_owned(), place.clone()))?;
        Ok(Some(position))
    }
}

fn unknown_graph(name: &str, place: Place) -> DataError {
    DataError::value(place.in_column("graph_id"), name, "a graph_id of graphs.csv")
}

fn require(table: &CsvReader, names: &[&str]) -> Result<usize, DataError> {
    table.column_called(names).ok_or_else(|| table.lacks(names))
}

/// Columns that are none of the special ones.
fn named_columns<'a>(
    table: &'a CsvReader,
    special: &'a [Option<usize>],
) -> impl Iterator<Item = (usize, String)> + 'a {
    let columns = table.header().iter().cloned().enumerate();
    columns.filter(|(column, _)| !special.contains(&Some(*column)))
}

/// Whether targets are left out, whatever they are: then the level is that of whoever asks.
fn ignores_targets(options: &ReadOptions) -> bool {
    options.ignore_targets && options.asked_level().is_some()
}

/// Fails for a target that was asked for and not found.
fn check_targets(
    collector: &Collector<'_>,
    options: &ReadOptions,
    headers: &[(&str, Vec<String>)],
    place: Place,
) -> Result<(), DataError> {
    // With a schema the file may be one to predict on; a run of an earlier version reads as it did.
    let matters = options.schema.is_none() && !ignores_targets(options) && options.rules >= 5;
    let wanted = options.targets.as_ref().filter(|_| matters);
    let is_used = |name: &String| collector.target_columns.traces().iter().any(|trace| trace.name == *name);
    match wanted.into_iter().flatten().find(|name| !is_used(name)) {
        None => Ok(()),
        Some(name) => {
            let columns = headers
                .iter()
                .map(|(table, names)| format!("{table} has {}", crate::escape(&names.join(", "))));
            let reason = format!(
                "no target column is called `{}`: {}; name one of the others (`--level` says whether targets are of nodes, \
                 edges or pairs)",
                crate::escape(name),
                columns.collect::<Vec<_>>().join("; ")
            );
            Err(DataError::Schema { place, reason })
        }
    }
}

fn integer(text: &str, place: &Place, expected: &str) -> Result<u64, DataError> {
    text.trim().parse().map_err(|_| DataError::value(place.clone(), text, expected))
}

fn present<'a>(text: &'a str, column: &str, place: &Place) -> Result<&'a str, DataError> {
    if text.trim().is_empty() {
        return Err(DataError::value(
            place.clone().in_column(column),
            text,
            "a value: a feature must not be blank",
        ));
    }
    Ok(text)
}
