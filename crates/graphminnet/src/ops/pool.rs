//! Graph features from node features: mean, sum or maximum over the nodes of each graph.

pub use graphminnet_kernels::pool::Pooling as PoolKind;

use super::Structure;
use super::engine::{self, Array, Kernel};
use super::generic::{pad, sum_per_graph};
use burn::tensor::{Tensor, TensorData};
use graphminnet_kernels::pool as kernels;
use std::sync::Arc;

/// `[nodes, columns] → [graphs, columns]`; an empty graph gives zeros.
pub fn pool(nodes: Tensor<2>, kind: PoolKind, structure: &Arc<Structure>) -> Tensor<2> {
    if !engine::on_cpu(&nodes.device()) {
        return generic(nodes, kind, structure);
    }
    engine::run(Fused { kind, structure: structure.clone() }, [nodes.into()])
}

/// The kernel; operand `nodes`.
#[derive(Debug, Clone)]
struct Fused {
    kind: PoolKind,
    structure: Arc<Structure>,
}

impl Kernel<1> for Fused {
    /// Width of the nodes; nodes and output where the maximum is looked for again.
    type Saved = (usize, Option<[Array; 2]>);

    fn forward(&self, [nodes]: &[Array; 1], keep: bool) -> (Array, Option<Self::Saved>) {
        let (graphs, width) = (self.structure.num_graphs(), nodes.dim(1));
        let output = Array::written([graphs, width], |out| {
            kernels::pool(self.kind, self.structure.node_offsets(), width, nodes.values(), out);
        });
        let maximum = (self.kind == PoolKind::Max).then(|| [nodes.clone(), output.clone()]);
        (output, keep.then_some((width, maximum)))
    }

    fn backward(&self, (width, maximum): Self::Saved, gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let saved = maximum.as_ref().map(|[nodes, output]| (nodes.values(), output.values()));
        let d_nodes = Array::written([self.structure.num_nodes(), width], |out| {
            let offsets = self.structure.node_offsets();
            kernels::pool_backward(self.kind, offsets, width, saved, gradient.values(), out);
        });
        [Some(d_nodes)]
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, structure};

    #[test]
    fn kernel_and_generic_body_agree() {
        let structure = structure();
        for kind in [PoolKind::Mean, PoolKind::Sum, PoolKind::Max] {
            assert_same_bodies(
                &[[structure.num_nodes(), 5]],
                |t| pool(t[0].clone(), kind, &structure),
                |t| generic(t[0].clone(), kind, &structure),
            );
        }
    }
}
