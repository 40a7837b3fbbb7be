//! Statistics of a data set, as the paper's table prints them.

use super::{DatasetInfo, EdgeCount};
use crate::text::grouped;
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
        edgeless_graphs: sums.edgeless,
        self_loops: sums.loops,
        missing_targets: fraction(sums.missing, sums.targets),
        level: dataset.schema.level,
        task: dataset.schema.task,
    }
}

impl Statistics {
    /// Mean number of edges, counted in a given way.
    pub fn mean_edges(&self, count: EdgeCount) -> f64 {
        match count {
            EdgeCount::Directed => self.mean_directed_edges,
            EdgeCount::Undirected => self.mean_undirected_edges,
        }
    }
}

/// Our statistics beside the paper's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the paper calls the data set.
    pub title: String,
    /// Graphs: paper, ours, equal.
    pub graphs: (String, String, bool),
    /// Mean nodes with the paper's digits: paper, ours, equal.
    pub nodes: (String, String, bool),
    /// Mean edges with the paper's digits: paper, ours, equal.
    pub edges: (String, String, bool),
    /// Whether level and task are the paper's.
    pub same_task: bool,
}

impl Comparison {
    /// Whether everything is as the paper prints it.
    pub fn agrees(&self) -> bool {
        self.graphs.2 && self.nodes.2 && self.edges.2 && self.same_task
    }
}

/// Puts a data set's statistics beside the paper's.
pub fn compare(info: &DatasetInfo, statistics: &Statistics) -> Comparison {
    let beside = |paper: &str, ours: f64| {
        let found = with_digits_of(paper, ours);
        let is_equal = found == paper;
        (paper.to_owned(), found, is_equal)
    };
    let graphs = grouped(info.paper.graphs);
    let found_graphs = grouped(statistics.graphs);
    let graphs_agree = graphs == found_graphs;
    Comparison {
        title: info.title.clone(),
        graphs: (graphs, found_graphs, graphs_agree),
        nodes: beside(&info.paper.nodes, statistics.mean_nodes),
        edges: beside(&info.paper.edges, statistics.mean_edges(info.paper.edges_are)),
        same_task: info.task() == statistics.task && info.level == statistics.level,
    }
}

/// A number with as many decimals as `like` has.
fn with_digits_of(like: &str, value: f64) -> String {
    let decimals = like.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    grouped(format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_the_paper_prints_them() {
        assert_eq!(with_digits_of("3,039.3", 3039.26), "3,039.3");
        assert_eq!(with_digits_of("70.6", 70.5667), "70.6");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(12), "12");
    }
}
