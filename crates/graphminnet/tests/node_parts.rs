//! One graph, some nodes known: only the nodes of a part count in its loss and its metric.
#![cfg(feature = "train")]

use graphminnet::config::{Override, Recipe};
use graphminnet::train::{
    Loaded, Outcome, SeedDir, SeedResult, Settings, SplitChoice, TrainingData, infer_recipe, train_seed,
};
use graphminnet_data::generate::Papers;
use graphminnet_data::{Dataset, Split};
use std::sync::atomic::AtomicBool;

fn papers() -> Dataset {
    let settings =
        Papers { nodes: 400, words: 140, labels_per_class: 5, valid: 100, test: 150, ..Papers::default() };
    settings.generate(2).unwrap()
}

fn recipe(loaded: &Loaded, fields: &[&str]) -> Recipe {
    let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
    infer_recipe("papers", &loaded.dataset.schema, loaded, &fields).unwrap().recipe
}

fn train(loaded: &Loaded, fields: &[&str], directory: Option<&SeedDir>) -> SeedResult {
    let recipe = recipe(loaded, fields);
    let (data, _) =
        TrainingData::prepare(&loaded.dataset, loaded.splits.clone(), &recipe.model, None, &()).unwrap();
    let interrupt = AtomicBool::new(false);
    let settings = Settings::new("papers", &recipe.model, &recipe.train, &interrupt);
    match train_seed(&settings, &data, directory, &mut ()).unwrap() {
        Outcome::Finished(result) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn labels_of_other_parts_change_no_weight_and_each_part_has_its_own_score() {
    let short = ["train.epochs=5", "model.hidden=16"];
    let weights = |change: Option<Split>| {
        let mut dataset = papers();
        let parts = dataset.node_parts.clone().unwrap();
        for (target, part) in dataset.samples[0].targets.iter_mut().zip(parts.graph(0)) {
            if change.is_some() && *part == change {
                *target = (*target + 1.0) % 7.0;
            }
        }
        let loaded = Loaded::split(dataset, &SplitChoice::Official).unwrap();
        let result = train(&loaded, &short, None);
        (result.last_weights_sha256, result.best.valid, result.best.test)
    };
    let (plain, valid, test) = weights(None);
    let (with_other_test, same_valid, other_test) = weights(Some(Split::Test));
    assert_eq!((&plain, valid), (&with_other_test, same_valid));
    assert_ne!(test, other_test);
    let (with_other_valid, ..) = weights(Some(Split::Valid));
    assert_eq!(plain, with_other_valid);
    assert_ne!(plain, weights(Some(Split::Train)).0);
}

#[test]
fn the_defaults_for_few_labels_use_the_graph_and_predictions_are_those_of_the_test_nodes() {
    let loaded = Loaded::split(papers(), &SplitChoice::Official).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    let result = train(&loaded, &["train.epochs=40"], Some(&directory));
    assert!(result.best.test.unwrap() > 0.75, "{result:?}");
    let table = std::fs::read_to_string(folder.path().join("seed/test_predictions.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 150);
    // Nodes keep their numbers.
    let parts = loaded.dataset.node_parts.as_ref().unwrap().graph(0);
    for line in table.lines().skip(1) {
        let node: usize = line.split(',').nth(1).unwrap().parse().unwrap();
        assert_eq!(parts[node], Some(Split::Test));
    }
}

#[test]
fn a_single_graph_without_parts_is_split_by_its_labelled_nodes() {
    let mut dataset = papers();
    dataset.node_parts = None;
    dataset.samples[0].targets[..100].fill(f32::NAN);
    let loaded = Loaded::split(dataset, &SplitChoice::Auto { seed: 0 }).unwrap();
    let parts = loaded.dataset.node_parts.unwrap();
    assert_eq!(Split::ALL.map(|part| parts.count(part)), [240, 30, 30]);
    assert!(parts.graph(0)[..100].iter().all(Option::is_none));
    assert!(loaded.split_note.contains("nodes"), "{}", loaded.split_note);
}
