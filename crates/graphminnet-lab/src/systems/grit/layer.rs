//! One layer of GRIT.
//!
//! ```text
//! q_i = Q h_i,  k_j = K h_j,  v_j = V h_j,  (w_ij, b_ij) = E e_ij        H heads of width dh each
//! t_ij = ReLU( ρ((q_i + k_j) ⊙ w_ij) + b_ij )                             ρ: signed square root
//! a_ij[t] = clamp( Σ_c t_ij[t,c]·A[c,t], −5, 5 )                          α_ij = Dropout(softmax over j of a_ij)
//! o_i[t,c] = Σ_j α_ij[t]·v_j[t,c] + Σ_c' ( Σ_j α_ij[t]·t_ij[t,c'] )·Ve[c',t,c]
//! o_i = Dropout(o_i) ⊙ θ[:,0] + ln(1 + deg_i)·Dropout(o_i) ⊙ θ[:,1]
//! y_i   = BN_h1( h_i + Oh o_i )
//! e'_ij = BN_e( e_ij + Oe Dropout(t_ij) )
//! h'_i  = BN_h2( y_i + ffn2 Dropout(ReLU(ffn1 y_i)) )
//! ```
//! The softmax subtracts no maximum: its scores are at most 5. Row `t·2dh + c` of `E` is for `w`, row `t·2dh + dh + c` for
//! `b`.

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{GritConfig, GritInput};
use crate::systems::SystemConfig;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::nn::{BatchNorm, FeedForward, Init, Linear, Pass, Site};
use graphminnet::ops::{Epilogue, dropout, gather_rows, linear, pair_messages, pair_scores, sum_rows};

/// Largest score of either sign.
const LARGEST_SCORE: f64 = 5.0;

/// Added to the sum of weights.
const EPSILON: f64 = 1e-16;

/// The parameters of a layer, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct GritLayer {
    Q: Linear,
    K: Linear,
    V: Linear,
    E: Linear,
    /// `[dh, H]`.
    A: Param<Tensor<2>>,
    /// `[dh, H, dh]`.
    Ve: Param<Tensor<3>>,
    Oh: Linear,
    Oe: Linear,
    /// θ, `[d, 2]`.
    degree: Param<Tensor<2>>,
    bn_h1: BatchNorm,
    bn_e: BatchNorm,
    bn_h2: BatchNorm,
    ffn1: Linear,
    ffn2: Linear,
    #[module(skip)]
    rates: [f64; 2],
}

impl GritLayer {
    pub(super) fn new(frame: &SystemConfig, own: &GritConfig, init: &mut Init) -> Self {
        let (d, heads) = (frame.hidden, own.heads);
        let dh = d / heads;
        let normal = |outputs: usize, bias: bool, init: &mut Init| {
            let weight = init.normal([outputs, d], (2.0 / (d + outputs) as f64).sqrt());
            let bias = bias.then(|| init.uniform([outputs], 1.0 / (d as f64).sqrt()));
            Linear { weight, bias }
        };
        let (q, k, v) = (normal(d, true, init), normal(d, false, init), normal(d, false, init));
        let e = normal(2 * d, true, init);
        let a = init.normal([dh, heads], (2.0 / (heads + dh) as f64).sqrt());
        let ve = init.normal([dh, heads, dh], (2.0 / (heads * dh + dh * dh) as f64).sqrt());
        let (oh, oe) = (Linear::new(d, d, true, init), Linear::new(d, d, true, init));
        let degree = init.normal([d, 2], (2.0 / (2 * d + 2) as f64).sqrt());
        let [bn_h1, bn_e, bn_h2] = std::array::from_fn(|_| BatchNorm::new(d, init));
        let (ffn1, ffn2) = FeedForward::layers(d, init);
        Self {
            Q: q,
            K: k,
            V: v,
            E: e,
            A: a,
            Ve: ve,
            Oh: oh,
            Oe: oe,
            degree,
            bn_h1,
            bn_e,
            bn_h2,
            ffn1,
            ffn2,
            rates: [frame.dropout, own.attention_dropout],
        }
    }

    /// New features of nodes, `[nodes, d]`, and of pairs, `[pairs, d]`; none for the last layer, whose pairs nobody reads.
    pub(super) fn forward(
        &self,
        h: Tensor<2>,
        e: Tensor<2>,
        input: &GritInput,
        number: usize,
        last: bool,
        pass: Pass,
    ) -> (Tensor<2>, Option<Tensor<2>>) {
        let ([nodes, d], [dh, heads], device) = (h.dims(), self.A.dims(), h.device());
        let [rate, attention_rate] = self.rates;
        let drop = |rate: f64, place: &'static str| pass.dropout(rate, Site { layer: number, place });
        let (q, k, v) = (self.Q.forward(h.clone()), self.K.forward(h.clone()), self.V.forward(h.clone()));
        let t = pair_scores([q, k, self.E.forward(e.clone())], heads, &input.pairs);

        let scores = linear(t.clone(), self.score_map(&device), None, Epilogue::None);
        let raised = scores.clamp(-LARGEST_SCORE, LARGEST_SCORE).exp();
        let sums = sum_rows(raised.clone(), input.pairs.targets()) + EPSILON;
        let weights = raised / gather_rows(sums, input.pairs.targets());
        let weights = dropout(weights, drop(attention_rate, "attention"));
        let sums = pair_messages([weights, v, t.clone()], &input.pairs);
        let of_pairs =
            linear(sums.clone().narrow(1, d, d), self.pair_value_map(&device), None, Epilogue::None);
        let o = dropout(sums.narrow(1, 0, d) + of_pairs, drop(rate, "attended"));
        let scale = |column: usize| self.degree.val().narrow(1, column, 1).reshape([1, d]);
        let o = o.clone() * scale(0) + o * input.log_degree.clone() * scale(1);

        let y = self.bn_h1.residual(h, Some((self.Oh.forward(o), None)), None, pass);
        let forward = FeedForward { expand: &self.ffn1, contract: &self.ffn2 };
        let mixed = forward.forward(y.clone(), drop(rate, "feed-forward"));
        let h = self.bn_h2.residual(y, Some((mixed, None)), None, pass);
        debug_assert_eq!(h.dims(), [nodes, d]);
        debug_assert_eq!(dh * heads, d);
        if last {
            return (h, None);
        }
        let update = self.Oe.forward(dropout(t, drop(rate, "pairs")));
        (h, Some(self.bn_e.residual(e, Some((update, None)), None, pass)))
    }

    /// `A` as a matrix `[H, d]` that acts on all heads at once.
    fn score_map(&self, device: &Device) -> Tensor<2> {
        let [dh, heads] = self.A.dims();
        let own = self.A.val().transpose().reshape([heads, 1, dh]).expand([heads, heads, dh]);
        (own * blocks(heads, device)).reshape([heads, heads * dh])
    }

    /// `Ve` as a matrix `[d, d]` that acts on all heads at once.
    fn pair_value_map(&self, device: &Device) -> Tensor<2> {
        let [dh, heads, _] = self.Ve.dims();
        // [c', t, c] → row (t, c), column (t, c').
        let own = self.Ve.val().permute([1, 2, 0]).reshape([heads, 1, dh * dh]);
        let all = own.expand([heads, heads, dh * dh]) * blocks(heads, device);
        let all: Tensor<4> = all.reshape([heads, heads, dh, dh]).permute([0, 2, 1, 3]);
        all.reshape([heads * dh, heads * dh])
    }
}

/// 1 where a head meets itself, `[H, H, 1]`.
fn blocks(heads: usize, device: &Device) -> Tensor<3> {
    let values: Vec<f32> =
        (0..heads * heads).map(|at| if at / heads == at % heads { 1.0 } else { 0.0 }).collect();
    Tensor::from_data(TensorData::new(values, [heads, heads, 1]), device)
}
