//! GatedGCN's gated mean over neighbours: `x̂_i = A x_i + (Σ_j σ(ê_ij) ⊙ B x_j) / (Σ_j σ(ê_ij) + 10⁻⁶)`.

use super::Structure;
use super::buffers;
use super::engine::{self, Array, Kernel, Slot};
use super::generic::{gather_rows, sum_rows};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::gated_aggregate as kernels;
use std::sync::Arc;

/// Keeps the denominator of a node without incoming edges away from zero.
const DENOMINATOR_EPSILON: f64 = 1e-6;

/// The gated mean of every node's incoming messages, added to the node's own part.
///
/// # Shapes
///
/// * `gates`: `[edges, hidden]`, `ê`
/// * `nodes`: `[nodes, 2·hidden]`, rows `[A x | B x]`
/// * returns `[nodes, hidden]`
pub fn gated_aggregate(gates: Tensor<2>, nodes: Tensor<2>, structure: &Arc<Structure>) -> Tensor<2> {
    if !engine::on_cpu(&gates.device()) {
        return generic(gates, nodes, structure);
    }
    engine::run(Fused { structure: structure.clone() }, [gates.into(), nodes.into()])
}

/// The kernel; operands `gates`, `nodes`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Kernel<2> for Fused {
    /// `gates`, `nodes`, the output and the inverse denominators.
    type Saved = [Array; 4];

    fn forward(&self, [gates, nodes]: &[Array; 2], keep: bool) -> (Array, Option<Self::Saved>) {
        let (num_nodes, width) = (self.structure.num_nodes(), gates.dim(1));
        let mut inverse = buffers::take(num_nodes * width);
        let mixed = Array::written([num_nodes, width], |out| {
            kernels::gated_aggregate(
                self.structure.edges(),
                width,
                gates.values(),
                nodes.values(),
                out,
                &mut inverse,
            );
        });
        let saved = keep
            .then(|| [gates.clone(), nodes.clone(), mixed.clone(), Array::new(inverse, [num_nodes, width])]);
        (mixed, saved)
    }

    fn backward(
        &self,
        [gates, nodes, out, inverse]: Self::Saved,
        gradient: Array,
        wanted: [bool; 2],
    ) -> [Option<Array>; 2] {
        let mut d_gates = Slot::like(&gates, wanted[0]);
        let mut d_nodes = Slot::like(&nodes, wanted[1]);
        kernels::gated_aggregate_backward(
            self.structure.edges(),
            gates.dim(1),
            kernels::GatedAggregateSaved {
                gate: gates.values(),
                ab: nodes.values(),
                out: out.values(),
                inverse: inverse.values(),
            },
            gradient.values(),
            d_gates.as_mut().map(|d_gates| (d_gates, kernels::Write::Overwrite)),
            d_nodes.as_mut(),
        );
        [d_gates.into_array(), d_nodes.into_array()]
    }
}

fn generic(gates: Tensor<2>, nodes: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let [_, hidden] = gates.dims();
    let indices = structure.indices(&gates.device());
    let weights = activation::sigmoid(gates);
    let messages = weights.clone() * gather_rows(nodes.clone().narrow(1, hidden, hidden), indices.source);
    let numerator = sum_rows(messages, indices.target.clone(), structure.num_nodes());
    let denominator = sum_rows(weights, indices.target, structure.num_nodes());
    nodes.narrow(1, 0, hidden) + numerator / (denominator + DENOMINATOR_EPSILON)
}
