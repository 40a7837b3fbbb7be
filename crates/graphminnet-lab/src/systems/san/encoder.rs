//! SAN's learned Laplacian encoding: a transformer over the eigenpairs of each node.
//!
//! ```text
//! t_i = Linear(2→p)(v_u[i], λ_i)                                   a token per eigenpair i of node u
//! per layer: t = LN₁( t + Dropout(MultiHead(t)) )                   4 heads; pairs that do not exist are no keys
//!            t = LN₂( t + Dropout(FF₂ Dropout(ReLU(FF₁ t))) )
//! p_u = Σ over pairs that exist of t_i
//! ```

use crate::systems::config::{check_rate, require};
use crate::systems::norm::LayerNorm;
use crate::systems::spectrum;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData, activation};
use graphminnet::config::ConfigError;
use graphminnet::model::InputError;
use graphminnet::nn::{Init, Linear, Pass, Site};
use graphminnet::ops::{Epilogue, Structure, dropout, gather_graphs};
use graphminnet_data::Batch;
use serde::{Deserialize, Serialize};

/// Added to the scores of pairs that do not exist: their weight is exactly zero.
const MASKED: f64 = -1e30;

/// Shortest row that is scaled to unit length.
const SHORTEST: f64 = 1e-12;

/// The keys of the encoder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpectrumConfig {
    /// Numbers `p` per node.
    pub width: usize,
    /// Eigenpairs `m`.
    pub pairs: usize,
    /// Layers of the transformer.
    pub layers: usize,
    /// Its heads.
    #[serde(default = "four")]
    pub heads: usize,
    /// Width of its feed-forward part.
    #[serde(default = "library_width")]
    pub feed_forward: usize,
    /// Its dropout, which is not that of the graph transformer.
    #[serde(default = "library_rate")]
    pub dropout: f64,
    /// Scale the entries of a node to unit length, as the original does; else every eigenvector has unit length.
    pub unit_rows: bool,
    /// A random sign per eigenvector and batch in training.
    pub random_signs: bool,
}

const fn four() -> usize {
    4
}

/// The default of the library that the original is written with; no table of the paper has it.
const fn library_width() -> usize {
    2048
}

/// The same.
const fn library_rate() -> f64 {
    0.1
}

impl SpectrumConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let key = |name: &str| format!("positions.spectrum.{name}");
        let divides = self.heads >= 1 && self.width.is_multiple_of(self.heads);
        require(divides, &key("heads"), self.heads, "must divide the width")?;
        require(self.pairs >= 1, &key("pairs"), self.pairs, "must be at least 1")?;
        check_rate(&key("dropout"), self.dropout)
    }
}

/// The map of pairs and the transformer.
#[derive(Module, Debug)]
pub(crate) struct SpectrumEncoder {
    input: Linear,
    layers: Vec<EncoderLayer>,
    #[module(skip)]
    own: SpectrumConfig,
}

/// One layer of the transformer.
#[derive(Module, Debug)]
pub(crate) struct EncoderLayer {
    /// Queries, keys and values, `[3p, p]`.
    in_projection: Linear,
    out_projection: Linear,
    ff1: Linear,
    ff2: Linear,
    ln1: LayerNorm,
    ln2: LayerNorm,
}

/// What the encoder reads of a batch.
#[derive(Debug)]
pub(crate) struct SpectrumInput {
    /// `[nodes, m]`.
    pub(super) eigenvectors: Tensor<2>,
    /// Eigenvalues and whether they exist, `[graphs, 2m]`.
    pub(super) eigenvalues: Tensor<2>,
}

impl SpectrumInput {
    pub(crate) fn new(own: &SpectrumConfig, batch: &Batch, device: &Device) -> Result<Self, InputError> {
        let mut eigenvectors = spectrum::eigenvectors(batch, own.pairs, device)?;
        if own.unit_rows {
            let lengths = eigenvectors.clone().powi_scalar(2).sum_dim(1).sqrt().clamp_min(SHORTEST);
            eigenvectors = eigenvectors / lengths;
        }
        Ok(Self { eigenvectors, eigenvalues: spectrum::eigenvalues(batch, own.pairs, device)? })
    }
}

impl EncoderLayer {
    fn new(own: &SpectrumConfig, init: &mut Init) -> Self {
        let p = own.width;
        let bound = (6.0 / (4 * p) as f64).sqrt();
        let in_projection =
            Linear { weight: init.uniform([3 * p, p], bound), bias: Some(init.constant([3 * p], 0.0)) };
        let mut out_projection = Linear::new(p, p, false, init);
        out_projection.bias = Some(init.constant([p], 0.0));
        Self {
            in_projection,
            out_projection,
            ff1: Linear::new(p, own.feed_forward, true, init),
            ff2: Linear::new(own.feed_forward, p, true, init),
            ln1: LayerNorm::new(p, 1e-5, init),
            ln2: LayerNorm::new(p, 1e-5, init),
        }
    }
}

impl SpectrumEncoder {
    pub(crate) fn new(own: &SpectrumConfig, init: &mut Init) -> Self {
        let input = Linear::new(2, own.width, true, init);
        // All layers start from the same values, as copies of one layer do.
        let first = EncoderLayer::new(own, init);
        let copy = || {
            let fresh = |linear: &Linear| Linear {
                weight: Param::from_tensor(linear.weight.val()),
                bias: linear.bias.as_ref().map(|bias| Param::from_tensor(bias.val())),
            };
            EncoderLayer {
                in_projection: fresh(&first.in_projection),
                out_projection: fresh(&first.out_projection),
                ff1: fresh(&first.ff1),
                ff2: fresh(&first.ff2),
                ln1: LayerNorm::new(own.width, 1e-5, init),
                ln2: LayerNorm::new(own.width, 1e-5, init),
            }
        };
        let layers = (0..own.layers).map(|_| copy()).collect();
        Self { input, layers, own: own.clone() }
    }

    /// `[nodes, p]`.
    pub(crate) fn forward(&self, input: &SpectrumInput, structure: &Structure, pass: Pass) -> Tensor<2> {
        let ([nodes, m], p) = (input.eigenvectors.dims(), self.own.width);
        let device = input.eigenvectors.device();
        if nodes == 0 {
            return Tensor::zeros([0, p], &device);
        }
        let mut entries = input.eigenvectors.clone();
        if let (true, Some(signs)) = (self.own.random_signs, pass.signs(m)) {
            entries = entries * Tensor::<2>::from_data(TensorData::new(signs, [1, m]), &device);
        }
        let spectrum = gather_graphs(input.eigenvalues.clone(), structure);
        let exist = spectrum.clone().narrow(1, m, m);
        let values = spectrum.narrow(1, 0, m);
        let rows = [nodes * m, 1];
        let pairs = Tensor::cat(vec![entries.reshape(rows), values.reshape(rows)], 1);
        let mut t = self.input.forward(pairs * exist.clone().reshape(rows));
        let mask = (exist.clone().neg() + 1.0).reshape([nodes, 1, 1, m]) * MASKED;
        for (number, layer) in self.layers.iter().enumerate() {
            t = self.layer(layer, t, &mask, number, pass);
        }
        (t.reshape([nodes, m, p]) * exist.reshape([nodes, m, 1])).sum_dim(1).reshape([nodes, p])
    }

    fn layer(
        &self,
        layer: &EncoderLayer,
        t: Tensor<2>,
        mask: &Tensor<4>,
        number: usize,
        pass: Pass,
    ) -> Tensor<2> {
        let ([nodes, _, _, m], p, heads) = (mask.dims(), self.own.width, self.own.heads);
        let drop = |place: &'static str| pass.dropout(self.own.dropout, Site { layer: number, place });
        let parts = layer
            .in_projection
            .forward(t.clone())
            .reshape([nodes, m, 3, heads, p / heads])
            .permute([2, 0, 3, 1, 4]);
        let part = |which: usize| parts.clone().narrow(0, which, 1).reshape([nodes, heads, m, p / heads]);
        let (q, k, v) = (part(0) * (1.0 / ((p / heads) as f64).sqrt()), part(1), part(2));
        let weights = activation::softmax(q.matmul(k.swap_dims(2, 3)) + mask.clone(), 3);
        let weights = dropout(weights, drop("spectrum weights"));
        let mixed = weights.matmul(v).swap_dims(1, 2).reshape([nodes * m, p]);
        let mixed = dropout(layer.out_projection.forward(mixed), drop("spectrum attended"));
        let t = layer.ln1.forward(t + mixed);
        let inner = layer.ff1.forward_then(t.clone(), Epilogue::Relu(drop("spectrum feed-forward")));
        let outer = dropout(layer.ff2.forward(inner), drop("spectrum feed-forward out"));
        layer.ln2.forward(t + outer)
    }
}
