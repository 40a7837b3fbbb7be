//! Which nodes are how far apart, found for the batch at hand by a search from every node.

use graphminnet::ops::RowIndex;
use graphminnet_data::{Batch, Graph};
use rayon::prelude::*;
use std::sync::Arc;

/// What GRED reads of a batch.
#[derive(Debug)]
pub(crate) struct GredInput {
    /// For every node and every other one within reach (itself included), the other one.
    pub(super) members: Arc<RowIndex>,
    /// And the shell that it is in: number `u·S + distance`.
    pub(super) shells: Arc<RowIndex>,
    /// How many nodes are at distance 1 from each.
    pub(super) neighbours: Vec<u32>,
    /// Number of shells `S`.
    pub(super) count: usize,
}

impl GredInput {
    pub(crate) fn new(batch: &Batch, count: usize) -> Self {
        let (nodes, topology) = (batch.layout.num_nodes(), batch.layout.topology());
        let mut around = vec![Vec::new(); nodes];
        for (&from, &to) in topology.source.iter().zip(&topology.target).filter(|(from, to)| from != to) {
            around[from as usize].push(to);
            around[to as usize].push(from);
        }
        let reached: Vec<Vec<(u32, u32)>> =
            (0..nodes).into_par_iter().map(|node| search(&around, node as u32, count)).collect();
        let neighbours =
            reached.iter().map(|found| found.iter().filter(|(_, far)| *far == 1).count() as u32).collect();
        let members = reached.iter().flatten().map(|(other, _)| *other).collect();
        let shells = reached.iter().enumerate().flat_map(|(node, found)| {
            found.iter().map(move |(_, distance)| (node * count) as u32 + distance)
        });
        let shells = RowIndex::new(nodes * count, shells.collect());
        Self { members: RowIndex::new(nodes, members), shells, neighbours, count }
    }
}

/// The nodes at distances below `shells`, nearest first, with their distances.
fn search(around: &[Vec<u32>], start: u32, shells: usize) -> Vec<(u32, u32)> {
    let mut found = vec![(start, 0)];
    let mut seen = std::collections::HashSet::from([start]);
    let mut next = 0;
    while let Some(&(node, distance)) = found.get(next) {
        next += 1;
        if distance as usize + 1 >= shells {
            continue;
        }
        for &other in &around[node as usize] {
            if seen.insert(other) {
                found.push((other, distance + 1));
            }
        }
    }
    found
}

/// The largest distance between two nodes of any of the graphs that can reach each other.
pub(crate) fn largest_distance(graphs: &[&Graph]) -> usize {
    let of_graph = |graph: &Graph| {
        let mut around = vec![Vec::new(); graph.num_nodes()];
        for &[from, to] in graph.edges().iter().filter(|[from, to]| from != to) {
            around[from as usize].push(to);
            around[to as usize].push(from);
        }
        let farthest = |node| search(&around, node, usize::MAX).last().map_or(0, |(_, far)| *far);
        (0..graph.num_nodes() as u32).map(farthest).max().unwrap_or(0)
    };
    graphs.par_iter().map(|graph| of_graph(graph)).max().unwrap_or(0) as usize
}
