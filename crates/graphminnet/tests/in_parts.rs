//! One graph in parts that several ranks hold: values and gradients are those of one process, and the bits do not depend
//! on who holds which part. The ranks are threads here; the exchange between processes is another implementation of the
//! same seam.
#![cfg(feature = "train")]

use graphminnet::config::{ModelConfig, Override, Recipe};
use graphminnet::model::{GraphMinNet, ModelInput};
use graphminnet::task::loss::LossValue;
use graphminnet::train::{
    DataSource, Device, GradientPass, Loaded, Observer, Outcome, Resources, Run, RunOutcome, RunSpec,
    SeedResult, Settings, SplitChoice, TrainError, TrainEvent, TrainingData, assist, dismiss, infer_recipe,
    train_in_parts, train_seed,
};
use graphminnet_data::exchange::{Exchange, Threads};
use graphminnet_data::generate::Papers;
use graphminnet_data::partition::{Connection, Partition};
use graphminnet_data::spectral::{PreparedGraph, prepare_graph};
use graphminnet_data::{Features, Graph, ReadOptions, rng};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NODES: usize = 37;

/// A ring with chords and a few nodes that hang on it, with features of nodes and edges; edges go one way here and there.
fn graph() -> Graph {
    let mut random = rng::stream(4, "graph", &[]);
    let mut edges: Vec<[u32; 2]> = Vec::new();
    for node in 0..NODES as u32 {
        let next = (node + 1) % NODES as u32;
        edges.push([node, next]);
        edges.push([next, node]);
        if node % 3 == 0 {
            edges.push([node, (node * 5 + 11) % NODES as u32]);
        }
    }
    let mut numbers = |count: usize| (0..count).map(|_| random.normal() as f32).collect::<Vec<_>>();
    let (nodes, count) = (numbers(2 * NODES), edges.len());
    let edge_numbers = numbers(3 * count);
    let node_features = Features::numbers(NODES, 2, nodes).unwrap();
    Graph::new(NODES, edges, node_features, Features::numbers(count, 3, edge_numbers).unwrap()).unwrap()
}

fn config(fields: &[&str]) -> ModelConfig {
    // A model without a local branch refuses options of edges.
    let edges = match fields.contains(&"model.local=none") {
        true => "",
        false => "edge_encoder = \"linear\"\nedge_in = 3\n",
    };
    let base = format!(
        "[model]\nhidden = 12\nlayers = 3\nlap_dim = 5\npe_width = 6\nnode_in = 2\n{edges}level = \"node\"\nout_dim = 3\n\
         [train]\nloss = \"cross_entropy\"\nmetric = \"accuracy\"\n"
    );
    let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
    let table = base.parse().unwrap();
    graphminnet::config::with_overrides("test", table, &fields).unwrap().model
}

/// Outputs and gradients of a pass in training, and the outputs of one in evaluation after it; rows in the order of numbers.
type Computed = (Vec<f32>, BTreeMap<String, Vec<f32>>, Vec<f32>);

/// The gradient that the output of a node gets, whoever holds it.
fn slopes(numbers: impl Iterator<Item = u64>, columns: usize) -> Vec<f32> {
    numbers
        .flat_map(|number| {
            (0..columns).map(move |at| ((number * 7 + at as u64 * 3) % 11) as f32 / 11.0 - 0.4)
        })
        .collect()
}

fn compute(config: &ModelConfig, graph: &PreparedGraph, numbers: impl Iterator<Item = u64>) -> Computed {
    let device = Device::flex().autodiff();
    let model = GraphMinNet::new(config, 3, &device).unwrap();
    let input = ModelInput::from_prepared(config, &[graph], &device).unwrap();
    let pass = GradientPass::kept(&model, &input, 9);
    let numbers_of = |tensor: burn::tensor::Tensor<2>| tensor.into_data().try_into_vec::<f32>().unwrap();
    let outputs = numbers_of(pass.output().clone());
    let gradient = slopes(numbers, config.out_dim);
    let loss = LossValue { value: 0.0, labels: 1, gradient };
    let gradients = pass.gradients(&loss);
    let gradients =
        gradients.iter().map(|(name, values)| (name.to_owned(), values.unwrap_or_default().to_vec()));
    let gradients = gradients.collect();
    // Running estimates have moved with the statistics of all nodes.
    let evaluated = numbers_of(model.forward(&input, graphminnet::nn::Pass::Eval));
    (outputs, gradients, evaluated)
}

/// The same in parts, put together.
fn compute_in_parts(config: &ModelConfig, whole: &PreparedGraph, partition: &Partition) -> Computed {
    let team = Threads::team(partition.parts());
    let found: Vec<Computed> = std::thread::scope(|scope| {
        let parts: Vec<_> = team
            .into_iter()
            .map(|rank| {
                scope.spawn(move || {
                    let number = rank.rank();
                    let part = partition.part(whole, number).unwrap();
                    let part = Connection::establish(Arc::new(rank), part);
                    compute(config, &part, partition.numbers(number))
                })
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let (mut outputs, mut sums, mut evaluated) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (own, gradients, own_evaluated) in found {
        outputs.extend(own);
        evaluated.extend(own_evaluated);
        for (name, values) in gradients {
            let sum: &mut Vec<f32> = sums.entry(name).or_default();
            sum.resize(sum.len().max(values.len()), 0.0);
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    (outputs, sums, evaluated)
}

/// Up to rounding, which is in proportion to what is added up; `least` is the size of that at least.
fn assert_close(found: &[f32], expected: &[f32], least: f32, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(least, |size, value| size.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 3e-4 * size, "{what}, {at}: {found} is not {expected}");
    }
}

fn check(fields: &[&str], partitions: &[Partition]) {
    let config = config(fields);
    let whole = prepare_graph(&Arc::new(graph()), &config.prepare_options()).unwrap();
    for partition in partitions {
        // The nodes of the whole graph in the order of the parts.
        let order: Vec<usize> = (0..NODES as u64).map(|number| partition.node(number)).collect();
        let number_of = |node: usize| order.iter().position(|&there| there == node).unwrap() as u64;
        let expected = compute(&config, &whole, (0..NODES).map(number_of));
        let found = compute_in_parts(&config, &whole, partition);
        let rows = |values: &[f32]| -> Vec<f32> {
            let columns = config.out_dim;
            order.iter().flat_map(|&node| values[node * columns..(node + 1) * columns].to_vec()).collect()
        };
        let what = |name: &str| format!("{name} of {fields:?} in {:?}", partition.offsets());
        assert_close(&found.0, &rows(&expected.0), 1e-3, &what("outputs"));
        assert_close(&found.2, &rows(&expected.2), 1e-3, &what("evaluated outputs"));
        assert_eq!(found.1.keys().collect::<Vec<_>>(), expected.1.keys().collect::<Vec<_>>());
        // A bias before a norm has a gradient of rounding errors alone.
        let largest = expected.1.values().flatten().fold(0.0f32, |size, value| size.max(value.abs()));
        for (name, values) in &expected.1 {
            assert_close(&found.1[name], values, 0.01 * largest, &what(&format!("gradient of {name}")));
        }
    }
}

/// Any partition at all; many have empty parts, and parts without edges of their own.
fn any_partition() -> impl Strategy<Value = Partition> {
    (1usize..=4).prop_flat_map(|parts| {
        prop::collection::vec(0..parts as u32, NODES)
            .prop_map(move |part_of_node| Partition::of(&part_of_node, parts))
    })
}

#[test]
fn values_and_gradients_are_those_of_one_process() {
    let in_order = |parts| Partition::in_order(NODES, parts);
    // Uneven; with empty parts in every place; with parts that have no edges among their own nodes.
    let sizes = |sizes: &[usize]| {
        let part_of_node: Vec<u32> = sizes
            .iter()
            .enumerate()
            .flat_map(|(part, &size)| std::iter::repeat_n(part as u32, size))
            .collect();
        Partition::of(&part_of_node, sizes.len())
    };
    let scattered: Vec<u32> = (0..NODES as u32).map(|node| node % 4).collect();
    let partitions = [
        in_order(1),
        in_order(2),
        in_order(3),
        in_order(4),
        sizes(&[30, 1, 6]),
        sizes(&[0, 20, 0, 17]),
        sizes(&[37, 0]),
        Partition::of(&scattered, 4),
    ];
    // Without dropout, whose mask goes by the place of a node and so by the order of the parts.
    check(&["model.local=gatedgcn"], &partitions);
    check(&["model.local=gine", "model.self_term=true", "model.degree_scaling=true"], &partitions);
    check(&["model.local=none", "model.inner_product=type3"], &partitions);
}

#[test]
fn dropout_and_every_encoder_are_those_of_one_process_where_nodes_keep_their_order() {
    let partitions = [1, 2, 4].map(|parts| Partition::in_order(NODES, parts));
    let drop = ["model.drop_local=0.3", "model.drop_ffn=0.2", "model.drop_res=0.1", "model.drop_gmn=0.2"];
    let with = |fields: &[&'static str]| [&drop[..], fields].concat();
    check(&with(&["model.local=gatedgcn", "model.node_pe=lappe", "model.pe_dim=4"]), &partitions);
    check(
        &with(&[
            "model.local=gine",
            "model.node_pe=rwse",
            "model.rwse_steps=4",
            "model.pe_dim=4",
            "model.drop_encoder=0.2",
        ]),
        &partitions,
    );
    check(
        &with(&[
            "model.local=gatedgcn",
            "model.node_encoder=premp",
            "model.node_in=5",
            "model.drop_gmn_at=htilde",
        ]),
        &partitions,
    );
    check(&["model.local=gatedgcn", "model.global=none"], &partitions);
}

#[test]
fn any_partition_at_all_gives_the_same_values() {
    proptest!(ProptestConfig::with_cases(6), |(partition in any_partition(), gated: bool)| {
        check(&[if gated { "model.local=gatedgcn" } else { "model.local=gine" }], &[partition]);
    });
}

fn papers() -> Loaded {
    let settings =
        Papers { nodes: 300, words: 60, labels_per_class: 10, valid: 60, test: 90, ..Papers::default() };
    Loaded::split(settings.generate(2).unwrap(), &SplitChoice::Official).unwrap()
}

const SMALL: [&str; 10] = [
    "model.pe_dim=4",
    "model.hidden=16",
    "model.layers=2",
    "model.lap_dim=4",
    "model.encoder_hops=0",
    "model.local=gatedgcn",
    "model.drop_ffn=0.2",
    "train.epochs=4",
    "train.warmup=1",
    "train.schedule=cosine",
];

fn recipe(loaded: &Loaded, fields: &[&str]) -> Recipe {
    let fields: Vec<Override> =
        SMALL.iter().chain(fields).map(|field| Override::parse(field).unwrap()).collect();
    infer_recipe("papers", &loaded.dataset.schema, loaded, &fields).unwrap().recipe
}

fn prepared(loaded: &Loaded, recipe: &Recipe) -> TrainingData {
    TrainingData::prepare(&loaded.dataset, loaded.splits.clone(), &recipe.model, None, &()).unwrap().0
}

#[derive(Default)]
struct Seen {
    losses: Vec<f64>,
    scores: Vec<Option<f64>>,
    cut: Option<usize>,
}

impl Observer for Seen {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Epoch(report) => {
                self.losses.push(report.train_loss);
                self.scores.extend([report.valid, report.test]);
            }
            TrainEvent::InParts { cut, .. } => self.cut = Some(cut.edges),
            _ => {}
        }
    }
}

fn train(recipe: &Recipe, data: &TrainingData, hosts: usize) -> Result<(SeedResult, Seen), TrainError> {
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let hosts: Vec<_> = Threads::team(hosts)
            .into_iter()
            .map(|host| {
                scope.spawn(move || {
                    let (host, mut seen): (Arc<dyn Exchange>, _) = (Arc::new(host), Seen::default());
                    let interrupt = AtomicBool::new(false);
                    let settings = Settings {
                        seed: 5,
                        ..Settings::new("papers", &recipe.model, &recipe.train, &interrupt)
                    };
                    let outcome = match recipe.train.parts {
                        None => train_seed(&settings, data, None, &mut seen),
                        Some(_) => train_in_parts(&settings, &host, data, None, &mut seen),
                    };
                    (outcome, seen)
                })
            })
            .collect();
        hosts.into_iter().map(|host| host.join().unwrap()).collect()
    });
    let mut first = None;
    for (host, (outcome, seen)) in outcomes.into_iter().enumerate() {
        match (host, outcome?) {
            (0, Outcome::Finished(result)) => first = Some((result, seen)),
            (1.., Outcome::Assisted) => {}
            (host, other) => panic!("host {host}: {other:?}"),
        }
    }
    Ok(first.unwrap())
}

#[test]
fn any_number_of_hosts_trains_to_the_same_bits_and_all_parts_as_one_process() {
    let loaded = papers();
    let alone = recipe(&loaded, &[]);
    let data = prepared(&loaded, &alone);
    let (_, whole) = train(&alone, &data, 1).unwrap();
    for fields in [
        &["train.parts=4"][..],
        &["train.parts=4", "train.partition=greedy", "model.local=gine", "train.recompute_layers=1"],
        &["train.parts=3", "model.local=none", "train.average_decay=0.5"],
    ] {
        let in_parts = recipe(&loaded, fields);
        let (expected, seen) = train(&in_parts, &data, 1).unwrap();
        for hosts in 2..=in_parts.train.parts.unwrap() {
            let (found, also) = train(&in_parts, &data, hosts).unwrap();
            assert_eq!(
                found.last_weights_sha256, expected.last_weights_sha256,
                "{fields:?} on {hosts} hosts"
            );
            assert_eq!(found.best_weights_sha256, expected.best_weights_sha256);
            assert_eq!((&also.losses, &also.scores), (&seen.losses, &seen.scores));
        }
        assert!(seen.cut.is_some_and(|edges| edges > 0));
        if fields == ["train.parts=4"] {
            // Dropout included: nodes keep their order.
            for (found, expected) in seen.losses.iter().zip(&whole.losses) {
                assert!(
                    (found - expected).abs() < 1e-3 * expected.abs(),
                    "{:?} {:?}",
                    seen.losses,
                    whole.losses
                );
            }
            assert_eq!(seen.scores.len(), whole.scores.len());
        }
    }
}

#[test]
fn one_part_is_trained_as_the_whole_graph_is() {
    let loaded = papers();
    let scaled = [
        "train.loss=mse",
        "train.metric=mae",
        "train.target_scaling=standard",
        "model.out_dim=1",
        "model.standardize=true",
    ];
    for fields in [&[][..], &scaled] {
        let alone = recipe(&loaded, fields);
        let data = prepared(&loaded, &alone);
        let parts = recipe(&loaded, &[fields, &["train.parts=3"]].concat());
        let ((_, whole), (_, seen)) = (train(&alone, &data, 1).unwrap(), train(&parts, &data, 2).unwrap());
        for (found, expected) in seen.losses.iter().zip(&whole.losses) {
            assert!((found - expected).abs() < 1e-3 * expected.abs(), "{:?} {:?}", seen.losses, whole.losses);
        }
    }
}

/// The same through a run: its directory, its resumption with another number of hosts, its model and predictions.
#[test]
fn a_run_in_parts_is_interrupted_and_resumed_by_any_number_of_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path());
    let tables = folder.path().join("tables");
    let level = ReadOptions { level: Some(graphminnet_data::Level::Node), ..Default::default() };
    let dataset = graphminnet_data::open(&file, &level).unwrap().dataset;
    graphminnet_data::formats::write(&dataset, &tables).unwrap();
    let runs = [("of-line", file, None), ("of-tables", tables, Some(vec!["target".to_owned()]))].map(
        |(name, path, targets)| {
            let read = Box::new(ReadOptions { targets, ..level.clone() });
            let source =
                DataSource::File { path, read, split: SplitChoice::Random { seed: 0 }, calibrate: false };
            let loaded = source.load().unwrap();
            let fields = ["train.parts=3", "train.checkpoint_steps=1", "model.node_pe=lappe"];
            resumed_by_any(&RunSpec::new(recipe(&loaded, &fields), source), &folder.path().join(name))
        },
    );
    // A line is read as a whole, tables in parts.
    assert_eq!(runs[0], runs[1]);
}

/// Trains a run at once, and another one that is interrupted; gives the hash of the weights.
fn resumed_by_any(spec: &RunSpec, folder: &Path) -> String {
    std::fs::create_dir(folder).unwrap();
    let on = |hosts: usize, path: &Path, stop_after: Option<usize>| -> RunOutcome {
        let (flag, steps) = (AtomicBool::new(false), std::sync::Mutex::new(0));
        let mut outcomes: Vec<Option<RunOutcome>> = std::thread::scope(|scope| {
            let hosts: Vec<_> = Threads::team(hosts)
                .into_iter()
                .map(|host| {
                    let (flag, steps) = (&flag, &steps);
                    scope.spawn(move || {
                        let first = host.rank() == 0;
                        let resources =
                            Resources { exchange: Arc::new(host), ..Resources::on(Device::flex()) };
                        if !first {
                            assist(&resources, flag).unwrap();
                            return None;
                        }
                        let mut run = Run::open_or_create(path, spec).unwrap();
                        let outcome =
                            run.train(&resources, &mut Stop { flag, steps, after: stop_after }, flag);
                        dismiss(&resources);
                        Some(outcome.unwrap())
                    })
                })
                .collect();
            hosts.into_iter().map(|host| host.join().unwrap()).collect()
        });
        outcomes.remove(0).unwrap()
    };
    let hash = |outcome: RunOutcome| match outcome {
        RunOutcome::Finished(summary) => summary.seeds[0].last_weights_sha256.clone(),
        other => panic!("{other:?}"),
    };
    let expected = hash(on(1, &folder.join("whole"), None));
    let path = folder.join("resumed");
    assert_eq!(on(3, &path, Some(1)), RunOutcome::Interrupted);
    assert_eq!(on(1, &path, Some(1)), RunOutcome::Interrupted);
    assert_eq!(hash(on(2, &path, None)), expected);
    let predictions = std::fs::read_to_string(path.join("seed-0/test_predictions.csv")).unwrap();
    assert!(predictions.lines().count() > 3, "{predictions}");
    assert!(path.join("seed-0/best.gmn").is_file());
    expected
}

struct Stop<'a> {
    flag: &'a AtomicBool,
    steps: &'a std::sync::Mutex<usize>,
    after: Option<usize>,
}

impl Observer for Stop<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if matches!(event, TrainEvent::Step { .. }) {
            let mut steps = self.steps.lock().unwrap();
            *steps += 1;
            self.flag.store(self.after.is_some_and(|after| *steps >= after), Ordering::Relaxed);
        }
    }
}

/// The graph of the tests as a file, with a class for each node.
fn written(folder: &Path) -> std::path::PathBuf {
    let graph = graph();
    let features: Vec<_> = (0..NODES).map(|node| graph.node_features().number_row(node).to_vec()).collect();
    let targets: Vec<_> = features.iter().map(|row| i32::from(row[0] > 0.0)).collect();
    let line = serde_json::json!({
        "num_nodes": NODES, "edges": graph.edges(), "node_features": features, "target": targets,
    });
    let path = folder.join("graph.jsonl");
    std::fs::write(&path, format!("{line}\n")).unwrap();
    path
}

#[test]
fn what_cannot_be_trained_in_parts_is_refused_with_the_reason() {
    let loaded = papers();
    let refused = |fields: &[&str], hosts: usize| {
        let recipe = recipe(&loaded, fields);
        let data = prepared(&loaded, &recipe);
        train(&recipe, &data, hosts).map(|_| ()).unwrap_err().to_string()
    };
    for (fields, hosts, expected) in [
        (&["train.parts=2"][..], 3, "the number of ranks"),
        (&["train.parts=2", "model.local=gcn"], 1, "gatedgcn, gine or none"),
        (&["train.parts=2", "model.aggregate=add"], 1, "more of a graph than sums"),
        (&["train.parts=2", "model.encoder_hops=2"], 1, "model.encoder_hops"),
        (&["train.parts=2", "train.loss=weighted_cross_entropy"], 1, "without weights"),
        (&["train.parts=2", "train.partition=/nowhere/parts"], 2, "nowhere"),
    ] {
        let error = refused(fields, hosts);
        assert!(error.contains(expected), "{fields:?}: {error}");
    }
    for (fields, expected) in [
        (["train.parts=0", "train.epochs=2"], "train.parts"),
        (["train.parts=2", "train.pieces=2"], "not both"),
        (["train.partition=greedy", "train.epochs=2"], "parts is not set"),
    ] {
        let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
        let error = infer_recipe("papers", &loaded.dataset.schema, &loaded, &fields).unwrap_err().to_string();
        assert!(error.contains(expected), "{fields:?}: {error}");
    }
}

#[test]
fn a_partition_of_another_program_is_read_from_its_file() {
    let loaded = papers();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.part.2");
    let text: String = (0..300).map(|node| format!("{}\n", usize::from(node >= 150))).collect();
    std::fs::write(&path, text).unwrap();
    let of_file = format!("train.partition={}", path.display());
    let (by_order, by_file) =
        (recipe(&loaded, &["train.parts=2"]), recipe(&loaded, &["train.parts=2", &of_file]));
    let data = prepared(&loaded, &by_order);
    let [first, second] = [by_order, by_file].map(|recipe| train(&recipe, &data, 2).unwrap().0);
    assert_eq!(first.last_weights_sha256, second.last_weights_sha256);
}
