//! Parts of the nodes, edges or pairs of graphs: on one graph some of them train, some choose, some report.

use crate::dataset::{Dataset, Level, Split};
use crate::split::{Ratios, SplitError, Splits};
use std::collections::HashMap;

/// Which part of the data every node belongs to, graph by graph; a node may belong to none. Where targets are those of
/// edges or of pairs, these stand in the place of the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeParts {
    graphs: Vec<Vec<Option<Split>>>,
}

impl NodeParts {
    /// From the part of every node of every graph.
    pub fn new(graphs: Vec<Vec<Option<Split>>>) -> Self {
        Self { graphs }
    }

    /// Of a single graph whose nodes (edges, pairs) are split by position; `None` unless the data is one graph with
    /// targets of these.
    pub fn of_only_graph(
        dataset: &Dataset,
        split: impl FnOnce(usize) -> Result<Splits, SplitError>,
    ) -> Result<Option<Self>, SplitError> {
        let [only] = dataset.samples.as_slice() else { return Ok(None) };
        if dataset.schema.level == Level::Graph {
            return Ok(None);
        }
        let rows = dataset.schema.level.rows(&only.graph);
        let splits = split(rows)?;
        if !splits.calibration.is_empty() {
            let reason = "a `calibration` part is for whole graphs, and this data is one graph; leave it out, and calibrate with \
                          `predict --calibrate FILE`";
            return Err(SplitError::Json { reason: reason.to_owned() });
        }
        let mut nodes = vec![None; rows];
        for part in Split::ALL {
            for &node in splits.part(part) {
                if let Some(slot) = nodes.get_mut(node) {
                    *slot = Some(part);
                }
            }
        }
        Ok(Some(Self::new(vec![nodes])))
    }

    /// The labelled nodes (edges, pairs) of a single graph at random, in equal shares of the classes where there are some.
    /// Edges between the same two nodes stay together, whatever their direction: one would give the other away.
    ///
    /// # Errors
    ///
    /// [`SplitError::Ratios`].
    pub fn at_random(dataset: &Dataset, ratios: Ratios, seed: u64) -> Result<Option<Self>, SplitError> {
        Self::of_only_graph(dataset, |nodes| {
            let columns = dataset.schema.num_targets().max(1);
            let targets = dataset.samples.first().map_or(&[][..], |sample| &sample.targets);
            let row = |node: usize| targets.chunks(columns).nth(node).unwrap_or(&[]);
            let known = |node: &usize| row(*node).iter().any(|value| !value.is_nan());
            let known: Vec<usize> = (0..nodes).filter(known).collect();
            let is_class = columns == 1 && dataset.schema.task != crate::Task::Regression;
            let label = |row_at: usize| {
                if is_class { row(row_at).first().map_or(0, |class| *class as i64) } else { 0 }
            };
            let groups = grouped_by_ends(dataset, &known);
            let labels: Vec<i64> = match &groups {
                // A single graph may have millions of nodes: each is a group without being a list.
                None => known.iter().map(|&node| label(node)).collect(),
                Some(groups) => {
                    groups.iter().map(|group| group.first().map_or(0, |&row| label(row))).collect()
                }
            };
            let among = Splits::stratified(&labels, ratios, seed)?;
            drop(labels);
            let nodes_of = |part: Split| {
                let mut found: Vec<usize> = match &groups {
                    None => among.part(part).iter().map(|&at| known[at]).collect(),
                    Some(groups) => among.part(part).iter().flat_map(|&at| groups[at].clone()).collect(),
                };
                found.sort_unstable();
                found
            };
            Splits::new(nodes_of(Split::Train), nodes_of(Split::Valid), nodes_of(Split::Test), nodes)
        })
    }

    /// The part of every node of a graph.
    pub fn graph(&self, graph: usize) -> &[Option<Split>] {
        self.graphs.get(graph).map_or(&[], Vec::as_slice)
    }

    /// Nodes of a part.
    pub fn count(&self, part: Split) -> usize {
        self.graphs.iter().flatten().filter(|found| **found == Some(part)).count()
    }

    /// The graphs that have nodes of each part. A graph is in all parts that its nodes are in.
    pub fn graphs_by_part(&self) -> Splits {
        let with = |part: Split| {
            let has = |graph: &usize| self.graphs[*graph].contains(&Some(part));
            (0..self.graphs.len()).filter(has).collect()
        };
        Splits {
            train: with(Split::Train),
            valid: with(Split::Valid),
            test: with(Split::Test),
            ..Splits::default()
        }
    }

    /// The nodes of each part, counted through all graphs.
    pub fn nodes_by_part(&self) -> Splits {
        let nodes: Vec<Option<Split>> = self.graphs.iter().flatten().copied().collect();
        let of = |part: Split| (0..nodes.len()).filter(|&node| nodes[node] == Some(part)).collect();
        Splits {
            train: of(Split::Train),
            valid: of(Split::Valid),
            test: of(Split::Test),
            ..Splits::default()
        }
    }

    /// Makes all targets unknown but those of a part; `targets` are those of the listed graphs, one after the other, in
    /// rows of `columns`.
    pub fn hide_others(&self, part: Split, graphs: &[usize], columns: usize, targets: &mut [f32]) {
        let parts = graphs.iter().flat_map(|&graph| self.graph(graph));
        for (row, found) in targets.chunks_mut(columns.max(1)).zip(parts) {
            if *found != Some(part) {
                row.fill(f32::NAN);
            }
        }
    }
}

/// Rows of the only graph that must be in the same part: those of edges or pairs between the same two nodes. `None` for rows of
/// nodes, each of which is a group.
fn grouped_by_ends(dataset: &Dataset, rows: &[usize]) -> Option<Vec<Vec<usize>>> {
    let ends = match (dataset.schema.level, dataset.samples.first()) {
        (Level::Edge, Some(only)) => only.graph.edges(),
        (Level::Pair, Some(only)) => only.graph.pairs(),
        _ => return None,
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<[u32; 2], usize> = HashMap::new();
    for &row in rows {
        let [a, b] = ends.get(row).copied().unwrap_or_default();
        let place = *places.entry([a.min(b), a.max(b)]).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(row);
    }
    Some(groups)
}

impl Dataset {
    /// Splits the nodes; returns the graphs by part, which overlap.
    pub fn split_nodes(&mut self, parts: NodeParts) -> Splits {
        let splits = parts.graphs_by_part();
        self.node_parts = Some(parts);
        splits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_other_parts_become_unknown() {
        use Split::{Test, Train, Valid};
        let parts = NodeParts::new(vec![vec![Some(Train), None, Some(Test)], vec![Some(Valid), Some(Train)]]);
        let mut targets: Vec<f32> = (0..10).map(|at| at as f32).collect();
        parts.hide_others(Train, &[1, 0], 2, &mut targets);
        let known: Vec<f32> = targets.into_iter().filter(|value| !value.is_nan()).collect();
        assert_eq!(known, [2.0, 3.0, 4.0, 5.0]);
        assert_eq!([Train, Valid, Test].map(|part| parts.count(part)), [2, 1, 1]);
        assert_eq!(parts.graphs_by_part().train, [0, 1]);
        assert_eq!(parts.graphs_by_part().test, [0]);
        assert_eq!(parts.nodes_by_part().train, [0, 4]);
    }
}
