//! One layer of Exphormer.
//!
//! ```text
//! ê_ji = D x_i + E x_j + C ε_ji      σ_ji = sigmoid(ê_ji), times sigmoid(r2 ReLU(r1 ‖q_i − q_j‖²)) where gates read q
//! x̂_i  = A x_i + (Σ_j σ_ji ⊙ B x_j) / (Σ_j σ_ji + 10⁻⁶)
//! x^L  = BN_local( x + Dropout(ReLU(BN_x(x̂))) )           ε ← ε + Dropout(ReLU(BN_e(ê)))
//!
//! y = x for nodes, z for virtual nodes
//! s_ji[t] = clamp( Σ_c (K y_j)[t,c]·(Q y_i)[t,c]·(E' η_ji)[t,c] / √dh, −5, 5 )
//! o_i[t]  = Σ_j exp(s_ji[t])·(V y_j)[t] / ( Σ_j exp(s_ji[t]) + 10⁻⁶ )
//! x^G = BN_att( x + Dropout(o) )                           z ← o
//!
//! u  = x^L + x^G
//! x' = BN_ff( u + Dropout(ff2 Dropout(ReLU(ff1 u))) )
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{ExphormerConfig, ExphormerInput};
use crate::systems::SystemConfig;
use crate::systems::attention::weighted_mean;
use burn::module::Module;
use burn::tensor::{Tensor, activation};
use graphminnet::nn::{BatchNorm, FeedForward, GatedGcn, Init, Linear, LocalPass, Pass, Site};
use graphminnet::ops::{Epilogue, Structure, edge_attention, gather_rows, sum_rows};
use std::sync::Arc;

/// Added to sums of gates.
const EPSILON: f64 = 1e-6;

/// The parameters of a layer, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct ExphormerLayer {
    local: GatedGcn,
    /// `r1` and `r2`, where gates read eigenvectors.
    r1: Option<Linear>,
    r2: Option<Linear>,
    bn_local: BatchNorm,
    Q: Linear,
    K: Linear,
    /// `E'`.
    E: Linear,
    V: Linear,
    bn_att: BatchNorm,
    ff1: Linear,
    ff2: Linear,
    bn_ff: BatchNorm,
    #[module(skip)]
    heads: usize,
    #[module(skip)]
    rate: f64,
}

/// What goes from layer to layer.
pub(super) struct State {
    /// `[nodes, d]`.
    pub(super) x: Tensor<2>,
    /// `[edges, d]`.
    pub(super) edges: Tensor<2>,
    /// `[virtual nodes, d]`.
    pub(super) z: Option<Tensor<2>>,
}

impl ExphormerLayer {
    pub(super) fn new(frame: &SystemConfig, own: &ExphormerConfig, init: &mut Init) -> Self {
        let d = frame.hidden;
        let local = GatedGcn::new(d, init);
        let gated = own.gate_eigenvectors > 0;
        let r1 = gated.then(|| Linear::new(1, d, true, init));
        let r2 = gated.then(|| Linear::new(d, 1, true, init));
        let mut square = || Linear::new(d, d, false, init);
        let [q, k, e, v] = [square(), square(), square(), square()];
        let (ff1, ff2) = FeedForward::layers(d, init);
        let [bn_local, bn_att, bn_ff] = std::array::from_fn(|_| BatchNorm::new(d, init));
        let (heads, rate) = (own.heads, frame.dropout);
        Self { local, r1, r2, bn_local, Q: q, K: k, E: e, V: v, bn_att, ff1, ff2, bn_ff, heads, rate }
    }

    pub(super) fn forward(
        &self,
        state: State,
        features: &Tensor<2>,
        distances: Option<Tensor<2>>,
        input: &ExphormerInput,
        structure: &Arc<Structure>,
        (number, last, pass): (usize, bool, Pass),
    ) -> State {
        let State { x, edges, z } = state;
        let drop = |place: &'static str| pass.dropout(self.rate, Site { layer: number, place });
        let (local, edges) = match distances {
            None => {
                let local = LocalPass { drop: self.rate, layer: number, pass };
                let (nodes, updated) = self.local.forward(x.clone(), edges.clone(), structure, local, !last);
                (nodes, updated.unwrap_or(edges))
            }
            Some(distances) => self.gated_by_distance(x.clone(), edges, distances, structure, (number, pass)),
        };
        let local = self.bn_local.forward(local, pass);

        let [nodes, d] = x.dims();
        let y = match z {
            None => x.clone(),
            Some(z) => Tensor::cat(vec![x.clone(), z], 0),
        };
        let maps = [&self.Q, &self.K, &self.V].map(|map| map.forward(y.clone()));
        let [q, k, v] = maps;
        let operands = [q, k, v, self.E.forward(features.clone())];
        let sums = edge_attention(operands, self.heads, &input.pairs, &input.feature_of_pair);
        let o = weighted_mean(sums, d, self.heads);
        let [all, _] = o.dims();
        let of_nodes = o.clone().narrow(0, 0, nodes);
        let u = self.bn_att.residual(x, Some((of_nodes, drop("attended"))), Some(local), pass);
        let z = (all > nodes).then(|| o.narrow(0, nodes, all - nodes));

        let inner = self.ff1.forward_then(u.clone(), Epilogue::Relu(drop("feed-forward")));
        let branch = (self.ff2.forward(inner), drop("feed-forward out"));
        State { x: self.bn_ff.residual(u, Some(branch), None, pass), edges, z }
    }

    /// GatedGCN whose gates also look at how far apart the ends of an edge are in the spectrum.
    fn gated_by_distance(
        &self,
        x: Tensor<2>,
        edges: Tensor<2>,
        distances: Tensor<2>,
        structure: &Structure,
        (number, pass): (usize, Pass),
    ) -> (Tensor<2>, Tensor<2>) {
        let GatedGcn { A, B, C, D, E, bn_node, bn_edge } = &self.local;
        let (Some(r1), Some(r2)) = (&self.r1, &self.r2) else {
            unreachable!("a layer whose gates read distances has both maps")
        };
        let (sources, targets) = (structure.sources(), structure.targets());
        let gates = gather_rows(D.forward(x.clone()), targets)
            + gather_rows(E.forward(x.clone()), sources)
            + C.forward(edges.clone());
        let near = activation::sigmoid(r2.forward(r1.forward_then(distances, Epilogue::Relu(None))));
        let open = activation::sigmoid(gates.clone()) * near;
        let messages = sum_rows(open.clone() * gather_rows(B.forward(x.clone()), sources), targets);
        let mixed = A.forward(x.clone()) + messages / (sum_rows(open, targets) + EPSILON);
        let drop = |place: &'static str| pass.dropout(self.rate, Site { layer: number, place });
        let nodes = bn_node.relu_residual(x, mixed, drop("gated nodes"), pass);
        (nodes, bn_edge.relu_residual(edges, gates, drop("gated edges"), pass))
    }
}
