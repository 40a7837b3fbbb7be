//! Numbers of any scale beside categories, as people have them in their own files.
#![cfg(feature = "train")]

use graphminnet::config::Override;
use graphminnet::train::{Device, Outcome, SeedResult, Settings, TrainingData, infer_recipe, train_seed};
use graphminnet::{GraphMinNet, weights};
use graphminnet_data::split::{Ratios, Splits};
use graphminnet_data::{ReadOptions, open};
use std::fmt::Write;
use std::sync::atomic::AtomicBool;

/// Paths of four nodes with a word and a number each, and a number per edge; all numbers are written as
/// `value · scale + offset`, with values that survive this exactly.
fn file(scale: f64, offset: f64) -> String {
    let mut text = String::new();
    for graph in 0..60u32 {
        let value = |at: u32| f64::from((graph * 7 + at * 3) % 16) / 8.0 * scale + offset;
        let word = |at: u32| if (graph + at).is_multiple_of(3) { "acid" } else { "base" };
        let nodes: Vec<String> = (0..4).map(|at| format!("[\"{}\", {}]", word(at), value(at))).collect();
        let edges: Vec<String> = (0..3).map(|at| format!("[{}]", value(at + 20))).collect();
        let target = f64::from((graph * 7) % 16) / 8.0;
        let _ = writeln!(
            text,
            "{{\"num_nodes\": 4, \"edges\": [[0,1],[1,2],[2,3]], \"node_features\": [{}], \"edge_features\": [{}], \"target\": {target}}}",
            nodes.join(","),
            edges.join(",")
        );
    }
    text
}

fn train(text: &str, settings: &[&str]) -> (Vec<String>, SeedResult, GraphMinNet) {
    train_weighing(text, settings, Vec::new())
}

fn train_weighing(
    text: &str,
    settings: &[&str],
    weights_of_graphs: Vec<f32>,
) -> (Vec<String>, SeedResult, GraphMinNet) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.jsonl");
    std::fs::write(&path, text).unwrap();
    let options = ReadOptions {
        numeric: vec!["node_feature_1".into(), "edge_feature_0".into()],
        ..ReadOptions::default()
    };
    let mut dataset = open(&path, &options).unwrap().dataset;
    dataset.qualifiers.weights = weights_of_graphs;
    let fields =
        ["train.epochs=4", "train.batch_size=8", "model.hidden=32", "model.layers=2", "model.pe_dim=8"];
    let overrides: Vec<_> =
        fields.iter().chain(settings).map(|field| Override::parse(field).unwrap()).collect();
    let inferred = infer_recipe("own", &dataset.schema, 48, &overrides).unwrap();
    let (model, train) = (&inferred.recipe.model, &inferred.recipe.train);
    let splits = Splits::random(60, Ratios::default(), 0).unwrap();
    let (data, _) = TrainingData::prepare(&dataset, splits, model, None, &()).unwrap();
    let interrupt = AtomicBool::new(false);
    let device = Device::flex();
    let exchange = &graphminnet_data::exchange::Alone;
    let interrupt = &interrupt;
    let run = Settings { name: "own", model, train, edges: None, seed: 0, device, interrupt, exchange };
    let directory = graphminnet::train::SeedDir::new(folder.path().join("seed")).unwrap();
    let Outcome::Finished(result) = train_seed(&run, &data, Some(&directory), &mut ()).unwrap() else {
        panic!("not finished")
    };
    let checkpoint = directory.checkpoints().load().unwrap();
    let fresh = GraphMinNet::new(model, 1, &Device::flex()).unwrap();
    let trained =
        checkpoint.map_or(fresh.clone(), |(saved, _)| weights::from_bytes(fresh, &saved.model).unwrap());
    (inferred.notes, result, trained)
}

#[test]
fn the_unit_of_a_column_does_not_matter() {
    let (notes, small, _) = train(&file(1.0, 0.0), &[]);
    assert!(
        notes.iter().any(|note| note.contains("1 categorical column of sizes [2] and 1 numeric one")),
        "{notes:?}"
    );
    let small = small.best.valid.unwrap();
    // A power of two changes no bit; a large offset costs some of the scale's.
    let (_, exact, _) = train(&file(1024.0, 0.0), &[]);
    assert_eq!(exact.best.valid, Some(small));
    let (_, large, _) = train(&file(1024.0, 65536.0), &[]);
    let large = large.best.valid.unwrap();
    assert!((small - large).abs() < 1e-5, "{small} and {large}");
    // Without the common scale the unit decides.
    let (_, raw, _) = train(&file(1024.0, 65536.0), &["model.standardize=false"]);
    let raw = raw.best.valid.unwrap();
    assert!((small - raw).abs() > 1e-3, "{small} and {raw}");
}

#[test]
fn the_scale_is_saved_with_the_weights() {
    let (_, _, trained) = train(&file(1024.0, 65536.0), &["train.checkpoint_steps=1"]);
    let statistics: Vec<_> = weights::named_tensors(&trained)
        .into_iter()
        .filter(|tensor| tensor.name.contains("_scale."))
        .collect();
    assert_eq!(statistics.len(), 4);
    let mean = statistics.iter().find(|tensor| tensor.name == "node_scale.running_mean").unwrap();
    assert!(mean.values[0] > 60_000.0, "{:?}", mean.values);
}

#[test]
fn graphs_that_weigh_nothing_do_not_shape_the_scale() {
    // Every second graph is of another kind.
    let (usual, other) = (file(1.0, 0.0), file(8.0, 64.0));
    let lines = usual.lines().zip(other.lines()).enumerate();
    let lines: Vec<&str> =
        lines.map(|(at, (usual, other))| if at % 2 == 0 { usual } else { other }).collect();
    let text = lines.join("\n");
    let means = |weights_of_graphs: Vec<f32>| {
        let (_, _, trained) = train_weighing(&text, &["train.checkpoint_steps=1"], weights_of_graphs);
        let tensors = weights::named_tensors(&trained).into_iter();
        let means: Vec<f32> = tensors
            .filter(|tensor| tensor.name.ends_with("_scale.running_mean"))
            .map(|tensor| tensor.values[0])
            .collect();
        assert_eq!(means.len(), 2, "of nodes and edges");
        means
    };
    assert!(means(Vec::new()).iter().all(|mean| *mean > 20.0));
    let weighed = means((0..60u8).map(|at| f32::from(1 - at % 2)).collect());
    assert!(weighed.iter().all(|mean| *mean < 2.0), "{weighed:?}");
}
