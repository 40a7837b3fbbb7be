//! One layer of Graph-Mamba.
//!
//! ```text
//! (x_L, ε') = GatedGCN(x, ε)
//! g  = Mamba over the nodes in the order of degree + ξ                 outside of training the mean over several draws
//! y  = BN_local(x_L) + BN_global( x + Dropout(g) )
//! x' = BN_ffn( y + Dropout(F₂ Dropout(ReLU(F₁ y))) )
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::block::MambaBlock;
use super::order::Sequences;
use super::{GraphMambaConfig, MambaInput};
use crate::systems::SystemConfig;
use burn::module::Module;
use burn::tensor::Tensor;
use graphminnet::nn::{BatchNorm, FeedForward, GatedGcn, Init, Linear, LocalPass, Pass, Site};
use graphminnet::ops::{Epilogue, Structure, gather_rows, sum_rows};
use std::sync::Arc;

/// The parameters of a layer, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct MambaLayer {
    local: GatedGcn,
    mamba: MambaBlock,
    bn_local: BatchNorm,
    bn_global: BatchNorm,
    F1: Linear,
    F2: Linear,
    bn_ffn: BatchNorm,
    #[module(skip)]
    own: GraphMambaConfig,
    #[module(skip)]
    rate: f64,
}

impl MambaLayer {
    pub(super) fn new(frame: &SystemConfig, own: &GraphMambaConfig, init: &mut Init) -> Self {
        let d = frame.hidden;
        let (local, mamba) = (GatedGcn::new(d, init), MambaBlock::new(d, own.states, init));
        let (f1, f2) = FeedForward::layers(d, init);
        let [bn_local, bn_global, bn_ffn] = std::array::from_fn(|_| BatchNorm::new(d, init));
        Self {
            local,
            mamba,
            bn_local,
            bn_global,
            F1: f1,
            F2: f2,
            bn_ffn,
            own: own.clone(),
            rate: frame.dropout,
        }
    }

    /// New features of nodes and edges; those of edges stay in the last layer, where nobody reads them.
    pub(super) fn forward(
        &self,
        x: Tensor<2>,
        edges: Tensor<2>,
        input: &MambaInput,
        structure: &Arc<Structure>,
        (number, last, pass): (usize, bool, Pass),
    ) -> (Tensor<2>, Tensor<2>) {
        let local = LocalPass { drop: self.rate, layer: number, pass };
        let (near, updated) = self.local.forward(x.clone(), edges.clone(), structure, local, !last);
        let g = self.scan(x.clone(), &input.draws(&self.own, number, pass));
        (self.mix(x, near, g, number, pass), updated.unwrap_or(edges))
    }

    /// The mean of the block's outputs over draws, `[nodes, d]`.
    pub(super) fn scan(&self, x: Tensor<2>, draws: &[Sequences]) -> Tensor<2> {
        let outputs = draws.iter().map(|sequences| {
            let out = self.mamba.forward(gather_rows(x.clone(), &sequences.nodes), sequences);
            sum_rows(out, &sequences.nodes)
        });
        match outputs.reduce(|sum, output| sum + output) {
            Some(sum) => sum / draws.len() as f64,
            None => x,
        }
    }

    /// What follows the two branches.
    pub(super) fn mix(
        &self,
        x: Tensor<2>,
        near: Tensor<2>,
        g: Tensor<2>,
        number: usize,
        pass: Pass,
    ) -> Tensor<2> {
        let drop = |place: &'static str| pass.dropout(self.rate, Site { layer: number, place });
        let near = self.bn_local.forward(near, pass);
        let y = self.bn_global.residual(x, Some((g, drop("scanned"))), Some(near), pass);
        let inner = self.F1.forward_then(y.clone(), Epilogue::Relu(drop("feed-forward")));
        let branch = (self.F2.forward(inner), drop("feed-forward out"));
        self.bn_ffn.residual(y, Some(branch), None, pass)
    }

    /// The local branch alone, for tests.
    #[cfg(test)]
    pub(super) fn near(
        &self,
        x: Tensor<2>,
        edges: Tensor<2>,
        structure: &Arc<Structure>,
        pass: Pass,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        self.local.forward(x, edges, structure, LocalPass { drop: 0.0, layer: 0, pass }, true)
    }
}
