//! Losses that learn how unsure a model is: their values and slopes, and what models learn by them.
#![cfg(feature = "train")]

mod common;

use burn::tensor::Device;
use common::path;
use common::small_bundle::{bundle, description, graphs};
use graphminnet::bundle::{AnswerKind, Conformal, Evaluated, evaluate};
use graphminnet::config::{Loss, MetricKind, Override, Recipe, Spread};
use graphminnet::explain::{Explainer, Method, Target};
use graphminnet::task::Rows;
use graphminnet::task::assess::Bootstrap;
use graphminnet::task::loss::{Objective, Weighing, evaluate_weighing};
use graphminnet::train::{Outcome, SeedDir, Settings, TrainingData, infer_recipe, train_seed};
use graphminnet::{Bundle, Ensemble, GraphMinNet, weights};
use graphminnet_data::rng::stream;
use graphminnet_data::split::{Ratios, Splits};
use graphminnet_data::{Dataset, Level, Sample, Schema, Side, Task};
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const LEVELS: [f64; 4] = [0.1, 0.5, 0.8, 0.95];

fn objective(loss: Loss) -> Objective<'static> {
    Objective { quantiles: &LEVELS, ..loss.into() }
}

/// What training sees of some rows with two target columns.
#[derive(Debug, Clone)]
struct Case {
    outputs: Vec<f32>,
    targets: Vec<f32>,
    rows: Vec<f32>,
    columns: Vec<f64>,
    bounds: Vec<Option<Side>>,
}

impl Case {
    fn value(&self, loss: Loss) -> Option<f64> {
        self.evaluate(loss).map(|(value, _)| value)
    }

    fn evaluate(&self, loss: Loss) -> Option<(f64, Vec<f32>)> {
        let columns = self.outputs.len() / self.rows.len();
        let rows = Rows { outputs: &self.outputs, columns, targets: &self.targets, target_columns: 2 };
        let weighing = Weighing { rows: &self.rows, columns: &self.columns, bounds: &self.bounds };
        let found = evaluate_weighing(objective(loss), rows, weighing).unwrap();
        found.map(|found| (found.value, found.gradient))
    }

    /// The same in plain words, label by label.
    fn expected(&self, loss: Loss) -> f64 {
        let width = self.outputs.len() / self.rows.len();
        let (mut sum, mut labels) = (0.0, 0.0);
        for (at, target) in self.targets.iter().enumerate().filter(|(_, target)| !target.is_nan()) {
            let (row, column, label) = (at / 2, at % 2, f64::from(*target));
            let output = |block: usize| f64::from(self.outputs[row * width + 2 * block + column]);
            let cost = match loss {
                Loss::MeanVariance => normal_cost(output(0), output(1), label, self.bounds[at]),
                _ => {
                    // The median comes first.
                    let levels = [0.5, 0.1, 0.8, 0.95];
                    let of = |(block, level): (usize, &f64)| {
                        pinball_cost(output(block), *level, label, self.bounds[at])
                    };
                    levels.iter().enumerate().map(of).sum::<f64>() / 4.0
                }
            };
            sum += cost * f64::from(self.rows[row]) * self.columns[column];
            labels += 1.0;
        }
        sum / labels
    }
}

fn normal_cost(mean: f64, raw: f64, label: f64, bound: Option<Side>) -> f64 {
    let log_variance = -14.0 + (raw + 14.0).exp().ln_1p() - (raw - 6.0).exp().ln_1p();
    let variance = log_variance.exp();
    let density = |y: f64| {
        (-(y - mean).powi(2) / (2.0 * variance)).exp() / (2.0 * std::f64::consts::PI * variance).sqrt()
    };
    // The probability of one side, by Simpson's rule over nine deviations around the mean.
    let between = |from: f64, to: f64| {
        let steps = 20_000;
        let width = (to - from).max(0.0) / f64::from(steps);
        let weight = |at: i32| if at == 0 || at == steps { 1.0 } else { 2.0 + 2.0 * f64::from(at % 2) };
        (0..=steps).map(|at| weight(at) * density(from + f64::from(at) * width)).sum::<f64>() * width / 3.0
    };
    let reach = 9.0 * variance.sqrt();
    match bound {
        None => -density(label).ln(),
        Some(Side::AtLeast) => -between(label.max(mean - reach), label.max(mean) + reach).ln(),
        Some(Side::AtMost) => -between(label.min(mean) - reach, label.min(mean + reach)).ln(),
    }
}

fn pinball_cost(output: f64, level: f64, label: f64, bound: Option<Side>) -> f64 {
    let kept = match bound {
        None => false,
        Some(Side::AtLeast) => output >= label,
        Some(Side::AtMost) => output <= label,
    };
    if kept { 0.0 } else { (level * (label - output)).max((level - 1.0) * (label - output)) }
}

/// Rows of two labels, some of which are missing or bounds.
fn cases(outputs_per_row: usize) -> impl Strategy<Value = Case> {
    let label = (-2.0f32..2.0, 0..10u8, 0..6u8);
    let row = (
        prop::collection::vec(-2.0f32..2.0, outputs_per_row),
        prop::array::uniform2(label),
        prop_oneof![Just(0.0f32), 0.1f32..3.0],
    );
    (prop::collection::vec(row, 1..6), prop::array::uniform2(0.1f64..2.0)).prop_map(|(rows, columns)| {
        let labels = || rows.iter().flat_map(|(_, labels, _)| labels);
        Case {
            outputs: rows.iter().flat_map(|(outputs, ..)| outputs.clone()).collect(),
            targets: labels().map(|(value, kind, _)| if *kind < 3 { f32::NAN } else { *value }).collect(),
            rows: rows.iter().map(|(.., weight)| *weight).collect(),
            columns: columns.to_vec(),
            bounds: labels()
                .map(|(.., side)| match side {
                    0 => Some(Side::AtLeast),
                    1 => Some(Side::AtMost),
                    _ => None,
                })
                .collect(),
        }
    })
}

fn check(loss: Loss, case: &Case) -> Result<(), TestCaseError> {
    let Some((value, gradient)) = case.evaluate(loss) else {
        prop_assert!(case.targets.iter().all(|target| target.is_nan()));
        return Ok(());
    };
    let expected = case.expected(loss);
    prop_assert!((value - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{value}, {expected}");
    let width = case.outputs.len() / case.rows.len();
    for (place, found) in gradient.iter().enumerate() {
        let moved = |by: f32| {
            let mut case = case.clone();
            case.outputs[place] += by;
            (case.value(loss).unwrap(), case.outputs[place])
        };
        let ((above, up), (below, down)) = (moved(1.0 / 1024.0), moved(-1.0 / 1024.0));
        let slope = (above - below) / (f64::from(up) - f64::from(down));
        let label = case.targets[place / width * 2 + place % 2];
        if label.is_nan() {
            prop_assert_eq!(*found, 0.0, "an output without a label has no slope");
            prop_assert_eq!(above, value, "and costs nothing");
            continue;
        }
        // A kink between the two has both slopes.
        let near_a_kink = loss == Loss::Quantile && (case.outputs[place] - label).abs() < 1.0 / 512.0;
        let found = f64::from(*found);
        prop_assert!(near_a_kink || (found - slope).abs() < 2e-5 * (1.0 + slope.abs()), "{found}, {slope}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn likelihoods_and_their_slopes_are_those_of_the_formula(case in cases(4)) {
        check(Loss::MeanVariance, &case)?;
    }

    #[test]
    fn pinball_losses_and_their_slopes_are_those_of_the_formula(case in cases(8)) {
        check(Loss::Quantile, &case)?;
    }
}

#[test]
fn a_model_with_another_number_of_outputs_is_refused_with_what_is_needed() {
    for (loss, columns, needed) in [
        (Loss::MeanVariance, 1, "two outputs per target column"),
        (Loss::MeanVariance, 3, "two outputs per target column"),
        (Loss::Quantile, 3, "an output per target column and quantile"),
    ] {
        let outputs = vec![0.0; columns];
        let rows = Rows { outputs: &outputs, columns, targets: &[0.0], target_columns: 1 };
        let error = evaluate_weighing(objective(loss), rows, Weighing::default()).unwrap_err().to_string();
        assert!(error.contains(needed), "{error}");
    }
}

/// The deviation of the noise in the target of a path.
fn noise(nodes: usize) -> f64 {
    0.2 * (nodes - 2) as f64
}

/// Paths with a number that grows with their nodes, and so does its noise.
fn noisy_paths(count: usize, seed: u64) -> Dataset {
    let mut random = stream(seed, "noisy paths", &[]);
    let samples = (0..count).map(|at| {
        let nodes = 3 + random.below(8);
        let target = 10.0 + nodes as f64 + noise(nodes) * random.normal();
        Sample { id: at.to_string(), graph: Arc::new(path(nodes)), targets: vec![target as f32] }
    });
    Dataset {
        name: "noisy paths".into(),
        schema: Schema {
            level: Level::Graph,
            task: Task::Regression,
            targets: vec!["y".into()],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns: vec![],
            edge_columns: vec![],
        },
        samples: samples.collect(),
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    }
}

fn recipe(dataset: &Dataset, fields: &[&str]) -> Recipe {
    let small = [
        "model.hidden=16",
        "model.layers=1",
        "model.lap_dim=4",
        "model.pe_dim=4",
        "model.pooling=add",
        "train.batch_size=32",
        "train.learning_rate=0.005",
    ];
    let fields = small.iter().chain(fields).map(|field| Override::parse(field).unwrap());
    infer_recipe("paths", &dataset.schema, dataset.samples.len(), &fields.collect::<Vec<_>>()).unwrap().recipe
}

/// Trains a model and returns the folder that it is in.
fn train(dataset: &Dataset, fields: &[&str], seed: u64) -> (tempfile::TempDir, PathBuf) {
    let recipe = recipe(dataset, fields);
    let splits = Splits::random(dataset.samples.len(), Ratios::default(), 0).unwrap();
    let data = TrainingData::prepare(dataset, splits, &recipe.model, None, &()).unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    let interrupt = AtomicBool::new(false);
    let settings = Settings { seed, ..Settings::new("paths", &recipe.model, &recipe.train, &interrupt) };
    let outcome = train_seed(&settings, &data, Some(&directory), &mut ()).unwrap();
    assert!(matches!(outcome, Outcome::Finished(_)), "{outcome:?}");
    let model = folder.path().join("seed/last.gmn");
    (folder, model)
}

fn judged(ensemble: &Ensemble) -> Evaluated {
    evaluate(ensemble, &noisy_paths(4000, 99), Bootstrap { replicates: 0, ..Bootstrap::default() }).unwrap()
}

/// Pearson's correlation.
fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let count = pairs.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (a, b) = (mean(&|pair| pair.0), mean(&|pair| pair.1));
    let covariance = mean(&|pair| (pair.0 - a) * (pair.1 - b));
    covariance / (mean(&|pair| (pair.0 - a).powi(2)) * mean(&|pair| (pair.1 - b).powi(2))).sqrt()
}

#[test]
fn learnt_deviations_follow_the_noise_and_intervals_hold_what_they_promise() {
    let (_folder, model) = train(&noisy_paths(1500, 1), &["train.loss=mean_variance", "train.epochs=40"], 0);
    let ensemble = Ensemble::load(&[&model]).unwrap();
    let lengths: Vec<usize> = (3..11).collect();
    let graphs: Vec<_> = lengths.iter().map(|nodes| Arc::new(path(*nodes))).collect();
    let answers = ensemble.answer(&graphs);
    let said: Vec<(f64, f64)> = lengths
        .iter()
        .zip(answers.iter())
        .map(|(nodes, answer)| (noise(*nodes), answer.unwrap().rows().next().unwrap().deviations()[0]))
        .collect();
    let followed = correlation(&said);
    assert!(followed > 0.95, "{followed}: {said:?}");
    let found = judged(&ensemble);
    let [learnt] = found.deviations.as_slice() else { panic!("{found:?}") };
    for interval in &learnt.intervals {
        assert!((interval.held - interval.level).abs() < 0.06, "{learnt:?}");
    }
    // The likelihood is that of what is said, in the units of the data.
    let dataset = noisy_paths(4000, 99);
    let graphs: Vec<_> = dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect();
    let answers = ensemble.answer(&graphs);
    let costs = dataset.samples.iter().zip(answers.iter()).map(|(sample, answer)| {
        let row = answer.unwrap().rows().next().unwrap();
        let (mean, deviation) = (row.values()[0], row.deviations()[0]);
        let z = (f64::from(sample.targets[0]) - mean) / deviation;
        0.5 * (2.0 * std::f64::consts::PI).ln() + deviation.ln() + 0.5 * z * z
    });
    let expected = costs.sum::<f64>() / 4000.0;
    assert!((learnt.negative_log_likelihood - expected).abs() < 1e-9);
    // What is explained is the mean.
    let bundle = graphminnet::Bundle::load(&model).unwrap();
    let explainer = Explainer::new(&bundle);
    let prepared = explainer.prepare(&graphs[..1]);
    let explain = |output| {
        let target = Target { node: None, output };
        explainer.explain(prepared[0].as_ref().unwrap(), target, Method::Gradient)
    };
    let said = answers.graph(0).unwrap().values()[0];
    assert!((explain(None).unwrap().prediction - said).abs() < 1e-4);
    assert!(explain(Some(1)).unwrap_err().to_string().contains("there are 1"), "a variance is no prediction");
}

#[test]
fn learnt_quantiles_have_their_share_of_labels_below_them() {
    let fields = ["train.loss=quantile", "train.quantiles=[0.1,0.5,0.9]", "train.epochs=40"];
    let (_folder, model) = train(&noisy_paths(1500, 1), &fields, 0);
    let ensemble = Ensemble::load(&[model]).unwrap();
    assert_eq!(ensemble.description().spread(), Spread::Quantiles(vec![0.1, 0.5, 0.9]));
    let found = judged(&ensemble);
    let [learnt] = found.quantiles.as_slice() else { panic!("{found:?}") };
    assert_eq!(learnt.quantiles.iter().map(|quantile| quantile.level).collect::<Vec<_>>(), [0.1, 0.5, 0.9]);
    for quantile in &learnt.quantiles {
        assert!((quantile.below - quantile.level).abs() < 0.06, "{learnt:?}");
    }
    // The mean absolute error is twice the pinball loss of the median.
    let mae = found.metrics.iter().find(|metric| metric.metric == "mae").unwrap().value.unwrap();
    assert!((mae - 2.0 * learnt.quantiles[1].pinball).abs() < 1e-9);
}

/// A model that predicts at random is enough: coverage is promised for any model and any noise.
#[test]
fn conformal_intervals_and_sets_cover_as_often_as_they_say() {
    let (regression, _) = bundle();
    let mut classes = description();
    (classes.model.out_dim, classes.loss, classes.metric) = (4, Loss::CrossEntropy, MetricKind::Accuracy);
    (classes.target_scaler, classes.schema.targets) = (None, vec!["class".into()]);
    classes.schema.task = Task::MultiClass { classes: 4 };
    let device = Device::flex();
    let weights = weights::to_bytes(&GraphMinNet::new(&classes.model, 3, &device).unwrap()).unwrap();
    let classes = Bundle::new(classes, &weights, &device).unwrap();
    for bundle in [regression, classes] {
        let ensemble = Ensemble::new(vec![bundle]).unwrap();
        let graphs = graphs(4000);
        let answers = ensemble.answer(&graphs);
        let mut random = stream(11, "labels", &[]);
        let mut truth = |graph: usize| -> Vec<f32> {
            let values = answers.graph(graph).unwrap().values();
            if answers.kind() == AnswerKind::Classes {
                let (mut left, mut class) = (random.uniform(), 0);
                while class < 3 && left > values[class] {
                    left -= values[class];
                    class += 1;
                }
                return vec![class as f32];
            }
            // Skewed noise, wider where the graph is larger.
            let spread = 1.0 + graphs[graph].num_nodes() as f64 / 10.0;
            values.iter().map(|value| (value + spread * random.normal().exp()) as f32).collect()
        };
        let samples: Vec<Sample> = (0..graphs.len())
            .map(|at| Sample { id: at.to_string(), graph: Arc::clone(&graphs[at]), targets: truth(at) })
            .collect();
        let (calibration, held_out) = samples.split_at(2000);
        let dataset = Dataset {
            name: "calibration".into(),
            schema: ensemble.description().schema.clone(),
            samples: calibration.to_vec(),
            official_split: None,
            node_parts: None,
            qualifiers: Default::default(),
        };
        for level in [0.5, 0.9] {
            let conformal = Conformal::calibrate(&ensemble, &dataset, level).unwrap();
            for target in 0..ensemble.description().schema.num_targets() {
                let inside = held_out.iter().enumerate().filter(|(at, sample)| {
                    let values = answers.graph(2000 + at).unwrap().values();
                    let label = sample.targets[target];
                    match answers.kind() {
                        AnswerKind::Classes => conformal.set(target, &values).contains(&(label as usize)),
                        _ => {
                            let (low, high) = conformal.interval(target, values[target], 0.0);
                            low <= f64::from(label) && f64::from(label) <= high
                        }
                    }
                });
                let coverage = inside.count() as f64 / 2000.0;
                assert!((coverage - level).abs() < 0.02, "{:?}: {coverage} at {level}", answers.kind());
            }
        }
    }
}
