//! One graph in parts, for machines of which each holds a part.
//!
//! Parts are consecutive nodes: of the graph as it is, or of the graph with its nodes in another order. A part has the
//! edges that end at its own nodes, and sees the *border* nodes of other parts from which they come.
//!
//! ```
//! use graphminnet_data::Graph;
//! use graphminnet_data::partition::Partition;
//!
//! let ring = Graph::from_edges(6, (0..6).flat_map(|node| [[node, (node + 1) % 6], [(node + 1) % 6, node]]).collect())?;
//! let partition = Partition::in_order(6, 2);
//! let cut = partition.cut(&ring);
//! assert_eq!((cut.edges, cut.border), (4, vec![2, 2]));
//! # Ok::<(), graphminnet_data::GraphError>(())
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `file` | parts that another program chose, METIS for one |
//! | `greedy` | parts chosen in one pass over the nodes |
//! | `pieces` | a part of a graph as a graph of its own |
//! | `halo` | who sends which rows to whom |
//! | `connection` | a part together with the others |

mod connection;
mod file;
mod greedy;
mod halo;
mod pieces;

pub use connection::Connection;
// For the library, whose layers fetch rows across the border.
#[doc(hidden)]
pub use halo::Halo;
pub use pieces::part_graph;

use crate::graph::Graph;
use std::ops::Range;

/// Which part of a graph every node belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The nodes by part, in their order within each; empty where that is their order in the graph.
    order: Vec<u32>,
    /// Where the nodes of each part begin; length parts + 1.
    offsets: Vec<u64>,
}

/// What is between the parts of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Edges (directed ones) that come from another part than they go to.
    pub edges: usize,
    /// Nodes of other parts that each part sees.
    pub border: Vec<usize>,
}

impl Partition {
    /// The nodes in their order, in parts of equal size or one node more.
    pub fn in_order(nodes: usize, parts: usize) -> Self {
        let parts = parts.max(1);
        let cut = |part: usize| (nodes as u128 * part as u128 / parts as u128) as u64;
        Self { order: Vec::new(), offsets: (0..=parts).map(cut).collect() }
    }

    /// The part of every node, all below `parts`; within a part, nodes keep their order.
    ///
    /// # Panics
    ///
    /// If there is a part that does not exist.
    pub fn of(part_of_node: &[u32], parts: usize) -> Self {
        let mut offsets = vec![0u64; parts + 1];
        for &part in part_of_node {
            offsets[part as usize + 1] += 1;
        }
        for part in 0..parts {
            offsets[part + 1] += offsets[part];
        }
        if part_of_node.is_sorted() {
            return Self { order: Vec::new(), offsets };
        }
        let (mut next, mut order) = (offsets.clone(), vec![0; part_of_node.len()]);
        for (node, &part) in part_of_node.iter().enumerate() {
            order[next[part as usize] as usize] = node as u32;
            next[part as usize] += 1;
        }
        Self { order, offsets }
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    /// Where the nodes of each part begin, counted through; length parts + 1.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The numbers of a part's nodes, counted through all parts.
    pub fn numbers(&self, part: usize) -> Range<u64> {
        self.offsets[part]..self.offsets[part + 1]
    }

    /// The node of the graph that has a number.
    pub fn node(&self, number: u64) -> usize {
        self.order.get(number as usize).map_or(number as usize, |&node| node as usize)
    }

    /// The nodes of a part.
    pub fn nodes_of(&self, part: usize) -> impl Iterator<Item = usize> + Clone + use<'_> {
        self.numbers(part).map(|number| self.node(number))
    }

    /// Rows of `columns` values each, from the order of the parts to that of the nodes.
    pub fn rows_in_order(&self, rows: &[f32], columns: usize) -> Vec<f32> {
        if self.order.is_empty() {
            return rows.to_vec();
        }
        let mut ordered = vec![0.0; rows.len()];
        for (&node, row) in self.order.iter().zip(rows.chunks_exact(columns.max(1))) {
            ordered[node as usize * columns..][..columns].copy_from_slice(row);
        }
        ordered
    }

    /// The number of every node of the graph; `None` where it is the node's own.
    pub(crate) fn number_of_node(&self) -> Option<Vec<u32>> {
        if self.order.is_empty() {
            return None;
        }
        let mut numbers = vec![0; self.order.len()];
        for (number, &node) in self.order.iter().enumerate() {
            numbers[node as usize] = number as u32;
        }
        Some(numbers)
    }

    /// What is between the parts of a graph.
    pub fn cut(&self, graph: &Graph) -> Cut {
        let numbers = self.number_of_node();
        let number = |node: u32| numbers.as_ref().map_or(node, |numbers| numbers[node as usize]);
        let mut across: Vec<(u32, u32)> = Vec::new();
        for edge in graph.edges() {
            let [source, target] = edge.map(number);
            let to = owner(&self.offsets, u64::from(target));
            if !self.numbers(to).contains(&u64::from(source)) {
                across.push((to as u32, source));
            }
        }
        let edges = across.len();
        across.sort_unstable();
        across.dedup();
        let mut border = vec![0; self.parts()];
        across.iter().for_each(|&(part, _)| border[part as usize] += 1);
        Cut { edges, border }
    }
}

/// The part that a number belongs to.
pub(crate) fn owner(offsets: &[u64], number: u64) -> usize {
    // Empty parts begin where the next one does.
    offsets.partition_point(|&first| first <= number).saturating_sub(1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Graphs with loops, multiple edges and nodes without any, and parts that may be empty.
    pub(crate) fn graph_in_parts() -> impl Strategy<Value = (Graph, Partition)> {
        (1usize..14, 1usize..=5).prop_flat_map(|(nodes, parts)| {
            let edges = prop::collection::vec((0..nodes as u32, 0..nodes as u32), 0..30);
            let part_of_node = prop::collection::vec(0..parts as u32, nodes);
            (edges, part_of_node).prop_map(move |(edges, part_of_node)| {
                let edges = edges.into_iter().map(|(a, b)| [a, b]).collect();
                (Graph::from_edges(nodes, edges).unwrap(), Partition::of(&part_of_node, parts))
            })
        })
    }

    proptest! {
        #[test]
        fn every_node_is_in_its_part_and_the_cut_is_what_is_between_them(
            (graph, partition) in graph_in_parts(),
        ) {
            let part_of = |node: usize| {
                let number = (0..partition.nodes() as u64).find(|&number| partition.node(number) == node).unwrap();
                (0..partition.parts()).find(|&part| partition.numbers(part).contains(&number)).unwrap()
            };
            let parts: Vec<usize> = (0..graph.num_nodes()).map(part_of).collect();
            let of: Vec<u32> = parts.iter().map(|&part| part as u32).collect();
            prop_assert_eq!(&Partition::of(&of, partition.parts()), &partition);
            let mut seen = vec![std::collections::BTreeSet::new(); partition.parts()];
            let mut edges = 0;
            for &[a, b] in graph.edges() {
                if parts[a as usize] != parts[b as usize] {
                    edges += 1;
                    seen[parts[b as usize]].insert(a);
                }
            }
            let border = seen.iter().map(|seen| seen.len()).collect();
            prop_assert_eq!(partition.cut(&graph), Cut { edges, border });
            let row = |node: usize| [node as f32, -(node as f32)];
            let by_part = (0..partition.parts()).flat_map(|part| partition.nodes_of(part)).flat_map(row);
            let in_order: Vec<f32> = (0..graph.num_nodes()).flat_map(row).collect();
            prop_assert_eq!(partition.rows_in_order(&by_part.collect::<Vec<_>>(), 2), in_order);
        }
    }

    #[test]
    fn parts_in_order_are_equal_and_leave_nothing_out() {
        let partition = Partition::in_order(7, 3);
        assert_eq!(partition.offsets(), [0, 2, 4, 7]);
        assert_eq!(Partition::in_order(1, 3).offsets(), [0, 0, 0, 1]);
        assert_eq!(owner(&[0, 0, 0, 1], 0), 2);
    }
}
