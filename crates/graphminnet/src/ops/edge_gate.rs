//! GatedGCN's edge gate: `ê_ij = C ε_ij + c + D x_i + E x_j` for every edge `j → i`.

use super::generic::gather_rows;
use super::{Epilogue, Structure, linear};
use burn::tensor::Tensor;
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
    generic(edges, weight, bias, nodes, structure)
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
