//! The Mamba block (Gu and Dao, 2023) over sequences of nodes.
//!
//! ```text
//! (x_t, z_t) = W_in h_t                                              c channels each
//! u_t  = silu( b_conv + Σ_{j=0..3} w_conv[:, j] ⊙ x_{t−3+j} )         x = 0 before the sequence
//! (δ_t, B_t, C_t) = W_x u_t                                          widths r, N, N
//! Δ_t  = softplus(W_dt δ_t + b_dt)          A = −exp(A_log)
//! S_t[i,n] = exp(Δ_t[i]·A[i,n])·S_{t−1}[i,n] + Δ_t[i]·B_t[n]·u_t[i]
//! y_t[i] = Σ_n S_t[i,n]·C_t[n] + D[i]·u_t[i]
//! out_t  = W_out( y_t ⊙ silu(z_t) )
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::order::Sequences;
use burn::module::{Module, Param};
use burn::tensor::{Tensor, activation};
use graphminnet::nn::{Init, Linear};
use graphminnet::ops::{gather_rows, selective_scan};

/// Taps of the convolution.
const TAPS: usize = 4;

/// Bounds of the step sizes at the start.
const STEPS: [f64; 2] = [0.001, 0.1];

/// Smallest step size at the start.
const SMALLEST_STEP: f64 = 1e-4;

/// The parameters, under the letters of the formulas.
#[derive(Module, Debug)]
pub(super) struct MambaBlock {
    W_in: Linear,
    /// `[c, 4]`.
    conv_weight: Param<Tensor<2>>,
    conv_bias: Param<Tensor<1>>,
    W_x: Linear,
    W_dt: Linear,
    /// `[c, N]`.
    A_log: Param<Tensor<2>>,
    D: Param<Tensor<1>>,
    W_out: Linear,
}

impl MambaBlock {
    pub(super) fn new(d: usize, states: usize, init: &mut Init) -> Self {
        let (c, rank) = (d, d.div_ceil(16));
        let w_in = Linear::new(d, 2 * c, false, init);
        let bound = 1.0 / (TAPS as f64).sqrt();
        let (conv_weight, conv_bias) = (init.uniform([c, TAPS], bound), init.uniform([c], bound));
        let w_x = Linear::new(c, rank + 2 * states, false, init);
        let [least, most] = STEPS.map(f64::ln);
        let w_dt = Linear {
            weight: init.uniform([c, rank], 1.0 / (rank as f64).sqrt()),
            bias: Some(init.drawn([c], |stream| {
                let step = (stream.uniform() * (most - least) + least).exp().max(SMALLEST_STEP);
                // The inverse of the softplus.
                step + (-(-step).exp_m1()).ln()
            })),
        };
        let mut state = 0;
        let a_log = init.drawn([c, states], |_| {
            state += 1;
            (((state - 1) % states + 1) as f64).ln()
        });
        Self {
            W_in: w_in,
            conv_weight,
            conv_bias,
            W_x: w_x,
            W_dt: w_dt,
            A_log: a_log,
            D: init.constant([c], 1.0),
            W_out: Linear::new(c, d, false, init),
        }
    }

    /// `[places, d] → [places, d]`, rows in the order of the sequences.
    pub(super) fn forward(&self, h: Tensor<2>, sequences: &Sequences) -> Tensor<2> {
        let ([rows, _], [c, states], rank) = (h.dims(), self.A_log.dims(), self.W_dt.weight.dims()[1]);
        let device = h.device();
        if rows == 0 {
            return h;
        }
        let both = self.W_in.forward(h);
        let (x, z) = (both.clone().narrow(1, 0, c), both.narrow(1, c, c));
        let tap = |at: usize| self.conv_weight.val().narrow(1, at, 1).reshape([1, c]);
        let mut mixed = x.clone() * tap(TAPS - 1) + self.conv_bias.val().unsqueeze();
        let padded = Tensor::cat(vec![x, Tensor::zeros([1, c], &device)], 0);
        for (back, places) in sequences.earlier.iter().enumerate() {
            mixed = mixed + gather_rows(padded.clone(), places) * tap(TAPS - 2 - back);
        }
        let u = activation::silu(mixed);
        let parts = self.W_x.forward(u.clone());
        let part = |start: usize, width: usize| parts.clone().narrow(1, start, width);
        let delta = activation::softplus(self.W_dt.forward(part(0, rank)), 1.0);
        let a = self.A_log.val().exp().neg();
        let operands = [u.clone(), delta, a, part(rank, states), part(rank + states, states)];
        let y = selective_scan(operands, &sequences.offsets) + u * self.D.val().unsqueeze();
        self.W_out.forward(y * activation::silu(z))
    }
}
