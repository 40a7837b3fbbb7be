//! Every system of its own in the harness: trained with the same bits for any number of threads, resumed, and refused
//! where its data does not fit.

use graphminnet::config::{Recipe, TrainConfig};
use graphminnet::train::{Outcome, SeedDir, SeedResult, Settings, TrainingData, train_seed};
use graphminnet_data::split::Splits;
use graphminnet_data::{
    Column, ColumnKind, Dataset, Features, Graph, Level, Sample, Schema, Split, Task, rng,
};
use graphminnet_lab::systems::{Body, NAMES, Positions, SystemConfig, SystemRecipe};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const GRAPHS: usize = 24;

/// Random trees with some more edges, whose target is the share of nodes of kind 1.
fn dataset() -> Dataset {
    let mut random = rng::stream(1, "systems", &[]);
    let column =
        |name: &str, size: usize| Column::new(name, ColumnKind::Category { size, names: Vec::new() });
    let schema = Schema {
        level: Level::Graph,
        task: Task::Regression,
        targets: vec!["share".to_owned()],
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: vec![column("atom", 21)],
        edge_columns: vec![column("bond", 4)],
    };
    let sample = |at: usize| {
        let nodes = random.in_range(6..=14);
        let tree = (1..nodes as u32).map(|node| [random.below(node as usize) as u32, node]);
        let edges: Vec<[u32; 2]> = tree.flat_map(|[a, b]| [[a, b], [b, a]]).collect();
        let kinds: Vec<u32> = (0..nodes).map(|_| random.below(3) as u32).collect();
        let share = kinds.iter().filter(|kind| **kind == 1).count() as f32 / nodes as f32;
        let bonds = edges.iter().map(|ends| 1 + (ends[0] + ends[1]) % 3).collect();
        let bonds = Features::categories(edges.len(), 1, bonds).unwrap();
        let atoms = Features::categories(nodes, 1, kinds).unwrap();
        let graph = Arc::new(Graph::new(nodes, edges, atoms, bonds).unwrap());
        Sample { id: at.to_string(), graph, targets: vec![share] }
    };
    let samples = (0..GRAPHS).map(sample).collect();
    let split = |at| match at {
        0..16 => Split::Train,
        16..20 => Split::Valid,
        _ => Split::Test,
    };
    Dataset {
        name: "shares".to_owned(),
        schema,
        samples,
        official_split: Some((0..GRAPHS).map(split).collect()),
        node_parts: None,
        qualifiers: Default::default(),
    }
}

/// The system's configuration for ZINC, made small.
fn small(system: &str) -> SystemConfig {
    let mut model = SystemRecipe::named(system, "zinc").unwrap().unwrap().model;
    (model.hidden, model.layers, model.dropout) = (16, 2, 0.1);
    match &mut model.positions {
        Positions::Laplacian { width, pairs } => (*width, *pairs) = (4, 4),
        Positions::Walks { width, steps } => (*width, *steps) = (4, 4),
        Positions::Spectrum(own) => (own.width, own.pairs, own.layers, own.feed_forward) = (4, 4, 1, 8),
        _ => {}
    }
    match &mut model.system {
        Body::San(own) => own.heads = 2,
        Body::Grit(own) => (own.heads, own.steps) = (2, 4),
        Body::Gred(own) => own.state = 8,
        Body::GraphMamba(own) => own.states = 4,
        _ => {}
    }
    model
}

fn protocol() -> TrainConfig {
    let text = "[model]\n[train]\nepochs = 3\nwarmup = 1\nbatch_size = 5\nlearning_rate = 0.01\n";
    Recipe::parse("shares", text).unwrap().train
}

fn data(model: &SystemConfig, seed: u64) -> TrainingData {
    let dataset = dataset();
    let splits = Splits::official(&dataset).unwrap();
    let (mut data, _) = TrainingData::prepare(&dataset, splits, model, None, &()).unwrap();
    model.prepare(&mut data, seed).unwrap();
    data
}

fn train(model: &SystemConfig, train: &TrainConfig, directory: Option<&SeedDir>) -> SeedResult {
    let seed = 3;
    let interrupt = AtomicBool::new(false);
    let settings = Settings { seed, ..Settings::new("shares", model, train, &interrupt) };
    match train_seed(&settings, &data(model, seed), directory, &mut ()).unwrap() {
        Outcome::Finished(result) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_system_trains_to_the_same_bits_for_any_number_of_threads() {
    assert_eq!(NAMES.len(), 5);
    for system in NAMES {
        let model = small(system);
        let with_threads = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let result = pool.install(|| train(&model, &protocol(), None));
            assert_eq!(result.epochs, 3, "{system}");
            (result.last_weights_sha256, result.best)
        };
        assert_eq!(with_threads(1), with_threads(3), "{system}");
    }
}

#[test]
fn a_finished_seed_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed-3")).unwrap();
    let first = train(&small("gred"), &protocol(), Some(&directory));
    assert!(directory.file("best.safetensors").exists());
    let again = train(&small("gred"), &protocol(), Some(&directory));
    assert_eq!((again.last_weights_sha256, again.seconds), (first.last_weights_sha256, first.seconds));
}
