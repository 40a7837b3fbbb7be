//! GRED (Ding et al., 2024): every node sums the others by their distance and runs a linear recurrence from far to near.
//!
//! | symbol | meaning |
//! |---|---|
//! | `S` | number of shells: distances 0 … S−1 |
//! | `x_u`, `h` | features of a node, their width |
//! | `v` | width of the recurrent state |
//! | `λ` | complex rates of the recurrence, inside the unit circle |
//!
//! There is no attention and no message passing along edges. A layer costs nodes times shells, the distances are those of
//! a breadth-first search from every node.

mod layer;
mod shells;
#[cfg(test)]
mod tests;

use super::config::require;
use super::{Encoded, SystemConfig};
use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData};
use graphminnet::config::ConfigError;
use graphminnet::nn::{Init, Linear};
use graphminnet::ops::sum_rows;
use layer::GredLayer;
use serde::{Deserialize, Serialize};
pub(crate) use shells::{GredInput, largest_distance};

/// GRED's own keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GredConfig {
    /// Shells `S`; 0 for as many as the training part has distances.
    pub shells: usize,
    /// Width `v` of the state.
    pub state: usize,
    /// Smallest |λ| at the start; the largest is 1.
    pub smallest_rate: f64,
}

impl GredConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        require(self.state >= 1, "system.gred.state", self.state, "must be at least 1")?;
        let key = "system.gred.smallest_rate";
        require((0.0..1.0).contains(&self.smallest_rate), key, self.smallest_rate, "must be in 0 … 1")
    }
}

/// The layers.
#[derive(Module, Debug)]
pub(crate) struct Gred {
    layers: Vec<GredLayer>,
    #[module(skip)]
    shells: usize,
}

impl Gred {
    pub(super) fn new(frame: &SystemConfig, own: &GredConfig, init: &mut Init) -> Self {
        let layers = (0..frame.layers).map(|_| GredLayer::new(frame, own, init)).collect();
        Self { layers, shells: own.shells.max(1) }
    }

    pub(super) fn shells(&self) -> usize {
        self.shells
    }

    pub(super) fn forward(&self, start: Encoded<'_>, input: &GredInput) -> Tensor<2> {
        let Encoded { nodes: mut x, edges, structure, pass, .. } = start;
        if let Some(edges) = edges {
            // The mean over the neighbours of what the edges to them say.
            let counts: Vec<f32> = input.neighbours.iter().map(|&count| count.max(1) as f32).collect();
            let rows = counts.len();
            let counts = Tensor::<2>::from_data(TensorData::new(counts, [rows, 1]), &x.device());
            x = x + sum_rows(edges, structure.targets()) / counts;
        }
        for (number, layer) in self.layers.iter().enumerate() {
            x = layer.forward(x, input, number, pass);
        }
        x
    }
}

/// Whether weight decay acts on a parameter: on the linear maps and `C`, not on biases, norms, tables and what is inside
/// the recurrence.
pub(crate) fn decays_in_gred(parameter: &str) -> bool {
    let (rest, last) = parameter.rsplit_once('.').unwrap_or(("", parameter));
    let is_norm_or_table = rest.ends_with("norm") || rest.contains("tables") || rest == "nodes";
    match last {
        "C_re" | "C_im" => true,
        "weight" => !is_norm_or_table,
        _ => false,
    }
}

/// The deviation of a normal distribution that has unit variance after it is cut at two deviations.
const CUT_AT_TWO: f64 = 0.879_625_661_034_239_8;

/// A linear map as GRED starts it: normal weights cut at two deviations with variance 1 / inputs, biases 0.
pub(crate) fn dense(inputs: usize, outputs: usize, init: &mut Init) -> Linear {
    Linear {
        weight: cut_normal([outputs, inputs], 1.0 / inputs as f64, init),
        bias: Some(init.constant([outputs], 0.0)),
    }
}

/// Normal values of a variance, cut at two deviations.
fn cut_normal<const D: usize>(shape: [usize; D], variance: f64, init: &mut Init) -> Param<Tensor<D>> {
    let deviation = variance.sqrt() / CUT_AT_TWO;
    init.drawn(shape, |stream| {
        loop {
            let value = stream.normal();
            if value.abs() <= 2.0 {
                return value * deviation;
            }
        }
    })
}
