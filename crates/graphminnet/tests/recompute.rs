//! Layers computed again in the backward pass: the same output, gradients and running estimates as when everything
//! is kept.
#![cfg(feature = "train")]

mod common;

use common::{
    baselines, difference, dressed, input_of, lively_model, prepared, small_recipes, tracked, values,
};
use graphminnet::config::{LevelKind, LocalKind};
use graphminnet::task::loss::LossValue;
use graphminnet::train::GradientPass;
use graphminnet::{ModelConfig, ModelInput, weights};
use graphminnet_data::rng;

/// Most that a gradient behind the coefficients φ, which all layers share, may differ by: its terms are added in another
/// order.
const SHARED: f32 = 4e-6;

fn input(config: &ModelConfig) -> ModelInput {
    let random = &mut rng::stream(3, "recompute", &[]);
    let graphs: Vec<_> = [17, 30, 9]
        .map(|nodes| {
            let graph = common::random_graph(nodes, 0.25, random);
            prepared(dressed(&graph, config, random), config)
        })
        .into();
    input_of(config, &graphs, &tracked())
}

/// Output, gradients by name, and the model's tensors (running estimates among them) after a training pass.
type Found = (Vec<f32>, Vec<(String, Option<Vec<f32>>)>, Vec<(String, Vec<f32>)>);

fn pass(config: &ModelConfig, input: &ModelInput, recompute_layers: Option<usize>) -> Found {
    let model = lively_model(config, 1, &tracked());
    let pass = GradientPass::forward(&model, input, 7, recompute_layers);
    let output = values(pass.output().clone());
    let gradient = output.iter().enumerate().map(|(at, value)| value.sin() + at as f32 * 0.01).collect();
    let gradients = pass.gradients(&LossValue { value: 0.0, labels: 1, gradient });
    let gradients = gradients.iter().map(|(name, values)| (name.to_owned(), values.map(<[f32]>::to_vec)));
    let tensors = weights::named_tensors(&model).into_iter().map(|tensor| (tensor.name, tensor.values));
    (output, gradients.collect(), tensors.collect())
}

fn assert_same(name: &str, config: &ModelConfig) {
    let input = input(config);
    let kept = pass(config, &input, None);
    assert!(kept.1.iter().any(|(_, gradient)| gradient.is_some()));
    let fresh: Vec<_> = weights::named_tensors(&lively_model(config, 1, &tracked()));
    assert!(fresh.iter().zip(&kept.2).any(|(a, b)| a.values != b.1), "{name}: running estimates move");
    for together in [1, 2, 3, 100] {
        let again = pass(config, &input, Some(together));
        assert_eq!(again.0, kept.0, "{name}, {together} at a time: output");
        assert_eq!(again.2, kept.2, "{name}, {together} at a time: running estimates");
        let mut differing = Vec::new();
        for ((parameter, again), (_, kept)) in again.1.iter().zip(&kept.1) {
            let (Some(again), Some(kept)) = (again, kept) else {
                assert_eq!(again.is_some(), kept.is_some(), "{name}, {together} at a time: {parameter}");
                continue;
            };
            // GAT's layers all read the same edge features.
            let shared = parameter.starts_with("set_encoder")
                || (config.local == LocalKind::Gat && parameter.starts_with("edge_encoder"));
            let allowed = if shared { SHARED } else { 0.0 };
            if again != kept && difference(again, kept).max(f32::MIN_POSITIVE) > allowed {
                differing.push((parameter, difference(again, kept)));
            }
        }
        assert!(differing.is_empty(), "{name}, {together} at a time: {differing:?}");
    }
}

fn with_dropout(config: ModelConfig) -> ModelConfig {
    ModelConfig { layers: 5, drop_local: 0.2, drop_ffn: 0.3, drop_res: 0.1, drop_gmn: 0.2, ..config }
}

#[test]
fn gated_gcn_and_gine_with_dropout_on_one_and_two_threads() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for local in [LocalKind::Gated, LocalKind::Gine] {
            for level in [LevelKind::Graph, LevelKind::Node] {
                let config = ModelConfig {
                    hidden: 12,
                    lap_dim: 5,
                    pe_width: 8,
                    node_in: 3,
                    local,
                    level,
                    ..ModelConfig::default()
                };
                let name = format!("{local}, {level}, {threads} threads");
                pool.install(|| assert_same(&name, &with_dropout(config)));
            }
        }
    }
}

#[test]
fn every_recipe() {
    for (name, config) in small_recipes() {
        assert_same(name, &with_dropout(config));
    }
}

#[test]
fn every_branch() {
    for (name, config) in baselines() {
        assert_same(&name, &ModelConfig { layers: 3, drop_ffn: 0.2, ..config });
    }
}

#[test]
fn a_pass_without_a_backward_pass_moves_the_running_estimates_alike() {
    let config = ModelConfig { hidden: 12, lap_dim: 5, node_in: 3, layers: 3, ..ModelConfig::default() };
    let input = input(&config);
    let tensors = |recompute_layers| {
        let model = lively_model(&config, 1, &tracked());
        let left = GradientPass::forward(&model, &input, 7, recompute_layers).abandon();
        let model = left.unwrap_or(model);
        let trained = GradientPass::forward(&model, &input, 8, None);
        let gradient = vec![1.0; values(trained.output().clone()).len()];
        let gradients = trained.gradients(&LossValue { value: 0.0, labels: 1, gradient });
        (weights::named_tensors(&model), gradients)
    };
    let kept = tensors(None);
    assert!(kept.1.norm() > 0.0);
    assert_eq!(tensors(Some(2)), kept, "and the model that is left can be trained");
}
