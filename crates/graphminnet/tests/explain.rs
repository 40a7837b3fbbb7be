//! Explanations measured: attributions add up, equal finite differences, and nothing comes from beyond a model's reach.

mod common;

use burn::tensor::{Tensor, TensorData};
use common::{dressed, lively_model, path, prepared, random_graph, tracked, values};
use graphminnet::config::{EdgeEncoderKind, GlobalKind, LevelKind, LocalKind, NodeEncoderKind};
use graphminnet::explain::{ExplainError, Explainer, Method, RangeOptions, Target};
use graphminnet::model::Encoded;
use graphminnet::nn::Pass;
use graphminnet::{GraphMinNet, ModelConfig, ModelInput};
use graphminnet_data::rng;
use graphminnet_data::spectral::PreparedGraph;

fn config(local: LocalKind, global: GlobalKind, level: LevelKind) -> ModelConfig {
    ModelConfig {
        hidden: 8,
        layers: 2,
        lap_dim: 5,
        pe_width: 4,
        node_encoder: NodeEncoderKind::Atoms,
        node_vocab: vec![5, 3],
        edge_encoder: EdgeEncoderKind::Embed,
        edge_vocab: vec![4],
        out_dim: 2,
        local,
        global,
        level,
        ..ModelConfig::default()
    }
}

fn example(config: &ModelConfig, seed: u64) -> (GraphMinNet, PreparedGraph) {
    let random = &mut rng::stream(seed, "explain", &[]);
    let graph = dressed(&random_graph(9, 0.3, random), config, random);
    (lively_model(config, seed, &tracked()), prepared(graph, config))
}

fn all_configs() -> Vec<ModelConfig> {
    let mut all = Vec::new();
    for local in [LocalKind::Gated, LocalKind::Gine] {
        for global in [GlobalKind::Graphminnet, GlobalKind::None] {
            for level in [LevelKind::Graph, LevelKind::Node] {
                all.push(config(local, global, level));
            }
        }
    }
    all
}

#[test]
fn integrated_gradients_add_up_to_the_difference_of_predictions() {
    for (number, config) in all_configs().iter().enumerate() {
        let (model, graph) = example(config, number as u64);
        let explainer = Explainer::of_model(model, tracked());
        let explanation = explainer.explain(&graph, Target::default(), Method::Integrated).unwrap();
        println!(
            "{} {} {:?}: {} → {} in {} steps, gap {:.2e}",
            config.local,
            config.global,
            config.level,
            explanation.baseline,
            explanation.prediction,
            explanation.steps,
            explanation.gap()
        );
        assert!(explanation.gap() < 0.02, "{} {}: {explanation:?}", config.local, config.global);
        assert!(explanation.nodes.iter().any(|share| share.abs() > 1e-4));
        assert!(explanation.edges.iter().any(|share| share.abs() > 1e-6));
        assert_eq!(explanation.edges.len(), graph.graph.num_edges());
    }
}

/// The first output of the first row with encoded inputs that may be changed.
fn output(model: &GraphMinNet, graph: &PreparedGraph, nodes: &[f32], edges: &[f32]) -> f64 {
    let input = ModelInput::from_prepared(model.config(), &[graph], &tracked()).unwrap();
    let hidden = model.config().hidden;
    let table = |values: &[f32]| -> Tensor<2> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len() / hidden, hidden]), &tracked())
    };
    let encoded = Encoded { nodes: table(nodes), edges: Some(table(edges)) };
    let last = model.embed_encoded(encoded, &input, Pass::Eval);
    f64::from(values(model.predict(last, &input))[0])
}

#[test]
fn gradient_times_input_equals_finite_differences() {
    for level in [LevelKind::Graph, LevelKind::Node] {
        let config = config(LocalKind::Gated, GlobalKind::Graphminnet, level);
        let (model, graph) = example(&config, 7);
        let input = ModelInput::from_prepared(&config, &[&graph], &tracked()).unwrap();
        let encoded = model.encode(&input, Pass::Eval);
        let (nodes, edges) = (values(encoded.nodes), values(encoded.edges.unwrap()));
        // Scaling one row of the input by 1 ± ε changes the output by ± ε · ⟨gradient, row⟩.
        const EPSILON: f32 = 2e-3;
        let scaled = |values: &[f32], row: usize, by: f32| -> Vec<f32> {
            values
                .iter()
                .enumerate()
                .map(|(at, v)| if at / config.hidden == row { v * by } else { *v })
                .collect()
        };
        let slope = |plus: f64, minus: f64| (plus - minus) / f64::from(2.0 * EPSILON);
        let expected_nodes: Vec<f64> = (0..graph.graph.num_nodes())
            .map(|row| {
                let at = |by| output(&model, &graph, &scaled(&nodes, row, by), &edges);
                slope(at(1.0 + EPSILON), at(1.0 - EPSILON))
            })
            .collect();
        // The batch holds edges sorted by target.
        let mut order: Vec<usize> = (0..graph.graph.num_edges()).collect();
        order.sort_by_key(|&at| graph.graph.edges()[at][1]);
        let mut expected_edges = vec![0.0; order.len()];
        for (row, at) in order.into_iter().enumerate() {
            let moved = |by| output(&model, &graph, &nodes, &scaled(&edges, row, by));
            expected_edges[at] = slope(moved(1.0 + EPSILON), moved(1.0 - EPSILON));
        }
        let explainer = Explainer::of_model(model, tracked());
        let found = explainer.explain(&graph, Target::default(), Method::Gradient).unwrap();
        let largest = expected_nodes.iter().fold(0f64, |max, v| max.max(v.abs()));
        for (found, expected) in
            found.nodes.iter().chain(&found.edges).zip(expected_nodes.iter().chain(&expected_edges))
        {
            assert!(
                (found - expected).abs() < 0.01 * largest + 5e-4,
                "{found} is not {expected} ({level:?})"
            );
        }
    }
}

#[test]
fn nothing_comes_from_beyond_the_layers_of_a_local_model_and_something_does_with_the_block() {
    const NODES: usize = 16;
    for local in [LocalKind::Gated, LocalKind::Gine] {
        for level in [LevelKind::Graph, LevelKind::Node] {
            let beyond = |global| {
                let config = config(local, global, level);
                let random = &mut rng::stream(3, "range", &[]);
                let graph = prepared(dressed(&path(NODES), &config, random), &config);
                let explainer = Explainer::of_model(lively_model(&config, 3, &tracked()), tracked());
                let report =
                    explainer.range(&[&graph, &graph], RangeOptions { nodes: NODES, output: None }).unwrap();
                assert_eq!((report.graphs, report.nodes), (2, 2 * NODES));
                assert!((report.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && report.unreachable == 0.0);
                assert!(report.shares[1] > 0.0, "the neighbours count");
                report.beyond(config.layers)
            };
            let (with, without) = (beyond(GlobalKind::Graphminnet), beyond(GlobalKind::None));
            println!("{local} {level:?}: {with:.3} beyond 2 hops with the block, {without} without");
            assert_eq!(without, 0.0, "{local}");
            assert!(with > 0.01, "{local}: {with}");
        }
    }
}

#[test]
fn the_whole_gradient_is_the_sum_over_the_nodes_it_passes_through() {
    // With all nodes chosen and one layer of nothing but the node itself, everything is at distance 0.
    let config = ModelConfig { layers: 1, ..config(LocalKind::Gine, GlobalKind::None, LevelKind::Graph) };
    let random = &mut rng::stream(5, "lonely", &[]);
    let lonely = graphminnet_data::Graph::from_edges(4, vec![]).unwrap();
    let graph = prepared(dressed(&lonely, &config, random), &config);
    let explainer = Explainer::of_model(lively_model(&config, 5, &tracked()), tracked());
    let report = explainer.range(&[&graph], RangeOptions::default()).unwrap();
    assert_eq!((report.shares, report.unreachable), (vec![1.0], 0.0));
    assert_eq!(report.unreachable_pairs, 0.75);
}

#[test]
fn targets_that_do_not_exist_are_refused() {
    let graph_level = config(LocalKind::Gated, GlobalKind::Graphminnet, LevelKind::Graph);
    let (model, graph) = example(&graph_level, 1);
    let explainer = Explainer::of_model(model, tracked());
    let explain = |node, output| explainer.explain(&graph, Target { node, output }, Method::Gradient);
    assert!(matches!(explain(Some(0), None), Err(ExplainError::NoNodePrediction { node: 0 })));
    assert!(matches!(
        explain(None, Some(2)),
        Err(ExplainError::OutOfRange { what: "output", asked: 2, count: 2 })
    ));
    let empty = dressed(&path(0), &graph_level, &mut rng::stream(1, "empty", &[]));
    let empty = prepared(empty, &graph_level);
    assert!(matches!(
        explainer.explain(&empty, Target::default(), Method::Gradient),
        Err(ExplainError::NoNodes)
    ));
    assert_eq!(explainer.range(&[&empty], RangeOptions::default()).unwrap().graphs, 0);
}
