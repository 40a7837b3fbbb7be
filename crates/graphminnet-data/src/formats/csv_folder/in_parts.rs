//! A folder with a single graph of which only some parts are kept: rows of their own nodes, and the edges that touch them.
//!
//! ```text
//! nodes.csv            how many nodes there are ─→ the partition
//! nodes.csv, edges.csv every row is read and checked; columns are judged by all rows, tables keep those of the parts
//! edges.csv, nodes.csv once more each, where all of the data is to be hashed
//! ```
//!
//! What is kept of every node is its target and which part of the data it belongs to, and its name where names are not numbers
//! in a row.

use super::again::Again;
use super::edges::EdgeColumns;
use super::node_ids::NodeIds;
use super::nodes::NodeColumns;
use super::{Draft, Graphs, collect, open_table};
use crate::budget::{Budget, bytes_of};
use crate::content::ContentSizes;
use crate::formats::Tree;
use crate::graph::{Features, Graph};
use crate::limits::within;
use crate::partition::{Partition, part_graph};
use crate::preparation::GraphInParts;
use crate::read::{InParts, ReadInParts};
use crate::schema::{Collector, Directions, Finisher, Table};
use crate::spectral::{PreparedGraph, log_degree};
use crate::{BadRow, DataError, Level, Place, ReadOptions};
use std::ops::Range;
use std::sync::Arc;

/// What is kept of a graph.
pub(super) struct Kept<'a> {
    partition: &'a Partition,
    /// Which parts.
    here: Range<usize>,
    /// The numbers of their nodes, counted through all parts.
    own: Range<u64>,
    /// The number of every node, where it is not its own.
    numbers: Option<Vec<u32>>,
    both_ways: bool,
}

/// What is kept of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// It ends at a node that is kept.
    Whole,
    /// It comes from one, and makes it a neighbour.
    Bare,
    /// It touches none.
    Nothing,
}

impl<'a> Kept<'a> {
    fn new(partition: &'a Partition, here: Range<usize>, both_ways: bool) -> Self {
        let [first, end] = [here.start, here.end].map(|part| partition.offsets()[part]);
        Self { partition, here, own: first..end, numbers: partition.number_of_node(), both_ways }
    }

    fn number(&self, node: u32) -> u64 {
        u64::from(self.numbers.as_ref().map_or(node, |numbers| numbers[node as usize]))
    }

    /// Whether the features of a node are kept.
    pub(super) fn has(&self, node: u32) -> bool {
        // A file that has grown since its nodes were counted has nodes without a number.
        (node as usize) < self.partition.nodes() && self.own.contains(&self.number(node))
    }

    pub(super) fn keeping(&self, edge: [u32; 2]) -> Keeping {
        match edge.map(|node| self.has(node)) {
            [_, true] => Keeping::Whole,
            [true, false] if self.both_ways => Keeping::Whole,
            [true, false] => Keeping::Bare,
            [false, false] => Keeping::Nothing,
        }
    }
}

/// Reads the parts of a process; `None` where this cannot be read in parts: several graphs, no `nodes.csv`, or targets that are not
/// those of nodes.
pub(crate) fn read_in_parts(
    tree: &dyn Tree,
    options: &ReadOptions,
    how: &InParts<'_>,
) -> Result<Option<ReadInParts>, DataError> {
    let Some(nodes) = count_nodes(tree, options)? else { return Ok(None) };
    let partition = (how.cut)(nodes, &|| structure(tree, options))?;
    let here = how.hosts.share(partition.parts());
    let mut collector = Collector::new(tree.root(), options);
    let kept = Kept::new(&partition, here, collector.is_both_ways());
    let graphs = collect(tree, &mut collector, options, Some(&kept))?;
    let Graphs { mut drafts, has_nodes, held, .. } = graphs;
    let (Some(mut draft), true) = (drafts.pop(), drafts.is_empty()) else { return Ok(None) };
    if collector.level != Level::Node {
        return Ok(None);
    }
    let mut tables = Tables::take(&mut draft);
    let node_ids = std::mem::take(&mut draft.node_ids);
    let (place, id) = (draft.place.clone(), draft.id.clone());
    if draft.problem.is_none() && node_ids.len() as usize != nodes {
        return Err(changed(&place));
    }
    // Their number is all that the rest asks for.
    draft.node_ids = NodeIds::Numbers { first: 0, count: node_ids.len() };
    let mut record = draft.finish(has_nodes, collector.level).map_err(spoilt)?;
    let outline = Graph::from_edges(nodes, Vec::new());
    record.graph = Some(outline.map_err(|source| DataError::Graph { place: place.clone(), source })?);
    collector.push(Ok(record))?;
    let (read, (own, hashes)) = collector.finish_beside(|collector, finisher| {
        if kept.both_ways && options.schema.is_some() {
            tables.directions.check(&place).map_err(spoilt)?;
        }
        collector.directions = tables.directions;
        let num_kept = (kept.own.end - kept.own.start) as usize;
        let features = tables.features(collector, finisher, num_kept, &place).map_err(spoilt)?;
        let mut hashes = None;
        if how.hashed {
            let sizes = ContentSizes {
                nodes,
                edges: tables.all_edges(kept.both_ways),
                node_columns: columns(&features[0]),
                edge_columns: columns(&features[1]),
                targets: nodes * finisher.num_targets(),
            };
            let mut again = Again { tree, collector: &mut *collector, finisher, place: &place };
            hashes = Some(again.hash(&id, sizes, &node_ids)?);
        }
        drop(node_ids);
        Ok((tables.parts(&kept, &features, &collector.budget, &place)?, hashes))
    })?;
    // What was kept is in the parts now.
    drop(held);
    let (mut content, structure) = hashes.unzip();
    if let (Some(content), Some(only)) = (&mut content, read.dataset.samples.first()) {
        content.targets(&only.targets);
    }
    let here = kept.here;
    let graph = GraphInParts::of_parts(partition, here, own, structure);
    Ok(Some(ReadInParts { read, graph, content }))
}

/// Nothing is left where the only graph cannot be used.
pub(super) fn spoilt(row: BadRow) -> DataError {
    DataError::BadRows { rows: vec![row], total: 1 }
}

pub(super) fn changed(place: &Place) -> DataError {
    DataError::malformed(place.clone(), "other rows than a moment ago", "a file that nobody writes to")
}

fn columns(features: &Features) -> [usize; 2] {
    [features.category_columns(), features.number_columns()]
}

/// Rows of `nodes.csv`; `None` unless they are the nodes of a single graph and may have its targets.
fn count_nodes(tree: &dyn Tree, options: &ReadOptions) -> Result<Option<usize>, DataError> {
    let Some(mut table) = open_table(tree, "nodes.csv", options)? else { return Ok(None) };
    let columns = NodeColumns::find(&table, options)?;
    let asked = options.asked_level();
    let of_nodes = asked == Some(Level::Node) || asked.is_none() && !columns.targets.is_empty();
    if !of_nodes {
        return Ok(None);
    }
    if let Some(mut graphs) = open_table(tree, "graphs.csv", options)? {
        let rows = [graphs.advance()?.is_some(), graphs.advance()?.is_some()];
        if rows != [true, false] {
            return Ok(None);
        }
    }
    let (mut nodes, mut first) = (0usize, None);
    while table.advance()?.is_some() {
        if let Some(column) = columns.graph {
            let graph = table.field(column).trim();
            if first.get_or_insert_with(|| graph.to_owned()) != graph {
                return Ok(None);
            }
        }
        nodes += 1;
        within("nodes_per_graph", nodes as u64, options.limits.nodes_per_graph)
            .map_err(DataError::limit(table.place()))?;
    }
    Ok((nodes > 0).then_some(nodes))
}

/// The graph without its features, for parts that depend on its edges. Whoever reads its rows says what is wrong with them.
fn structure(tree: &dyn Tree, options: &ReadOptions) -> Result<Graph, DataError> {
    let mut held = Budget::new(&options.limits).share();
    let mut draft = Draft::new(String::new(), Place::file(tree.root()));
    if let Some(mut table) = open_table(tree, "nodes.csv", options)? {
        let id = NodeColumns::find(&table, options)?.id;
        while let Some(row) = table.advance()? {
            if row.is_ok() {
                let added = draft.node_ids.add(table.field(id).trim(), &mut held);
                added.map_err(DataError::limit(table.place()))?;
            }
        }
    }
    if let Some(mut table) = open_table(tree, "edges.csv", options)? {
        let columns = EdgeColumns::beside_nodes(&table, options)?;
        while let Some(row) = table.advance()? {
            if let Ok(edge) = row.and_then(|()| columns.ends(&table, &draft.node_ids)) {
                // Those of the graph, and both directions of them in lists of neighbours.
                held.grow(bytes_of::<[u32; 2]>(5)).map_err(DataError::limit(table.place()))?;
                draft.edges.push(edge);
            }
        }
    }
    let nodes = draft.node_ids.len() as usize;
    Graph::from_edges(nodes, draft.edges).map_err(|source| DataError::Graph { place: draft.place, source })
}

/// The rows that were kept.
struct Tables {
    nodes: Vec<f64>,
    num_edges: u64,
    directions: Directions,
    edges: Vec<[u32; 2]>,
    edge_rows: Vec<f64>,
    bare_edges: Vec<[u32; 2]>,
}

impl Tables {
    fn take(draft: &mut Draft) -> Self {
        Self {
            nodes: std::mem::take(&mut draft.nodes),
            num_edges: draft.num_edges,
            directions: draft.directions,
            edges: std::mem::take(&mut draft.edges),
            edge_rows: std::mem::take(&mut draft.edge_rows),
            bare_edges: std::mem::take(&mut draft.bare_edges),
        }
    }

    /// Edges of the whole graph.
    fn all_edges(&self, both_ways: bool) -> usize {
        let reverse = if both_ways { self.directions.edges() } else { 0 };
        (self.num_edges + reverse) as usize
    }

    /// The features of the nodes and of the edges that were kept.
    fn features(
        &mut self,
        from: &Collector<'_>,
        finisher: &Finisher,
        num_nodes: usize,
        place: &Place,
    ) -> Result<[Features; 2], BadRow> {
        let nodes = Table { rows: num_nodes, values: std::mem::take(&mut self.nodes) };
        let edges = Table { rows: self.edges.len(), values: std::mem::take(&mut self.edge_rows) };
        Ok([finisher.node_features(from, &nodes, place)?, finisher.edge_features(from, &edges, place)?])
    }

    /// The parts as graphs of their own.
    fn parts(
        &self,
        kept: &Kept<'_>,
        [nodes, edges]: &[Features; 2],
        budget: &Budget,
        place: &Place,
    ) -> Result<Vec<PreparedGraph>, DataError> {
        let mut held = budget.share();
        let mut hold = |bytes| held.grow(bytes).map_err(DataError::limit(place.clone()));
        hold(bytes_of::<[u32; 2]>(2 * (self.edges.len() + self.bare_edges.len())))?;
        let log_degree = self.log_degrees(kept);
        // Rows of nodes were kept as they came.
        let mut came: Vec<usize> = kept.own.clone().map(|number| kept.partition.node(number)).collect();
        came.sort_unstable();
        let row_of = |node: usize| came.partition_point(|&other| other < node);
        let mut parts = Vec::with_capacity(kept.here.len());
        for part in kept.here.clone() {
            let own = kept.partition.numbers(part);
            let (mut ends, mut rows) = (Vec::new(), Vec::new());
            for (row, edge) in self.edges.iter().enumerate() {
                for [source, target] in directions(*edge, kept.both_ways) {
                    if own.contains(&kept.number(target)) {
                        ends.push([kept.number(source), kept.number(target)]);
                        rows.push(row);
                    }
                }
            }
            let own_rows: Vec<usize> = kept.partition.nodes_of(part).map(row_of).collect();
            let node_features = nodes.select_rows(own_rows.into_iter());
            let edge_features = edges.select_rows(rows.into_iter());
            let first = (own.start - kept.own.start) as usize;
            let (graph, cut) = part_graph(own, &ends, &node_features, edge_features)
                .map_err(|source| DataError::Graph { place: place.clone(), source })?;
            hold(graph.bytes())?;
            let mut degrees = log_degree[first..first + cut.own_nodes].to_vec();
            degrees.resize(graph.num_nodes(), 0.0);
            parts.push(PreparedGraph { log_degree: degrees, ..PreparedGraph::of_part(Arc::new(graph), cut) });
        }
        Ok(parts)
    }

    /// `ln(1 + degree)` of the nodes that are kept, by their numbers: all of their edges are here.
    fn log_degrees(&self, kept: &Kept<'_>) -> Vec<f32> {
        let mut around: Vec<[u32; 2]> = Vec::with_capacity(2 * (self.edges.len() + self.bare_edges.len()));
        for &[source, target] in self.edges.iter().chain(&self.bare_edges).filter(|[a, b]| a != b) {
            for [node, other] in [[source, target], [target, source]] {
                if kept.has(node) {
                    around.push([(kept.number(node) - kept.own.start) as u32, other]);
                }
            }
        }
        around.sort_unstable();
        around.dedup();
        let mut degrees = vec![0u32; (kept.own.end - kept.own.start) as usize];
        around.iter().for_each(|[node, _]| degrees[*node as usize] += 1);
        degrees.into_iter().map(log_degree).collect()
    }
}

/// An edge as it is written, and its reverse where it stands for both.
pub(super) fn directions([source, target]: [u32; 2], both_ways: bool) -> impl Iterator<Item = [u32; 2]> {
    let reverse = (both_ways && source != target).then_some([target, source]);
    std::iter::once([source, target]).chain(reverse)
}
