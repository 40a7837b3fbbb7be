//! Statistics of a data set beside those that the paper's table prints.

use super::{DatasetInfo, EdgeCount};
use crate::Statistics;
use crate::text::grouped;
use serde::Serialize;

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
        edges: beside(&info.paper.edges, mean_edges(statistics, info.paper.edges_are)),
        same_task: info.task() == statistics.task && info.level == statistics.level,
    }
}

/// Mean number of edges, counted in a given way.
fn mean_edges(statistics: &Statistics, count: EdgeCount) -> f64 {
    match count {
        EdgeCount::Directed => statistics.mean_directed_edges,
        EdgeCount::Undirected => statistics.mean_undirected_edges,
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
