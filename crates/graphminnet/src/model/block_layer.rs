//! The GraphMinNet block as a layer for other Burn models.
//!
//! A model of your own keeps its encoders, message passing, norms and head; the block gives each of its nodes a view of
//! the whole graph. It changes neither the number of nodes nor their width, and has no residual, norm or dropout: put
//! them around it as the rest of the model does.

use super::{Block, FeatureInput, InputError, ModelInput, Spectrum};
use crate::config::{ConfigError, GlobalKind, InputNorm, LocalKind, ModelConfig};
use crate::nn::{Init, Pass, SetEncoder};
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet_data::Batch;
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph};

/// The options of a [`GraphMinNetBlock`].
///
/// ```
/// use graphminnet::DeviceKind;
/// use graphminnet::model::BlockConfig;
///
/// let config = BlockConfig { eigenpairs: 8, self_term: true, ..BlockConfig::new(64) };
/// let block = config.init(0, &DeviceKind::Cpu.open()?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockConfig {
    /// Width of the node features.
    pub hidden: usize,
    /// How many of the lowest non-trivial eigenpairs of the Laplacian are used; at least 1.
    pub eigenpairs: usize,
    /// Channels of the set encoder.
    pub channels: usize,
    /// Whether a node sees its own position as well as its likeness to all others.
    pub self_term: bool,
    /// Whether features are scaled by the logarithm of the node's degree first.
    pub degree_scaling: bool,
    /// What keeps the features bounded that the products are made of.
    pub input_norm: InputNorm,
}

impl BlockConfig {
    /// The paper's block for features of this width.
    pub fn new(hidden: usize) -> Self {
        let ModelConfig { lap_dim, pe_width, self_term, degree_scaling, input_norm, .. } =
            ModelConfig::default();
        Self { hidden, eigenpairs: lap_dim, channels: pe_width, self_term, degree_scaling, input_norm }
    }

    /// A block with fresh parameters that depend on the seed alone. Blocks of one model need different seeds.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if a width is zero or too large.
    pub fn init(&self, seed: u64, device: &Device) -> Result<GraphMinNetBlock, ConfigError> {
        let config = self.as_model();
        config.check()?;
        let init = &mut Init::new(seed, device);
        let set_encoder = SetEncoder::new(config.pe_width, init);
        Ok(GraphMinNetBlock { set_encoder, block: Block::new(&config, init), config: *self })
    }

    /// What has to be prepared for every graph before the block can see it.
    pub fn prepare_options(&self) -> PrepareOptions {
        self.as_model().prepare_options()
    }

    /// The model of which this block would be the only branch.
    fn as_model(&self) -> ModelConfig {
        ModelConfig {
            hidden: self.hidden,
            lap_dim: self.eigenpairs,
            pe_width: self.channels,
            self_term: self.self_term,
            degree_scaling: self.degree_scaling,
            input_norm: self.input_norm,
            local: LocalKind::None,
            global: GlobalKind::Graphminnet,
            ..ModelConfig::default()
        }
    }
}

/// The GraphMinNet block with a set encoder of its own: `[nodes, hidden] → [nodes, hidden]` at a cost that is linear in
/// the nodes.
///
/// ```
/// use graphminnet::DeviceKind;
/// use graphminnet::burn::tensor::Tensor;
/// use graphminnet::data::{Features, Graph, prepare_graph};
/// use graphminnet::model::{BlockConfig, BlockInput};
/// use std::sync::Arc;
///
/// let edges = (0..6u32).flat_map(|node| [[node, (node + 1) % 6], [(node + 1) % 6, node]]).collect();
/// let ring = Graph::new(6, edges, Features::none(6), Features::none(12))?;
///
/// let (config, device) = (BlockConfig { eigenpairs: 4, ..BlockConfig::new(16) }, DeviceKind::Cpu.open()?);
/// let block = config.init(0, &device)?;
/// let prepared = prepare_graph(&Arc::new(ring), &config.prepare_options())?;
/// let input = BlockInput::from_prepared(&config, &[&prepared], &device)?;
///
/// let x = Tensor::ones([6, 16], &device);
/// assert_eq!(block.forward(x, &input).dims(), [6, 16]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The example `block_in_own_model` trains a model around it.
#[derive(Module, Debug)]
pub struct GraphMinNetBlock {
    set_encoder: SetEncoder,
    block: Block,
    #[module(skip)]
    config: BlockConfig,
}

impl GraphMinNetBlock {
    /// The options that it was made with.
    pub fn config(&self) -> &BlockConfig {
        &self.config
    }

    /// What every node takes from its whole graph.
    ///
    /// # Panics
    ///
    /// If `x` is not `[nodes of the input, hidden]`, or the input was made for another number of eigenpairs.
    pub fn forward(&self, x: Tensor<2>, input: &BlockInput) -> Tensor<2> {
        let (config, BlockInput(input)) = (self.config.as_model(), input);
        let expected = [input.structure.num_nodes(), config.hidden];
        assert_eq!(x.dims(), expected, "node features must be [nodes, hidden]");
        let [_, pairs] = input.eigenvalues.dims();
        assert_eq!(
            pairs,
            config.stored_eigenpairs(),
            "the input must have been made for this block's eigenpairs"
        );
        let spectrum = Spectrum::new(&config, Some(&self.set_encoder), input);
        // There is no dropout inside, so a pass for training does the same.
        self.block.forward(x, input, &spectrum, &config, 0, Pass::Eval)
    }
}

/// What a [`GraphMinNetBlock`] reads of a batch besides the features; blocks with the same options share it.
#[derive(Debug, Clone)]
pub struct BlockInput(ModelInput);

impl BlockInput {
    /// Puts what the block reads of prepared graphs on a device.
    ///
    /// The graphs must have been prepared with [`BlockConfig::prepare_options`].
    ///
    /// # Errors
    ///
    /// [`InputError`] if the graphs do not fit the block or each other.
    pub fn from_prepared(
        config: &BlockConfig,
        graphs: &[&PreparedGraph],
        device: &Device,
    ) -> Result<Self, InputError> {
        Self::new(config, Batch::collate(graphs)?, device)
    }

    /// Puts what the block reads of a batch on a device. Eigenpairs of another program can be written into the batch.
    ///
    /// # Errors
    ///
    /// [`InputError`] if an array has another length than the layout of the batch and the options ask for, or a value is
    /// not finite.
    pub fn new(config: &BlockConfig, batch: Batch, device: &Device) -> Result<Self, InputError> {
        let nodes = FeatureInput::Absent(batch.layout.num_nodes());
        let edges = FeatureInput::Absent(batch.layout.num_edges());
        ModelInput::with_features(&config.as_model(), nodes, edges, batch, device).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::values;
    use graphminnet_data::spectral::prepare_graph;
    use graphminnet_data::{Features, Graph, rng};
    use std::sync::Arc;

    /// Two paths that share no eigenvalue; the second has fewer nodes than eigenpairs are asked for.
    fn prepared(config: &BlockConfig) -> Vec<PreparedGraph> {
        let path = |nodes: u32| {
            let edges = (1..nodes).flat_map(|node| [[node - 1, node], [node, node - 1]]).collect::<Vec<_>>();
            let count = edges.len();
            Graph::new(nodes as usize, edges, Features::none(nodes as usize), Features::none(count)).unwrap()
        };
        let graphs = [path(7), path(3)].map(Arc::new);
        graphs.iter().map(|graph| prepare_graph(graph, &config.prepare_options()).unwrap()).collect()
    }

    fn features(nodes: usize, width: usize, device: &Device) -> Tensor<2> {
        let mut stream = rng::stream(3, "features", &[]);
        let numbers: Vec<f32> = (0..nodes * width).map(|_| stream.normal() as f32).collect();
        Tensor::from_data(burn::tensor::TensorData::new(numbers, [nodes, width]), device)
    }

    fn rows(tensor: Tensor<2>) -> Vec<Vec<f64>> {
        let [_, width] = tensor.dims();
        values(tensor).chunks(width).map(|row| row.iter().copied().map(f64::from).collect()).collect()
    }

    /// `W x` or `W x + b`.
    fn mapped(weight: &[Vec<f64>], bias: Option<&[f32]>, x: &[f64]) -> Vec<f64> {
        let product = |row: &Vec<f64>| row.iter().zip(x).map(|(weight, x)| weight * x).sum::<f64>();
        let bias = |at: usize| bias.map_or(0.0, |bias| f64::from(bias[at]));
        weight.iter().enumerate().map(|(at, row)| product(row) + bias(at)).collect()
    }

    #[test]
    fn the_layer_computes_the_equations_of_the_paper() {
        let device = Device::flex();
        let config =
            BlockConfig { eigenpairs: 4, channels: 5, input_norm: InputNorm::None, ..BlockConfig::new(6) };
        let layer = config.init(1, &device).unwrap();
        let graphs = prepared(&config);
        let input = BlockInput::from_prepared(&config, &graphs.iter().collect::<Vec<_>>(), &device).unwrap();
        let x = features(10, 6, &device);
        let output = rows(layer.forward(x.clone(), &input));

        let linear = |projection: &crate::nn::Projection| {
            let map = projection.as_linear().unwrap();
            (rows(map.weight.val()), map.bias.as_ref().map(|bias| values(bias.val())))
        };
        let [(w, _), (b, _), (z, z_bias), (h, h_bias)] =
            [&layer.block.W, &layer.block.B, &layer.block.z, &layer.block.h].map(linear);
        let spectrum = Spectrum::new(&config.as_model(), Some(&layer.set_encoder), &input.0);
        let (phi, p, x) = (values(spectrum.phi_a), rows(spectrum.positions), rows(x));
        let phi =
            |graph: usize, pair: usize, channel: usize| f64::from(phi[(graph * 4 + pair) * 5 + channel]);
        // a_u[·, i] = B(φ_i ⊙ W x_u ⊙ φ_i p_u[i])
        let embedded = |graph: usize, node: usize, pair: usize| {
            let projected = mapped(&w, None, &x[node]);
            let combined: Vec<f64> = (0..5)
                .map(|channel| phi(graph, pair, channel).powi(2) * projected[channel] * p[node][pair])
                .collect();
            mapped(&b, None, &combined)
        };
        for (graph, nodes) in [(0, 0..7), (1, 7..10)] {
            for node in nodes.clone() {
                let gate = mapped(&z, z_bias.as_deref(), &x[node]);
                let candidate = mapped(&h, h_bias.as_deref(), &x[node]);
                for channel in 0..6 {
                    let likeness: f64 = (0..4)
                        .map(|pair| {
                            let sum: f64 =
                                nodes.clone().map(|other| embedded(graph, other, pair)[channel]).sum();
                            embedded(graph, node, pair)[channel] * sum
                        })
                        .sum();
                    let expected = likeness / (1.0 + (-gate[channel]).exp()) * candidate[channel];
                    let found = output[node][channel];
                    assert!((found - expected).abs() < 1e-5, "{node}, {channel}: {found} is not {expected}");
                }
            }
        }
        assert!(output.iter().flatten().any(|value| value.abs() > 1e-3), "the test must compare something");
    }

    #[test]
    fn a_graph_does_not_see_its_neighbours_in_the_batch() {
        let device = Device::flex();
        let config =
            BlockConfig { eigenpairs: 4, self_term: true, degree_scaling: true, ..BlockConfig::new(6) };
        let layer = config.init(1, &device).unwrap();
        let graphs = prepared(&config);
        let x = features(10, 6, &device);
        let of = |graphs: &[&PreparedGraph], x| {
            layer.forward(x, &BlockInput::from_prepared(&config, graphs, &device).unwrap())
        };
        let together = of(&[&graphs[0], &graphs[1]], x.clone());
        let alone = [of(&[&graphs[0]], x.clone().narrow(0, 0, 7)), of(&[&graphs[1]], x.narrow(0, 7, 3))];
        let difference = (together - Tensor::cat(alone.to_vec(), 0)).abs().max().into_scalar::<f32>();
        assert!(difference < 1e-6, "{difference}");
    }

    #[test]
    #[should_panic(expected = "node features must be [nodes, hidden]")]
    fn features_of_another_width_are_refused_by_name() {
        let (device, config) = (Device::flex(), BlockConfig { eigenpairs: 4, ..BlockConfig::new(6) });
        let graphs = prepared(&config);
        let input = BlockInput::from_prepared(&config, &[&graphs[0]], &device).unwrap();
        config.init(0, &device).unwrap().forward(features(7, 5, &device), &input);
    }
}
