//! A model that this crate does not know, trained by its harness: one that answers for edges.
#![cfg(feature = "train")]

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use graphminnet::config::{ConfigError, TrainConfig};
use graphminnet::data::{Batch, Dataset, Level};
use graphminnet::model::{FeatureInput, InputError, Model};
use graphminnet::nn::{BatchNorm, Init, Linear, Pass};
use graphminnet::train::{
    Architecture, Observer, Outcome, SeedDir, SeedResult, Settings, TrainError, TrainEvent, TrainingData,
    train_seed,
};
use graphminnet::{Recipe, weights};
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::spectral::PrepareOptions;
use graphminnet_data::split::Splits;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

const CLASSES: usize = 3;

/// `gain·Linear(BN([x_source, x_target]))` for every edge.
#[derive(Module, Debug)]
struct Ends {
    norm: BatchNorm,
    answer: Linear,
    #[module(skip)]
    config: EndsConfig,
}

#[derive(Debug, Clone, Serialize)]
struct EndsConfig {
    node_in: usize,
    gain: f32,
}

struct EndsInput {
    nodes: Tensor<2>,
    ends: [Tensor<1, Int>; 2],
}

impl Model for Ends {
    type Input = EndsInput;

    fn input(&self, batch: Batch, device: &Device) -> Result<EndsInput, InputError> {
        let numbers = Some(self.config.node_in);
        let FeatureInput::Numbers(nodes) =
            FeatureInput::new("node", batch.node_features, numbers, None, device)?
        else {
            unreachable!("numbers were asked for")
        };
        let topology = batch.layout.topology();
        let ends = [&topology.source, &topology.target].map(|ends| {
            let ends: Vec<i64> = ends.iter().map(|&node| i64::from(node)).collect();
            let count = ends.len();
            Tensor::from_data(TensorData::new(ends, [count]), &device.clone().inner())
        });
        Ok(EndsInput { nodes, ends })
    }

    fn forward(&self, input: &EndsInput, pass: Pass) -> Tensor<2> {
        let ends = input.ends.iter().map(|ends| input.nodes.clone().select(0, ends.clone())).collect();
        self.answer.forward(self.norm.forward(Tensor::cat(ends, 1), pass)) * self.config.gain
    }

    fn level(&self) -> Level {
        Level::Edge
    }

    fn out_dim(&self) -> usize {
        CLASSES
    }
}

impl Architecture for EndsConfig {
    type Model = Ends;

    fn build(&self, seed: u64, device: &Device) -> Result<Ends, ConfigError> {
        let init = &mut Init::new(seed, device);
        let norm = BatchNorm::new(2 * self.node_in, init);
        let answer = Linear::new(2 * self.node_in, CLASSES, true, init);
        Ok(Ends { norm, answer, config: self.clone() })
    }

    fn prepare_options(&self) -> PrepareOptions {
        PrepareOptions::default()
    }
}

const MODEL: EndsConfig = EndsConfig { node_in: 1 + CLASSES, gain: 0.5 };

/// Rings in which the edges that end at the marked node have a class to be learnt.
fn rings(level: Level) -> Dataset {
    let sizes = PartSizes { train: 24, valid: 8, test: 8 };
    RingTransfer { sizes, smallest: 4, largest: 8, classes: CLASSES, level, ..RingTransfer::default() }
        .generate(1)
        .unwrap()
}

fn data(level: Level) -> TrainingData {
    let dataset = rings(level);
    let splits = Splits::official(&dataset).unwrap();
    TrainingData::prepare(&dataset, splits, &MODEL, None, &()).unwrap().0
}

fn protocol(changes: &str) -> TrainConfig {
    let text = format!(
        "[model]\n[train]\nepochs = 4\nwarmup = 1\nbatch_size = 6\nlearning_rate = 0.05\n\
         loss = \"cross_entropy\"\nmetric = \"accuracy\"\n{changes}"
    );
    Recipe::parse("ends", &text).unwrap().train
}

fn train(
    model: &EndsConfig,
    train: &TrainConfig,
    data: &TrainingData,
    directory: Option<&SeedDir>,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Outcome, TrainError> {
    let device = Device::flex();
    let exchange = &graphminnet_data::exchange::Alone;
    let settings = Settings { name: "ends", edges: None, model, train, seed: 5, device, interrupt, exchange };
    train_seed(&settings, data, directory, observer)
}

fn finished(train_config: &TrainConfig, data: &TrainingData, directory: Option<&SeedDir>) -> SeedResult {
    match train(&MODEL, train_config, data, directory, &AtomicBool::new(false), &mut ()).unwrap() {
        Outcome::Finished(result) => result,
        other => panic!("{other:?}"),
    }
}

/// Training losses; sets the flag when a step of an epoch is done.
struct Watch<'a> {
    losses: Vec<f64>,
    interrupt: &'a AtomicBool,
    stop_after: Option<(usize, usize)>,
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Epoch(report) => self.losses.push(report.train_loss),
            TrainEvent::Step { epoch, step, .. } if self.stop_after == Some((*epoch, *step)) => {
                self.interrupt.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

#[test]
fn another_kind_of_model_learns_with_the_same_bits_for_any_number_of_threads() {
    let data = data(Level::Edge);
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let interrupt = AtomicBool::new(false);
        let mut watch = Watch { losses: Vec::new(), interrupt: &interrupt, stop_after: None };
        let outcome = pool
            .install(|| train(&MODEL, &protocol("accumulate = 2"), &data, None, &interrupt, &mut watch))
            .unwrap();
        let Outcome::Finished(result) = outcome else { panic!("{outcome:?}") };
        (result.last_weights_sha256, result.best, watch.losses)
    };
    let (hash, best, losses) = with_threads(1);
    assert_eq!(losses.len(), 4);
    assert!(losses[3] < losses[0], "{losses:?}");
    assert_eq!((hash, best, losses), with_threads(2));
}

#[test]
fn its_run_resumes_to_the_same_bits_and_leaves_its_weights() {
    let data = data(Level::Edge);
    let whole = finished(&protocol(""), &data, None);
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed-5")).unwrap();
    let interrupt = AtomicBool::new(false);
    let mut watch = Watch { losses: Vec::new(), interrupt: &interrupt, stop_after: Some((2, 1)) };
    let outcome = train(&MODEL, &protocol(""), &data, Some(&directory), &interrupt, &mut watch).unwrap();
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    let (other, never) = (EndsConfig { gain: 2.0, ..MODEL }, AtomicBool::new(false));
    let error = train(&other, &protocol(""), &data, Some(&directory), &never, &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::Changed { what: "the configuration", .. }), "{error}");
    let resumed = finished(&protocol(""), &data, Some(&directory));
    assert_eq!(resumed.last_weights_sha256, whole.last_weights_sha256);
    assert_eq!((resumed.best, resumed.parameters), (whole.best, 8 + 8 + 8 * CLASSES + CLASSES));

    let fresh = MODEL.build(0, &Device::flex()).unwrap();
    let best = weights::load(fresh, &directory.file("best.safetensors")).unwrap();
    assert!(weights::named_tensors(&best).iter().any(|tensor| tensor.name == "norm.running_mean"));
    for absent in ["best.gmn", "last.gmn", "test_predictions.csv"] {
        assert!(!directory.file(absent).exists(), "{absent}");
    }
}

#[test]
fn what_it_cannot_do_is_refused() {
    let never = AtomicBool::new(false);
    let refused = |config: &TrainConfig, level| {
        train(&MODEL, config, &data(level), None, &never, &mut ()).unwrap_err().to_string()
    };
    let error = refused(&protocol("recompute_layers = 1"), Level::Edge);
    assert!(error.contains("recompute_layers") && error.contains("leave it out"), "{error}");
    let error = refused(&protocol(""), Level::Node);
    assert!(error.contains("answers per edge, the data has targets per node"), "{error}");
}
