//! What the eigenpairs contribute to a pass, computed once and shared by all layers.

use super::ModelInput;
use crate::config::{ModelConfig, Phi};
use crate::nn::SetEncoder;
use burn::tensor::Tensor;

/// The φ coefficients and the positions.
///
/// Without eigenpairs (`lap_dim = 0`, or a global branch that reads none) there is a single column: `phi_a` is
/// one, `phi_c` and the positions are zero.
#[derive(Debug, Clone)]
pub struct Spectrum {
    /// `E^A`, `[graphs, pairs, channels]`.
    pub phi_a: Tensor<3>,
    /// `E^C`, `[graphs, pairs, channels]`.
    pub phi_c: Tensor<3>,
    /// `F = E^A ⊙ E^C`, `[graphs, pairs, channels]`.
    pub factors: Tensor<3>,
    /// `p`, `[nodes, pairs]`: eigenvector entries, zero where the pair is not valid.
    pub positions: Tensor<2>,
}

impl Spectrum {
    /// Evaluates φ on the spectra of a batch.
    pub fn new(config: &ModelConfig, encoder: Option<&SetEncoder>, input: &ModelInput) -> Self {
        let (graphs, num_nodes) = (input.structure.num_graphs(), input.structure.num_nodes());
        let (pairs, channels) = (config.lap_dim, config.pe_width);
        let device = input.eigenvectors.device();
        if !config.reads_spectrum() {
            let ones = Tensor::ones([graphs, 1, channels], &device);
            let zeros: Tensor<3> = Tensor::zeros([graphs, 1, channels], &device);
            let positions = Tensor::zeros([num_nodes, 1], &device);
            return Self { phi_a: ones, phi_c: zeros.clone(), factors: zeros, positions };
        }
        let eigenvalues = input.eigenvalues.clone().narrow(1, 1, pairs);
        let valid = input.valid.clone();
        let mut encoded: Option<Tensor<3>> = None;
        let mut evaluate = |phi: Phi| match phi {
            Phi::Zero => Tensor::zeros([graphs, pairs, channels], &device),
            Phi::Power(exponent) => power(eigenvalues.clone(), valid.clone(), exponent, channels),
            Phi::Deepset => encoded
                .get_or_insert_with(|| {
                    encoder.map(|encoder| encoder.forward(eigenvalues.clone(), valid.clone())).unwrap_or_else(
                        || unreachable!("a checked configuration with deepset has a set encoder"),
                    )
                })
                .clone(),
        };
        let (phi_a, phi_c) = (evaluate(config.phi_a), evaluate(config.phi_c));
        let mask = crate::ops::gather_graphs(valid, &input.structure);
        // The engine cannot multiply columns of no rows.
        let positions = match num_nodes {
            0 => Tensor::zeros([0, pairs], &device),
            _ => input.eigenvectors.clone().narrow(1, 1, pairs) * mask,
        };
        Self { factors: phi_a.clone() * phi_c.clone(), phi_a, phi_c, positions }
    }
}

/// `λ^k` in every channel for valid pairs, 0 elsewhere.
fn power(eigenvalues: Tensor<2>, valid: Tensor<2>, exponent: u32, channels: usize) -> Tensor<3> {
    let [graphs, pairs] = eigenvalues.dims();
    let invalid = valid.clone().neg() + 1.0;
    // Repeated products rather than `powi`: exact for k = 0 and differentiable everywhere.
    let base = eigenvalues * valid.clone() + invalid;
    let raised = (0..exponent).fold(Tensor::ones_like(&base), |product, _| product * base.clone());
    (raised * valid).reshape([graphs, pairs, 1]).expand([graphs, pairs, channels])
}
