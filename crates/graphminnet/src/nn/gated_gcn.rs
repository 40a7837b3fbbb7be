//! GatedGCN, the local branch that updates edge features.
//!
//! ```text
//! ê_ij = D x_i + E x_j + C ε_ij            σ_ij = sigmoid(ê_ij)              (edge j → i)
//! x̂_i  = A x_i + (Σ_j σ_ij ⊙ B x_j) / (Σ_j σ_ij + 10⁻⁶)
//! x_i  ← x_i  + Dropout(ReLU(BN_node(x̂_i)))
//! ε_ij ← ε_ij + Dropout(ReLU(BN_edge(ê_ij)))
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{Around, BatchNorm, Init, Linear, LocalPass, Site};
use crate::ops::{Across, Structure, gated_convolution};
use burn::module::Module;
use burn::tensor::Tensor;
use std::sync::Arc;

/// The five linear maps and two norms, under the letters of the formula.
#[derive(Module, Debug)]
pub struct GatedGcn {
    /// Own part of a node.
    pub A: Linear,
    /// Message of a source.
    pub B: Linear,
    /// Edge part of the gate.
    pub C: Linear,
    /// Target part of the gate.
    pub D: Linear,
    /// Source part of the gate.
    pub E: Linear,
    /// Norm of the new node features.
    pub bn_node: BatchNorm,
    /// Norm of the new edge features.
    pub bn_edge: BatchNorm,
}

impl GatedGcn {
    /// Fresh parameters.
    pub fn new(hidden: usize, init: &mut Init) -> Self {
        let mut square = || Linear::new(hidden, hidden, true, init);
        let [a, b, c, d, e] = [square(), square(), square(), square(), square()];
        let (bn_node, bn_edge) = (BatchNorm::new(hidden, init), BatchNorm::new(hidden, init));
        Self { A: a, B: b, C: c, D: d, E: e, bn_node, bn_edge }
    }

    /// New node features, and new edge features if `update_edges`.
    ///
    /// # Shapes
    ///
    /// * `nodes`: `[nodes, hidden]` in and out
    /// * `edges`: `[edges, hidden]` in and out
    pub fn forward(
        &self,
        nodes: Tensor<2>,
        edges: Tensor<2>,
        structure: &Arc<Structure>,
        local: LocalPass,
        update_edges: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        self.forward_across(nodes, edges, (structure, None), local, update_edges)
    }

    /// The same for a part of a graph whose nodes have neighbours in other parts.
    pub(crate) fn forward_across(
        &self,
        nodes: Tensor<2>,
        edges: Tensor<2>,
        (structure, across): (&Arc<Structure>, Option<&Arc<Across>>),
        local: LocalPass,
        update_edges: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let LocalPass { drop, layer, pass } = local;
        let (pass, [_, hidden]) = (Around { pass, across }, nodes.dims());
        let seen = across.map_or_else(|| nodes.clone(), |across| across.with_border(nodes.clone()));
        let structure = across.map_or(structure, |across| across.structure());
        let projected = Linear::side_by_side(&[&self.A, &self.D, &self.B, &self.E], seen);
        let (weight, bias) = (self.C.weight.val(), self.C.bias.as_ref().map(|bias| bias.val()));
        let bias = bias.unwrap_or_else(|| unreachable!("C has a bias"));
        let update = update_edges.then(|| {
            let rate = pass.edge_dropout(drop, Site { layer, place: "gated edges" }, hidden);
            self.bn_edge.edge_update(rate, pass)
        });
        let mixed = gated_convolution(edges, weight, bias, projected, structure, update);
        self.bn_edge.update(pass.edges(structure.num_edges()), mixed.measured, pass.pass);
        let node_rate = pass.dropout(drop, Site { layer, place: "gated nodes" }, hidden);
        let mixed_own = match across {
            None => mixed.nodes,
            Some(across) => across.own_rows(mixed.nodes),
        };
        let nodes = self.bn_node.relu_residual(nodes, mixed_own, node_rate, pass);
        (nodes, mixed.edges)
    }
}
