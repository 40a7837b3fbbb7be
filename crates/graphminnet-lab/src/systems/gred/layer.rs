//! One layer of GRED.
//!
//! ```text
//! a_{u,k} = Σ_{w: dist(u,w) = k} x_w                                     shells k = 0 … S−1; an empty one gives 0
//! b_{u,k} = a_{u,k} + W₂ gelu(W₁ LN(a_{u,k}))
//! r_{u,k} = LN(b_{u,k})·((B_re + i·B_im) ⊙ exp(g))
//! s_u     = Σ_k λ^k ⊙ r_{u,k}                                            λ = exp(−exp(ν) + i·exp(θ))
//! o_u     = Dropout(gelu(Re(s_u)·C_re − Im(s_u)·C_im))
//! x'_u    = b_{u,0} + Dropout((W_a o_u) ⊙ sigmoid(W_g o_u))
//! ```
//! The sum is what the recurrence `s_k = λ ⊙ s_{k+1} + r_{u,k}` from the farthest shell to the node itself comes to. The
//! gelu is its approximation by tanh; maps have biases but for `B` and `C`.

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{GredConfig, GredInput, cut_normal, dense};
use crate::systems::SystemConfig;
use crate::systems::norm::{LayerNorm, gelu};
use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData, activation};
use graphminnet::nn::{Init, Linear, Pass, Site};
use graphminnet::ops::{Epilogue, dropout, linear, sum_members};

/// ε of the norms.
const EPSILON: f64 = 1e-6;

/// Largest phase of λ at the start, as the published configurations have it.
#[allow(clippy::approx_constant)] // It is 6.28 there, not 2π.
const LARGEST_PHASE: f64 = 6.28;

/// Keeps draws away from 0 and 1, where logarithms are infinite.
const SMALLEST_DRAW: f64 = 1e-7;

/// The parameters of a layer, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct GredLayer {
    mlp_norm: LayerNorm,
    W1: Linear,
    W2: Linear,
    norm: LayerNorm,
    /// ν.
    nu_log: Param<Tensor<1>>,
    /// θ.
    theta_log: Param<Tensor<1>>,
    /// g.
    gamma_log: Param<Tensor<1>>,
    /// `[h, v]`.
    B_re: Param<Tensor<2>>,
    B_im: Param<Tensor<2>>,
    /// `[v, h]`.
    C_re: Param<Tensor<2>>,
    C_im: Param<Tensor<2>>,
    Wa: Linear,
    Wg: Linear,
    #[module(skip)]
    rate: f64,
}

impl GredLayer {
    pub(super) fn new(frame: &SystemConfig, own: &GredConfig, init: &mut Init) -> Self {
        let (h, v) = (frame.hidden, own.state);
        let mut rates = Vec::new();
        let smallest = own.smallest_rate.powi(2);
        let nu_log = init.drawn([v], |stream| {
            let draw = stream.uniform().clamp(SMALLEST_DRAW, 1.0 - SMALLEST_DRAW);
            let square = draw * (1.0 - smallest) + smallest;
            rates.push(square);
            (-0.5 * square.ln()).ln()
        });
        let theta_log = init.drawn([v], |stream| (stream.uniform().max(SMALLEST_DRAW) * LARGEST_PHASE).ln());
        // What keeps the size of the state at the start.
        let mut squares = rates.into_iter();
        let gamma_log = init.drawn([v], |_| 0.5 * (1.0 - squares.next().unwrap_or(0.0)).ln());
        Self {
            mlp_norm: LayerNorm::new(h, EPSILON, init),
            W1: dense(h, h, init),
            W2: dense(h, h, init),
            norm: LayerNorm::new(h, EPSILON, init),
            nu_log,
            theta_log,
            gamma_log,
            B_re: cut_normal([h, v], 0.5 / h as f64, init),
            B_im: cut_normal([h, v], 0.5 / h as f64, init),
            C_re: cut_normal([v, h], 1.0 / v as f64, init),
            C_im: cut_normal([v, h], 1.0 / v as f64, init),
            Wa: dense(h, h, init),
            Wg: dense(h, h, init),
            rate: frame.dropout,
        }
    }

    /// `[nodes, h] → [nodes, h]`.
    pub(super) fn forward(&self, x: Tensor<2>, input: &GredInput, number: usize, pass: Pass) -> Tensor<2> {
        let ([nodes, h], [_, v], count) = (x.dims(), self.B_re.dims(), input.count);
        if nodes == 0 {
            return x;
        }
        let drop = |place: &'static str| pass.dropout(self.rate, Site { layer: number, place });
        let a = sum_members(x, &input.members, &input.shells);
        let inner = gelu(self.W1.forward(self.mlp_norm.forward(a.clone())));
        let b = a + self.W2.forward(inner);

        let scale = self.gamma_log.val().exp().unsqueeze::<2>();
        let maps = [&self.B_re, &self.B_im].map(|map| (map.val() * scale.clone()).transpose());
        let r = linear(self.norm.forward(b.clone()), Tensor::cat(maps.into(), 0), None, Epilogue::None);
        let r = r.reshape([nodes, count, 2 * v]);
        let (re, im) = (r.clone().narrow(2, 0, v), r.narrow(2, v, v));
        let [power_re, power_im] = self.powers(count);
        let state_re = (re.clone() * power_re.clone() - im.clone() * power_im.clone()).sum_dim(1);
        let state_im = (re * power_im + im * power_re).sum_dim(1);
        let (state_re, state_im) = (state_re.reshape([nodes, v]), state_im.reshape([nodes, v]));

        let map = |state: Tensor<2>, map: &Param<Tensor<2>>| {
            linear(state, map.val().transpose(), None, Epilogue::None)
        };
        let o = gelu(map(state_re, &self.C_re) - map(state_im, &self.C_im));
        let o = dropout(o, drop("state"));
        let o = self.Wa.forward(o.clone()) * activation::sigmoid(self.Wg.forward(o));
        b.reshape([nodes, count, h]).narrow(1, 0, 1).reshape([nodes, h]) + dropout(o, drop("gated"))
    }

    /// Real and imaginary part of `λ^k` for k = 0 … S−1, `[1, S, v]`.
    fn powers(&self, count: usize) -> [Tensor<3>; 2] {
        let device = self.nu_log.val().device();
        let exponents: Vec<f32> = (0..count).map(|k| k as f32).collect();
        let k = Tensor::<2>::from_data(TensorData::new(exponents, [count, 1]), &device);
        let size = (self.nu_log.val().exp().unsqueeze::<2>().neg() * k.clone()).exp();
        let phase = self.theta_log.val().exp().unsqueeze::<2>() * k;
        [size.clone() * phase.clone().cos(), size * phase.sin()].map(|part| part.unsqueeze::<3>())
    }
}
