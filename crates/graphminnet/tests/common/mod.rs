//! Helpers shared by the integration tests: graphs, inputs, models with lively parameters, comparisons.

// Every test file uses its own share.
#![allow(dead_code)]

pub mod golden;
pub mod small_bundle;

use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::config::{
    Aggregate, EdgeEncoderKind, GlobalKind, InnerProduct, InputNorm, Layout, LocalKind, NodeEncoderKind,
    PairKind, RECIPE_NAMES, Recipe,
};
use graphminnet::{GraphMinNet, ModelConfig, ModelInput, weights};
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
use graphminnet_data::{Features, Graph};
use std::sync::Arc;

/// The CPU without recording for gradients.
pub fn plain() -> Device {
    Device::flex()
}

/// The CPU with recording for gradients.
pub fn tracked() -> Device {
    Device::flex().autodiff()
}

/// All values of a tensor, row-major.
pub fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// A tensor of the given shape.
pub fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

/// Standard normal numbers.
pub fn normals(count: usize, random: &mut Stream) -> Vec<f32> {
    (0..count).map(|_| random.normal() as f32).collect()
}

/// Both directions of every edge.
pub fn both_ways(edges: impl IntoIterator<Item = [usize; 2]>) -> Vec<[u32; 2]> {
    edges.into_iter().flat_map(|[a, b]| [[a as u32, b as u32], [b as u32, a as u32]]).collect()
}

/// The path 0 – 1 – … – (n − 1).
pub fn path(nodes: usize) -> Graph {
    Graph::from_edges(nodes, both_ways((1..nodes).map(|node| [node - 1, node]))).unwrap()
}

/// The cycle on `nodes` nodes.
pub fn cycle(nodes: usize) -> Graph {
    circulant(nodes, &[1])
}

/// Every node is connected to those that lie `steps` further round the circle.
pub fn circulant(nodes: usize, steps: &[usize]) -> Graph {
    let edges = steps.iter().flat_map(|step| (0..nodes).map(move |node| [node, (node + step) % nodes]));
    Graph::from_edges(nodes, both_ways(edges)).unwrap()
}

/// All pairs connected.
pub fn complete(nodes: usize) -> Graph {
    let edges = (0..nodes).flat_map(|a| (0..a).map(move |b| [a, b]));
    Graph::from_edges(nodes, both_ways(edges)).unwrap()
}

/// Node 0 connected to all others.
pub fn star(nodes: usize) -> Graph {
    Graph::from_edges(nodes, both_ways((1..nodes).map(|leaf| [0, leaf]))).unwrap()
}

/// A rectangular grid.
pub fn grid(width: usize, height: usize) -> Graph {
    let across = (0..height).flat_map(|y| (1..width).map(move |x| [y * width + x - 1, y * width + x]));
    let down = (1..height).flat_map(|y| (0..width).map(move |x| [(y - 1) * width + x, y * width + x]));
    Graph::from_edges(width * height, both_ways(across.chain(down))).unwrap()
}

/// The hypercube of the given dimension.
pub fn hypercube(dimension: u32) -> Graph {
    let nodes = 1usize << dimension;
    let edges = (0..nodes)
        .flat_map(|a| (0..dimension).map(move |bit| [a, a ^ (1 << bit)]))
        .filter(|[a, b]| a < b)
        .collect::<Vec<_>>();
    Graph::from_edges(nodes, both_ways(edges)).unwrap()
}

/// A random undirected graph: each pair is connected with the given probability.
pub fn random_graph(nodes: usize, probability: f64, random: &mut Stream) -> Graph {
    let pairs: Vec<[usize; 2]> = (0..nodes).flat_map(|a| (0..a).map(move |b| [a, b])).collect();
    let edges: Vec<[usize; 2]> = pairs.into_iter().filter(|_| random.chance(probability)).collect();
    Graph::from_edges(nodes, both_ways(edges)).unwrap()
}

/// Two graphs side by side, not connected.
pub fn side_by_side(left: &Graph, right: &Graph) -> Graph {
    let first = left.num_nodes() as u32;
    let moved = right.edges().iter().map(|ends| ends.map(|node| node + first));
    let edges = left.edges().iter().copied().chain(moved).collect();
    Graph::from_edges(left.num_nodes() + right.num_nodes(), edges).unwrap()
}

/// Random node and edge features of the kind that the model's encoders take.
pub fn dressed(graph: &Graph, config: &ModelConfig, random: &mut Stream) -> Graph {
    let numbers = |rows: usize, columns: usize, random: &mut Stream| {
        Features::numbers(rows, columns, normals(rows * columns, random)).unwrap()
    };
    let categories = |rows: usize, sizes: &[usize], random: &mut Stream| {
        let values = (0..rows * sizes.len())
            .map(|at| random.below(sizes[at % sizes.len()]) as u32)
            .collect::<Vec<_>>();
        Features::categories(rows, sizes.len(), values).unwrap()
    };
    let mixed = |rows: usize, columns: usize, sizes: &[usize], random: &mut Stream| {
        let numbers = normals(rows * columns, random);
        let table = categories(rows, sizes, random);
        Features::mixed(rows, sizes.len(), table.category_values().to_vec(), columns, numbers).unwrap()
    };
    let (nodes, edges) = (graph.num_nodes(), graph.num_edges());
    let node_features = match config.node_encoder {
        NodeEncoderKind::Linear => numbers(nodes, config.node_in, random),
        NodeEncoderKind::Premp | NodeEncoderKind::Degrees => Features::none(nodes),
        NodeEncoderKind::Embed | NodeEncoderKind::Atoms => categories(nodes, &config.node_vocab, random),
        NodeEncoderKind::Mixed => mixed(nodes, config.node_in, &config.node_vocab, random),
    };
    let edge_features = match config.edge_encoder {
        EdgeEncoderKind::Linear => numbers(edges, config.edge_in, random),
        EdgeEncoderKind::Embed | EdgeEncoderKind::Atoms => categories(edges, &config.edge_vocab, random),
        EdgeEncoderKind::Mixed => mixed(edges, config.edge_in, &config.edge_vocab, random),
        EdgeEncoderKind::Dummy | EdgeEncoderKind::None => Features::none(edges),
    };
    Graph::new(nodes, graph.edges().to_vec(), node_features, edge_features).unwrap()
}

/// The same graph with node `order[k]` renamed to `k`; features move along, edges keep their order.
pub fn renumbered(graph: &Graph, order: &[usize]) -> Graph {
    let mut name = vec![0u32; order.len()];
    for (new, &old) in order.iter().enumerate() {
        name[old] = new as u32;
    }
    let edges = graph.edges().iter().map(|ends| ends.map(|node| name[node as usize])).collect();
    let features = graph.node_features().select_rows(order.iter().copied());
    Graph::new(graph.num_nodes(), edges, features, graph.edge_features().clone()).unwrap()
}

/// Everything that the model needs to know of a graph.
pub fn prepared(graph: Graph, config: &ModelConfig) -> PreparedGraph {
    prepare_graph(&Arc::new(graph), &config.prepare_options()).unwrap()
}

/// One batch.
pub fn input_of(config: &ModelConfig, graphs: &[PreparedGraph], device: &Device) -> ModelInput {
    ModelInput::from_prepared(config, &graphs.iter().collect::<Vec<_>>(), device).unwrap()
}

/// A model in which no parameter or running statistic sits at its special starting value.
pub fn lively_model(config: &ModelConfig, seed: u64, device: &Device) -> GraphMinNet {
    let model = GraphMinNet::new(config, seed, device).unwrap();
    let random = &mut rng::stream(seed, "lively", &[]);
    let tensors = weights::named_tensors(&model).into_iter().map(|mut tensor| {
        let vector = tensor.shape.len() == 1;
        for value in &mut tensor.values {
            if tensor.name.ends_with(".running_var") {
                *value = 0.6 + random.uniform_f32();
            } else if tensor.name.ends_with(".beta") {
                *value = 0.3 + random.uniform_f32();
            } else if vector {
                *value += 0.3 * random.normal() as f32;
            }
        }
        tensor
    });
    let tensors: Vec<_> = tensors.collect();
    weights::replace(model, tensors).unwrap()
}

/// Largest absolute value, or `least` if that is larger.
pub fn scale(values: &[f32], least: f32) -> f32 {
    values.iter().fold(least, |largest, value| largest.max(value.abs()))
}

/// Largest difference between two lists, relative to the larger scale of the two (at least 10⁻³); infinite where
/// a value is not a number.
pub fn difference(a: &[f32], b: &[f32]) -> f32 {
    difference_at(a, b, 1e-3)
}

/// The same with another least scale, for values that are small only because larger ones cancel.
pub fn difference_at(a: &[f32], b: &[f32], least: f32) -> f32 {
    assert_eq!(a.len(), b.len(), "lists of different length");
    let scale = scale(a, least).max(scale(b, least));
    a.iter().zip(b).fold(0.0, |worst: f32, (a, b)| {
        let error = (a - b).abs() / scale;
        if error.is_nan() { f32::INFINITY } else { worst.max(error) }
    })
}

/// Layout, aggregate, inner product, and the two inside type 4.
pub type Form = (Layout, Aggregate, InnerProduct, PairKind, PairKind);

/// Every form of the block.
pub fn forms() -> Vec<Form> {
    let mut forms = Vec::new();
    for &layout in Layout::ALL {
        for &aggregate in Aggregate::ALL {
            for kind in [InnerProduct::Type1, InnerProduct::Type2, InnerProduct::Type3] {
                forms.push((layout, aggregate, kind, PairKind::Type1, PairKind::Type3));
            }
        }
        for kind in [InnerProduct::Type4a, InnerProduct::Type4b] {
            for &first in PairKind::ALL {
                for second in [PairKind::Type2, PairKind::Type3] {
                    forms.push((layout, Aggregate::Mul, kind, first, second));
                }
            }
        }
    }
    forms
}

/// A small configuration of a form; all sizes differ unless the form needs two of them equal.
pub fn base((layout, aggregate, inner_product, type4_first, type4_second): Form) -> ModelConfig {
    let type4 = matches!(inner_product, InnerProduct::Type4a | InnerProduct::Type4b);
    let square = inner_product == InnerProduct::Type2
        || type4 && (type4_first == PairKind::Type2 || type4_second == PairKind::Type2);
    let hidden = 6;
    let (lap_dim, pe_width) = match (square, layout) {
        (false, _) => (5, 4),
        (true, Layout::Channel) => (hidden, 4),
        (true, Layout::Eigen) => (5, hidden),
    };
    ModelConfig {
        hidden,
        lap_dim,
        pe_width,
        layers: 1,
        layout,
        aggregate,
        inner_product,
        type4_first,
        type4_second,
        input_norm: InputNorm::None,
        ..ModelConfig::default()
    }
}

/// Small models with every local branch beside attention, the state space convolution, and nothing.
pub fn baselines() -> Vec<(String, ModelConfig)> {
    let mut all = Vec::new();
    for &local in LocalKind::ALL {
        for global in [GlobalKind::Attention, GlobalKind::Gssc, GlobalKind::None] {
            if (local, global) == (LocalKind::None, GlobalKind::None) {
                continue;
            }
            let config = ModelConfig {
                hidden: 8,
                layers: 2,
                lap_dim: 5,
                pe_width: 4,
                attention_heads: 2,
                local,
                global,
                node_in: 3,
                ..ModelConfig::default()
            };
            config.check().unwrap();
            all.push((format!("local {local}, global {global}"), config));
        }
    }
    all
}

/// The ten recipes, each shrunk to a size that takes milliseconds.
pub fn small_recipes() -> Vec<(&'static str, ModelConfig)> {
    RECIPE_NAMES.iter().map(|name| (*name, shrunk(Recipe::named(name).unwrap().model))).collect()
}

fn shrunk(config: ModelConfig) -> ModelConfig {
    let config = ModelConfig {
        hidden: 12,
        layers: 2,
        pe_width: 8,
        lap_dim: config.lap_dim.min(6),
        pe_dim: 5,
        rwse_steps: config.rwse_steps.min(5),
        ..config
    };
    config.check().unwrap();
    config
}
