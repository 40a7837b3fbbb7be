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
//! Tables have no header. Without `meta.json` columns are inferred, and edges are taken as they are unless the options
//! say otherwise. With a stated number of categories every value is checked against it. Superpixel data sets may leave
//! out the edges and name the rule by which they are computed.

mod features;
mod labels;
mod links;
mod meta;
mod split;
mod superpixels;
mod table;

use crate::budget::{Budget, Share, bytes_of};
use crate::formats::{Tree, lines_of};
use crate::graph::{Features, Graph};
use crate::limits::within;
use crate::schema::both_ways;
use crate::{
    Column, ColumnKind, DataError, Dataset, EdgeDirection, Level, Limits, NodeParts, Place, Read,
    ReadOptions, Report, Sample, Schema, escape_up_to,
};
use features::read_features;
use labels::{check_labels, infer_task, read_labels};
use meta::{EdgeRule, Meta};
use rayon::prelude::*;
use split::read_split;
use std::sync::Arc;
use table::{Label, Pieces, read_column, read_pieces};

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
    let (level, labels) = read_labels(tree, &meta, &counts, options, &mut held)?;

    let nodes = read_features(
        tree,
        "node",
        &counts.nodes,
        meta.node_feat.as_deref(),
        &meta.node_cardinality,
        options,
        &mut held,
    )?;
    let graphs = match &meta.edges {
        Some(rule) => computed_edges(tree, rule, nodes.tables)?,
        None => stored_edges(tree, &meta, &counts, nodes.tables, options, &mut held)?,
    };
    let (node_columns, (edge_columns, graphs)) = (nodes.columns, graphs);

    let schema = schema(&meta, level, &labels, node_columns, edge_columns, options, tree)?;
    let (official_split, node_parts) = match (level, graphs.as_slice()) {
        (Level::Node, [only]) if options.rules >= 3 => {
            let parts = read_split(tree, &meta, (only.num_nodes(), "node"), options, &mut held)?;
            (None, parts.map(|parts| NodeParts::new(vec![parts])))
        }
        _ => {
            let parts = read_split(tree, &meta, (graphs.len(), "graph"), options, &mut held)?;
            (parts.and_then(|parts| parts.into_iter().collect()), None)
        }
    };
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
    let mut notes = Vec::new();
    let stated = meta.deviations.iter().flatten().take(20);
    let differences = stated.map(|difference| escape_up_to(difference, 600)).collect();
    if !has_meta {
        notes.push("no meta.json: columns and task were inferred".to_owned());
    }
    let name = name(tree, &meta);
    let rows = (0..samples.len()).map(Some).collect();
    let dataset =
        Dataset { name, schema, samples, official_split, node_parts, qualifiers: Default::default() };
    Ok(Read { dataset, report: Report { notes, differences, rows, ..Report::default() } })
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

fn stored_edges(
    tree: &dyn Tree,
    meta: &Meta,
    counts: &Counts,
    nodes: Vec<Features>,
    options: &ReadOptions,
    held: &mut Share,
) -> Result<(Vec<Column>, Vec<Graph>), DataError> {
    let file = "raw/edge.csv";
    let Some(mut lines) = lines_of(tree, file, &options.limits)? else { return Err(missing(tree, file)) };
    let ends: Pieces<u32> = read_pieces(&mut lines, &counts.edges, Some(2), 2, held)?;
    let features = read_features(
        tree,
        "edge",
        &counts.edges,
        meta.edge_feat.as_deref(),
        &meta.edge_cardinality,
        options,
        held,
    )?;
    let direction = options.edges.unwrap_or(match meta.add_inverse_edge {
        Some(true) => EdgeDirection::BothWays,
        _ => EdgeDirection::AsGiven,
    });
    let place = tree.place(file);
    let mut first_row = 1u64;
    let mut graphs = Vec::with_capacity(nodes.len());
    for (index, ((ends, node_features), edge_features)) in
        ends.pieces.into_iter().zip(nodes).zip(features.tables).enumerate()
    {
        let mut edges: Vec<[u32; 2]> = ends.as_chunks::<2>().0.to_vec();
        let rows = edges.len() as u64;
        let mut edge_features = edge_features;
        if direction == EdgeDirection::BothWays {
            held.grow(bytes_of::<[u32; 2]>(edges.len()) + edge_features.bytes())
                .map_err(DataError::limit(place.clone().at_line(first_row)))?;
            (edges, edge_features) = both_ways(&edges, &edge_features);
        }
        let graph =
            Graph::new(node_features.rows(), edges, node_features, edge_features).map_err(|source| {
                DataError::Graph {
                    place: place.clone().at_line(first_row).in_column(format!("graph {index}")),
                    source,
                }
            })?;
        graphs.push(graph);
        first_row += rows;
    }
    Ok((features.columns, graphs))
}

fn computed_edges(
    tree: &dyn Tree,
    rule: &EdgeRule,
    nodes: Vec<Features>,
) -> Result<(Vec<Column>, Vec<Graph>), DataError> {
    let place = tree.place("meta.json").in_column("edges");
    if rule.rule != "symmetrised-gaussian-knn" {
        return Err(DataError::value(place, &rule.rule, "a known rule: `symmetrised-gaussian-knn`"));
    }
    /// A similarity matrix larger than this is refused.
    const MAX_NODES: usize = 4_096;
    let graphs: Result<Vec<Graph>, DataError> = nodes
        .into_par_iter()
        .enumerate()
        .map_init(superpixels::Workspace::default, |work, (index, features)| {
            let [x, y] = rule.coords;
            if x >= features.number_columns() || y >= features.number_columns() || features.rows() > MAX_NODES
            {
                return Err(DataError::malformed(
                    place.clone(),
                    format!(
                        "coordinates {x} and {y} for graph {index} with {} numeric columns and {} nodes",
                        features.number_columns(),
                        features.rows()
                    ),
                    format!("two numeric columns and at most {MAX_NODES} nodes"),
                ));
            }
            let points: Vec<[f32; 2]> = (0..features.rows())
                .map(|row| {
                    let row = features.number_row(row);
                    [row.get(x).copied().unwrap_or(0.0), row.get(y).copied().unwrap_or(0.0)]
                })
                .collect();
            let (edges, similarity) = superpixels::nearest_neighbours(&points, rule.k, work);
            Features::numbers(edges.len(), 1, similarity)
                .and_then(|edge_features| Graph::new(features.rows(), edges, features, edge_features))
                .map_err(|source| DataError::Graph { place: place.clone(), source })
        })
        .collect();
    let column = Column { name: "similarity".to_owned(), kind: ColumnKind::Number };
    Ok((vec![column], graphs?))
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
    check_labels(task, labels, &tree.place("raw/graph-label.csv"))?;
    let targets = match labels.columns {
        1 => vec!["target".to_owned()],
        several => (0..several).map(|column| format!("target_{column}")).collect(),
    };
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
    match &options.schema {
        None => Ok(found),
        Some(expected) => {
            let same = found.node_columns == expected.node_columns
                && found.edge_columns == expected.edge_columns
                && found.level == expected.level
                && found.num_targets() == expected.num_targets();
            if same {
                return Ok(expected.clone());
            }
            Err(DataError::Schema {
                place: Place::file(tree.root()),
                reason: "the columns of this folder are not those of the schema it is to be read with"
                    .to_owned(),
            })
        }
    }
}
