//! The branches that GraphMinNet is compared with, each against a plain loop in 64-bit floats.
//!
//! Renaming of nodes, independence of the batch and degenerate graphs are tested for them in `properties.rs`.

mod common;

use common::{dressed, input_of, lively_model, normals, plain, prepared, random_graph, tensor, values};
use graphminnet::config::{GlobalKind, LocalKind, Override, RECIPE_NAMES, Recipe, with_overrides};
use graphminnet::model::Local;
use graphminnet::nn::{Linear, Pass};
use graphminnet::{GraphMinNet, ModelConfig, ModelInput, weights};
use graphminnet_data::Graph;
use graphminnet_data::rng;
use graphminnet_data::spectral::PreparedGraph;

/// Rounding of 32-bit floats, relative to the largest output.
const ROUNDING: f32 = 2e-5;

const HIDDEN: usize = 8;

fn config(local: LocalKind, global: GlobalKind) -> ModelConfig {
    ModelConfig {
        hidden: HIDDEN,
        layers: 1,
        lap_dim: 4,
        pe_width: 3,
        attention_heads: 2,
        local,
        global,
        ..ModelConfig::default()
    }
}

/// Graphs of several sizes, among them one without edges, one with a single node and one with directed edges,
/// repeated edges and a loop.
fn graphs(config: &ModelConfig) -> Vec<PreparedGraph> {
    let random = &mut rng::stream(3, "baselines", &[]);
    let odd = Graph::from_edges(4, vec![[0, 1], [0, 1], [2, 2], [3, 1]]).unwrap();
    let plain = vec![
        random_graph(7, 0.5, random),
        Graph::from_edges(3, vec![]).unwrap(),
        odd,
        Graph::from_edges(1, vec![]).unwrap(),
        random_graph(11, 0.3, random),
    ];
    plain.into_iter().map(|graph| prepared(dressed(&graph, config, random), config)).collect()
}

/// A matrix in 64-bit floats, row by row.
#[derive(Clone)]
struct Matrix {
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn zeros(rows: usize, columns: usize) -> Self {
        Self { columns, values: vec![0.0; rows * columns] }
    }

    fn of(values: &[f32], columns: usize) -> Self {
        Self { columns, values: values.iter().map(|&value| f64::from(value)).collect() }
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.columns + column] += value;
    }

    fn relu(mut self) -> Self {
        self.values.iter_mut().for_each(|value| *value = value.max(0.0));
        self
    }

    /// The rows through a linear map.
    fn through(&self, map: &Linear) -> Self {
        let [out, _] = map.weight.dims();
        let weight = Self::of(&values(map.weight.val()), self.columns);
        let bias = map.bias.as_ref().map(|bias| values(bias.val()));
        let mut result = Self::zeros(self.rows(), out);
        for row in 0..self.rows() {
            for o in 0..out {
                let dot: f64 = (0..self.columns).map(|c| self.at(row, c) * weight.at(o, c)).sum();
                result.add(row, o, dot + bias.as_ref().map_or(0.0, |bias| f64::from(bias[o])));
            }
        }
        result
    }

    fn close_to(&self, found: &[f32]) {
        let expected: Vec<f32> = self.values.iter().map(|&value| value as f32).collect();
        let error = common::difference(&expected, found);
        assert!(error < ROUNDING, "relative error {error}");
    }
}

/// A model with one layer, a batch and random features.
struct Case {
    model: GraphMinNet,
    input: ModelInput,
    x: Vec<f32>,
}

impl Case {
    fn new(local: LocalKind, global: GlobalKind) -> Self {
        let config = config(local, global);
        let model = lively_model(&config, 5, &plain());
        let input = input_of(&config, &graphs(&config), &plain());
        let x = normals(input.structure.num_nodes() * HIDDEN, &mut rng::stream(5, "features", &[]));
        Self { model, input, x }
    }

    fn features(&self) -> burn::tensor::Tensor<2> {
        tensor(&self.x, [self.input.structure.num_nodes(), HIDDEN], &plain())
    }

    fn local(&self) -> &Local {
        self.model.layers()[0].local().unwrap()
    }

    /// Source and target of every edge.
    fn edges(&self) -> Vec<(usize, usize)> {
        let topology = self.input.structure.topology();
        topology.source.iter().zip(&topology.target).map(|(&s, &t)| (s as usize, t as usize)).collect()
    }
}

#[test]
fn gcn_averages_with_symmetric_normalisation() {
    let case = Case::new(LocalKind::Gcn, GlobalKind::None);
    let Local::Gcn(gcn) = case.local() else { panic!("not a GCN") };
    let x = Matrix::of(&case.x, HIDDEN);
    let mut degree = vec![1.0; x.rows()];
    case.edges().iter().for_each(|&(_, target)| degree[target] += 1.0);
    let mut mixed = Matrix::zeros(x.rows(), HIDDEN);
    let own = (0..x.rows()).map(|node| (node, node));
    for (source, target) in case.edges().into_iter().chain(own) {
        let weight = 1.0 / f64::sqrt(degree[source] * degree[target]);
        (0..HIDDEN).for_each(|c| mixed.add(target, c, weight * x.at(source, c)));
    }
    mixed.through(&gcn.lin).close_to(&values(gcn.forward(case.features(), &case.input.structure)));
}

#[test]
fn gin_sums_neighbours_before_its_network() {
    let case = Case::new(LocalKind::Gin, GlobalKind::None);
    let Local::Gin(gin) = case.local() else { panic!("not a GIN") };
    let x = Matrix::of(&case.x, HIDDEN);
    let mut mixed = x.clone();
    for (source, target) in case.edges() {
        (0..HIDDEN).for_each(|c| mixed.add(target, c, x.at(source, c)));
    }
    let expected = mixed.through(&gin.lin1).relu().through(&gin.lin2);
    expected.close_to(&values(gin.forward(case.features(), &case.input.structure)));
}

#[test]
fn gat_weighs_neighbours_by_a_softmax_over_incoming_edges() {
    let case = Case::new(LocalKind::Gat, GlobalKind::None);
    let Local::Gat(gat) = case.local() else { panic!("not a GAT") };
    let (heads, width) = (2, HIDDEN / 2);
    let (nodes, edges) = (case.input.structure.num_nodes(), case.edges());
    let features = normals(edges.len() * HIDDEN, &mut rng::stream(6, "edges", &[]));
    let y = Matrix::of(&case.x, HIDDEN).through(&gat.lin);
    let e = Matrix::of(&features, HIDDEN).through(gat.lin_edge.as_ref().unwrap());
    let vector = |parameter: &burn::module::Param<burn::tensor::Tensor<2>>| values(parameter.val());
    let (s, t) = (vector(&gat.att_source), vector(&gat.att_target));
    let a = vector(gat.att_edge.as_ref().unwrap());
    let dot = |rows: &Matrix, row: usize, head: usize, with: &[f32]| -> f64 {
        (0..width).map(|d| rows.at(row, head * width + d) * f64::from(with[head * width + d])).sum()
    };
    let mut expected = Matrix::zeros(nodes, HIDDEN);
    let bias = values(gat.bias.val());
    for node in 0..nodes {
        let incoming: Vec<usize> = (0..edges.len()).filter(|&edge| edges[edge].1 == node).collect();
        for head in 0..heads {
            let mean: f64 = incoming.iter().map(|&edge| dot(&e, edge, head, &a)).sum::<f64>()
                / incoming.len().max(1) as f64;
            let mut scores: Vec<(usize, f64)> =
                incoming.iter().map(|&edge| (edges[edge].0, dot(&e, edge, head, &a))).collect();
            scores.push((node, mean));
            for (source, score) in &mut scores {
                *score += dot(&y, *source, head, &s) + dot(&y, node, head, &t);
                *score = if *score > 0.0 { *score } else { 0.2 * *score };
            }
            let total: f64 = scores.iter().map(|(_, score)| score.exp()).sum();
            for (source, score) in scores {
                for d in 0..width {
                    let c = head * width + d;
                    expected.add(node, c, score.exp() / total * y.at(source, c));
                }
            }
        }
        (0..HIDDEN).for_each(|c| expected.add(node, c, f64::from(bias[c])));
    }
    let edges = tensor(&features, [edges.len(), HIDDEN], &plain());
    expected.close_to(&values(gat.forward(case.features(), Some(edges), &case.input.structure)));
}

#[test]
fn gat_runs_without_edge_features_and_with_huge_scores() {
    let config = ModelConfig {
        edge_encoder: graphminnet::config::EdgeEncoderKind::None,
        ..config(LocalKind::Gat, GlobalKind::None)
    };
    let model = lively_model(&config, 2, &plain());
    assert!(weights::named_tensors(&model).iter().all(|tensor| !tensor.name.contains("edge")));
    let input = input_of(&config, &graphs(&config), &plain());
    let Some(Local::Gat(gat)) = model.layers()[0].local() else { panic!("not a GAT") };
    let x: Vec<f32> = normals(input.structure.num_nodes() * HIDDEN, &mut rng::stream(1, "x", &[]));
    let huge: Vec<f32> = x.iter().map(|value| 1e6 * value).collect();
    let out =
        gat.forward(tensor(&huge, [input.structure.num_nodes(), HIDDEN], &plain()), None, &input.structure);
    assert!(values(out).iter().all(|value| value.is_finite()));
}

#[test]
fn attention_is_a_softmax_over_the_nodes_of_the_same_graph() {
    let case = Case::new(LocalKind::None, GlobalKind::Attention);
    let attention = case.model.layers()[0].attention().unwrap();
    let (heads, width) = (2, HIDDEN / 2);
    let qkv = Matrix::of(&case.x, HIDDEN).through(&attention.qkv);
    let graph_of = case.input.structure.graph_of_node();
    let nodes = graph_of.len();
    let mut mixed = Matrix::zeros(nodes, HIDDEN);
    for node in 0..nodes {
        let peers: Vec<usize> = (0..nodes).filter(|&other| graph_of[other] == graph_of[node]).collect();
        for head in 0..heads {
            let column = |part: usize, d: usize| part * HIDDEN + head * width + d;
            let score = |other: usize| -> f64 {
                let dot: f64 =
                    (0..width).map(|d| qkv.at(node, column(0, d)) * qkv.at(other, column(1, d))).sum();
                dot / (width as f64).sqrt()
            };
            let total: f64 = peers.iter().map(|&other| score(other).exp()).sum();
            for &other in &peers {
                for d in 0..width {
                    let share = score(other).exp() / total;
                    mixed.add(node, head * width + d, share * qkv.at(other, column(2, d)));
                }
            }
        }
    }
    let found = values(attention.forward(case.features(), &case.input.structure));
    mixed.through(&attention.out).close_to(&found);
}

#[test]
fn gssc_is_its_sum_over_all_pairs() {
    let case = Case::new(LocalKind::None, GlobalKind::Gssc);
    let gssc = case.model.layers()[0].gssc().unwrap();
    let spectrum = case.model.spectrum(&case.input);
    let [_, pairs, channels] = spectrum.phi_c.dims();
    let graph_of = case.input.structure.graph_of_node();
    let nodes = graph_of.len();
    let positions = Matrix::of(&values(spectrum.positions.clone()), pairs);
    let phi =
        Matrix::of(&values(spectrum.phi_c.clone().reshape([0i64 as i32, -1, channels as i32])), channels);
    // C_u as rows (u, i).
    let mut c = Matrix::zeros(nodes * pairs, channels);
    for (node, &graph) in graph_of.iter().enumerate() {
        for pair in 0..pairs {
            for r in 0..channels {
                let value = phi.at(graph as usize * pairs + pair, r) * positions.at(node, pair);
                c.add(node * pairs + pair, r, value);
            }
        }
    }
    let inner = |a: &Matrix, u: usize, b: &Matrix, v: usize| -> f64 {
        let flat = pairs * channels;
        (0..flat).map(|at| a.values[u * flat + at] * b.values[v * flat + at]).sum()
    };
    let degrees = values(case.input.log_degree.clone().unwrap());
    let coefficients = Matrix::of(&values(gssc.deg_coef.val()), 2);
    let mut y = Matrix::zeros(nodes, HIDDEN);
    for (node, &degree) in degrees.iter().enumerate() {
        for k in 0..HIDDEN {
            let scale = coefficients.at(k, 0) + coefficients.at(k, 1) * f64::from(degree);
            y.add(node, k, scale * f64::from(case.x[node * HIDDEN + k]));
        }
    }
    let (query, key) = (c.through(&gssc.Wq), c.through(&gssc.Wk));
    let (first, second) = (c.through(&gssc.Ws1), c.through(&gssc.Ws2));
    let (values_of, own) = (y.through(&gssc.X), y.through(&gssc.R));
    let mut taken = Matrix::zeros(nodes, HIDDEN);
    for u in 0..nodes {
        for v in (0..nodes).filter(|&v| graph_of[v] == graph_of[u]) {
            let kernel = inner(&query, u, &key, v);
            (0..HIDDEN).for_each(|k| taken.add(u, k, kernel * values_of.at(v, k)));
        }
    }
    let mut expected = taken.through(&gssc.out);
    for u in 0..nodes {
        let weight = inner(&first, u, &second, u);
        (0..HIDDEN).for_each(|k| expected.add(u, k, weight * own.at(u, k)));
    }
    expected.close_to(&values(gssc.forward(case.features(), &case.input, &spectrum)));
}

#[test]
fn parameters_are_counted_as_by_hand() {
    let layers = |config: &ModelConfig| {
        let model = GraphMinNet::new(config, 0, &plain()).unwrap();
        weights::named_tensors(&model)
            .iter()
            .filter(|tensor| tensor.is_parameter() && tensor.name.starts_with("layers."))
            .map(|tensor| tensor.values.len())
            .sum::<usize>()
    };
    let (l, d) = (HIDDEN, 3);
    let ffn_and_norm = 4 * l * l + 3 * l + 2 * l;
    for (local, expected) in [
        (LocalKind::Gcn, l * l + l),
        (LocalKind::Gin, 2 * (l * l + l)),
        (LocalKind::Gine, 2 * (l * l + l)),
        (LocalKind::Gat, 2 * l * l + 4 * l),
        (LocalKind::Gated, 5 * (l * l + l) + 4 * l),
    ] {
        assert_eq!(layers(&config(local, GlobalKind::None)), expected + 2 * l + ffn_and_norm, "{local}");
    }
    for (global, expected) in
        [(GlobalKind::Attention, 4 * (l * l + l)), (GlobalKind::Gssc, 3 * l * l + 3 * l + 4 * d * d)]
    {
        assert_eq!(layers(&config(LocalKind::None, global)), expected + 2 * l + ffn_and_norm, "{global}");
    }
}

/// The published GSSC models (without their jumping knowledge, which PATTERN and CLUSTER use there) have these counts.
#[test]
fn gssc_in_the_recipes_has_its_published_parameter_counts() {
    for (name, expected) in [
        ("mnist", 133_390),
        ("cifar10", 130_706),
        ("molhiv", 351_469),
        ("peptides-func", 409_706),
        ("zinc", 436_393),
    ] {
        let change = Override::parse("model.global=gssc").unwrap();
        let recipe = with_overrides(name, Recipe::table(name).unwrap(), &[change]).unwrap();
        let model = GraphMinNet::new(&recipe.model, 0, &plain()).unwrap();
        assert_eq!(weights::count_parameters(&model), expected, "{name}");
    }
}

#[test]
fn every_recipe_takes_every_branch() {
    for name in RECIPE_NAMES {
        for local in LocalKind::ALL {
            for global in GlobalKind::ALL {
                let changes = [format!("model.local={local}"), format!("model.global={global}")];
                let changes = changes.map(|change| Override::parse(&change).unwrap());
                let recipe = with_overrides(name, Recipe::table(name).unwrap(), &changes);
                let empty = (*local, *global) == (LocalKind::None, GlobalKind::None);
                let without_pairs = *name == "malnet-tiny" && *global == GlobalKind::Gssc;
                assert_eq!(recipe.is_err(), empty || without_pairs, "{name}, {local}, {global}: {recipe:?}");
            }
        }
    }
    assert_eq!("gated".parse::<LocalKind>().unwrap().word(), "gatedgcn");
}

#[test]
fn all_branches_learn_something_from_their_gradients() {
    for (name, config) in common::baselines() {
        let device = common::tracked();
        let model = lively_model(&config, 4, &device);
        let input = input_of(&config, &graphs(&ModelConfig { node_in: 3, ..config.clone() }), &device);
        let output = model.forward(&input, Pass::Train { seed: 1 });
        let gradients = output.powi_scalar(2).sum().backward();
        for (parameter, gradient) in weights::named_gradients(&model, &gradients) {
            let gradient = gradient.unwrap_or_default();
            assert!(gradient.iter().all(|value| value.is_finite()), "{name}: {parameter}");
            let branch =
                ["local", "attention", "gssc"].iter().any(|part| parameter.contains(&format!(".0.{part}.")));
            // A bias before a batch norm has no effect; the last layer's edges are read by nobody.
            if branch && parameter.ends_with("weight") {
                assert!(gradient.iter().any(|&value| value != 0.0), "{name}: {parameter} gets no gradient");
            }
        }
    }
}
