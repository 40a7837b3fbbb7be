//! The raw CSV layout of the Open Graph Benchmark, as a folder or inside a zip archive.
//!
//! ```text
//! raw/num-node-list.csv.gz   nodes of each graph          raw/num-edge-list.csv.gz  edge rows of each graph
//! raw/edge.csv.gz            source,target                raw/node-feat.csv.gz, raw/edge-feat.csv.gz
//! raw/graph-label.csv.gz or raw/node-label.csv.gz         split/<scheme>/{train,valid,test}.csv.gz
//!                            or no labels: links          split/<scheme>/{valid,test}.pt
//! meta.json                  optional: what the tables mean
//! ```
//!
//! Tables have no header. What `meta.json` does not say of columns and labels is inferred as in any other format, and edges
//! are taken as they are unless the options say otherwise. With a stated number of categories every value is checked against
//! it. Superpixel data sets may leave out the edges and name the rule by which they are computed.

mod edges;
mod features;
mod labels;
mod links;
mod meta;
mod split;
mod superpixels;
mod table;

use crate::budget::{Budget, Share, bytes_of};
use crate::formats::{Tree, lines_of};
use crate::graph::Graph;
use crate::limits::within;
use crate::schema::{Collector, ColumnSet, Record, Table};
use crate::text::quoted_some;
use crate::{
    BadRow, Column, ColumnKind, DataError, Dataset, Level, Limits, NodeParts, Place, Read, ReadOptions,
    Report, Sample, Schema, Split, escape, escape_up_to,
};
use edges::{Graphs, computed_edges, stored_edges};
use features::{FeatureTables, read_features};
use labels::{LabelFile, check_labels, infer_task};
use meta::Meta;
use split::read_split;
use std::sync::Arc;
use table::{Label, Pieces, read_column};

/// The first version of the rules by which columns and labels are understood as in other formats, and by which options must have
/// an effect.
const AS_OTHERS: u32 = 6;

/// Reads the layout from a folder or archive.
pub(crate) fn read(tree: &dyn Tree, options: &ReadOptions) -> Result<Read, DataError> {
    let limits = &options.limits;
    let meta = Meta::read(tree, limits)?;
    let has_meta = meta.is_some();
    let meta = meta.unwrap_or_default();
    // Tables become graphs without a copy, so all of it counts once.
    let budget = Budget::new(limits);
    let mut held = budget.share();
    let counts = Counts::read(tree, &meta, limits, &mut held)?;
    if let Some(scheme) = links::scheme(tree, &meta, options)? {
        return links::read(tree, &meta, &counts, &scheme, options, &budget, &mut held);
    }
    let graphs = counts.nodes.len();
    held.grow(bytes_of::<(Sample, Graph, usize)>(graphs)).map_err(DataError::limit(tree.place("raw")))?;
    let labels = LabelFile::find(tree, &meta, options)?;
    let (level, labels_at) = (labels.level, labels.place.clone());
    let one_each = vec![1; graphs];
    let rows = match level {
        Level::Node if !options.ignore_targets => &counts.nodes,
        _ => &one_each,
    };
    let is_stated = meta.states_labels(limits, &tree.place("meta.json"))?;

    let mut nodes = read_features(tree, "node", &counts.nodes, &meta, options, (&budget, &mut held))?;
    let tables = std::mem::take(&mut nodes.tables);
    let (edges, graphs) = match &meta.edges {
        Some(rule) => computed_edges(tree, rule, whole(tables)?)?,
        None => stored_edges(tree, &meta, &counts, tables, options, (&budget, &mut held))?,
    };
    let parts = match options.ignore_targets {
        // Parts are those of targets.
        true => Parts::default(),
        false => Parts::read(tree, &meta, level, &counts, options, &mut held)?,
    };
    let mut read = if options.ignore_targets || options.rules >= AS_OTHERS && !is_stated {
        check_columns(&nodes.columns, &edges.columns, options, tree)?;
        // What is said of columns of features has had its effect.
        let mut of_labels = options.clone();
        for names in [&mut of_labels.numeric, &mut of_labels.text] {
            names.retain(|name| !nodes.has(name) && !edges.has(name));
        }
        let mut collector = Collector::within(tree.root(), &of_labels, budget);
        collector.level = level;
        let labels = labels.collect(rows, &mut collector, &mut held)?;
        check_effects(tree, [&nodes, &edges], Ok(&collector.target_columns), options)?;
        collector.fixed_columns = Some((nodes.columns, edges.columns));
        // From here on the collector counts what it takes over.
        drop(held);
        collect(&mut collector, &labels_at, graphs, labels.into_iter().zip(rows), parts)?;
        collector.finish()?
    } else {
        let why = "meta.json says what the labels mean (`task`, `num_classes`, `classes`): take it out there";
        check_effects(tree, [&nodes, &edges], Err(why), options)?;
        let labels = labels.read(rows, options, &mut held)?;
        let schema = schema(&meta, level, &labels, nodes.columns, edges.columns, options, tree)?;
        as_stated(schema, whole(graphs)?, labels, parts)
    };
    read.dataset.name = name(tree, &meta);
    let stated = meta.deviations.iter().flatten().take(20);
    read.report.differences = stated.map(|difference| escape_up_to(difference, 600)).collect();
    if !has_meta {
        read.report.notes.insert(0, "no meta.json: columns and task were inferred".to_owned());
    }
    Ok(read)
}

/// Hands the graphs over to be finished with the labels that were collected, and the number of rows that each has of them.
fn collect<'a>(
    collector: &mut Collector<'_>,
    labels_at: &Place,
    graphs: Graphs,
    labels: impl Iterator<Item = (Table, &'a usize)>,
    parts: Parts,
) -> Result<(), DataError> {
    let Parts { of_graphs, mut of_nodes } = parts;
    let mut of_graphs = of_graphs.unwrap_or_default().into_iter();
    let mut line = 1u64;
    for (graph, (targets, rows)) in graphs.into_iter().zip(labels) {
        let place = labels_at.clone().at_line(line);
        line += *rows as u64;
        let split = of_graphs.next();
        collector.push(graph.map(|graph| Record {
            place,
            id: None,
            num_nodes: graph.num_nodes(),
            edges: Vec::new(),
            nodes: Table::default(),
            edge_rows: Table::default(),
            targets,
            split,
            node_split: of_nodes.take(),
            pairs: Vec::new(),
            graph: Some(graph),
            weight: None,
            bounds: Vec::new(),
        }))?;
    }
    Ok(())
}

/// The data as `meta.json` or earlier rules understand it.
fn as_stated(schema: Schema, graphs: Vec<Graph>, labels: Pieces<Label>, parts: Parts) -> Read {
    let samples = graphs
        .into_iter()
        .zip(labels.pieces)
        .enumerate()
        .map(|(index, (graph, targets))| Sample {
            id: index.to_string(),
            graph: Arc::new(graph),
            targets: targets.into_iter().map(|Label(value)| value).collect(),
        })
        .collect::<Vec<_>>();
    let rows = (0..samples.len()).map(Some).collect();
    let node_parts = parts.of_nodes.map(|parts| NodeParts::new(vec![parts]));
    let official_split = parts.of_graphs;
    let name = String::new();
    let dataset =
        Dataset { name, schema, samples, official_split, node_parts, qualifiers: Default::default() };
    Read { dataset, report: Report { rows, ..Report::default() } }
}

/// The parts of the graphs, or of the nodes of the only graph.
#[derive(Default)]
struct Parts {
    of_graphs: Option<Vec<Split>>,
    of_nodes: Option<Vec<Option<Split>>>,
}

impl Parts {
    fn read(
        tree: &dyn Tree,
        meta: &Meta,
        level: Level,
        counts: &Counts,
        options: &ReadOptions,
        held: &mut Share,
    ) -> Result<Self, DataError> {
        match (level, counts.nodes.as_slice()) {
            (Level::Node, [nodes]) if options.rules >= 3 => {
                let of_nodes = read_split(tree, meta, (*nodes, "node"), options, held)?;
                Ok(Self { of_graphs: None, of_nodes })
            }
            (_, graphs) => {
                let parts = read_split(tree, meta, (graphs.len(), "graph"), options, held)?;
                Ok(Self { of_graphs: parts.and_then(|parts| parts.into_iter().collect()), of_nodes: None })
            }
        }
    }
}

/// All of them, or the first reason why one is not there.
fn whole<T>(all: Vec<Result<T, BadRow>>) -> Result<Vec<T>, DataError> {
    all.into_iter().collect::<Result<_, _>>().map_err(|bad| DataError::BadRows { rows: vec![bad], total: 1 })
}

/// Fails for options about columns and classes that nothing is left for to decide, and for names of columns that are not there.
/// `labels` are the target columns, or why nothing can be said of them.
fn check_effects(
    tree: &dyn Tree,
    tables: [&FeatureTables; 2],
    labels: Result<&ColumnSet, &str>,
    options: &ReadOptions,
) -> Result<(), DataError> {
    if options.rules < AS_OTHERS || options.schema.is_some() {
        return Ok(());
    }
    let refuse = |reason: String| Err(DataError::Schema { place: Place::file(tree.root()), reason });
    if let (Some(class), Err(why)) = (&options.positive_class, labels) {
        return refuse(format!("`--positive-class {}` has no effect: {why}", escape(class)));
    }
    let is_target = |name: &str| labels.is_ok_and(|set| set.traces().iter().any(|trace| trace.name == name));
    let numeric = options.numeric.iter().map(|name| ("--numeric", name));
    for (option, name) in numeric.chain(options.text.iter().map(|name| ("--text", name))) {
        let shown = escape(name);
        match tables.iter().find(|table| table.has(name)) {
            Some(table) if table.is_stated => {
                return refuse(format!(
                    "`{option} {shown}` has no effect: meta.json says what the column holds (`node_feat`, `node_cardinality`, \
                     `edge_feat`, `edge_cardinality`): take it out there"
                ));
            }
            None if !is_target(name) => {
                let [nodes, edges] =
                    tables.map(|table| quoted_some(table.columns.iter().map(|column| &column.name)));
                return refuse(format!(
                    "no column is called `{shown}` ({option}): nodes have {nodes}; edges have {edges}"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Name of the data: that of the folder unless `meta.json` says another.
fn name(tree: &dyn Tree, meta: &Meta) -> String {
    let of_folder = || tree.root().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    meta.name.clone().unwrap_or_else(of_folder)
}

/// Number of nodes and edge rows of every graph.
struct Counts {
    nodes: Vec<usize>,
    edges: Vec<usize>,
}

impl Counts {
    fn read(tree: &dyn Tree, meta: &Meta, limits: &Limits, held: &mut Share) -> Result<Self, DataError> {
        let nodes =
            count_column(tree, "num-node-list", "nodes_per_graph", limits.nodes_per_graph, limits, held)?;
        if let Some(declared) = meta.num_graphs.filter(|&declared| declared != nodes.len() as u64) {
            return Err(DataError::malformed(
                tree.place("meta.json").in_column("num_graphs"),
                declared.to_string(),
                format!("{}, the number of rows of num-node-list", nodes.len()),
            ));
        }
        let edges = if meta.edges.is_some() {
            Vec::new()
        } else {
            count_column(tree, "num-edge-list", "edges_per_graph", limits.edges_per_graph, limits, held)?
        };
        if meta.edges.is_none() && edges.len() != nodes.len() {
            return Err(DataError::malformed(
                tree.place("raw/num-edge-list.csv"),
                format!("{} rows", edges.len()),
                format!("{}, as many as num-node-list", nodes.len()),
            ));
        }
        Ok(Self { nodes, edges })
    }
}

fn count_column(
    tree: &dyn Tree,
    name: &str,
    limit_name: &'static str,
    limit: u64,
    limits: &Limits,
    held: &mut Share,
) -> Result<Vec<usize>, DataError> {
    let file = format!("raw/{name}.csv");
    let Some(mut lines) = lines_of(tree, &file, limits)? else {
        return Err(missing(tree, &file));
    };
    let counts: Vec<u64> = read_column(&mut lines, limits.graphs, held)?;
    for (row, count) in counts.iter().enumerate() {
        within(limit_name, *count, limit)
            .map_err(DataError::limit(tree.place(&file).at_line(row as u64 + 1)))?;
    }
    Ok(counts.into_iter().map(|count| count as usize).collect())
}

fn missing(tree: &dyn Tree, file: &str) -> DataError {
    DataError::Missing {
        path: tree.root().to_path_buf(),
        what: format!("{file} (or {file}.gz, {file}.zst)"),
        expected: "the OGB layout: raw/{num-node-list,num-edge-list,edge,graph-label}.csv.gz".to_owned(),
    }
}

fn schema(
    meta: &Meta,
    level: Level,
    labels: &Pieces<Label>,
    node_columns: Vec<Column>,
    edge_columns: Vec<Column>,
    options: &ReadOptions,
    tree: &dyn Tree,
) -> Result<Schema, DataError> {
    let place = tree.place("meta.json");
    let task = match options.task {
        Some(task) => task,
        None => meta.task(&options.limits, &place)?.unwrap_or_else(|| infer_task(labels)),
    };
    let file = if level == Level::Node { "raw/node-label.csv" } else { "raw/graph-label.csv" };
    check_labels(task, labels, &tree.place(file))?;
    let targets = labels::names(labels.columns);
    let class_names = meta.classes.clone().unwrap_or_default();
    let found = Schema {
        level,
        task,
        targets,
        class_names,
        positive_class: None,
        molecules: None,
        node_columns,
        edge_columns,
    };
    expected_schema(found, options, tree)
}

/// The schema that the data is to be read with, if its columns are those that were found.
fn expected_schema(found: Schema, options: &ReadOptions, tree: &dyn Tree) -> Result<Schema, DataError> {
    check_columns(&found.node_columns, &found.edge_columns, options, tree)?;
    let Some(expected) = &options.schema else { return Ok(found) };
    let of = |schema: &Schema| format!("{} target columns of {}s", schema.num_targets(), schema.level);
    if of(&found) != of(expected) {
        return Err(DataError::malformed(Place::file(tree.root()), of(&found), of(expected)));
    }
    Ok(expected.clone())
}

/// Fails unless the columns are those of the schema that the data is to be read with, if there is one.
fn check_columns(
    nodes: &[Column],
    edges: &[Column],
    options: &ReadOptions,
    tree: &dyn Tree,
) -> Result<(), DataError> {
    let Some(schema) = &options.schema else { return Ok(()) };
    for (what, found, expected) in
        [("nodes", nodes, &schema.node_columns), ("edges", edges, &schema.edge_columns)]
    {
        if !Column::are_like(found, expected) {
            let reason = format!(
                "the columns of this folder are not those of the schema it is to be read with: {what} have {}, expected {}",
                described(found),
                described(expected)
            );
            return Err(DataError::Schema { place: Place::file(tree.root()), reason });
        }
    }
    Ok(())
}

fn described(columns: &[Column]) -> String {
    let kind = |column: &Column| match &column.kind {
        ColumnKind::Category { size, .. } => format!("{size} categories"),
        ColumnKind::Number => "numbers".to_owned(),
    };
    let columns: Vec<String> =
        columns.iter().map(|column| format!("`{}` ({})", escape(&column.name), kind(column))).collect();
    if columns.is_empty() { "none".to_owned() } else { columns.join(", ") }
}
