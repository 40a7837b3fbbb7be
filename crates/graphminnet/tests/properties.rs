//! What must hold for every graph: symmetries, independence of the batch, finite numbers on degenerate graphs.

mod common;

use common::{
    base, complete, cycle, difference, difference_at, dressed, forms, grid, hypercube, input_of,
    lively_model, path, prepared, random_graph, side_by_side, small_recipes, star, values,
};
use graphminnet::config::{Aggregate, InnerProduct, InputNorm, Layout, NodePeKind, PairKind};
use graphminnet::nn::Pass;
use graphminnet::{GraphMinNet, ModelConfig, weights};
use graphminnet_data::Graph;
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::spectral::{PreparedGraph, lowest_eigenpairs};
use proptest::prelude::*;
use std::sync::Arc;

/// Rounding in two layers of 32-bit floats, relative to the largest output.
const ROUNDING: f32 = 5e-5;

/// A difference that no rounding explains.
const CLEARLY: f32 = 1e-3;

/// The small recipes, every form of the block inside a small model, and the other branches.
fn configurations() -> Vec<(String, ModelConfig)> {
    let recipes = small_recipes().into_iter().map(|(name, config)| (name.to_owned(), config));
    let forms = forms().into_iter().enumerate().map(|(number, form)| {
        let config = ModelConfig {
            layers: 2,
            input_norm: InputNorm::Ball,
            self_term: number % 2 == 0,
            degree_scaling: number % 3 == 0,
            ..base(form)
        };
        (format!("{form:?}"), config)
    });
    recipes.chain(forms).chain(common::baselines()).collect()
}

/// Node features after the last layer, and the model's output.
fn predict(model: &GraphMinNet, graphs: &[PreparedGraph]) -> (Vec<f32>, Vec<f32>) {
    let input = input_of(model.config(), graphs, &common::plain());
    (values(model.embed(&input, Pass::Eval)), values(model.forward(&input, Pass::Eval)))
}

/// The output of the first layer's block alone, on random features.
fn block_output(model: &GraphMinNet, graph: &PreparedGraph) -> Vec<f32> {
    let input = input_of(model.config(), std::slice::from_ref(graph), &common::plain());
    let shape = [graph.graph.num_nodes(), model.config().hidden];
    let x = common::normals(shape[0] * shape[1], &mut rng::stream(9, "block input", &[]));
    let x = common::tensor(&x, shape, &common::plain());
    let block = model.layers()[0].block().unwrap();
    values(block.forward(x, &input, &model.spectrum(&input), model.config(), 0, Pass::Eval))
}

/// How far the node features after the last layer and the first block's output are from each other.
fn changes(model: &GraphMinNet, before: &PreparedGraph, after: &PreparedGraph) -> (f32, f32) {
    let features = |graph: &PreparedGraph| predict(model, std::slice::from_ref(graph)).0;
    (
        difference(&features(before), &features(after)),
        difference(&block_output(model, before), &block_output(model, after)),
    )
}

/// Rows of a row-major table in another order.
fn rows(table: &[f32], order: &[usize]) -> Vec<f32> {
    let width = if order.is_empty() { 0 } else { table.len() / order.len() };
    order.iter().flat_map(|&row| &table[row * width..(row + 1) * width]).copied().collect()
}

/// A prepared graph with node `order[k]` renamed to `k` in every array.
fn renumbered(graph: &PreparedGraph, order: &[usize]) -> PreparedGraph {
    PreparedGraph {
        graph: Arc::new(common::renumbered(&graph.graph, order)),
        eigenvectors: rows(&graph.eigenvectors, order),
        random_walk: rows(&graph.random_walk, order),
        log_degree: rows(&graph.log_degree, order),
        ..graph.clone()
    }
}

/// A prepared graph with its edges listed in another order.
fn with_edge_order(graph: &PreparedGraph, order: &[usize]) -> PreparedGraph {
    let inner = &graph.graph;
    let edges = order.iter().map(|&edge| inner.edges()[edge]).collect();
    let features = inner.edge_features().select_rows(order.iter().copied());
    let inner = Graph::new(inner.num_nodes(), edges, inner.node_features().clone(), features).unwrap();
    PreparedGraph { graph: Arc::new(inner), ..graph.clone() }
}

fn node_level(config: &ModelConfig) -> bool {
    config.level == graphminnet::config::LevelKind::Node
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn renaming_the_nodes_renames_node_outputs_and_keeps_graph_outputs(
        nodes in 1usize..14, density in 0.1f64..0.7, seed in any::<u64>(),
    ) {
        let random = &mut rng::stream(seed, "permutation", &[]);
        for (name, config) in configurations() {
            let model = lively_model(&config, seed, &common::plain());
            let graph = prepared(dressed(&random_graph(nodes, density, random), &config, random), &config);
            let order = random.permutation(nodes);
            let (features, output) = predict(&model, std::slice::from_ref(&graph));
            let (features_renamed, output_renamed) = predict(&model, &[renumbered(&graph, &order)]);
            prop_assert!(difference(&rows(&features, &order), &features_renamed) < ROUNDING, "{name}: features");
            let output = if node_level(&config) { rows(&output, &order) } else { output };
            let least = common::scale(&features, 1e-3);
            prop_assert!(difference_at(&output, &output_renamed, least) < ROUNDING, "{name}: output");
        }
    }

    /// The eigenvectors of the renamed graph are computed anew and may have other signs and other bases. The
    /// Laplacian node encoding sees signs (training flips them at random), so it is left out here.
    #[test]
    fn renaming_the_nodes_before_the_preparation_changes_nothing_either(
        nodes in 1usize..14, density in 0.1f64..0.7, seed in any::<u64>(),
    ) {
        let random = &mut rng::stream(seed, "fresh permutation", &[]);
        let symmetric = [cycle(nodes.max(3)), complete(nodes), star(nodes), hypercube(3), grid(3, 4)];
        for (name, config) in small_recipes() {
            let config = match config.node_pe {
                NodePeKind::Lappe => ModelConfig { node_pe: NodePeKind::None, ..config },
                _ => config,
            };
            let config = ModelConfig { whole_eigenspaces: true, ..config };
            let model = lively_model(&config, seed, &common::plain());
            let shape = match random.below(2) {
                0 => random_graph(nodes, density, random),
                _ => symmetric[random.below(symmetric.len())].clone(),
            };
            let graph = dressed(&shape, &config, random);
            let order = random.permutation(graph.num_nodes());
            let renamed = common::renumbered(&graph, &order);
            let (features, output) = predict(&model, &[prepared(graph, &config)]);
            let (features_renamed, output_renamed) = predict(&model, &[prepared(renamed, &config)]);
            prop_assert!(difference(&rows(&features, &order), &features_renamed) < ROUNDING, "{name}: features");
            let output = if node_level(&config) { rows(&output, &order) } else { output };
            let least = common::scale(&features, 1e-3);
            prop_assert!(difference_at(&output, &output_renamed, least) < ROUNDING, "{name}: output");
        }
    }

    #[test]
    fn the_order_in_which_edges_are_listed_does_not_matter(
        nodes in 1usize..14, density in 0.1f64..0.7, seed in any::<u64>(),
    ) {
        let random = &mut rng::stream(seed, "edge order", &[]);
        for (name, config) in small_recipes() {
            let model = lively_model(&config, seed, &common::plain());
            let graph = prepared(dressed(&random_graph(nodes, density, random), &config, random), &config);
            let order = random.permutation(graph.graph.num_edges());
            let (features, _) = predict(&model, std::slice::from_ref(&graph));
            let (reordered, _) = predict(&model, &[with_edge_order(&graph, &order)]);
            prop_assert!(difference(&features, &reordered) < ROUNDING, "{name}");
        }
    }

    #[test]
    fn a_graph_in_a_batch_is_treated_as_if_it_were_alone(
        sizes in prop::collection::vec(0usize..12, 1..6), density in 0.1f64..0.7, seed in any::<u64>(),
    ) {
        let random = &mut rng::stream(seed, "batch", &[]);
        for (name, config) in configurations() {
            let model = lively_model(&config, seed, &common::plain());
            let graphs: Vec<PreparedGraph> = sizes
                .iter()
                .map(|&nodes| prepared(dressed(&random_graph(nodes, density, random), &config, random), &config))
                .collect();
            let alone: Vec<(Vec<f32>, Vec<f32>)> =
                graphs.iter().map(|graph| predict(&model, std::slice::from_ref(graph))).collect();
            let (features, output) = predict(&model, &graphs);
            let features_alone: Vec<f32> = alone.iter().flat_map(|(features, _)| features.clone()).collect();
            let output_alone: Vec<f32> = alone.iter().flat_map(|(_, output)| output.clone()).collect();
            prop_assert!(difference(&features, &features_alone) < ROUNDING, "{name}: features");
            let least = common::scale(&features, 1e-3);
            prop_assert!(difference_at(&output, &output_alone, least) < ROUNDING, "{name}: output");
        }
    }
}

/// Graphs whose Laplacians have repeated eigenvalues.
fn symmetric_graphs() -> Vec<(&'static str, Graph)> {
    vec![
        ("cycle of 9", cycle(9)),
        ("complete graph of 6", complete(6)),
        ("star of 7", star(7)),
        ("cube", hypercube(3)),
        ("grid 3×3", grid(3, 3)),
        ("grid 4×4", grid(4, 4)),
        ("two cycles of 5", side_by_side(&cycle(5), &cycle(5))),
    ]
}

/// The eigenvectors of a graph for its first `stored` pairs, cut from a full basis in which every eigenspace was
/// turned by a random rotation (and reflection); `None` leaves the basis as it is.
fn turned(graph: &PreparedGraph, stored: usize, random: Option<&mut Stream>) -> PreparedGraph {
    let nodes = graph.graph.num_nodes();
    let full = lowest_eigenpairs(&graph.graph, nodes).unwrap();
    let mut basis = full.vectors.clone();
    if let Some(random) = random {
        let mut start = 0;
        while start < nodes {
            let same = |pair: &usize| (full.values[*pair] - full.values[start]).abs() < 1e-6;
            let end = (start..nodes).take_while(same).count() + start;
            if full.values[start] > 1e-6 {
                rotate(&mut basis, nodes, start, end, random);
            }
            start = end;
        }
    }
    let mut eigenvectors = vec![0.0; nodes * stored];
    for node in 0..nodes {
        for pair in 0..stored.min(nodes) {
            eigenvectors[node * stored + pair] = basis[node * nodes + pair] as f32;
        }
    }
    PreparedGraph { eigenvectors, ..graph.clone() }
}

/// Turns columns `start..end` of a square basis among themselves: a random sign for each, then a random rotation in
/// every plane.
fn rotate(basis: &mut [f64], nodes: usize, start: usize, end: usize, random: &mut Stream) {
    for column in start..end {
        if random.chance(0.5) {
            (0..nodes).for_each(|node| basis[node * nodes + column] *= -1.0);
        }
        for other in start..column {
            let (sine, cosine) = (random.uniform() * std::f64::consts::TAU).sin_cos();
            for node in 0..nodes {
                let (a, b) = (basis[node * nodes + column], basis[node * nodes + other]);
                basis[node * nodes + column] = cosine * a - sine * b;
                basis[node * nodes + other] = sine * a + cosine * b;
            }
        }
    }
}

/// The forms of the block in which positions only enter through `Σ_i p_u[i]·p_v[i]·f(λ_i)`.
fn basis_free_forms() -> Vec<ModelConfig> {
    use InnerProduct::{Type1, Type3, Type4a, Type4b};
    let form = |kind, first, self_term| ModelConfig {
        self_term,
        input_norm: InputNorm::Ball,
        layers: 2,
        node_in: 3,
        ..base((Layout::Channel, Aggregate::Mul, kind, first, PairKind::Type3))
    };
    vec![
        form(Type1, PairKind::Type1, false),
        form(Type1, PairKind::Type1, true),
        form(Type3, PairKind::Type1, true),
        form(Type4a, PairKind::Type1, true),
        form(Type4a, PairKind::Type3, false),
        form(Type4b, PairKind::Type1, true),
        form(Type4b, PairKind::Type3, false),
    ]
}

#[test]
fn turning_an_eigenspace_changes_nothing_unless_the_cut_splits_it() {
    let (mut whole, mut split, mut masked) = ((0, 0f32), (0, f32::INFINITY), (0, 0f32));
    for (number, config) in basis_free_forms().into_iter().enumerate() {
        for (name, graph) in symmetric_graphs() {
            for lap_dim in 1..=graph.num_nodes() {
                let config = ModelConfig { lap_dim, ..config.clone() };
                let random = &mut rng::stream(number as u64, "turn", &[lap_dim as u64]);
                let graph = dressed(&graph, &config, random);
                let model = lively_model(&config, 5, &common::plain());
                let measure = |config: &ModelConfig, random: &mut Stream| {
                    let graph = prepared(graph.clone(), config);
                    let stored = config.stored_eigenpairs();
                    let before = turned(&graph, stored, None);
                    let after = turned(&graph, stored, Some(random));
                    (changes(&model, &before, &after), graph.splits_eigenspace)
                };
                let place = format!("{name}, {} eigenpairs, {}", lap_dim, config.inner_product);
                let ((features, block), cut) = measure(&config, random);
                if !cut {
                    whole = (whole.0 + 1, whole.1.max(features).max(block));
                    assert!(
                        features.max(block) < ROUNDING,
                        "{place}: whole, but moved by {features:e}, {block:e}"
                    );
                    continue;
                }
                split = (split.0 + 1, split.1.min(block));
                assert!(block > CLEARLY, "{place}: split, but moved by only {block:e}");
                let config = ModelConfig { whole_eigenspaces: true, ..config };
                let ((features, block), _) = measure(&config, random);
                masked = (masked.0 + 1, masked.1.max(features).max(block));
                assert!(
                    features.max(block) < ROUNDING,
                    "{place}: masked, but moved by {features:e}, {block:e}"
                );
            }
        }
    }
    println!(
        "largest change where whole {whole:?}, smallest where split {split:?}, largest where masked {masked:?}"
    );
    assert!(whole.0 > 100 && split.0 > 100 && masked.0 > 100);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn the_signs_of_eigenvectors_do_not_matter_in_the_channel_layout(
        nodes in 3usize..14, density in 0.2f64..0.8, seed in any::<u64>(),
    ) {
        let random = &mut rng::stream(seed, "signs", &[]);
        for config in basis_free_forms() {
            let model = lively_model(&config, seed, &common::plain());
            let graph = prepared(dressed(&random_graph(nodes, density, random), &config, random), &config);
            let flipped = with_signs(&graph, config.stored_eigenpairs(), random);
            let (features, block) = changes(&model, &graph, &flipped);
            prop_assert!(features.max(block) < ROUNDING, "{}: {features:e}, {block:e}", config.inner_product);
        }
    }
}

/// A random sign for every eigenvector, not all of them positive.
fn with_signs(graph: &PreparedGraph, stored: usize, random: &mut Stream) -> PreparedGraph {
    let mut signs: Vec<f32> = (0..stored).map(|_| if random.chance(0.5) { -1.0 } else { 1.0 }).collect();
    // Relative signs matter: one of the first two used pairs is flipped, the other is not.
    (signs[1], signs[2]) = (-1.0, 1.0);
    let mut flipped = graph.clone();
    for (at, value) in flipped.eigenvectors.iter_mut().enumerate() {
        *value *= signs[at % stored];
    }
    flipped
}

#[test]
fn the_signs_of_eigenvectors_do_matter_in_the_eigen_layout() {
    let mut least = f32::INFINITY;
    for kind in [InnerProduct::Type1, InnerProduct::Type3] {
        for seed in 0..5 {
            let random = &mut rng::stream(seed, "eigen signs", &[]);
            let form = (Layout::Eigen, Aggregate::Mul, kind, PairKind::Type1, PairKind::Type3);
            let config = ModelConfig { input_norm: InputNorm::Ball, ..base(form) };
            let model = lively_model(&config, seed, &common::plain());
            let graph = prepared(dressed(&random_graph(9, 0.6, random), &config, random), &config);
            let flipped = with_signs(&graph, config.stored_eigenpairs(), random);
            let (_, block) = changes(&model, &graph, &flipped);
            least = least.min(block);
            assert!(block > CLEARLY, "{kind}: moved by only {block:e}");
        }
    }
    println!("smallest change {least:e}");
}

/// Batches of graphs with hardly anything in them.
fn degenerate_batches() -> Vec<(&'static str, Vec<Graph>)> {
    let edgeless = |nodes| Graph::from_edges(nodes, vec![]).unwrap();
    let one_way = Graph::from_edges(3, vec![[0, 1], [1, 2], [1, 2], [2, 2]]).unwrap();
    vec![
        ("one node", vec![edgeless(1)]),
        ("one node with a loop", vec![Graph::from_edges(1, vec![[0, 0]]).unwrap()]),
        ("single nodes only", vec![edgeless(1); 5]),
        ("two nodes", vec![path(2)]),
        ("two nodes without an edge", vec![edgeless(2)]),
        ("one edge in one direction", vec![Graph::from_edges(2, vec![[1, 0]]).unwrap()]),
        ("an empty graph", vec![edgeless(0)]),
        ("empty graphs only", vec![edgeless(0); 3]),
        ("empty graphs at both ends", vec![edgeless(0), path(2), edgeless(0), edgeless(1), edgeless(0)]),
        ("edgeless graphs", vec![edgeless(4), edgeless(2)]),
        ("disconnected", vec![side_by_side(&cycle(4), &side_by_side(&path(2), &edgeless(2)))]),
        ("loops and repeated one-way edges", vec![one_way]),
        ("a mixture", vec![path(5), edgeless(1), complete(4), edgeless(3), edgeless(0), path(2)]),
    ]
}

#[test]
fn degenerate_graphs_give_finite_outputs_and_gradients() {
    let literal = small_recipes().into_iter().map(|(name, config)| {
        (format!("{name} to the letter"), ModelConfig { input_norm: InputNorm::None, ..config })
    });
    let mut failures = Vec::new();
    for (name, config) in configurations().into_iter().chain(literal) {
        for (kind, graphs) in degenerate_batches() {
            for pass in [Pass::Eval, Pass::Train { seed: 3 }] {
                // A panic in one case must not hide the others.
                let outcome = std::panic::catch_unwind(|| not_finite(&config, &graphs, pass));
                match outcome {
                    Ok(None) => {}
                    Ok(Some(what)) => {
                        failures.push(format!("{name}, {kind}, {pass:?}: {what} is not finite"))
                    }
                    Err(_) => failures.push(format!("{name}, {kind}, {pass:?}: panic")),
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// The first thing that is not finite after a pass and its gradients.
fn not_finite(config: &ModelConfig, graphs: &[Graph], pass: Pass) -> Option<String> {
    let device = common::tracked();
    let random = &mut rng::stream(1, "degenerate", &[]);
    let graphs: Vec<PreparedGraph> =
        graphs.iter().map(|graph| prepared(dressed(graph, config, random), config)).collect();
    let model = lively_model(config, 2, &device);
    let input = input_of(config, &graphs, &device);
    let output = model.forward(&input, pass);
    let expected = if node_level(config) { input.structure.num_nodes() } else { graphs.len() };
    assert_eq!(output.dims(), [expected, config.out_dim]);
    let gradients = output.clone().powi_scalar(2).sum().backward();
    let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
    if !finite(&values(output)) {
        return Some("the output".to_owned());
    }
    let gradients = weights::named_gradients(&model, &gradients);
    if let Some((name, _)) =
        gradients.iter().find(|(_, gradient)| !finite(gradient.as_deref().unwrap_or(&[])))
    {
        return Some(format!("the gradient of {name}"));
    }
    weights::named_tensors(&model)
        .into_iter()
        .find(|tensor| !finite(&tensor.values))
        .map(|tensor| tensor.name)
}

/// Whoever keeps a copy of the best model so far relies on it.
#[test]
fn training_a_copy_leaves_the_original_as_it_was() {
    let (_, config) = small_recipes().swap_remove(0);
    let random = &mut rng::stream(1, "copy", &[]);
    let graph = prepared(dressed(&cycle(6), &config, random), &config);
    let original = lively_model(&config, 1, &common::plain());
    let before = weights::named_tensors(&original);
    let copy = original.clone();
    copy.forward(&input_of(&config, &[graph], &common::plain()), Pass::Train { seed: 1 });
    assert_ne!(weights::named_tensors(&copy), before, "a training pass updates the running statistics");
    assert_eq!(weights::named_tensors(&original), before);
}

#[test]
fn the_share_of_a_block_is_what_it_adds_to_its_layer() {
    for (name, config) in small_recipes() {
        let model = lively_model(&config, 3, &common::plain());
        let random = &mut rng::stream(5, "share", &[]);
        let graph = prepared(dressed(&random_graph(9, 0.4, random), &config, random), &config);
        let input = input_of(&config, std::slice::from_ref(&graph), &common::plain());
        let uses = model.block_use(&input);
        assert_eq!(uses.len(), config.layers, "{name}");
        for layer in &uses {
            let is_heard = layer.share().unwrap() > 0.0;
            assert!(layer.nodes == 9 && layer.bounded <= 9 && is_heard, "{name}: {layer:?}");
        }
        // A block whose candidates are 0 adds nothing, and bounds no fewer inputs in the first layer.
        let tensors = weights::named_tensors(&model).into_iter().map(|mut tensor| {
            if tensor.name.contains(".gmn.h.") {
                tensor.values.fill(0.0);
            }
            tensor
        });
        let silent = weights::replace(model.clone(), tensors).unwrap().block_use(&input);
        assert!(silent.iter().all(|layer| layer.share() == Some(0.0)), "{name}: {silent:?}");
        assert_eq!(silent[0].bounded, uses[0].bounded, "{name}");
    }
}
