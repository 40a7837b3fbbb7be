//! Regular graphs without features: every node looks alike at first, so the norms divide by almost nothing.
#![cfg(feature = "train")]

use burn::tensor::Tensor;
use graphminnet::config::{NodeEncoderKind, NodePeKind, NormEstimates, Override, Recipe};
use graphminnet::nn::Pass;
use graphminnet::train::{
    Device, Observer, Outcome, SeedDir, SeedResult, Settings, TrainEvent, TrainingData, TrainingLoss,
    infer_recipe, train_seed,
};
use graphminnet::{GraphMinNet, ModelInput};
use graphminnet_data::rng::{Stream, stream};
use graphminnet_data::split::{Ratios, Splits};
use graphminnet_data::{Batch, Dataset, Graph, Level, Sample, Schema, Task};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Two rings of `half` nodes, one above the other.
fn prism(half: u32) -> Graph {
    let rings = (0..half).flat_map(|at| {
        let next = (at + 1) % half;
        [[at, next], [half + at, half + next], [at, half + at]]
    });
    both_ways(2 * half, rings.collect())
}

/// Three stubs per node, joined at random until no pair is a loop or twice the same.
fn random_cubic(nodes: u32, random: &mut Stream) -> Graph {
    loop {
        let mut stubs: Vec<u32> = (0..3 * nodes).map(|stub| stub / 3).collect();
        random.shuffle(&mut stubs);
        let mut pairs: Vec<[u32; 2]> =
            stubs.chunks(2).map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])]).collect();
        pairs.sort_unstable();
        let simple = pairs.iter().all(|[a, b]| a != b) && pairs.windows(2).all(|two| two[0] != two[1]);
        if simple {
            return both_ways(nodes, pairs);
        }
    }
}

fn both_ways(nodes: u32, pairs: Vec<[u32; 2]>) -> Graph {
    let edges = pairs.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]).collect();
    Graph::from_edges(nodes as usize, edges).unwrap()
}

fn cubic_graphs(count: usize) -> Dataset {
    let mut random = stream(0, "cubic", &[]);
    let samples = (0..count).map(|at| {
        let half = 6 + random.below(7) as u32;
        let is_prism = at % 2 == 0;
        let graph = if is_prism { prism(half) } else { random_cubic(2 * half, &mut random) };
        Sample { id: at.to_string(), graph: Arc::new(graph), targets: vec![f32::from(u8::from(is_prism))] }
    });
    let schema = Schema {
        level: Level::Graph,
        task: Task::Binary,
        targets: vec!["prism".into()],
        class_names: vec![],
        positive_class: None,
        molecules: None,
        node_columns: vec![],
        edge_columns: vec![],
    };
    Dataset {
        name: "cubic".into(),
        schema,
        samples: samples.collect(),
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    }
}

fn recipe(dataset: &Dataset) -> Recipe {
    let fields = [
        "train.learning_rate=0.004",
        "train.epochs=15",
        "train.batch_size=16",
        "model.hidden=32",
        "model.layers=3",
        "model.pe_dim=8",
    ];
    let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
    infer_recipe("cubic", &dataset.schema, 160, &fields).unwrap().recipe
}

/// What was used before: a norm over columns that are the same everywhere, and estimates that lag behind.
fn as_before(mut recipe: Recipe) -> Recipe {
    recipe.model.node_encoder = NodeEncoderKind::Premp;
    recipe.model.node_pe = NodePeKind::None;
    recipe.model.standardize = false;
    recipe.train.norm_estimates = NormEstimates::Running;
    recipe
}

fn prepared(dataset: &Dataset, recipe: &Recipe) -> TrainingData {
    let splits = Splits::random(dataset.samples.len(), Ratios::default(), 0).unwrap();
    TrainingData::prepare(dataset, splits, &recipe.model, None, &()).unwrap().0
}

#[derive(Default)]
struct Warnings(Vec<TrainingLoss>);

impl Observer for Warnings {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Disagreement(loss) = event {
            self.0.push(*loss);
        }
    }
}

fn train(recipe: &Recipe, dataset: &Dataset, directory: Option<&SeedDir>) -> (SeedResult, Warnings) {
    let data = prepared(dataset, recipe);
    let interrupt = AtomicBool::new(false);
    let settings = Settings::new("cubic", &recipe.model, &recipe.train, &interrupt);
    let mut warnings = Warnings::default();
    match train_seed(&settings, &data, directory, &mut warnings).unwrap() {
        Outcome::Finished(result) => (result, warnings),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_defaults_tell_regular_graphs_apart_and_evaluate_as_they_train() {
    let dataset = cubic_graphs(200);
    let recipe = recipe(&dataset);
    assert_eq!(recipe.train.norm_estimates, NormEstimates::Recomputed);
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    let (result, warnings) = train(&recipe, &dataset, Some(&directory));
    assert!(warnings.0.is_empty(), "{warnings:?}", warnings = warnings.0);
    let loss = result.training_loss.unwrap();
    assert!((loss.in_training - loss.in_evaluation).abs() < 0.1, "{loss:?}");
    assert!(result.best.worst_valid.unwrap() < 10.0, "{result:?}");
    // From the table of predictions, as a user would do it.
    let table = std::fs::read_to_string(folder.path().join("seed/test_predictions.csv")).unwrap();
    let rows: Vec<(f64, f64)> = table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[1].parse().unwrap(), cells[2].parse().unwrap())
        })
        .collect();
    let right = rows.iter().filter(|(truth, said)| (*said > 0.5) == (*truth > 0.5)).count();
    assert!(right as f64 >= 0.9 * rows.len() as f64, "{table}");
    let (mut wins, mut pairs) = (0.0, 0.0);
    for (_, yes) in rows.iter().filter(|(truth, _)| *truth > 0.5) {
        for (_, no) in rows.iter().filter(|(truth, _)| *truth < 0.5) {
            pairs += 1.0;
            wins += if yes > no {
                1.0
            } else if yes == no {
                0.5
            } else {
                0.0
            };
        }
    }
    assert!((result.best.test.unwrap() - wins / pairs).abs() < 1e-12, "{result:?}");
}

#[test]
fn a_model_that_answers_otherwise_than_it_was_trained_is_told() {
    let dataset = cubic_graphs(200);
    let (result, warnings) = train(&as_before(recipe(&dataset)), &dataset, None);
    let loss = result.training_loss.unwrap();
    assert!(loss.disagree && loss.in_evaluation > 2.0 * loss.in_training, "{loss:?}");
    assert_eq!(warnings.0, [loss]);
}

#[test]
fn a_batch_whose_norms_were_measured_is_evaluated_as_it_is_trained() {
    let dataset = cubic_graphs(24);
    for recipe in [recipe(&dataset), as_before(recipe(&dataset))] {
        let data = prepared(&dataset, &recipe);
        let device = Device::flex();
        let model = GraphMinNet::new(&recipe.model, 3, &device).unwrap();
        let batch = Batch::of_samples(&data.dataset, (0..24).collect()).unwrap();
        let input = ModelInput::new(&recipe.model, batch, &device).unwrap();
        let values = |output: Tensor<2>| output.into_data().try_into_vec::<f32>().unwrap();
        let trained = values(model.forward(&input, Pass::Measure { share: 1.0 }));
        let evaluated = values(model.forward(&input, Pass::Eval));
        for (evaluated, trained) in evaluated.iter().zip(&trained) {
            assert!((evaluated - trained).abs() <= 1e-4 * (1.0 + trained.abs()), "{evaluated}, {trained}");
        }
    }
}
