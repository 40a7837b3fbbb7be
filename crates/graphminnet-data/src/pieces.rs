//! A graph in pieces, for training that has not the memory for all of it at once.
//!
//! A piece is a set of nodes with the edges among them. What was computed for the whole graph stays as it is: a node has
//! the eigenvector entries, return probabilities and degree that it has in the whole graph.

use crate::graph::{Encodings, Graph, GraphError, Part};
use crate::spectral::PreparedGraph;
use std::collections::VecDeque;
use std::sync::Arc;

/// Cuts the nodes of a graph into pieces of equal size, or one node less: each grows around a node that has no piece yet,
/// neighbours before others, so that few edges are cut. The nodes of a piece are in their order in the graph.
///
/// There are as many pieces as asked for, or as many as there are nodes.
pub fn cut_into_pieces(graph: &Graph, pieces: usize) -> Vec<Vec<usize>> {
    let nodes = graph.num_nodes();
    let pieces = pieces.clamp(1, nodes.max(1));
    let (offsets, neighbours) = graph.undirected_neighbours();
    let mut taken = vec![false; nodes];
    // The piece that last had the node in its queue, counted from 1.
    let mut queued = vec![0; nodes];
    let mut lowest = 0;
    let mut cut = Vec::with_capacity(pieces);
    for number in 0..pieces {
        let size = nodes / pieces + usize::from(number < nodes % pieces);
        let mut piece = Vec::with_capacity(size);
        let mut queue = VecDeque::new();
        while piece.len() < size {
            let node = match queue.pop_front() {
                Some(node) => node,
                None => {
                    while lowest < nodes && taken[lowest] {
                        lowest += 1;
                    }
                    lowest
                }
            };
            if taken[node] {
                continue;
            }
            taken[node] = true;
            piece.push(node);
            for &next in &neighbours[offsets[node] as usize..offsets[node + 1] as usize] {
                let next = next as usize;
                if !taken[next] && queued[next] != number + 1 {
                    queued[next] = number + 1;
                    queue.push_back(next);
                }
            }
        }
        piece.sort_unstable();
        cut.push(piece);
    }
    cut
}

impl PreparedGraph {
    /// Some of the nodes, ascending, with the edges among them; all else stays as it was computed for the whole graph.
    ///
    /// # Errors
    ///
    /// [`GraphError`] if a node does not exist, or the graph has encodings of another program, which cannot be cut.
    pub fn piece(&self, nodes: &[usize]) -> Result<Self, GraphError> {
        let graph = &self.graph;
        let total = graph.num_nodes();
        if let Some(&node) = nodes.iter().find(|&&node| node >= total) {
            return Err(GraphError::Length { graph: 0, what: "nodes", found: node, expected: total });
        }
        if self.encodings != Encodings::default() {
            return Err(GraphError::Encoding {
                graph: 0,
                name: "further encodings".to_owned(),
                reason: "a piece of the graph cannot have them".to_owned(),
            });
        }
        let mut place = vec![u32::MAX; total];
        for (at, &node) in nodes.iter().enumerate() {
            place[node] = at as u32;
        }
        let ends = |ends: &[u32; 2]| ends.map(|node| place[node as usize]);
        let kept: Vec<usize> = (0..graph.num_edges())
            .filter(|&edge| ends(&graph.edges()[edge]).iter().all(|end| *end != u32::MAX))
            .collect();
        let edges = kept.iter().map(|&edge| ends(&graph.edges()[edge])).collect();
        let node_features = graph.node_features().select_rows(nodes.iter().copied());
        let edge_features = graph.edge_features().select_rows(kept.iter().copied());
        let cut = Graph::new(nodes.len(), edges, node_features, edge_features)?
            .with_graph_features(graph.graph_features().clone())?;
        let rows = |values: &[f32]| -> Vec<f32> {
            let width = values.len() / total.max(1);
            nodes.iter().flat_map(|&node| &values[node * width..(node + 1) * width]).copied().collect()
        };
        Ok(Self {
            graph: Arc::new(cut),
            eigenvectors: rows(&self.eigenvectors),
            random_walk: rows(&self.random_walk),
            log_degree: rows(&self.log_degree),
            part: Some(Part {
                own_nodes: nodes.len(),
                whole_numbers: nodes.iter().map(|&node| node as u64).collect(),
                others: None,
            }),
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spectral::{PrepareOptions, prepare_graph};

    fn ring(nodes: u32) -> Graph {
        let edges = (0..nodes).flat_map(|node| [[node, (node + 1) % nodes], [(node + 1) % nodes, node]]);
        Graph::from_edges(nodes as usize, edges.collect()).unwrap()
    }

    #[test]
    fn every_node_is_in_one_piece_and_neighbours_stay_together() {
        for (nodes, pieces) in [(20, 1), (20, 4), (23, 5), (7, 7), (3, 9)] {
            let graph = ring(nodes);
            let cut = cut_into_pieces(&graph, pieces);
            assert_eq!(cut.len(), pieces.min(nodes as usize));
            let mut all: Vec<usize> = cut.iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..nodes as usize).collect::<Vec<_>>());
            let sizes: Vec<usize> = cut.iter().map(Vec::len).collect();
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
        }
        // A ring in four pieces loses four of its twenty edges, or a few more where the last piece takes what is left.
        let prepared = prepare_graph(&Arc::new(ring(20)), &PrepareOptions::default()).unwrap();
        let pieces = cut_into_pieces(&prepared.graph, 4);
        let kept: usize = pieces.iter().map(|nodes| prepared.piece(nodes).unwrap().graph.num_edges()).sum();
        assert!(kept >= 2 * (20 - 7), "{kept}");
        assert_eq!(cut_into_pieces(&Graph::from_edges(0, vec![]).unwrap(), 3), [Vec::<usize>::new()]);
    }

    #[test]
    fn the_only_piece_is_the_graph_and_others_keep_what_was_computed_for_it() {
        let options = PrepareOptions { eigenpairs: 3, random_walk_steps: 4, ..Default::default() };
        let whole = prepare_graph(&Arc::new(ring(10)), &options).unwrap();
        let only = whole.piece(&cut_into_pieces(&whole.graph, 1)[0]).unwrap();
        assert_eq!(PreparedGraph { part: None, ..only }, whole);
        let piece = whole.piece(&[2, 3, 7]).unwrap();
        assert_eq!(piece.graph.edges(), [[0, 1], [1, 0]]);
        assert_eq!(piece.eigenvectors[6..9], whole.eigenvectors[21..24]);
        assert_eq!(
            (piece.eigenvalues.clone(), piece.random_walk[0]),
            (whole.eigenvalues.clone(), whole.random_walk[8])
        );
        assert!(whole.piece(&[10]).is_err());
    }
}
