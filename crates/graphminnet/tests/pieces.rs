//! Training on one graph in pieces.
#![cfg(feature = "train")]

use graphminnet::config::Override;
use graphminnet::train::{
    DataSource, Device, Observer, Resources, Run, RunOutcome, RunSpec, SeedResult, SplitChoice, TrainError,
    TrainEvent, infer_recipe,
};
use graphminnet_data::ReadOptions;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A ring of 60 nodes with chords; a node's class is whether its number is larger than that of its neighbour behind.
fn file(folder: &Path) -> DataSource {
    let nodes = 60usize;
    let value = |node: usize| ((node * 37 + 11) % 97) as f64 / 97.0;
    let mut features = String::new();
    let (mut edges, mut targets) = (Vec::new(), Vec::new());
    for node in 0..nodes {
        write!(features, "{}[{:.4}]", if node == 0 { "" } else { "," }, value(node)).unwrap();
        edges.push(format!("[{node},{}]", (node + 1) % nodes));
        edges.push(format!("[{node},{}]", (node * 7 + 3) % nodes));
        targets.push(i32::from(value(node) > value((node + nodes - 1) % nodes)).to_string());
    }
    let text = format!(
        "{{\"num_nodes\": {nodes}, \"edges\": [{}], \"node_features\": [{features}], \"target\": [{}]}}\n",
        edges.join(","),
        targets.join(",")
    );
    let path = folder.join("graph.jsonl");
    std::fs::write(&path, text).unwrap();
    let mut read = Box::new(ReadOptions::default());
    read.level = Some(graphminnet_data::Level::Node);
    DataSource::File { path, read, split: SplitChoice::Random { seed: 0 }, calibrate: false }
}

fn spec(folder: &Path, fields: &[&str]) -> RunSpec {
    let source = file(folder);
    let loaded = source.load().unwrap();
    let small = ["model.hidden=16", "model.layers=2", "model.lap_dim=4", "model.pe_dim=4", "train.epochs=4"];
    let overrides: Vec<_> = small.iter().chain(fields).map(|field| Override::parse(field).unwrap()).collect();
    let recipe = infer_recipe("own", &loaded.dataset.schema, &loaded, &overrides).unwrap().recipe;
    RunSpec::new(recipe, source)
}

fn train(run: &mut Run) -> Result<SeedResult, TrainError> {
    match run.train(&Resources::on(Device::flex()), &mut (), &AtomicBool::new(false))? {
        RunOutcome::Finished(mut summary) => Ok(summary.seeds.remove(0)),
        other => panic!("{other:?}"),
    }
}

fn trained(fields: &[&str]) -> Result<SeedResult, TrainError> {
    let folder = tempfile::tempdir().unwrap();
    train(&mut Run::create(&folder.path().join("run"), &spec(folder.path(), fields))?)
}

#[test]
fn one_piece_is_the_whole_graph_to_the_bit_and_several_are_not() {
    let whole = trained(&[]).unwrap();
    let one = trained(&["train.pieces=1"]).unwrap();
    assert_eq!(
        (&one.best_weights_sha256, &one.last_weights_sha256),
        (&whole.best_weights_sha256, &whole.last_weights_sha256)
    );
    let four = trained(&["train.pieces=4"]).unwrap();
    assert_eq!((whole.steps, one.steps), (4, 4));
    assert_eq!(four.steps, 16, "a piece is a step");
    assert_ne!(four.last_weights_sha256, whole.last_weights_sha256);
    // More pieces than nodes are as many as there are nodes; recomputed layers change nothing.
    assert!(trained(&["train.pieces=1000"]).unwrap().steps <= 4 * 60);
    let again = trained(&["train.pieces=4", "train.recompute_layers=1"]).unwrap();
    assert_eq!(again.steps, 16);
}

struct Stop<'a>(&'a AtomicBool);

impl Observer for Stop<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if matches!(event, TrainEvent::Step { epoch: 1, step: 2, .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn training_in_pieces_resumes_in_the_middle_of_an_epoch_to_the_same_bits() {
    let expected = trained(&["train.pieces=4"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let flag = AtomicBool::new(false);
    let mut run = Run::create(&path, &spec(folder.path(), &["train.pieces=4"])).unwrap();
    let outcome = run.train(&Resources::on(Device::flex()), &mut Stop(&flag), &flag).unwrap();
    assert_eq!(outcome, RunOutcome::Interrupted);
    drop(run);
    let resumed = train(&mut Run::open(&path).unwrap()).unwrap();
    assert_eq!(resumed.last_weights_sha256, expected.last_weights_sha256);
}

#[test]
fn what_cannot_be_cut_is_refused_with_the_reason() {
    for (fields, expected) in [
        (&["train.pieces=0"][..], "train.pieces"),
        (
            &["train.pieces=4", "model.global=attention", "model.attention_heads=2"],
            "more of a graph than sums",
        ),
        (&["train.pieces=4", "model.aggregate=add"], "more of a graph than sums"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let overrides: Result<Vec<_>, _> = fields.iter().map(|field| Override::parse(field)).collect();
        let source = file(folder.path());
        let loaded = source.load().unwrap();
        let recipe = infer_recipe("own", &loaded.dataset.schema, &loaded, &overrides.unwrap());
        let error = match recipe {
            Err(error) => error.to_string(),
            Ok(inferred) => {
                let spec = RunSpec::new(inferred.recipe, source);
                let run = Run::create(&folder.path().join("run"), &spec);
                run.and_then(|mut run| train(&mut run)).unwrap_err().to_string()
            }
        };
        assert!(error.contains(expected), "{fields:?}: {error}");
    }
}

#[test]
fn pieces_of_a_graph_have_no_answers_for_pairs_and_it_is_said() {
    let line = r#"{"num_nodes":4,"edges":[[0,1],[1,0],[1,2],[2,1]],"pairs":[[0,2],[0,3],[1,3],[2,3]],"pair_target":[1,0,1,0],"split":["train","train","valid","test"]}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.jsonl");
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let read = Box::new(ReadOptions::default());
    let source = DataSource::File { path, read, split: SplitChoice::Official, calibrate: false };
    let loaded = source.load().unwrap();
    // One piece is the whole graph, but its targets are not those of nodes.
    for pieces in ["train.pieces=1", "train.pieces=2"] {
        let overrides = [Override::parse(pieces).unwrap(), Override::parse("train.epochs=1").unwrap()];
        let recipe = infer_recipe("own", &loaded.dataset.schema, &loaded, &overrides).unwrap().recipe;
        let mut run =
            Run::create(&folder.path().join(pieces), &RunSpec::new(recipe, source.clone())).unwrap();
        let error = train(&mut run).unwrap_err().to_string();
        assert!(error.contains("train.pieces") && error.contains("these are per pair"), "{error}");
    }
}
