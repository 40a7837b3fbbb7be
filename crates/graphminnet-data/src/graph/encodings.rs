//! Further numbers that were computed for a graph, by name: per node, per pair of nodes, per graph.

use super::features::Mismatch;
use super::{Features, Graph, GraphError, offsets};
use std::collections::{BTreeMap, BTreeSet};

/// Encodings beyond the eigenpairs, walks and degrees that every preparation knows: whatever a model looks up by name.
///
/// The same type stands for one graph and for a batch, where the rows of all graphs follow one another. All graphs of a
/// batch have the same names with the same columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Encodings {
    /// Tables with a row per node.
    pub nodes: BTreeMap<String, Features>,
    /// Chosen pairs of nodes, each with a row.
    pub pairs: BTreeMap<String, Pairs>,
    /// Tables with a row per graph.
    pub graphs: BTreeMap<String, Features>,
}

/// Ordered pairs of nodes of one graph, with a row of features each: all pairs, or any choice of them. They are not edges
/// of the graph, and their order stays as it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    ends: Vec<[u32; 2]>,
    offsets: Vec<u32>,
    features: Features,
}

impl Pairs {
    /// Pairs `[source, target]` of one graph.
    ///
    /// # Errors
    ///
    /// [`GraphError::RowCount`] unless there is a row of finite features for every pair, [`GraphError::TooLarge`] if
    /// there are too many.
    pub fn new(ends: Vec<[u32; 2]>, features: Features) -> Result<Self, GraphError> {
        let count = ends.len();
        if count > Graph::MAX_COUNT {
            return Err(GraphError::TooLarge { what: "pairs", count, limit: Graph::MAX_COUNT });
        }
        features.check("pair", count)?;
        Ok(Self { ends, offsets: vec![0, count as u32], features })
    }

    /// The pairs, `[source, target]`; in a batch with batch-wide node numbers.
    pub fn ends(&self) -> &[[u32; 2]] {
        &self.ends
    }

    /// Where the pairs of each graph begin; length graphs + 1.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The features, a row per pair.
    pub fn features(&self) -> &Features {
        &self.features
    }
}

impl Encodings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.pairs.is_empty() && self.graphs.is_empty()
    }

    /// The encodings of graphs, one after the other; `graphs` gives those of each with its number of nodes.
    pub(crate) fn concatenate(graphs: &[(&Self, usize)]) -> Result<Self, GraphError> {
        if graphs.iter().all(|(encodings, _)| encodings.is_empty()) {
            return Ok(Self::default());
        }
        let node_table = |table: &Features, nodes: usize| has_rows(table, nodes);
        let graph_table = |table: &Features, _| has_rows(table, 1);
        let chosen_pairs = |pairs: &Pairs, nodes: usize| match pairs
            .ends
            .iter()
            .flatten()
            .find(|&&node| node as usize >= nodes)
        {
            None => Ok(()),
            Some(node) => Err(format!("a pair names node {node}, but the graph has {nodes} nodes")),
        };
        let tables = |tables: &[&Features]| Ok(Features::concatenate(tables));
        let pairs = |pairs: &[&Pairs]| {
            let offsets = offsets("pairs", pairs.iter().map(|pairs| pairs.ends.len()))?;
            Ok(concatenate_pairs(pairs, offsets, graphs))
        };
        Ok(Self {
            nodes: by_name(graphs, |encodings| &encodings.nodes, node_table, tables)?,
            pairs: by_name(graphs, |encodings| &encodings.pairs, chosen_pairs, pairs)?,
            graphs: by_name(graphs, |encodings| &encodings.graphs, graph_table, tables)?,
        })
    }
}

fn has_rows(table: &Features, expected: usize) -> Result<(), String> {
    match table.rows() {
        rows if rows == expected => Ok(()),
        rows => Err(format!("it has {rows} rows, expected {expected}")),
    }
}

/// Joins what all graphs have under the same name.
fn by_name<T>(
    graphs: &[(&Encodings, usize)],
    of: fn(&Encodings) -> &BTreeMap<String, T>,
    check: impl Fn(&T, usize) -> Result<(), String>,
    join: impl Fn(&[&T]) -> Result<Result<T, Mismatch>, GraphError>,
) -> Result<BTreeMap<String, T>, GraphError> {
    let misfit = |graph: usize, name: &str, reason: String| GraphError::Encoding {
        graph,
        name: name.to_owned(),
        reason,
    };
    let names: BTreeSet<&String> = graphs.iter().flat_map(|(encodings, _)| of(encodings).keys()).collect();
    let mut all = BTreeMap::new();
    for name in names {
        let mut tables = Vec::with_capacity(graphs.len());
        for (graph, (encodings, nodes)) in graphs.iter().enumerate() {
            let Some(table) = of(encodings).get(name) else {
                return Err(misfit(graph, name, "it does not have it".to_owned()));
            };
            check(table, *nodes).map_err(|reason| misfit(graph, name, reason))?;
            tables.push(table);
        }
        match join(&tables)? {
            Ok(table) => all.insert(name.clone(), table),
            Err(Mismatch { table, found, expected }) => {
                let reason = format!("it has {found} columns, the first graph has {expected}");
                return Err(misfit(table, name, reason));
            }
        };
    }
    Ok(all)
}

/// Pairs of graphs one after the other, with batch-wide node numbers.
fn concatenate_pairs(
    pairs: &[&Pairs],
    offsets: Vec<u32>,
    graphs: &[(&Encodings, usize)],
) -> Result<Pairs, Mismatch> {
    let features = Features::concatenate(&pairs.iter().map(|pairs| &pairs.features).collect::<Vec<_>>())?;
    let mut ends = Vec::with_capacity(features.rows());
    let mut first_node = 0;
    for (pairs, (_, nodes)) in pairs.iter().zip(graphs) {
        ends.extend(pairs.ends.iter().map(|ends| ends.map(|node| first_node + node)));
        first_node += *nodes as u32;
    }
    Ok(Pairs { ends, offsets, features })
}
