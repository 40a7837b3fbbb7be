//! Graph features from node features: mean, sum or maximum over the nodes of each graph.

use super::Structure;
use super::generic::{pad, sum_per_graph};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// How the nodes of a graph are summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// Mean.
    Mean,
    /// Sum.
    Sum,
    /// Maximum.
    Max,
}

/// `[nodes, columns] → [graphs, columns]`; an empty graph gives zeros.
pub fn pool(nodes: Tensor<2>, kind: PoolKind, structure: &Arc<Structure>) -> Tensor<2> {
    generic(nodes, kind, structure)
}

fn generic(nodes: Tensor<2>, kind: PoolKind, structure: &Structure) -> Tensor<2> {
    let [_, columns] = nodes.dims();
    let device = nodes.device();
    let graphs = structure.num_graphs();
    let sizes: Vec<u32> = structure.node_offsets().windows(2).map(|range| range[1] - range[0]).collect();
    match kind {
        PoolKind::Sum => sum_per_graph(nodes, structure),
        PoolKind::Mean => {
            let sizes: Vec<f32> = sizes.iter().map(|&size| size.max(1) as f32).collect();
            let sizes = Tensor::<2>::from_data(TensorData::new(sizes, [graphs, 1]), &device);
            sum_per_graph(nodes, structure) / sizes
        }
        PoolKind::Max => {
            let longest = structure.longest();
            if longest == 0 || graphs == 0 {
                return Tensor::zeros([graphs, columns], &device);
            }
            // Padding must never win, and an empty graph must give zero.
            let bias: Vec<f32> = sizes
                .iter()
                .flat_map(|&size| {
                    (0..longest).map(move |row| if (row as u32) < size || size == 0 { 0.0 } else { f32::MIN })
                })
                .collect();
            let bias = Tensor::<3>::from_data(TensorData::new(bias, [graphs, longest, 1]), &device);
            (pad(nodes, structure) + bias).max_dim(1).reshape([graphs, columns])
        }
    }
}
