//! A run on a graph in parts keeps its own parts alone, and its model answers for graphs in parts: whoever holds which part, and
//! as for the whole graph. The hosts are threads here.
#![cfg(feature = "train")]

use graphminnet::bundle::Ensemble;
use graphminnet::config::Override;
use graphminnet::train::{
    DataSource, Device, Resources, Run, RunOutcome, RunSpec, SplitChoice, assist, dismiss, infer_recipe,
};
use graphminnet_data::exchange::{Exchange, Threads};
use graphminnet_data::partition::Partition;
use graphminnet_data::{Graph, Level, ReadOptions, rng};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A path with chords, a number and a class for every node, as a file.
fn written(folder: &Path, nodes: usize) -> DataSource {
    let mut random = rng::stream(6, "graph", &[]);
    let mut edges: Vec<[usize; 2]> =
        (1..nodes).flat_map(|node| [[node - 1, node], [node, node - 1]]).collect();
    edges.extend((0..nodes / 3).map(|_| [random.below(nodes), random.below(nodes)]));
    let features: Vec<[f64; 1]> = (0..nodes).map(|_| [(random.normal() * 1e3).round() / 1e3]).collect();
    let target: Vec<i32> = features.iter().map(|row| i32::from(row[0] > 0.2)).collect();
    let line = serde_json::json!({
        "num_nodes": nodes, "edges": edges, "node_features": features, "target": target,
    });
    let path = folder.join(format!("graph-{nodes}.jsonl"));
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let read = Box::new(ReadOptions { level: Some(Level::Node), ..Default::default() });
    DataSource::File { path, read, split: SplitChoice::Random { seed: 0 }, calibrate: false }
}

/// Work on so many hosts, each with its exchange; what it gave, by rank.
fn on<T: Send>(hosts: usize, work: impl Fn(Arc<dyn Exchange>) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let hosts = Threads::team(hosts).into_iter().map(|host| scope.spawn(move || work(Arc::new(host))));
        let hosts: Vec<_> = hosts.collect();
        hosts.into_iter().map(|host| host.join().unwrap()).collect()
    })
}

fn train(source: &DataSource, fields: &[&str], run: &Path, hosts: usize) -> String {
    let small = [
        "model.pe_dim=4",
        "model.hidden=16",
        "model.layers=2",
        "model.lap_dim=4",
        "model.encoder_hops=0",
        "train.epochs=3",
        "train.warmup=1",
    ];
    let fields: Vec<Override> =
        small.iter().chain(fields).map(|field| Override::parse(field).unwrap()).collect();
    let loaded = source.load().unwrap();
    let recipe = infer_recipe("path", &loaded.dataset.schema, &loaded, &fields).unwrap().recipe;
    let spec = RunSpec::new(recipe, source.clone());
    let never = AtomicBool::new(false);
    let hashes = on(hosts, |exchange| {
        let first = exchange.rank() == 0;
        let resources = Resources { exchange, ..Resources::on(Device::flex()) };
        if !first {
            assist(&resources, &never).unwrap();
            return String::new();
        }
        let mut run = Run::open_or_create(run, &spec).unwrap();
        let outcome = run.train(&resources, &mut (), &never).unwrap();
        dismiss(&resources);
        // Nobody has the whole graph.
        assert!(run.data().is_none() || run.file().train.parts.is_none());
        match outcome {
            RunOutcome::Finished(summary) => summary.seeds[0].last_weights_sha256.clone(),
            other => panic!("{other:?}"),
        }
    });
    hashes[0].clone()
}

/// The outputs of a model in parts, on rank 0.
fn answers(ensemble: &Ensemble, graph: &Arc<Graph>, partition: &Partition, hosts: usize) -> Vec<f32> {
    let mut found = on(hosts, |exchange| {
        let answers = ensemble.answer_in_parts(Arc::clone(graph), partition, &exchange).unwrap();
        answers.map(|answers| answers.graph(0).unwrap().outputs())
    });
    assert!(found[1..].iter().all(Option::is_none));
    found.swap_remove(0).unwrap()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.1f32, |size, value| size.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-3 * size, "{at}: {found} is not {expected}");
    }
}

#[test]
fn a_model_that_was_trained_in_parts_answers_in_parts_as_for_the_whole_graph() {
    let folder = tempfile::tempdir().unwrap();
    // Eigenpairs by the iteration.
    let source = written(folder.path(), 800);
    let path = |hosts: usize| folder.path().join(format!("run-{hosts}"));
    let hashes: Vec<String> =
        (1..=3).map(|hosts| train(&source, &["train.parts=3"], &path(hosts), hosts)).collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:?}");
    let predictions =
        |hosts| std::fs::read_to_string(path(hosts).join("seed-0/test_predictions.csv")).unwrap();
    assert_eq!((predictions(2), predictions(3)), (predictions(1), predictions(1)));

    let ensemble = Ensemble::load(&[path(1)]).unwrap();
    let graph = Arc::clone(&source.load().unwrap().dataset.samples[0].graph);
    let expected = ensemble.answer(&[Arc::clone(&graph)]).graph(0).unwrap().outputs();
    for partition in [Partition::in_order(800, 3), Partition::greedy(&graph, 4)] {
        let found = answers(&ensemble, &graph, &partition, 1);
        assert_close(&found, &expected);
        for hosts in 2..=3 {
            assert_eq!(answers(&ensemble, &graph, &partition, hosts), found, "{hosts} hosts");
        }
    }
    // What the run wrote down is what the model says.
    let test = predictions(1);
    let rows = test.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    for row in rows {
        let (node, found): (usize, f64) = (row[1].parse().unwrap(), row[3].parse().unwrap());
        let expected = 1.0 / (1.0 + f64::from(-expected[node]).exp());
        assert!((found - expected).abs() < 2e-3, "{row:?} is not {expected}");
    }
}

#[test]
fn any_partition_at_all_and_several_models_give_the_answers_of_the_whole_graph() {
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), 40);
    // Random walks are computed on the whole graph, and one model wants other eigenpairs than the other.
    let runs = [
        (&["model.node_pe=rwse", "model.rwse_steps=4"][..], "a"),
        (&["model.local=gine", "model.lap_dim=6"], "b"),
    ]
    .map(|(fields, name)| {
        let path = folder.path().join(name);
        train(&source, fields, &path, 1);
        path
    });
    let ensemble = Ensemble::load(&runs).unwrap();
    let graph = Arc::clone(&source.load().unwrap().dataset.samples[0].graph);
    let expected = ensemble.answer(&[Arc::clone(&graph)]).graph(0).unwrap().outputs();
    proptest!(ProptestConfig::with_cases(6), |(
        part_of_node in prop::collection::vec(0u32..4, 40),
        hosts in 1usize..=4,
    )| {
        assert_close(&answers(&ensemble, &graph, &Partition::of(&part_of_node, 4), hosts), &expected);
    });
}
