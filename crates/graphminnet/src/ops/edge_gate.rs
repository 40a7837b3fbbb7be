//! GatedGCN's edge gate: `ê_ij = C ε_ij + c + D x_i + E x_j` for every edge `j → i`.

use super::engine::{self, Array, Kernel, Slot};
use super::generic::gather_rows;
use super::{Epilogue, Structure, linear};
use burn::tensor::Tensor;
use graphminnet_kernels::edge_gate as kernels;
use std::sync::Arc;

/// The gate of every edge before its sigmoid.
///
/// # Shapes
///
/// * `edges`: `[edges, hidden]`, the edge features ε
/// * `weight`, `bias`: `[hidden, hidden]`, `[hidden]`, the map C
/// * `nodes`: `[nodes, 2·hidden]`, rows `[D x | E x]`
/// * returns `[edges, hidden]`
pub fn edge_gate(
    edges: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    nodes: Tensor<2>,
    structure: &Arc<Structure>,
) -> Tensor<2> {
    if !engine::on_cpu(&edges.device()) {
        return generic(edges, weight, bias, nodes, structure);
    }
    let kernel = Fused { structure: structure.clone() };
    engine::run(kernel, [edges.into(), weight.into(), bias.into(), nodes.into()])
}

/// The kernel; operands `edges`, `weight`, `bias`, `nodes`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Kernel<4> for Fused {
    /// `edges`, `weight`.
    type Saved = (Array, Array);

    fn forward(&self, [edges, weight, bias, nodes]: &[Array; 4], keep: bool) -> (Array, Option<Self::Saved>) {
        let gates = Array::written(edges.shape(), |out| {
            kernels::edge_gate(
                self.structure.edges(),
                edges.dim(1),
                edges.values(),
                weight.values(),
                bias.values(),
                nodes.values(),
                out,
            );
        });
        (gates, keep.then(|| (edges.clone(), weight.clone())))
    }

    fn backward(&self, saved: Self::Saved, gradient: Array, wanted: [bool; 4]) -> [Option<Array>; 4] {
        let d_edges = Slot::like(&saved.0, wanted[0]);
        self.gradients(d_edges, false, saved, gradient, wanted)
    }

    fn backward_onto(
        &self,
        onto: Array,
        saved: Self::Saved,
        gradient: Array,
        wanted: [bool; 4],
    ) -> [Option<Array>; 4] {
        self.gradients(Slot::onto(onto), true, saved, gradient, wanted)
    }
}

impl Fused {
    /// All gradients; that of the first input is written to its slot or added to what is there.
    fn gradients(
        &self,
        mut d_edges: Slot,
        add: bool,
        (edges, weight): <Self as Kernel<4>>::Saved,
        gradient: Array,
        wanted: [bool; 4],
    ) -> [Option<Array>; 4] {
        let width = edges.dim(1);
        let mut d_weight = Slot::like(&weight, wanted[1]);
        let mut d_bias = Slot::new([width], wanted[2]);
        let mut d_nodes = Slot::new([self.structure.num_nodes(), 2 * width], wanted[3]);
        kernels::edge_gate_backward(
            self.structure.edges(),
            width,
            edges.values(),
            weight.values(),
            gradient.values(),
            kernels::EdgeGateGradients {
                edge_features: d_edges.as_mut(),
                add_to_edge_features: add,
                weight: d_weight.as_mut(),
                bias: d_bias.as_mut(),
                de: d_nodes.as_mut(),
            },
        );
        [d_edges.into_array(), d_weight.into_array(), d_bias.into_array(), d_nodes.into_array()]
    }
}

fn generic(
    edges: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    nodes: Tensor<2>,
    structure: &Structure,
) -> Tensor<2> {
    let [_, hidden] = edges.dims();
    let indices = structure.indices(&edges.device());
    let at_target = gather_rows(nodes.clone().narrow(1, 0, hidden), indices.target);
    let at_source = gather_rows(nodes.narrow(1, hidden, hidden), indices.source);
    linear(edges, weight, Some(bias), Epilogue::None) + at_target + at_source
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, structure, vector};

    #[test]
    fn kernel_and_generic_body_agree() {
        let structure = structure();
        let shapes = [[structure.num_edges(), 6], [6, 6], [1, 6], [structure.num_nodes(), 12]];
        assert_same_bodies(
            &shapes,
            |t| edge_gate(t[0].clone(), t[1].clone(), vector(&t[2]), t[3].clone(), &structure),
            |t| generic(t[0].clone(), t[1].clone(), vector(&t[2]), t[3].clone(), &structure),
        );
    }
}
