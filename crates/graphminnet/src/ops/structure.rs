//! The offsets and indices of a batch that graph operations need.

use burn::tensor::{Device, Int, Tensor, TensorData};
use graphminnet_data::{GraphBatch, Topology};
use graphminnet_kernels::edges::Edges;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Which nodes are connected and which belong together: plain indices for kernels, and the same as tensors (made
/// on first use) for generic bodies.
pub struct Structure {
    topology: Topology,
    node_offsets: Vec<u32>,
    graph_of_node: Vec<u32>,
    indices: OnceLock<Indices>,
}

/// The same indices as tensors on the device of the model.
#[derive(Clone)]
pub(crate) struct Indices {
    pub(crate) source: Tensor<1, Int>,
    pub(crate) target: Tensor<1, Int>,
    pub(crate) graph_of_node: Tensor<1, Int>,
    /// Row of every node in the padded layout `[graphs · longest]`.
    pub(crate) padded_row: Tensor<1, Int>,
}

impl Structure {
    /// The structure of a batch.
    pub fn new(batch: &GraphBatch) -> Arc<Self> {
        Arc::new(Self {
            topology: batch.topology().clone(),
            node_offsets: batch.node_offsets().to_vec(),
            graph_of_node: batch.graph_of_node(),
            indices: OnceLock::new(),
        })
    }

    /// The edges, sorted by target.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The edges as the kernels take them.
    pub(super) fn edges(&self) -> Edges<'_> {
        Edges {
            num_nodes: self.topology.num_nodes,
            source: &self.topology.source,
            target: &self.topology.target,
            incoming: &self.topology.incoming,
            outgoing: &self.topology.outgoing,
            outgoing_edges: &self.topology.outgoing_edges,
        }
    }

    /// Where the nodes of each graph begin; length graphs + 1.
    pub fn node_offsets(&self) -> &[u32] {
        &self.node_offsets
    }

    /// The graph that each node belongs to.
    pub fn graph_of_node(&self) -> &[u32] {
        &self.graph_of_node
    }

    /// Number of nodes.
    pub fn num_nodes(&self) -> usize {
        self.topology.num_nodes
    }

    /// Number of directed edges.
    pub fn num_edges(&self) -> usize {
        self.topology.num_edges()
    }

    /// Number of graphs.
    pub fn num_graphs(&self) -> usize {
        self.node_offsets.len() - 1
    }

    /// Number of nodes of the largest graph.
    pub(crate) fn longest(&self) -> usize {
        self.node_offsets.windows(2).map(|range| (range[1] - range[0]) as usize).max().unwrap_or(0)
    }

    /// The indices as tensors on `device`.
    pub(crate) fn indices(&self, device: &Device) -> Indices {
        let device = device.clone().inner();
        let upload = |values: &mut dyn Iterator<Item = i64>| {
            let values: Vec<i64> = values.collect();
            let length = values.len();
            Tensor::<1, Int>::from_data(TensorData::new(values, [length]), &device)
        };
        self.indices
            .get_or_init(|| {
                let longest = self.longest() as i64;
                Indices {
                    source: upload(&mut self.topology.source.iter().map(|&node| i64::from(node))),
                    target: upload(&mut self.topology.target.iter().map(|&node| i64::from(node))),
                    graph_of_node: upload(&mut self.graph_of_node.iter().map(|&graph| i64::from(graph))),
                    padded_row: upload(&mut self.graph_of_node.iter().enumerate().map(|(node, &graph)| {
                        i64::from(graph) * longest + node as i64
                            - i64::from(self.node_offsets[graph as usize])
                    })),
                }
            })
            .clone()
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Structure")
            .field("graphs", &self.num_graphs())
            .field("nodes", &self.num_nodes())
            .field("edges", &self.num_edges())
            .finish_non_exhaustive()
    }
}
