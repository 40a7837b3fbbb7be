//! Counts and means of a data set.

use crate::{Dataset, Level, Sample, Task};
use rayon::prelude::*;
use serde::Serialize;

/// Counts and means of a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Number of graphs.
    pub graphs: u64,
    /// Mean number of nodes.
    pub mean_nodes: f64,
    /// Mean number of stored directed edges.
    pub mean_directed_edges: f64,
    /// Mean number of edges with opposite directions counted once: pairs of the undirected simple graph, and loops.
    pub mean_undirected_edges: f64,
    /// Smallest and largest number of nodes.
    pub nodes_range: (u64, u64),
    /// Graphs without nodes.
    pub nodeless_graphs: u64,
    /// Graphs without edges.
    pub edgeless_graphs: u64,
    /// Loops in all graphs.
    pub self_loops: u64,
    /// Fraction of targets that are missing.
    pub missing_targets: f64,
    /// Level of the targets.
    pub level: Level,
    /// What the targets mean.
    pub task: Task,
}

/// Sums over some of the graphs.
#[derive(Debug, Clone, Copy)]
struct Sums {
    nodes: u64,
    directed: u64,
    undirected: u64,
    loops: u64,
    edgeless: u64,
    nodeless: u64,
    fewest_nodes: u64,
    most_nodes: u64,
    targets: u64,
    missing: u64,
}

impl Sums {
    const NONE: Self = Self {
        nodes: 0,
        directed: 0,
        undirected: 0,
        loops: 0,
        edgeless: 0,
        nodeless: 0,
        fewest_nodes: u64::MAX,
        most_nodes: 0,
        targets: 0,
        missing: 0,
    };

    fn of(sample: &Sample) -> Self {
        let graph = &sample.graph;
        let nodes = graph.num_nodes() as u64;
        let loops = graph.edges().iter().filter(|[source, target]| source == target).count() as u64;
        let (_, neighbours) = graph.undirected_neighbours();
        Self {
            nodes,
            directed: graph.num_edges() as u64,
            undirected: neighbours.len() as u64 / 2 + loops,
            loops,
            edgeless: u64::from(graph.num_edges() == 0),
            nodeless: u64::from(nodes == 0),
            fewest_nodes: nodes,
            most_nodes: nodes,
            targets: sample.targets.len() as u64,
            missing: sample.targets.iter().filter(|value| value.is_nan()).count() as u64,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            directed: self.directed + other.directed,
            undirected: self.undirected + other.undirected,
            loops: self.loops + other.loops,
            edgeless: self.edgeless + other.edgeless,
            nodeless: self.nodeless + other.nodeless,
            fewest_nodes: self.fewest_nodes.min(other.fewest_nodes),
            most_nodes: self.most_nodes.max(other.most_nodes),
            targets: self.targets + other.targets,
            missing: self.missing + other.missing,
        }
    }
}

/// Computes the statistics of a data set.
pub fn statistics(dataset: &Dataset) -> Statistics {
    let graphs = dataset.samples.len() as u64;
    let sums = dataset.samples.par_iter().map(Sums::of).reduce(|| Sums::NONE, Sums::plus);
    let fraction = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    Statistics {
        graphs,
        mean_nodes: fraction(sums.nodes, graphs),
        mean_directed_edges: fraction(sums.directed, graphs),
        mean_undirected_edges: fraction(sums.undirected, graphs),
        nodes_range: (if graphs == 0 { 0 } else { sums.fewest_nodes }, sums.most_nodes),
        nodeless_graphs: sums.nodeless,
        edgeless_graphs: sums.edgeless,
        self_loops: sums.loops,
        missing_targets: fraction(sums.missing, sums.targets),
        level: dataset.schema.level,
        task: dataset.schema.task,
    }
}
