//! Which part of a large graph is drawn.

use graphminnet_data::Graph;
use std::collections::BTreeMap;

/// An undirected edge of a picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edge {
    /// Its ends, among the drawn nodes.
    pub(super) ends: (usize, usize),
    /// One of the directed edges that it stands for.
    pub(super) source: usize,
    /// Sum of the values of all of them.
    pub(super) value: f64,
}

/// The drawn part of a graph.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Selection {
    /// The drawn nodes.
    pub(super) nodes: Vec<usize>,
    /// The drawn edges; of a molecule, its bonds.
    pub(super) edges: Vec<Edge>,
    /// Edges of a molecule that are no bonds.
    pub(super) joins: Vec<Edge>,
    /// In words, what was left out.
    pub(super) note: Option<String>,
}

impl Selection {
    /// All of a graph, or the neighbourhood of its most important node. Self-loops are not drawn.
    pub(super) fn of(
        graph: &Graph,
        node_values: &[f64],
        edge_values: &[f64],
        limits: (usize, usize),
    ) -> Self {
        let (max_nodes, max_edges) = limits;
        let count = graph.num_nodes();
        let (nodes, mut note) = if count <= max_nodes {
            ((0..count).collect(), None)
        } else {
            let (offsets, neighbours) = graph.undirected_neighbours();
            let around = |node: usize| {
                let range = offsets[node] as usize..offsets[node + 1] as usize;
                neighbours.get(range).unwrap_or_default()
            };
            let weight = |node: usize| match node_values.get(node) {
                Some(value) if value.is_finite() => value.abs(),
                Some(_) => 0.0,
                None => around(node).len() as f64,
            };
            let centre =
                (0..count).fold(0, |best, node| if weight(node) > weight(best) { node } else { best });
            let nodes = nearest(count, centre, max_nodes, |node| around(node));
            let note = format!("{} of {count} nodes: those nearest to node {centre}", nodes.len());
            (nodes, Some(note))
        };
        let mut place = vec![usize::MAX; count];
        for (at, &node) in nodes.iter().enumerate() {
            place[node] = at;
        }
        let mut merged: BTreeMap<(usize, usize), (usize, f64)> = BTreeMap::new();
        for (at, &[a, b]) in graph.edges().iter().enumerate() {
            let (a, b) = (place[a as usize], place[b as usize]);
            if a == b || a == usize::MAX || b == usize::MAX {
                continue;
            }
            let entry = merged.entry((a.min(b), a.max(b))).or_insert((at, 0.0));
            entry.1 += edge_values.get(at).copied().filter(|value| value.is_finite()).unwrap_or(0.0);
        }
        let mut edges: Vec<Edge> =
            merged.into_iter().map(|(ends, (source, value))| Edge { ends, source, value }).collect();
        if edges.len() > max_edges {
            let text = format!("{max_edges} of {} edges", edges.len());
            note = Some(note.map_or(text.clone(), |note| format!("{note}; {text}")));
            edges.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()).then(a.ends.cmp(&b.ends)));
            edges.truncate(max_edges);
        }
        Self { nodes, edges, joins: Vec::new(), note }
    }

    /// Sets the edges aside that are no bonds.
    pub(super) fn keep_bonds(&mut self, is_bond: impl Fn(&Edge) -> bool) {
        let (bonds, joins) = std::mem::take(&mut self.edges).into_iter().partition(is_bond);
        (self.edges, self.joins) = (bonds, joins);
    }

    /// Undirected neighbours among the drawn nodes.
    pub(super) fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut lists = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            lists[edge.ends.0].push(edge.ends.1);
            lists[edge.ends.1].push(edge.ends.0);
        }
        lists
    }
}

/// Up to `limit` nodes in the order of a breadth-first walk; other components only if there is room.
fn nearest<'a>(count: usize, start: usize, limit: usize, around: impl Fn(usize) -> &'a [u32]) -> Vec<usize> {
    let mut seen = vec![false; count];
    let mut order = Vec::with_capacity(limit);
    for root in std::iter::once(start).chain(0..count) {
        if order.len() >= limit {
            break;
        }
        if std::mem::replace(&mut seen[root], true) {
            continue;
        }
        let mut next = order.len();
        order.push(root);
        while next < order.len() && order.len() < limit {
            let node = order[next];
            next += 1;
            for &other in around(node) {
                if order.len() < limit && !std::mem::replace(&mut seen[other as usize], true) {
                    order.push(other as usize);
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_graph_is_cut_to_the_neighbourhood_of_its_most_important_node() {
        let edges = (0..999u32).flat_map(|at| [[at, at + 1], [at + 1, at]]).collect();
        let graph = Graph::from_edges(1000, edges).unwrap();
        let mut values = vec![0.0; 1000];
        values[700] = -3.0;
        let selection = Selection::of(&graph, &values, &[], (51, 10_000));
        let (least, most) = (selection.nodes.iter().min(), selection.nodes.iter().max());
        assert_eq!((least, most, selection.edges.len()), (Some(&675), Some(&725), 50));
        assert_eq!(selection.note.as_deref(), Some("51 of 1000 nodes: those nearest to node 700"));
    }

    #[test]
    fn both_directions_and_repetitions_are_one_edge_with_the_sum_of_their_values() {
        let graph = Graph::from_edges(3, vec![[0, 1], [1, 0], [0, 1], [2, 2]]).unwrap();
        let selection = Selection::of(&graph, &[], &[1.0, 2.0, -0.5, 9.0], (10, 10));
        assert_eq!(selection.edges, [Edge { ends: (0, 1), source: 0, value: 2.5 }]);
    }
}
