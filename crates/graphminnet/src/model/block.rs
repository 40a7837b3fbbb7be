//! The GraphMinNet block, equation by equation.
//!
//! | paper | here | shape |
//! |---|---|---|
//! | `x_u` | `x` | `[nodes, l]` |
//! | `W x_u` | `projected` | `[nodes, rows]` |
//! | `φ(Λ)`: `E^A`, `E^C` | `spectrum.phi_a`, `spectrum.phi_c` | `[graphs, pairs, channels]` |
//! | `p_u` | `spectrum.positions` | `[nodes, pairs]` |
//! | `A_u`, `C_u` | never stored by the default form | |
//! | `a_u = B(A_u ⊕ C_u)`, `ā = Σ_v a_v` | inside [`super::inner_product`] | |
//! | `s_u = ⟨a_u, ā⟩` | `similarity` | `[nodes, l]` |
//! | `z_u = σ(Linear(x_u))`, `h̃_u = Linear(x_u)` | `gate_and_candidate` | `[nodes, 2·l]` |
//! | `q_u` | `own` | `[nodes, 1]` |
//!
//! ```text
//! h_u = z_u ⊙ h̃_u ⊙ s_u                                       without the self term
//! h_u = z_u ⊙ h̃_u ⊙ (β·s_u + (2 − β)·q_u)                      with it
//! ```

// The fields carry the letters of the formulas above.
#![allow(non_snake_case)]

use super::inner_product;
use super::{ModelInput, Spectrum};
use crate::config::{Beta, BetaRange, DropoutSite, InputNorm, Layout, ModelConfig};
use crate::nn::{Around, Init, Linear, Pass, Projection, Site};
use crate::ops::{RowBound, SelfTerm, bound_rows, dropout, gate_product, weighted_squares};
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, activation};

/// The parameters of one block, under the paper's letters.
#[derive(Module, Debug)]
pub struct Block {
    /// Features to rows.
    pub W: Projection,
    /// Rows to features.
    pub B: Projection,
    /// The gate.
    pub z: Projection,
    /// The candidate.
    pub h: Projection,
    /// First map of the self term.
    pub Ws1: Option<Linear>,
    /// Second map of the self term.
    pub Ws2: Option<Linear>,
    /// Weight between similarity and self term.
    pub beta: Option<Param<Tensor<1>>>,
    /// Weights of a feature and of the feature times its log-degree.
    pub deg_coef: Option<Param<Tensor<2>>>,
}

impl Block {
    /// Fresh parameters.
    pub fn new(config: &ModelConfig, init: &mut Init) -> Self {
        let (hidden, rows) = (config.hidden, config.rows());
        let deviation = (1.0 / (2 * hidden) as f64).sqrt();
        let deg_coef = config.degree_scaling.then(|| init.normal([hidden, 2], deviation));
        let mut projection =
            |inputs, outputs, activation, bias| Projection::new(inputs, outputs, activation, bias, init);
        let w = projection(hidden, rows, config.nonlinear_wb, false);
        let b = projection(rows, hidden, config.nonlinear_wb, false);
        let z = projection(hidden, hidden, config.nonlinear_zh, config.zh_bias);
        let h = projection(hidden, hidden, config.nonlinear_zh, config.zh_bias);
        let mut square = || config.self_term.then(|| Linear::new(rows, rows, false, init));
        let (ws1, ws2) = (square(), square());
        let start = if config.beta_range == BetaRange::Sigmoid { 0.0 } else { 1.0 };
        let beta = (config.self_term && config.beta == Beta::Learn).then(|| init.constant([1], start));
        Self { W: w, B: b, z, h, Ws1: ws1, Ws2: ws2, beta, deg_coef }
    }

    /// The block's output: `[nodes, hidden] → [nodes, hidden]`, before the dropout on the output.
    pub fn forward(
        &self,
        x: Tensor<2>,
        input: &ModelInput,
        spectrum: &Spectrum,
        config: &ModelConfig,
        layer: usize,
        pass: Pass,
    ) -> Tensor<2> {
        let x = bounded(self.unbounded_input(x, input), config.input_norm);
        let projected = self.W.forward(x.clone());
        let gate_and_candidate = self.gate_and_candidate(x, config, layer, input.around(pass));
        let embedding_dropout = match config.drop_gmn_at {
            DropoutSite::Embedding => pass.dropout(config.drop_gmn, Site { layer, place: "block embedding" }),
            _ => None,
        };
        let (structure, beyond) = (&input.structure, input.beyond.as_ref());
        let terms = inner_product::Terms { config, spectrum, output: &self.B, structure, beyond, layer };
        let similarity = terms.similarity(projected, embedding_dropout);
        let self_term = match (&self.Ws1, &self.Ws2) {
            (Some(first), Some(second)) => Some(SelfTerm {
                own: self_similarity(first, second, spectrum, config, input),
                beta: self.effective_beta(config, &similarity.device()),
            }),
            _ => None,
        };
        gate_product(gate_and_candidate, similarity, self_term)
    }

    /// What the block reads of the node features, before its length is bounded: `[nodes, hidden]`.
    pub(super) fn unbounded_input(&self, x: Tensor<2>, input: &ModelInput) -> Tensor<2> {
        scaled_by_degree(x, self.deg_coef.as_ref(), input)
    }

    fn gate_and_candidate(
        &self,
        x: Tensor<2>,
        config: &ModelConfig,
        layer: usize,
        pass: Around<'_>,
    ) -> Tensor<2> {
        let site = Site { layer, place: "block candidate" };
        let rate = match config.drop_gmn_at {
            DropoutSite::Candidate => pass.dropout(config.drop_gmn, site, config.hidden),
            _ => None,
        };
        match (self.z.as_linear(), self.h.as_linear(), rate) {
            (Some(gate), Some(candidate), None) => Linear::side_by_side(&[gate, candidate], x),
            _ => Tensor::cat(vec![self.z.forward(x.clone()), dropout(self.h.forward(x), rate)], 1),
        }
    }

    /// β kept in its range, `[1]`.
    fn effective_beta(&self, config: &ModelConfig, device: &Device) -> Tensor<1> {
        match (config.beta, &self.beta) {
            (Beta::Fixed(beta), _) => Tensor::from_floats([beta as f32], device),
            (Beta::Learn, Some(parameter)) => match config.beta_range {
                BetaRange::Raw => parameter.val(),
                BetaRange::Clamp => parameter.val().clamp(0.0, 2.0),
                BetaRange::Sigmoid => activation::sigmoid(parameter.val()) * 2.0,
            },
            (Beta::Learn, None) => unreachable!("a learnable β is allocated with the self term"),
        }
    }
}

/// `(c_0 + c_1·ln(1 + degree)) ⊙ x`, where there are coefficients.
pub(super) fn scaled_by_degree(
    x: Tensor<2>,
    coefficients: Option<&Param<Tensor<2>>>,
    input: &ModelInput,
) -> Tensor<2> {
    match (coefficients, &input.log_degree) {
        (Some(coefficients), Some(log_degree)) => {
            let [hidden, _] = coefficients.dims();
            let column = |at| coefficients.val().narrow(1, at, 1).reshape([1, hidden]);
            let scale = log_degree.clone().matmul(column(1)) + column(0);
            x * scale
        }
        _ => x,
    }
}

fn bounded(x: Tensor<2>, norm: InputNorm) -> Tensor<2> {
    match norm {
        InputNorm::None => x,
        InputNorm::Rms => bound_rows(x, RowBound::Rms),
        InputNorm::Ball => bound_rows(x, RowBound::Ball),
    }
}

/// `q_u = Σ_{r,i} (W_s1 C_u)[r,i]·(W_s2 C_u)[r,i]`, `[nodes, 1]`.
fn self_similarity(
    first: &Linear,
    second: &Linear,
    spectrum: &Spectrum,
    config: &ModelConfig,
    input: &ModelInput,
) -> Tensor<2> {
    match config.layout {
        // C_u[:,i] = p_u[i]·E_i, so q_u = Σ_i p_u[i]²·κ[i] with one number κ per graph and eigenpair.
        Layout::Channel => {
            let weights = super::gssc::contracted(first, second, spectrum);
            weighted_squares(spectrum.positions.clone(), weights, &input.structure)
        }
        // C_u[i,j] = E_i[j]·p_u[i]: the maps mix eigenpairs, so C_u itself is needed.
        Layout::Eigen => {
            let positional = inner_product::positional(config, spectrum, &input.structure);
            let [nodes, columns, rows] = positional.dims();
            let flat = positional.reshape([nodes * columns, rows]);
            (first.forward(flat.clone()) * second.forward(flat)).reshape([nodes, columns * rows]).sum_dim(1)
        }
    }
}
