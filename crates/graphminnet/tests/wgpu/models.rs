//! Whole models: fixtures, recipes, baselines, a step of the optimizer, a model file.

use super::common::golden::{Measured, fixtures};
use super::common::{
    baselines, dressed, input_of, lively_model, normals, prepared, random_graph, small_recipes,
};
use super::common::{tensor, values};
use super::{TOLERANCE, adapter};
use burn::module::Module;
use burn::tensor::Device;
use graphminnet::config::LevelKind;
use graphminnet::explain::{Explainer, Method, Target};
use graphminnet::nn::Pass;
use graphminnet::{Answers, Bundle, ModelConfig, weights};
use graphminnet_data::rng;
use graphminnet_data::{ReadOptions, open};
use std::path::Path;

/// Fails where a tensor on the device is not that of the processor.
fn assert_same(what: &str, ours: &[Measured], theirs: &[Measured]) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let (mut worst, mut at) = (0.0, "");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert_eq!(ours.name, theirs.name, "{what}");
        let error = theirs.error(&ours.values);
        if error > worst {
            (worst, at) = (error, &ours.name);
        }
    }
    println!("{what:40} {:4} tensors, worst {worst:.1e} ({at})", ours.len());
    assert!(worst <= TOLERANCE, "{what}: {at} off by {worst:.2e}");
}

#[test]
#[ignore = "needs a graphics driver"]
fn every_fixture_agrees_in_values_statistics_and_gradients() {
    let device = adapter();
    for fixture in fixtures() {
        let ours = fixture.measure(&Device::flex().autodiff());
        assert_same(&fixture.name, &ours, &fixture.measure(&device.clone().autodiff()));
    }
}

/// Outputs in both modes, gradients and running statistics of a model on a batch of three graphs.
fn measure(config: &ModelConfig, device: &Device) -> Vec<Measured> {
    let tracked = device.clone().autodiff();
    let random = &mut rng::stream(11, "devices", &[]);
    let graphs: Vec<_> = [9, 14, 6]
        .into_iter()
        .map(|nodes| prepared(dressed(&random_graph(nodes, 0.4, random), config, random), config))
        .collect();
    let model = lively_model(config, 3, &tracked);
    let mut all = Vec::new();
    let mut add = |name: String, values: Vec<f32>, least_scale: f64| {
        all.push(Measured { name, values, least_scale });
    };
    let plain = model.valid().forward(&input_of(config, &graphs, device), Pass::Eval);
    add("output in evaluation".into(), values(plain), 1e-3);
    let output = model.forward(&input_of(config, &graphs, &tracked), Pass::Train { seed: 5 });
    let shape = output.dims();
    add("output in training".into(), values(output.clone()), 1e-3);
    let loss = (output * tensor(&normals(shape[0] * shape[1], random), shape, &tracked)).sum();
    let gradients = weights::named_gradients(&model, &loss.backward());
    let all_values = gradients.iter().flat_map(|(_, values)| values.iter().flatten());
    let largest = all_values.fold(0.0f64, |max, value| max.max(f64::from(value.abs())));
    assert!(largest > 0.0, "there are gradients");
    for (name, gradient) in &gradients {
        // A parameter that took no part has no gradient on any device.
        add(format!("gradient of {name}"), gradient.clone().unwrap_or_default(), 1e-2 * largest);
    }
    for tensor in weights::named_tensors(&model).into_iter().filter(|tensor| !tensor.is_parameter()) {
        add(tensor.name, tensor.values, 1e-3);
    }
    #[cfg(feature = "train")]
    for tensor in weights::named_tensors(&stepped(model, gradients)) {
        add(format!("{} after a step", tensor.name), tensor.values, 1e-3);
    }
    all
}

/// The model after one clipped step of AdamW.
#[cfg(feature = "train")]
fn stepped(
    model: graphminnet::GraphMinNet,
    gradients: Vec<(String, Option<Vec<f32>>)>,
) -> graphminnet::GraphMinNet {
    use graphminnet::optim::{AdamW, AdamWSettings, NamedGradients, clip_factor};
    let gradients = NamedGradients::new(gradients);
    // The first step of AdamW is the sign of the gradient, and that of rounding errors around zero where the gradient
    // is zero; a larger ε makes the step a smooth function of it.
    let settings = AdamWSettings { epsilon: 1e-2, ..AdamWSettings::with_decay(0.1) };
    let scale = clip_factor(gradients.norm(), 1.0);
    AdamW::new(settings).step(model, &gradients, 0.01, scale).unwrap()
}

#[test]
#[ignore = "needs a graphics driver"]
fn every_recipe_agrees_in_values_gradients_and_a_step_of_the_optimizer() {
    let device = adapter();
    for (name, config) in small_recipes() {
        assert_same(name, &measure(&config, &Device::flex()), &measure(&config, &device));
    }
}

#[test]
#[ignore = "needs a graphics driver"]
fn every_baseline_agrees_in_values_gradients_and_a_step_of_the_optimizer() {
    let device = adapter();
    for (name, config) in baselines() {
        assert_same(&name, &measure(&config, &Device::flex()), &measure(&config, &device));
    }
}

#[test]
#[ignore = "needs a graphics driver"]
fn a_model_file_predicts_embeds_and_explains_the_same() {
    let device = adapter();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundles/v1");
    let measure = |device: &Device| {
        let bundle = Bundle::load_on(&folder.join("model.gmn"), device).unwrap();
        let options = ReadOptions::with_schema(bundle.description().schema.clone());
        let read = open(&folder.join("graphs.jsonl"), &options).unwrap();
        let graphs: Vec<_> = read.dataset.samples.into_iter().map(|sample| sample.graph).collect();
        let outputs = |answers: Answers| -> Vec<f32> {
            answers.iter().flat_map(|answer| answer.unwrap().outputs()).collect()
        };
        let predictions = outputs(bundle.predict(&graphs));
        let embeddings = outputs(bundle.embed(&graphs, LevelKind::Graph));
        let explainer = Explainer::new(&bundle);
        let explained = explainer.prepare(&graphs[..1]).remove(0).unwrap();
        let explanation = explainer.explain(&explained, Target::default(), Method::Gradient).unwrap();
        let shares = explanation.nodes.iter().map(|share| *share as f32).collect();
        [("predictions", predictions), ("embeddings", embeddings), ("shares of nodes", shares)]
            .map(|(name, values)| Measured { name: name.to_owned(), values, least_scale: 1e-3 })
    };
    assert_same("model file", &measure(&Device::flex()), &measure(&device));
}
