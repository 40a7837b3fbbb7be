//! The self term's sum: `q_u = Σ_i p_u[i]²·κ_g(u)[i]`.

use super::Structure;
use super::engine::{self, Array, Kernel, Slot};
use super::generic::gather_graphs;
use burn::tensor::Tensor;
use graphminnet_kernels::weighted_squares as kernels;
use std::sync::Arc;

/// Squares of every node's entries, weighted by its graph's weights and summed.
///
/// # Shapes
///
/// * `entries`: `[nodes, pairs]`, `p`
/// * `weights`: `[graphs, pairs]`, `κ`
/// * returns `[nodes, 1]`
pub fn weighted_squares(entries: Tensor<2>, weights: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    if !engine::on_cpu(&entries.device()) {
        return generic(entries, weights, structure);
    }
    engine::run(Fused { structure: structure.clone() }, [entries.into(), weights.into()])
}

/// The kernel; operands `entries`, `weights`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Kernel<2> for Fused {
    type Saved = [Array; 2];

    fn forward(&self, inputs: &[Array; 2], keep: bool) -> (Array, Option<Self::Saved>) {
        let [entries, weights] = inputs;
        let offsets = self.structure.node_offsets();
        let q = Array::written([entries.dim(0), 1], |q| {
            kernels::weighted_squares(offsets, entries.dim(1), entries.values(), weights.values(), q);
        });
        (q, keep.then(|| inputs.clone()))
    }

    fn backward(
        &self,
        [entries, weights]: Self::Saved,
        gradient: Array,
        wanted: [bool; 2],
    ) -> [Option<Array>; 2] {
        let mut d_entries = Slot::like(&entries, wanted[0]);
        let mut d_weights = Slot::like(&weights, wanted[1]);
        kernels::weighted_squares_backward(
            self.structure.node_offsets(),
            entries.dim(1),
            entries.values(),
            weights.values(),
            gradient.values(),
            d_weights.as_mut(),
            d_entries.as_mut(),
        );
        [d_entries.into_array(), d_weights.into_array()]
    }
}

fn generic(entries: Tensor<2>, weights: Tensor<2>, structure: &Structure) -> Tensor<2> {
    (entries.powi_scalar(2) * gather_graphs(weights, structure)).sum_dim(1)
}
