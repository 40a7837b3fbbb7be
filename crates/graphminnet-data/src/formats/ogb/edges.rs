//! Graphs of their nodes and edges, which are stored or computed.

use super::features::{FeatureTables, read_features};
use super::meta::{EdgeRule, Meta};
use super::table::{Pieces, read_pieces};
use super::{Counts, missing, superpixels};
use crate::budget::{Budget, Share, bytes_of};
use crate::formats::{Tree, lines_of};
use crate::graph::{Features, Graph};
use crate::schema::both_ways;
use crate::{BadRow, Column, ColumnKind, DataError, EdgeDirection, ReadOptions};
use rayon::prelude::*;

/// The graphs, or why one is not there: a value that a schema does not know.
pub(super) type Graphs = Vec<Result<Graph, BadRow>>;

/// Reads `raw/edge.csv` and the features of edges.
pub(super) fn stored_edges(
    tree: &dyn Tree,
    meta: &Meta,
    counts: &Counts,
    nodes: Vec<Result<Features, BadRow>>,
    options: &ReadOptions,
    (budget, held): (&Budget, &mut Share),
) -> Result<(FeatureTables, Graphs), DataError> {
    let file = "raw/edge.csv";
    let Some(mut lines) = lines_of(tree, file, &options.limits)? else { return Err(missing(tree, file)) };
    let ends: Pieces<u32> = read_pieces(&mut lines, &counts.edges, Some(2), 2, held)?;
    let mut features = read_features(tree, "edge", &counts.edges, meta, options, (budget, held))?;
    let direction = options.edges.unwrap_or(match meta.add_inverse_edge {
        Some(true) => EdgeDirection::BothWays,
        _ => EdgeDirection::AsGiven,
    });
    let place = tree.place(file);
    let mut first_row = 1u64;
    let mut graphs = Vec::with_capacity(nodes.len());
    let edge_tables = std::mem::take(&mut features.tables);
    for (index, ((ends, node_features), edge_features)) in
        ends.pieces.into_iter().zip(nodes).zip(edge_tables).enumerate()
    {
        let mut edges: Vec<[u32; 2]> = ends.as_chunks::<2>().0.to_vec();
        let rows = edges.len() as u64;
        let (node_features, mut edge_features) = match (node_features, edge_features) {
            (Ok(nodes), Ok(edges)) => (nodes, edges),
            (Err(bad), _) | (_, Err(bad)) => {
                graphs.push(Err(BadRow { id: Some(index.to_string()), ..bad }));
                first_row += rows;
                continue;
            }
        };
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
        graphs.push(Ok(graph));
        first_row += rows;
    }
    Ok((features, graphs))
}

/// Computes the edges by the rule that `meta.json` names.
pub(super) fn computed_edges(
    tree: &dyn Tree,
    rule: &EdgeRule,
    nodes: Vec<Features>,
) -> Result<(FeatureTables, Graphs), DataError> {
    let place = tree.place("meta.json").in_column("edges");
    if rule.rule != "symmetrised-gaussian-knn" {
        return Err(DataError::value(place, &rule.rule, "a known rule: `symmetrised-gaussian-knn`"));
    }
    /// A similarity matrix larger than this is refused.
    const MAX_NODES: usize = 4_096;
    let graphs: Result<Graphs, DataError> = nodes
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
                .map(Ok)
                .map_err(|source| DataError::Graph { place: place.clone(), source })
        })
        .collect();
    let column = Column::new("similarity", ColumnKind::Number);
    Ok((FeatureTables { columns: vec![column], tables: Vec::new(), is_stated: true }, graphs?))
}
