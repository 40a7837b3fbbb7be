//! Graph state space convolution, the global branch that GraphMinNet descends from, here as a baseline.
//!
//! In the symbols of [`super::block`] (`C_u[:,i] = E_i·p_u[i]` positions with φ coefficients, `x_u` features):
//!
//! ```text
//! y_u = (c_0 + c_1·ln(1 + deg u)) ⊙ x_u                                          c ∈ R^{l×2}
//! s_u = Out( Σ_v ⟨W_q C_u, W_k C_v⟩ · X y_v )                                     Out with bias, X without
//! o_u = s_u + ⟨W_s1 C_u, W_s2 C_u⟩ · R y_u                                        the self term
//! ```
//! (Huang et al., 2024: `h_u = ⟨z_u, Σ_v z_v ⊗ W x_v⟩` with `z_u = C_u`, and from their published configurations the maps
//! `W_q`, `W_k`, `Out`, the degree coefficients and the self term.) ⟨·,·⟩ sums over all entries. The kernel depends on
//! positions alone, so the branch is linear in the features: there is no gate and no product of features.
//!
//! Since `W C_u[:,i] = p_u[i]·W E_i`, the kernel is `Σ_i p_u[i]·κ_i·p_v[i]` with `κ_i = ⟨W_q E_i, W_k E_i⟩`, one number per
//! graph and eigenpair, and the sum over `v` is formed once per graph: `O(n·M·l)`.

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::{ModelInput, Spectrum};
use crate::config::ModelConfig;
use crate::nn::{Init, Linear};
use crate::ops::{batched_rows, outer_sums, weighted_squares};
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// The parameters of one convolution.
#[derive(Module, Debug)]
pub struct Gssc {
    /// `c`: weights of a feature and of the feature times its log-degree.
    pub deg_coef: Param<Tensor<2>>,
    /// Features before the sum.
    pub X: Linear,
    /// Positions of the node that takes.
    pub Wq: Linear,
    /// Positions of the nodes that give.
    pub Wk: Linear,
    /// Features after the sum.
    pub out: Linear,
    /// First map of the self term.
    pub Ws1: Linear,
    /// Second map of the self term.
    pub Ws2: Linear,
    /// Features in the self term.
    pub R: Linear,
}

impl Gssc {
    /// Fresh parameters.
    pub fn new(config: &ModelConfig, init: &mut Init) -> Self {
        let (hidden, channels) = (config.hidden, config.pe_width);
        let deg_coef = init.normal([hidden, 2], (1.0 / (2 * hidden) as f64).sqrt());
        let mut square = |width, bias| Linear::new(width, width, bias, init);
        let (x, out, r) = (square(hidden, false), square(hidden, true), square(hidden, false));
        let [wq, wk, ws1, ws2] = [0; 4].map(|_| square(channels, false));
        Self { deg_coef, X: x, Wq: wq, Wk: wk, out, Ws1: ws1, Ws2: ws2, R: r }
    }

    /// `[nodes, hidden] → [nodes, hidden]`.
    pub fn forward(&self, x: Tensor<2>, input: &ModelInput, spectrum: &Spectrum) -> Tensor<2> {
        let y = super::block::scaled_by_degree(x, Some(&self.deg_coef), input);
        let [graphs, pairs, _] = spectrum.phi_c.dims();
        let kernel = contracted(&self.Wq, &self.Wk, spectrum).reshape([graphs, pairs, 1]);
        let positions = spectrum.positions.clone();
        let sums = outer_sums(positions.clone(), self.X.forward(y.clone()), &input.structure);
        let taken = batched_rows(positions.clone(), sums * kernel, &input.structure);
        let own = weighted_squares(positions, contracted(&self.Ws1, &self.Ws2, spectrum), &input.structure);
        self.out.forward(taken) + self.R.forward(y) * own
    }
}

/// `⟨first E_i, second E_i⟩` for every graph and eigenpair: `[graphs, pairs]`.
pub(super) fn contracted(first: &Linear, second: &Linear, spectrum: &Spectrum) -> Tensor<2> {
    let [graphs, pairs, channels] = spectrum.phi_c.dims();
    let rows = spectrum.phi_c.clone().reshape([graphs * pairs, channels]);
    (first.forward(rows.clone()) * second.forward(rows)).sum_dim(1).reshape([graphs, pairs])
}
