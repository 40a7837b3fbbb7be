//! Synthetic batches.

use burn::tensor::Device;
use graphminnet::config::{
    ConfigError, EdgeEncoderKind, LevelKind, Loss, ModelConfig, NodeEncoderKind, NodePeKind, Recipe,
};
use graphminnet::model::{InputError, ModelInput};
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::{Batch, Features, Graph, GraphError};
use std::sync::Arc;

/// Graphs, mean nodes and mean directed edges of a batch, and the recipe that is run on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Name on the command line.
    pub name: &'static str,
    /// Recipe of the model.
    pub recipe: &'static str,
    /// Number of graphs.
    pub graphs: usize,
    /// Mean number of nodes.
    pub nodes: usize,
    /// Mean number of directed edges.
    pub edges: usize,
}

impl Shape {
    /// The four shapes, from small molecules to large superpixel graphs.
    pub const ALL: [Self; 4] = [
        Self { name: "zinc", recipe: "zinc", graphs: 32, nodes: 23, edges: 50 },
        Self { name: "peptides", recipe: "peptides-func", graphs: 128, nodes: 151, edges: 307 },
        Self { name: "cluster", recipe: "cluster", graphs: 16, nodes: 117, edges: 4300 },
        Self { name: "voc", recipe: "pascalvoc-sp", graphs: 16, nodes: 479, edges: 5420 },
    ];
}

/// A batch with targets, ready to be put on a device.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The model and its protocol.
    pub recipe: Recipe,
    /// The graphs.
    pub batch: Batch,
    /// The same graphs one by one, to be prepared; none where that is not timed.
    pub graphs: Vec<Arc<Graph>>,
    /// Targets, row-major `[graphs or nodes, targets]`; classes as numbers.
    pub targets: Vec<f32>,
}

impl Workload {
    /// A random batch of the given shape.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the shape names an unknown recipe.
    pub fn new(shape: Shape, seed: u64) -> Result<Self, ConfigError> {
        let recipe = Recipe::named(shape.recipe)?;
        let mut stream = rng::stream(seed, "bench", &[]);
        let mut sizes: Vec<usize> = (0..shape.graphs)
            .map(|_| ((shape.nodes as f64 * (1.0 + 0.2 * stream.normal())).round() as usize).max(4))
            .collect();
        // The last graph brings the total to what the shape says.
        let others: usize = sizes.iter().rev().skip(1).sum();
        if let Some(last) = sizes.last_mut() {
            *last = (shape.graphs * shape.nodes).saturating_sub(others).max(4);
        }
        let graphs = sizes.iter().map(|&nodes| {
            let undirected = (shape.edges as f64 / 2.0 * nodes as f64 / shape.nodes as f64).round() as usize;
            with_features(&recipe.model, nodes, undirected, &mut stream)
        });
        let graphs: Vec<Arc<Graph>> = built(graphs.map(|graph| graph.map(Arc::new)).collect());
        let batch = built(Batch::of_graphs(&graphs.iter().map(AsRef::as_ref).collect::<Vec<_>>()));
        Ok(Self { graphs, ..Self::complete(recipe, batch, &mut stream) })
    }

    /// One random graph with `nodes` nodes and the given mean degree, for a node-level model of the Molhiv shape
    /// (6 layers of width 64, GatedGCN, 16 eigenpairs, self term).
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the configuration is refused.
    pub fn large_graph(nodes: usize, mean_degree: f64, seed: u64) -> Result<Self, ConfigError> {
        let recipe = large_graph_recipe()?;
        let mut stream = rng::stream(seed, "bench", &[nodes as u64]);
        let undirected = (nodes as f64 * mean_degree / 2.0).round() as usize;
        let graph = built(with_features(&recipe.model, nodes, undirected, &mut stream));
        let batch = built(Batch::of_graphs(&[&graph]));
        Ok(Self::complete(recipe, batch, &mut stream))
    }

    fn complete(recipe: Recipe, batch: Batch, stream: &mut Stream) -> Self {
        let model = &recipe.model;
        let (graphs, nodes) = (batch.layout.num_graphs(), batch.layout.num_nodes());
        let pairs = model.stored_eigenpairs();
        let mut eigenvalues = Vec::with_capacity(graphs * pairs);
        for _ in 0..graphs {
            let mut row: Vec<f32> = (0..pairs).map(|_| stream.uniform() as f32 * 3.0 + 0.01).collect();
            row.sort_by(f32::total_cmp);
            eigenvalues.extend(row);
        }
        let scale = 1.0 / (nodes as f64 / graphs as f64).sqrt();
        let classes = if model.out_dim > 1 { model.out_dim } else { 2 };
        let rows = if model.level == LevelKind::Node { nodes } else { graphs };
        let targets = match recipe.train.loss {
            loss if loss.is_regression() => {
                let targets = model.out_dim / recipe.train.spread().blocks();
                (0..rows * targets).map(|_| stream.normal() as f32).collect()
            }
            Loss::BinaryCrossEntropy => (0..rows * model.out_dim).map(|_| stream.below(2) as f32).collect(),
            _ => (0..rows).map(|_| stream.below(classes) as f32).collect(),
        };
        let batch = Batch {
            eigenvalues,
            eigenvectors: (0..nodes * pairs).map(|_| (stream.normal() * scale) as f32).collect(),
            num_eigenpairs: vec![pairs; graphs],
            usable_eigenpairs: vec![pairs; graphs],
            random_walk: match model.node_pe {
                NodePeKind::Rwse => (0..nodes * model.rwse_steps).map(|_| stream.uniform_f32()).collect(),
                _ => Vec::new(),
            },
            log_degree: vec![1.0; nodes],
            ..batch
        };
        Self { recipe, batch, graphs: Vec::new(), targets }
    }

    /// The batch on a device.
    ///
    /// # Errors
    ///
    /// [`InputError`] if the batch does not fit the model, which would be a mistake in this file.
    pub fn input(&self, device: &Device) -> Result<ModelInput, InputError> {
        ModelInput::new(&self.recipe.model, self.batch.clone(), device)
    }
}

/// The model of a large graph: the Molhiv shape (6 layers of width 64, GatedGCN, 16 eigenpairs, self term) for nodes.
pub(super) fn large_graph_recipe() -> Result<Recipe, ConfigError> {
    let mut recipe = Recipe::named("molhiv")?;
    recipe.model = ModelConfig {
        node_encoder: NodeEncoderKind::Linear,
        node_in: 16,
        node_vocab: Vec::new(),
        node_pe: NodePeKind::None,
        edge_encoder: EdgeEncoderKind::Dummy,
        edge_vocab: Vec::new(),
        level: LevelKind::Node,
        head: graphminnet::config::HeadKind::Mlp,
        head_layers: 1,
        ..recipe.model
    };
    recipe.model.check()?;
    recipe.train.loss = Loss::L1;
    Ok(recipe)
}

/// A random graph: `undirected` edges drawn uniformly among distinct nodes, stored in both directions.
///
/// # Errors
///
/// [`GraphError`] if there are too many nodes or edges.
pub fn random_graph(nodes: usize, undirected: usize, stream: &mut Stream) -> Result<Graph, GraphError> {
    let count = if nodes < 2 { 0 } else { undirected };
    let mut edges = Vec::with_capacity(2 * count);
    for _ in 0..count {
        let from = stream.below(nodes);
        let to = (from + 1 + stream.below(nodes - 1)) % nodes;
        edges.extend([[from as u32, to as u32], [to as u32, from as u32]]);
    }
    Graph::from_edges(nodes, edges)
}

/// A random graph with the features that a model expects.
fn with_features(
    config: &ModelConfig,
    nodes: usize,
    undirected: usize,
    stream: &mut Stream,
) -> Result<Graph, GraphError> {
    let graph = random_graph(nodes, undirected, stream)?;
    let edges = graph.num_edges();
    let mut table = |rows: usize, vocabulary: &[usize], numbers: usize| {
        let categories = (0..rows).flat_map(|_| vocabulary).map(|&size| stream.below(size) as u32).collect();
        let values = (0..rows * numbers).map(|_| stream.normal() as f32).collect();
        Features::mixed(rows, vocabulary.len(), categories, numbers, values)
    };
    let node_numbers = match config.node_encoder {
        NodeEncoderKind::Linear | NodeEncoderKind::Premp | NodeEncoderKind::Degrees => config.node_in,
        _ => 0,
    };
    let edge_numbers = if config.edge_encoder == EdgeEncoderKind::Linear { config.edge_in } else { 0 };
    let node_features = table(nodes, &config.node_vocab, node_numbers)?;
    let edge_features = table(edges, &config.edge_vocab, edge_numbers)?;
    graph.with_node_features(node_features)?.with_edge_features(edge_features)
}

fn built<T>(result: Result<T, GraphError>) -> T {
    result.unwrap_or_else(|error| unreachable!("a synthetic graph is valid: {error}"))
}
