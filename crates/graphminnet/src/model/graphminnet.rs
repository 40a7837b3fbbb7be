//! GraphMinNet: encoders, layers, pooling, head.
//!
//! ```text
//! node features ─ node encoder ─┐
//! eigenpairs / walks ─ node PE ─┴─ x ─┐                                   ┌─ pooling ─ head → per graph
//! edge features ─ edge encoder ─── ε ─┼─ layer ─ layer ─ … ─ layer ── x ──┤
//! eigenvalues ─ set encoder φ ────────┘                                   ├─ head → per node
//!                                                                         └─ both ends (and ε) ─ head → per edge or pair
//! ```

use super::ends::both_ends;
use super::{
    BlockUse, FeatureEncoder, InputError, Layer, Model, ModelInput, NodePe, Place, Shared, Spectrum,
};
use crate::config::{ConfigError, LevelKind, ModelConfig, Pooling};
use crate::nn::{Gcn, Head, Init, Pass, SetEncoder, Site, Standardize};
use crate::ops::{PoolKind, RowIndex, dropout, pool, values};
use crate::weights;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::spectral::{Stop, Stopped, unless_stopped};
use graphminnet_data::{Batch, Features, Graph, Level};
use std::convert::Infallible;
use std::sync::Arc;

/// Most numbers that a model may have: more do not fit into a model file.
const MOST_NUMBERS: usize = 1 << 30;

/// The model.
#[derive(Module, Debug)]
pub struct GraphMinNet {
    node_encoder: FeatureEncoder,
    node_pe: Option<NodePe>,
    edge_encoder: Option<FeatureEncoder>,
    set_encoder: Option<SetEncoder>,
    layers: Vec<Layer>,
    head: Head,
    head_edges: Option<FeatureEncoder>,
    node_scale: Option<Standardize>,
    edge_scale: Option<Standardize>,
    graph_scale: Option<Standardize>,
    #[module(skip)]
    config: ModelConfig,
}

/// Everything that a pass computed on its way to the output.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The output, `[graphs or nodes, out_dim]`.
    pub output: Tensor<2>,
    /// Node features after the encoder (first) and after every layer, `[nodes, hidden]`.
    pub nodes: Vec<Tensor<2>>,
    /// Edge features after the last layer, `[edges, hidden]`, sorted by target; `None` without edge features.
    pub edges: Option<Tensor<2>>,
}

/// What the first layer of a model sees of a batch.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Node features and positional encodings, `[nodes, hidden]`.
    pub nodes: Tensor<2>,
    /// Edge features, `[edges, hidden]`, sorted by target; `None` for models without an edge encoder.
    pub edges: Option<Tensor<2>>,
}

impl GraphMinNet {
    /// A model with fresh parameters that depend on the seed alone.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration is not valid, or asks for more numbers than a model file can hold.
    pub fn new(config: &ModelConfig, seed: u64, device: &Device) -> Result<Self, ConfigError> {
        let numbers = weights::count_numbers(&Self::outline(config, device)?);
        if numbers > MOST_NUMBERS {
            return Err(ConfigError::TooLarge { numbers, most: MOST_NUMBERS });
        }
        Ok(Self::build(config, &mut Init::new(seed, device)))
    }

    /// A model of which only the shapes are there, to be given its weights; see [`Init::outline`].
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration is not valid.
    pub(crate) fn outline(config: &ModelConfig, device: &Device) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::build(config, &mut Init::outline(device)))
    }

    /// The parts of a checked configuration.
    fn build(config: &ModelConfig, init: &mut Init) -> Self {
        let node_encoder = FeatureEncoder::for_nodes(config, init);
        let node_pe = NodePe::new(config, init);
        let edge_encoder = FeatureEncoder::for_edges(config, init);
        let set_encoder = config.has_set_encoder().then(|| SetEncoder::new(config.pe_width, init));
        let layers = (0..config.layers).map(|_| Layer::new(config, init)).collect();
        let head = Head::new(config, init);
        let head_edges = FeatureEncoder::for_head(config, init);
        let scale = |takes_numbers: bool, columns: usize| {
            (config.standardize && takes_numbers).then(|| Standardize::new(columns, init))
        };
        let node_scale = scale(config.takes_node_numbers(), config.node_in);
        let edge_scale = scale(config.reads_edge_features() && config.takes_edge_numbers(), config.edge_in);
        let graph_numbers = config.graph_numbers();
        let graph_scale = (graph_numbers > 0).then(|| Standardize::new(graph_numbers, init));
        let config = config.clone();
        Self {
            node_encoder,
            node_pe,
            edge_encoder,
            set_encoder,
            layers,
            head,
            head_edges,
            node_scale,
            edge_scale,
            graph_scale,
            config,
        }
    }

    /// The configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Predictions: `[graphs, out_dim]`, or a row per node, per edge (sorted by target) or per pair for models that answer
    /// for these.
    pub fn forward(&self, input: &ModelInput, pass: Pass) -> Tensor<2> {
        self.forward_perturbed(input, pass, |nodes| nodes)
    }

    /// The same as [`GraphMinNet::forward`], with the encoded node features changed before the first layer.
    pub fn forward_perturbed(
        &self,
        input: &ModelInput,
        pass: Pass,
        change: impl FnOnce(Tensor<2>) -> Tensor<2>,
    ) -> Tensor<2> {
        let Encoded { nodes, edges } = self.encode(input, pass);
        let encoded = Encoded { nodes: change(nodes), edges };
        let nodes = self.embed_encoded(encoded, input, pass);
        self.predict(nodes, input)
    }

    /// Node features after the last layer, `[nodes, hidden]`.
    pub fn embed(&self, input: &ModelInput, pass: Pass) -> Tensor<2> {
        self.embed_encoded(self.encode(input, pass), input, pass)
    }

    /// The same as [`GraphMinNet::forward`], keeping what was computed on the way.
    pub fn forward_traced(&self, input: &ModelInput, pass: Pass) -> Trace {
        let mut trace = Vec::with_capacity(self.layers.len() + 1);
        let encoded = self.encode(input, pass);
        let observe = |nodes: &Tensor<2>| -> Result<(), Infallible> {
            trace.push(nodes.clone());
            Ok(())
        };
        let Ok((nodes, edges)) = self.run_layers(encoded, input, pass, true, observe);
        Trace { output: self.predict(nodes, input), nodes: trace, edges }
    }

    /// What the block does in every layer when a batch is answered for; empty for models without the block.
    #[doc(hidden)]
    pub fn block_use(&self, input: &ModelInput) -> Vec<BlockUse> {
        let Encoded { mut nodes, mut edges } = self.encode(input, Pass::Eval);
        let spectrum = self.spectrum(input);
        let shared = Shared { config: &self.config, input, spectrum: &spectrum };
        let mut found = Vec::with_capacity(self.layers.len());
        for (layer, parameters) in self.layers.iter().enumerate() {
            let place = Place { layer, pass: Pass::Eval, update_edges: true };
            found.extend(parameters.block_use(nodes.clone(), edges.clone(), shared, place));
            (nodes, edges) = parameters.forward(nodes, edges, shared, place);
        }
        found
    }

    /// What the eigenpairs of a batch contribute, shared by all layers.
    pub fn spectrum(&self, input: &ModelInput) -> Spectrum {
        Spectrum::new(&self.config, self.set_encoder.as_ref(), input)
    }

    /// What the first layer sees of a batch: features and positional encodings after their encoders.
    pub fn encode(&self, input: &ModelInput, pass: Pass) -> Encoded {
        let nodes = self.encode_nodes(input, pass);
        let edge_scale = self.edge_scale.as_ref();
        let edges = self.edge_encoder.as_ref().map(|encoder| encoder.forward(&input.edges, edge_scale, pass));
        Encoded { nodes, edges }
    }

    /// Node features after the last layer, `[nodes, hidden]`, from what the first layer sees.
    pub fn embed_encoded(&self, encoded: Encoded, input: &ModelInput, pass: Pass) -> Tensor<2> {
        let Ok((nodes, _)) = self.run_layers(encoded, input, pass, false, |_| Ok::<(), Infallible>(()));
        nodes
    }

    /// [`GraphMinNet::embed`], unless it is to stop: asked before every layer.
    pub(crate) fn embed_unless(
        &self,
        input: &ModelInput,
        pass: Pass,
        stop: Stop<'_>,
    ) -> Result<Tensor<2>, Stopped> {
        let encoded = self.encode(input, pass);
        Ok(self.run_layers(encoded, input, pass, false, |_| unless_stopped(stop))?.0)
    }

    fn run_layers<E>(
        &self,
        encoded: Encoded,
        input: &ModelInput,
        pass: Pass,
        keep_edges: bool,
        mut observe: impl FnMut(&Tensor<2>) -> Result<(), E>,
    ) -> Result<(Tensor<2>, Option<Tensor<2>>), E> {
        let Encoded { mut nodes, mut edges } = encoded;
        let spectrum = self.spectrum(input);
        let shared = Shared { config: &self.config, input, spectrum: &spectrum };
        observe(&nodes)?;
        for (number, layer) in self.layers.iter().enumerate() {
            // Nobody reads the edges of the last layer, unless a trace was asked for.
            let update_edges = keep_edges || number + 1 < self.layers.len();
            let place = Place { layer: number, pass, update_edges };
            (nodes, edges) = layer.forward(nodes, edges, shared, place);
            observe(&nodes)?;
        }
        Ok((nodes, edges))
    }

    fn encode_nodes(&self, input: &ModelInput, pass: Pass) -> Tensor<2> {
        let around = input.around(pass);
        let features = self.node_encoder.forward(&input.nodes, self.node_scale.as_ref(), around);
        let [_, width] = features.dims();
        let rate = around.dropout(self.config.drop_encoder, Site { layer: 0, place: "encoder" }, width);
        let features = (0..self.config.encoder_hops)
            .fold(dropout(features, rate), |features, _| Gcn::propagate(features, &input.structure));
        match &self.node_pe {
            None => features,
            Some(encoder) => Tensor::cat(vec![features, encoder.forward(input, &self.config, pass)], 1),
        }
    }

    /// Predictions from node features after the last layer: `[rows of the level, out_dim]`.
    pub fn predict(&self, nodes: Tensor<2>, input: &ModelInput) -> Tensor<2> {
        let structure = &input.structure;
        let rows = match self.config.level {
            LevelKind::Node => nodes,
            LevelKind::Graph => self.pooled(nodes, input),
            LevelKind::Pair => {
                return self.predict_pairs(nodes, [structure.pair_sources(), structure.pair_targets()]);
            }
            LevelKind::Edge => {
                let scale = self.edge_scale.as_ref();
                let encoder = self.head_edges.as_ref();
                let edges = encoder.map(|encoder| encoder.forward(&input.edges, scale, Pass::Eval));
                both_ends(nodes, [structure.sources(), structure.targets()], &self.config, edges)
            }
        };
        let rows = match (&self.graph_scale, &input.graphs) {
            (Some(scale), Some(numbers)) => Tensor::cat(vec![rows, scale.forward(numbers.clone())], 1),
            _ => rows,
        };
        self.head.forward(rows)
    }

    /// Predictions for any pairs of nodes, given the rows of their ends: `[pairs, out_dim]`.
    pub(crate) fn predict_pairs(&self, nodes: Tensor<2>, ends: [&Arc<RowIndex>; 2]) -> Tensor<2> {
        self.head.forward(both_ends(nodes, ends, &self.config, None))
    }

    /// Node features pooled by graph, `[graphs, hidden]`.
    pub(crate) fn pooled(&self, nodes: Tensor<2>, input: &ModelInput) -> Tensor<2> {
        let kind = match self.config.pooling {
            Pooling::Mean => PoolKind::Mean,
            Pooling::Add => PoolKind::Sum,
            Pooling::Max => PoolKind::Max,
        };
        pool(nodes, kind, &input.structure)
    }
}

impl Model for GraphMinNet {
    type Input = ModelInput;

    fn input(&self, batch: Batch, device: &Device) -> Result<ModelInput, InputError> {
        ModelInput::new(&self.config, batch, device)
    }

    fn forward(&self, input: &ModelInput, pass: Pass) -> Tensor<2> {
        self.forward_perturbed(input, pass, |nodes| nodes)
    }

    fn level(&self) -> Level {
        self.config.level.into()
    }

    fn out_dim(&self) -> usize {
        self.config.out_dim
    }

    /// Takes the scale of numeric features, where the configuration asks for it.
    fn fit(&self, graphs: &[&Graph]) {
        for (scale, features) in [
            (&self.node_scale, Graph::node_features as fn(&Graph) -> &Features),
            (&self.edge_scale, Graph::edge_features),
            (&self.graph_scale, Graph::graph_features),
        ] {
            let tables = graphs.iter().map(|graph| features(graph));
            let rows =
                tables.flat_map(|table| table.number_values().chunks_exact(table.number_columns().max(1)));
            if let Some(scale) = scale {
                scale.fit(rows);
            }
        }
    }

    fn fit_part(&self, graph: &Graph, own: usize, exchange: &dyn Exchange) {
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        for (scale, table, count) in [(&self.node_scale, nodes, own), (&self.edge_scale, edges, edges.rows())]
        {
            if let Some(scale) = scale {
                let rows = table.number_values().chunks_exact(table.number_columns().max(1)).take(count);
                scale.fit_among(rows, exchange);
            }
        }
        // All parts have the features of the graph.
        if let Some(scale) = &self.graph_scale {
            let table = graph.graph_features();
            scale.fit(table.number_values().chunks_exact(table.number_columns().max(1)));
        }
    }

    fn first_nonfinite(&self, input: &ModelInput, pass: Pass) -> Option<String> {
        let broken = |tensor: &Tensor<2>| values(tensor.clone()).iter().any(|value| !value.is_finite());
        let trace = self.forward_traced(input, pass);
        match trace.nodes.iter().position(broken) {
            Some(0) => Some("the encoder".to_owned()),
            Some(after) => Some(format!("layer {}", after - 1)),
            None => broken(&trace.output).then(|| "the head".to_owned()),
        }
    }
}
