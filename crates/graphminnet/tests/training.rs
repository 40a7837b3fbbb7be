//! The training loop on small generated data, in memory and in a folder.
#![cfg(feature = "train")]

use burn::module::Module;
use burn::tensor::Device;
use graphminnet::config::{LevelKind, Loss, MetricKind, Recipe, TargetScaling};
use graphminnet::nn::Pass;
use graphminnet::train::{
    EpochReport, Observer, Outcome, SeedDir, SeedResult, Settings, TrainError, TrainEvent, TrainingData,
    train_seed,
};
use graphminnet::{GraphMinNet, ModelInput, weights};
use graphminnet_data::Batch;
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::split::Splits;
use graphminnet_data::{Bound, Dataset, Level, Side};
use std::sync::atomic::AtomicBool;

const RECIPE: &str = r#"
[model]
hidden = 8
layers = 2
lap_dim = 4
node_in = 4
drop_ffn = 0.2
node_pe = "lappe"
pe_dim = 3
level = "node"
out_dim = 3
[train]
epochs = 3
warmup = 1
batch_size = 8
learning_rate = 0.01
loss = "cross_entropy"
metric = "accuracy"
"#;

fn rings(level: Level) -> Dataset {
    let sizes = PartSizes { train: 30, valid: 10, test: 10 };
    RingTransfer { sizes, smallest: 4, largest: 8, classes: 3, level, ..RingTransfer::default() }
        .generate(1)
        .unwrap()
}

fn data(recipe: &Recipe, dataset: &Dataset) -> TrainingData {
    let splits = Splits::official(dataset).unwrap();
    TrainingData::prepare(dataset, splits, &recipe.model, None, &()).unwrap().0
}

fn train(
    recipe: &Recipe,
    data: &TrainingData,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
) -> Result<SeedResult, TrainError> {
    let interrupt = AtomicBool::new(false);
    let settings =
        Settings { seed: 5, ..Settings::new(&recipe.name, &recipe.model, &recipe.train, &interrupt) };
    match train_seed(&settings, data, directory, observer)? {
        Outcome::Finished(result) => Ok(result),
        other => panic!("{other:?}"),
    }
}

fn recipe(change: impl FnOnce(&mut Recipe)) -> Recipe {
    let mut recipe = Recipe::parse("test", RECIPE).unwrap();
    change(&mut recipe);
    recipe
}

#[test]
fn one_and_two_threads_and_two_runs_give_the_same_bits() {
    let recipe = recipe(|_| {});
    let data = data(&recipe, &rings(Level::Node));
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let result = pool.install(|| train(&recipe, &data, None, &mut ())).unwrap();
        (result.best_weights_sha256, result.last_weights_sha256, result.best)
    };
    let first = with_threads(1);
    assert_eq!(first, with_threads(2));
    assert_eq!(first, with_threads(2));
}

#[test]
fn training_with_layers_computed_again_goes_the_same_way() {
    let data = data(&recipe(|_| {}), &rings(Level::Node));
    let trained = |recompute_layers| {
        let recipe = recipe(|recipe| {
            recipe.model.layers = 4;
            recipe.train.recompute_layers = recompute_layers;
        });
        let mut epochs = Epochs::default();
        train(&recipe, &data, None, &mut epochs).unwrap();
        epochs.0
    };
    let kept = trained(None);
    for together in [1, 2] {
        for (again, kept) in trained(Some(together)).iter().zip(&kept) {
            assert!((again.0 - kept.0).abs() <= 1e-5 * kept.0.abs(), "{again:?}, not {kept:?}");
        }
    }
}

#[test]
fn evaluation_sees_the_running_statistics_of_training() {
    let recipe = recipe(|_| {});
    let data = data(&recipe, &rings(Level::Node));
    let device = Device::flex();
    let model = GraphMinNet::new(&recipe.model, 0, &device.clone().autodiff()).unwrap();
    let batch = Batch::of_samples(&data.dataset, (0..8).collect()).unwrap();
    let training_input = ModelInput::new(&recipe.model, batch.clone(), &device.clone().autodiff()).unwrap();
    for seed in 0..5 {
        let _ = model.forward(&training_input, Pass::Train { seed });
    }
    let moved = weights::named_tensors(&model)
        .into_iter()
        .find(|tensor| tensor.name.ends_with("norm_ffn.running_mean"))
        .unwrap();
    assert!(moved.values.iter().any(|value| *value != 0.0));
    let valid = model.valid();
    assert_eq!(weights::named_tensors(&valid), weights::named_tensors(&model));
    let tracked: Vec<f32> = model.forward(&training_input, Pass::Eval).into_data().try_into_vec().unwrap();
    let input = ModelInput::new(&recipe.model, batch.clone(), &device).unwrap();
    let plain: Vec<f32> = valid.forward(&input, Pass::Eval).into_data().try_into_vec().unwrap();
    assert_eq!(tracked, plain);
}

/// Remembers the epochs.
#[derive(Default)]
struct Epochs(Vec<(f64, Option<f64>, usize)>);

impl Observer for Epochs {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Epoch(report) = event {
            self.0.push((report.train_loss, report.valid, report.skipped_batches));
        }
    }
}

#[test]
fn the_loss_falls_and_accumulation_and_node_budgets_train_too() {
    let dataset = rings(Level::Node);
    for change in [
        (|_| {}) as fn(&mut Recipe),
        |recipe| recipe.train.accumulate = 2,
        |recipe| recipe.train.max_nodes = Some(20),
    ] {
        let recipe = recipe(|recipe| {
            recipe.train.epochs = 10;
            change(recipe);
        });
        let mut epochs = Epochs::default();
        let result = train(&recipe, &data(&recipe, &dataset), None, &mut epochs).unwrap();
        assert_eq!((result.epochs, epochs.0.len()), (10, 10));
        assert!(epochs.0[9].0 < epochs.0[0].0, "{:?}", epochs.0);
        assert!(
            result.best.valid.is_some() && result.best.test.is_some() && result.best.worst_valid.is_some()
        );
    }
}

#[test]
fn early_stopping_ends_the_schedule() {
    // At this rate no parameter changes, so the metric soon stays the same, while the losses may still differ.
    let recipe = recipe(|recipe| {
        recipe.train.epochs = 20;
        recipe.train.patience = Some(2);
        recipe.train.learning_rate = 1e-30;
        recipe.model.drop_ffn = 0.0;
    });
    let result = train(&recipe, &data(&recipe, &rings(Level::Node)), None, &mut ()).unwrap();
    assert!(result.stopped_early && result.epochs < 20, "{result:?}");
    assert!(result.best.epoch < result.epochs && result.epochs <= result.best.epoch + 3, "{result:?}");
}

#[test]
fn batches_without_labels_are_skipped_and_counted_and_none_at_all_is_an_error() {
    let recipe = recipe(|recipe| recipe.train.batch_size = 1);
    let mut dataset = rings(Level::Node);
    for sample in &mut dataset.samples[..10] {
        sample.targets.fill(f32::NAN);
    }
    let mut epochs = Epochs::default();
    train(&recipe, &data(&recipe, &dataset), None, &mut epochs).unwrap();
    assert!(epochs.0.iter().all(|(.., skipped)| *skipped == 10), "{:?}", epochs.0);
    for sample in &mut dataset.samples {
        sample.targets.fill(f32::NAN);
    }
    let error = train(&recipe, &data(&recipe, &dataset), None, &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::NoLabels { epoch: 0, batches: 30 }), "{error}");
}

#[test]
fn a_loss_that_is_not_finite_stops_the_run_and_describes_the_batch() {
    let recipe = Recipe::parse(
        "test",
        &RECIPE
            .replace("cross_entropy", "l1")
            .replace("accuracy", "mae")
            .replace("out_dim = 3", "out_dim = 1"),
    )
    .unwrap();
    let mut dataset = rings(Level::Node);
    dataset.samples[7].targets[0] = f32::INFINITY;
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed-5")).unwrap();
    let error = train(&recipe, &data(&recipe, &dataset), Some(&directory), &mut ()).unwrap_err();
    let TrainError::NonFinite { what: "loss", epoch: 0, saved: Some(path), .. } = error else {
        panic!("{error}")
    };
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let graphs = report["graphs"].as_array().unwrap();
    assert!(graphs.iter().any(|graph| graph["id"] == dataset.samples[7].id.as_str()), "{report}");
}

#[test]
fn targets_that_do_not_fit_the_loss_are_refused_before_training() {
    let recipe = recipe(|recipe| recipe.model.out_dim = 1);
    let error = train(&recipe, &data(&recipe, &rings(Level::Node)), None, &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::Loss(_)), "{error}");
}

#[test]
fn standardised_targets_give_metrics_in_the_units_of_the_data() {
    let text = RECIPE
        .replace("cross_entropy\"", "l1\"\ntarget_scaling = \"standard\"")
        .replace("accuracy", "mae")
        .replace("out_dim = 3", "out_dim = 1")
        .replace("level = \"node\"", "level = \"graph\"");
    let recipe = Recipe::parse("test", &text).unwrap();
    let mut dataset = rings(Level::Graph);
    for (at, sample) in dataset.samples.iter_mut().enumerate() {
        sample.targets = vec![1000.0 + 100.0 * (at % 3) as f32];
    }
    let result = train(&recipe, &data(&recipe, &dataset), None, &mut ()).unwrap();
    // The targets spread over 200: without scaling the error after three epochs would be about a thousand.
    let valid = result.best.valid.unwrap();
    assert!(valid > 1.0 && valid < 300.0, "{valid}");
}

/// One number per graph, the loss and the metric being its absolute error.
fn absolute_errors() -> Recipe {
    recipe(|recipe| {
        recipe.model.level = LevelKind::Graph;
        recipe.model.out_dim = 1;
        recipe.train.loss = Loss::L1;
        recipe.train.metric = MetricKind::MeanAbsoluteError;
    })
}

#[test]
fn the_training_metric_is_that_of_the_answers_the_loss_was_computed_of() {
    let recipe = absolute_errors();
    let mut dataset = rings(Level::Graph);
    for (at, sample) in dataset.samples.iter_mut().enumerate() {
        sample.targets = vec![(at % 3) as f32];
    }
    let trained = |scaling| {
        let mut recipe = recipe.clone();
        recipe.train.target_scaling = scaling;
        let mut reports = Reports::default();
        train(&recipe, &data(&recipe, &dataset), None, &mut reports).unwrap();
        reports.0
    };
    for report in trained(TargetScaling::None) {
        assert!((report.train.unwrap() - report.train_loss).abs() < 1e-6, "{report:?}");
    }
    // The loss is in standard deviations of the training targets, the metric in the units of the data.
    let targets: Vec<f64> = (0..30).map(|at| f64::from(at % 3)).collect();
    let mean = targets.iter().sum::<f64>() / 30.0;
    let deviation = (targets.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 30.0).sqrt();
    for report in trained(TargetScaling::Standard) {
        let expected = report.train_loss * deviation;
        assert!((report.train.unwrap() - expected).abs() < 1e-5 * expected, "{report:?}, {expected}");
    }
}

#[test]
fn bounds_are_in_the_loss_and_not_in_the_training_metric() {
    let recipe = absolute_errors();
    let mut dataset = rings(Level::Graph);
    for (at, sample) in dataset.samples.iter_mut().enumerate() {
        sample.targets = vec![if at % 3 == 0 { f32::NAN } else { (at % 5) as f32 }];
    }
    // Every prediction is on the right side of these, so that they cost nothing.
    let bound = Bound { place: 0, value: 1e6, side: Side::AtMost };
    let bounds = (0..dataset.samples.len()).map(|at| if at % 3 == 0 { vec![bound] } else { Vec::new() });
    dataset.qualifiers.bounds = bounds.collect();
    let mut reports = Reports::default();
    train(&recipe, &data(&recipe, &dataset), None, &mut reports).unwrap();
    // Of 30 labels 20 are exact; the loss divides by all of them.
    for report in reports.0 {
        let expected = report.train_loss * 30.0 / 20.0;
        assert!((report.train.unwrap() - expected).abs() < 1e-5 * expected, "{report:?}, {expected}");
    }
}

/// Remembers the epochs.
#[derive(Default)]
struct Reports(Vec<EpochReport>);

impl Observer for Reports {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Epoch(report) = event {
            self.0.push(report.clone());
        }
    }
}

/// Remembers what was doubted.
#[derive(Default)]
struct Doubts(Vec<String>);

impl Observer for Doubts {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Doubt(doubt) = event {
            self.0.push(doubt.clone());
        }
    }
}

#[test]
fn one_class_is_refused_and_parts_without_worth_are_doubted() {
    let recipe = recipe(|recipe| {
        recipe.train.loss = graphminnet::config::Loss::BinaryCrossEntropy;
        recipe.train.metric = graphminnet::config::MetricKind::RocAuc;
        recipe.model.out_dim = 1;
    });
    let mut dataset = rings(Level::Node);
    dataset.schema.task = graphminnet_data::Task::Binary;
    let label = |dataset: &mut Dataset, label: &dyn Fn(usize) -> f32| {
        for (at, sample) in dataset.samples.iter_mut().enumerate() {
            sample.targets.fill(label(at));
        }
    };
    label(&mut dataset, &|_| 1.0);
    let error = train(&recipe, &data(&recipe, &dataset), None, &mut ()).unwrap_err();
    assert!(matches!(error, TrainError::OneClass { .. }), "{error}");
    // The first 30 graphs train, the next 10 validate: only those are all of one class.
    label(&mut dataset, &|at| if (30..40).contains(&at) { 1.0 } else { (at % 2) as f32 });
    let mut doubts = Doubts::default();
    let result = train(&recipe, &data(&recipe, &dataset), None, &mut doubts).unwrap();
    assert!(
        matches!(&doubts.0[..], [only] if only.contains("validation part are all of one class")),
        "{:?}",
        doubts.0
    );
    assert_eq!(result.best.valid, None);
    let mut without = data(&recipe, &dataset);
    (without.splits.valid, without.splits.test) = (vec![], vec![]);
    let mut doubts = Doubts::default();
    train(&recipe, &without, None, &mut doubts).unwrap();
    assert_eq!(doubts.0.len(), 2, "{:?}", doubts.0);
}
