//! Walk probabilities between all pairs of nodes, computed for the batch at hand.
//!
//! ```text
//! P = D⁻¹A        A[u,v] = 1 for every edge u→v, D = row sums; a node without outgoing edges has a zero row
//! R[u,v] = (I, P, P², …, P^{k−1})[u,v]
//! ```
//! All graphs of a data set would need gigabytes, so the walks of a batch are made when it comes and dropped with it. A
//! step costs nodes times edges, which is little beside a layer.

use super::Orientation;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::ops::{PairList, RowIndex};
use graphminnet_data::Batch;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What GRIT reads of a batch.
#[derive(Debug)]
pub(crate) struct GritInput {
    /// All pairs of nodes of the same graph, by target and then by source.
    pub(super) pairs: Arc<PairList>,
    /// The pair of every edge.
    pub(super) pair_of_edge: Arc<RowIndex>,
    /// `R_ii`, `[nodes, k]`.
    pub(super) node_walks: Tensor<2>,
    /// `R_ij`, `[pairs, k]`.
    pub(super) pair_walks: Tensor<2>,
    /// `ln(1 + out-degree)`, `[nodes, 1]`.
    pub(super) log_degree: Tensor<2>,
}

/// The nodes of one graph of a batch and their targets, in numbers of the graph.
struct Graph {
    first: usize,
    nodes: usize,
    neighbours: Vec<BTreeSet<u32>>,
}

impl GritInput {
    pub(super) fn new(batch: &Batch, steps: usize, orientation: Orientation, device: &Device) -> Self {
        let (offsets, topology) = (batch.layout.node_offsets(), batch.layout.topology());
        let graphs: Vec<Graph> = offsets
            .windows(2)
            .map(|range| {
                let (first, nodes) = (range[0] as usize, (range[1] - range[0]) as usize);
                Graph { first, nodes, neighbours: vec![BTreeSet::new(); nodes] }
            })
            .collect();
        let graphs = with_neighbours(graphs, batch);
        let first_pair: Vec<usize> = graphs
            .iter()
            .scan(0, |next, graph| Some(std::mem::replace(next, *next + graph.nodes * graph.nodes)))
            .collect();
        let ends: Vec<[u32; 2]> = graphs
            .iter()
            .flat_map(|graph| {
                let all = graph.first as u32..(graph.first + graph.nodes) as u32;
                all.clone().flat_map(move |target| all.clone().map(move |source| [source, target]))
            })
            .collect();
        let graph_of_node = batch.layout.graph_of_node();
        let pair_of_edge = topology.source.iter().zip(&topology.target).map(|(&source, &target)| {
            let at = graph_of_node[target as usize] as usize;
            let local = |node: u32| node as usize - graphs[at].first;
            (first_pair[at] + local(target) * graphs[at].nodes + local(source)) as u32
        });
        let pair_of_edge = RowIndex::new(ends.len(), pair_of_edge.collect());
        let walks: Vec<Vec<f32>> = graphs.par_iter().map(|graph| walks(graph, steps, orientation)).collect();
        let diagonal = graphs.iter().zip(&walks).flat_map(|(graph, walks)| {
            (0..graph.nodes).flat_map(move |node| walks[node * (graph.nodes + 1) * steps..][..steps].to_vec())
        });
        let (nodes, device) = (batch.layout.num_nodes(), device.clone());
        let table =
            |values: Vec<f32>, shape: [usize; 2]| Tensor::from_data(TensorData::new(values, shape), &device);
        let log_degree = graphs.iter().flat_map(|graph| {
            graph.neighbours.iter().map(|targets| (1.0 + targets.len() as f64).ln() as f32)
        });
        let (log_degree, node_walks) = (log_degree.collect(), diagonal.collect());
        let rows = ends.len();
        // The pairs are listed by target already, so the order stays.
        let (pairs, _) = PairList::new(nodes, &ends);
        Self {
            pairs,
            pair_of_edge,
            node_walks: table(node_walks, [nodes, steps]),
            pair_walks: table(walks.concat(), [rows, steps]),
            log_degree: table(log_degree, [nodes, 1]),
        }
    }
}

fn with_neighbours(mut graphs: Vec<Graph>, batch: &Batch) -> Vec<Graph> {
    let (graph_of_node, topology) = (batch.layout.graph_of_node(), batch.layout.topology());
    for (&source, &target) in topology.source.iter().zip(&topology.target) {
        let graph = &mut graphs[graph_of_node[source as usize] as usize];
        let local = |node: u32| node as usize - graph.first;
        let (source, target) = (local(source), local(target) as u32);
        graph.neighbours[source].insert(target);
    }
    graphs
}

/// `R` of one graph, `[target, source, k]`.
fn walks(graph: &Graph, steps: usize, orientation: Orientation) -> Vec<f32> {
    let nodes = graph.nodes;
    let mut all = vec![0f32; nodes * nodes * steps];
    for from in 0..nodes {
        // Row `from` of the powers, one after the other.
        let mut row = vec![0f64; nodes];
        row[from] = 1.0;
        for step in 0..steps {
            for (to, &probability) in row.iter().enumerate() {
                let (target, source) = match orientation {
                    Orientation::TargetToSource => (from, to),
                    Orientation::SourceToTarget => (to, from),
                };
                all[(target * nodes + source) * steps + step] = probability as f32;
            }
            let mut next = vec![0f64; nodes];
            for (node, &probability) in row.iter().enumerate().filter(|(_, probability)| **probability > 0.0)
            {
                let targets = &graph.neighbours[node];
                for &target in targets {
                    next[target as usize] += probability / targets.len() as f64;
                }
            }
            row = next;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_follow_the_edges_in_their_direction() {
        // 0 ⇄ 1 ⇄ 2 and 2 → 0.
        let neighbours = [[1].as_slice(), &[0, 2], &[1, 0]].map(|list| list.iter().copied().collect());
        let graph = Graph { first: 0, nodes: 3, neighbours: neighbours.into() };
        let there = walks(&graph, 4, Orientation::TargetToSource);
        let back = walks(&graph, 4, Orientation::SourceToTarget);
        assert_eq!(there[2 * 4..][..4], [0.0, 0.0, 0.5, 0.0]);
        assert_eq!(there[6 * 4..][..4], [0.0, 0.5, 0.25, 0.375]);
        assert_eq!(back[2 * 4..][..4], there[6 * 4..][..4]);
    }
}
