//! One layer of SAN.
//!
//! ```text
//! edge j→i:        w_ji = exp(clamp( Σ_c (K x_j)_c (Q x_i)_c (E ε_ji)_c / √k, −5, 5 ))·1/(1+γ)
//! other pair j→i:  w_ji = exp(clamp( Σ_c (K₂x_j)_c (Q₂x_i)_c (E₂ f)_c  / √k, −5, 5 ))·γ/(1+γ)       head by head
//! a_i = Σ_j w_ji·(V x_j) / ( Σ_j w_ji + 10⁻⁶ )
//! h   = BN₁( x + O Dropout(a) )
//! x'  = BN₂( h + F₂ Dropout(ReLU(F₁ h)) )
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{SanConfig, SanInput};
use crate::systems::SystemConfig;
use crate::systems::attention::weighted_mean;
use burn::module::Module;
use burn::tensor::Tensor;
use graphminnet::nn::{BatchNorm, FeedForward, Init, Linear, Pass, Site};
use graphminnet::ops::{dropout, edge_attention};

/// The parameters of a layer, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct SanLayer {
    Q: Linear,
    K: Linear,
    E: Linear,
    Q2: Linear,
    K2: Linear,
    E2: Linear,
    V: Linear,
    O: Linear,
    bn1: BatchNorm,
    F1: Linear,
    F2: Linear,
    bn2: BatchNorm,
    #[module(skip)]
    heads: usize,
    #[module(skip)]
    gamma: f64,
    #[module(skip)]
    rate: f64,
}

impl SanLayer {
    pub(super) fn new(frame: &SystemConfig, own: &SanConfig, init: &mut Init) -> Self {
        let d = frame.hidden;
        let mut square = || Linear::new(d, d, false, init);
        let [q, k, e, q2, k2, e2, v] = std::array::from_fn(|_| square());
        let o = Linear::new(d, d, true, init);
        let (f1, f2) = FeedForward::layers(d, init);
        let (bn1, bn2) = (BatchNorm::new(d, init), BatchNorm::new(d, init));
        Self {
            Q: q,
            K: k,
            E: e,
            Q2: q2,
            K2: k2,
            E2: e2,
            V: v,
            O: o,
            bn1,
            F1: f1,
            F2: f2,
            bn2,
            heads: own.heads,
            gamma: own.gamma,
            rate: frame.dropout,
        }
    }

    /// `[nodes, d] → [nodes, d]`, given features `[edges, d]` of edges and `[1, d]` of all other pairs.
    pub(super) fn forward(
        &self,
        x: Tensor<2>,
        edges: Tensor<2>,
        missing: Tensor<2>,
        input: &SanInput,
        number: usize,
        pass: Pass,
    ) -> Tensor<2> {
        let [_, d] = x.dims();
        let drop = |place: &'static str| pass.dropout(self.rate, Site { layer: number, place });
        let v = self.V.forward(x.clone());
        let (list, rows) = &input.edges;
        let operands =
            [self.Q.forward(x.clone()), self.K.forward(x.clone()), v.clone(), self.E.forward(edges)];
        let real = edge_attention(operands, self.heads, list, rows);
        let (list, rows) = &input.others;
        let operands = [self.Q2.forward(x.clone()), self.K2.forward(x.clone()), v, self.E2.forward(missing)];
        let other = edge_attention(operands, self.heads, list, rows);
        let sums = real * (1.0 / (1.0 + self.gamma)) + other * (self.gamma / (1.0 + self.gamma));
        let attended = dropout(weighted_mean(sums, d, self.heads), drop("attended"));
        let h = self.bn1.residual(x, Some((self.O.forward(attended), None)), None, pass);
        let forward = FeedForward { expand: &self.F1, contract: &self.F2 };
        let mixed = forward.forward(h.clone(), drop("feed-forward"));
        self.bn2.residual(h, Some((mixed, None)), None, pass)
    }
}
