//! A folder with `graphs.csv`, `nodes.csv` and `edges.csv`.
//!
//! | file | columns |
//! |---|---|
//! | `graphs.csv` | `graph_id`, `num_nodes` (needed without `nodes.csv`), `split` (optional); every other one is a target |
//! | `nodes.csv` | `graph_id`, `node_id`; `split` (or `train_mask`, `valid_mask`, `test_mask`) for parts of nodes; `target`, `target_…` and `label` are node-level targets; the others are features |
//! | `edges.csv` | `graph_id`, `source`, `destination` (or `src_id`, `dst_id`); the others are features; where neither graphs nor nodes have targets, `target`, `target_…` and `label` are targets of edges, and `split` or masks name parts of edges |
//! | `pairs.csv` (optional) | `graph_id`, `source`, `destination`; `split` or masks; every other one is a target of pairs of nodes that a model is asked about |
//!
//! Nodes are numbered in the order of their rows; `node_id` may be any text that is unique within its graph, and edges
//! refer to it. Without `nodes.csv` edges refer to numbers from 0. Without `graphs.csv` graphs appear in the order of
//! `nodes.csv`. A file without a `graph_id` column describes a single graph. Edges are directed as written. A bad row of
//! `nodes.csv` or `edges.csv` makes its graph a bad row.

mod again;
mod edges;
mod in_parts;
mod names;
mod node_ids;
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
use crate::schema::{Collector, Record, Table};
use crate::{BadRow, DataError, Level, Place, Read, ReadOptions, Split};
use in_parts::Kept;
use node_ids::NodeIds;
use parts::PartColumns;
use std::collections::HashMap;

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
    lines_of(tree, name, &options.limits)?.map(|lines| CsvReader::new(lines, &options.limits)).transpose()
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

/// A graph while its rows come in.
struct Draft {
    id: String,
    place: Place,
    split: Option<Split>,
    weight: Option<f32>,
    node_split: Option<Vec<Option<Split>>>,
    /// Parts of edges or pairs.
    row_split: Option<Vec<Option<Split>>>,
    pairs: Vec<[u32; 2]>,
    num_nodes: Option<u64>,
    node_ids: NodeIds,
    /// Features of the nodes, or of those that are kept.
    nodes: Vec<f64>,
    /// Edges in the file, and those of them that end where they begin.
    num_edges: u64,
    num_loops: u64,
    /// These, or those that are kept with their features.
    edges: Vec<[u32; 2]>,
    edge_rows: Vec<f64>,
    /// Edges of which no more is kept than that they are there.
    bare_edges: Vec<[u32; 2]>,
    targets: Table,
    problem: Option<BadRow>,
}

impl Draft {
    fn new(id: String, place: Place) -> Self {
        Self {
            id,
            place,
            split: None,
            weight: None,
            node_split: None,
            row_split: None,
            pairs: Vec::new(),
            num_nodes: None,
            node_ids: NodeIds::default(),
            nodes: Vec::new(),
            num_edges: 0,
            num_loops: 0,
            edges: Vec::new(),
            edge_rows: Vec::new(),
            bare_edges: Vec::new(),
            targets: Table::default(),
            problem: None,
        }
    }

    fn spoil(&mut self, error: DataError, place: Place) -> Result<(), DataError> {
        let problem = error.into_bad_row(place)?;
        self.problem.get_or_insert(problem);
        Ok(())
    }

    fn finish(self, has_nodes: bool, level: Level) -> Result<Record, BadRow> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let listed = u64::from(self.node_ids.len());
        let num_nodes = match self.num_nodes {
            Some(stated) if has_nodes && stated != listed => {
                let place = self.place.in_column("num_nodes");
                return Err(BadRow::new(
                    place,
                    stated.to_string(),
                    format!("nodes.csv has {listed} rows for this graph"),
                ));
            }
            Some(stated) => stated,
            None if has_nodes => listed,
            None => {
                let place = self.place.in_column("num_nodes");
                return Err(BadRow::new(
                    place,
                    "",
                    "needed, because there is no nodes.csv (it is never guessed from edges)",
                ));
            }
        } as usize;
        Ok(Record {
            place: self.place,
            id: Some(self.id),
            num_nodes,
            nodes: Table { rows: num_nodes, values: self.nodes },
            edge_rows: Table { rows: self.edges.len(), values: self.edge_rows },
            edges: self.edges,
            targets: self.targets,
            split: self.split,
            node_split: match level {
                Level::Edge | Level::Pair => self.row_split,
                _ => self.node_split,
            },
            pairs: self.pairs,
            graph: None,
            weight: self.weight,
            bounds: Vec::new(),
        })
    }
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
        let wanted = options.schema.as_ref().map(|schema| &schema.targets).or(options.targets.as_ref());
        let elsewhere = matches!(level_asked(options), Some(Level::Edge | Level::Pair));
        let is_used = !elsewhere && !ignores_targets(options);
        let columns: Vec<(usize, String)> = named_columns(&table, &[Some(id), count, split])
            .filter(|(column, _)| !weights.as_ref().is_some_and(|weights| weights.is(*column)))
            .filter(|(_, name)| is_used && wanted.is_none_or(|wanted| wanted.contains(name)))
            .collect();
        if !columns.is_empty() {
            collector.name_target_columns(columns.iter().map(|(_, name)| name.clone()).collect())?;
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
                for (target, (column, _)) in columns.iter().enumerate() {
                    let value = collector.target_columns.label(target, table.field(*column), &place)?;
                    draft.targets.values.push(value);
                }
                draft.targets.rows = usize::from(!columns.is_empty());
                Ok(())
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

    fn read_nodes(
        &mut self,
        mut table: CsvReader,
        collector: &mut Collector<'_>,
        options: &ReadOptions,
    ) -> Result<(), DataError> {
        let NodeColumns { graph: graph_column, id, features, targets, parts } =
            NodeColumns::find(&table, options)?;
        let has_graph_targets = collector.target_columns.len() > 0;
        if has_graph_targets && !targets.is_empty() {
            return Err(DataError::malformed(
                table.place(),
                "targets in nodes.csv as well as in graphs.csv",
                "one level of targets (name those to use)",
            ));
        }
        if !targets.is_empty() {
            collector.level = Level::Node;
            collector.name_target_columns(targets.iter().map(|(_, name)| name.clone()).collect())?;
        }
        collector.name_node_columns(features.iter().map(|(_, name)| name.clone()).collect())?;
        let label_bytes = bytes_of::<f64>(2 * targets.len() + 1);
        let feature_bytes = bytes_of::<f64>(2 * features.len());
        while let Some(row) = table.advance()? {
            let place = table.place();
            self.held.grow(label_bytes).map_err(DataError::limit(place.clone()))?;
            let name = graph_column.map_or("0", |column| table.field(column).trim()).to_owned();
            let Some(position) = self.draft(&name, &place, options)? else {
                return Err(row.err().unwrap_or_else(|| unknown_graph(&name, place)));
            };
            let Self { drafts, held, kept, .. } = &mut *self;
            let Some(draft) = drafts.get_mut(position) else { continue };
            let result = row.and_then(|()| {
                let node = draft.node_ids.len();
                within("nodes_per_graph", u64::from(node) + 1, options.limits.nodes_per_graph)
                    .map_err(DataError::limit(place.clone()))?;
                let is_new = draft.node_ids.add(table.field(id).trim(), held);
                if !is_new.map_err(DataError::limit(place.clone()))? {
                    let place = place.clone().in_column("node_id");
                    return Err(DataError::value(place, table.field(id), "unique within its graph"));
                }
                let is_kept = kept.is_none_or(|kept| kept.has(node));
                if is_kept {
                    held.grow(feature_bytes).map_err(DataError::limit(place.clone()))?;
                }
                for (position, (column, name)) in features.iter().enumerate() {
                    let text = present(table.field(*column), name, &place)?;
                    // A column is judged by all of its cells, also by those that are not kept.
                    let value = collector.node_columns.cell(position, text, &place)?;
                    if is_kept {
                        draft.nodes.push(value);
                    }
                }
                for (position, (column, _)) in targets.iter().enumerate() {
                    let value = collector.target_columns.label(position, table.field(*column), &place)?;
                    draft.targets.values.push(value);
                }
                draft.targets.rows += usize::from(!targets.is_empty());
                if parts.are_used() {
                    let part = parts.part(&table, &place)?;
                    draft.node_split.get_or_insert_default().push(part);
                }
                Ok(())
            });
            if let Err(error) = result {
                draft.spoil(error, place)?;
            }
        }
        Ok(())
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

/// The columns of `nodes.csv` by what they are for.
struct NodeColumns {
    graph: Option<usize>,
    id: usize,
    features: Vec<(usize, String)>,
    targets: Vec<(usize, String)>,
    parts: PartColumns,
}

impl NodeColumns {
    fn find(table: &CsvReader, options: &ReadOptions) -> Result<Self, DataError> {
        let graph = table.column_called(&["graph_id"]);
        let id = require(table, &["node_id", "id"])?;
        let (mut features, mut targets) = (Vec::new(), Vec::new());
        let known = options.schema.as_ref().map_or(&[][..], |schema| &schema.node_columns);
        let parts = PartColumns::find(table, known, options)?;
        for (column, name) in named_columns(table, &[graph, Some(id)]) {
            if parts.names.contains(&name) {
                continue;
            }
            let wanted = options.schema.as_ref().map(|schema| &schema.targets).or(options.targets.as_ref());
            let is_target = match wanted {
                _ if matches!(level_asked(options), Some(Level::Edge | Level::Pair)) => false,
                Some(wanted) => wanted.contains(&name),
                None => is_target_name(&name),
            };
            if is_target { targets.push((column, name)) } else { features.push((column, name)) }
        }
        if ignores_targets(options) {
            targets.clear();
        }
        Ok(Self { graph, id, features, targets, parts })
    }
}

fn unknown_graph(name: &str, place: Place) -> DataError {
    DataError::value(place.in_column("graph_id"), name, "a graph_id of graphs.csv")
}

fn require(table: &CsvReader, names: &[&str]) -> Result<usize, DataError> {
    table.column_called(names).ok_or_else(|| {
        DataError::malformed(
            table.place(),
            format!("the columns {}", table.header().join(", ")),
            format!("a column called {}", names.join(" or ")),
        )
    })
}

/// Columns that are none of the special ones.
fn named_columns<'a>(
    table: &'a CsvReader,
    special: &'a [Option<usize>],
) -> impl Iterator<Item = (usize, String)> + 'a {
    let columns = table.header().iter().cloned().enumerate();
    columns.filter(|(column, _)| !special.contains(&Some(*column)))
}

/// The level of targets that was asked for.
fn level_asked(options: &ReadOptions) -> Option<Level> {
    options.schema.as_ref().map(|schema| schema.level).or(options.level)
}

/// Whether targets are left out, whatever they are: then the level is that of whoever asks.
fn ignores_targets(options: &ReadOptions) -> bool {
    options.ignore_targets && level_asked(options).is_some()
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

/// Whether a column of nodes or edges holds targets by its name.
fn is_target_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "target" || lower == "label" || lower.starts_with("target_")
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
