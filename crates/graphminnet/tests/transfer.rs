//! Runs that begin with the weights of a trained model.
#![cfg(feature = "train")]

use graphminnet::Bundle;
use graphminnet::config::Override;
use graphminnet::train::{
    DataSource, Device, Observer, Resources, Run, RunOutcome, RunSpec, SplitChoice, Start, Summary,
    TakenOver, TrainError, TrainEvent, Transfer, TransferError, Unnamed, fit_recipe, infer_recipe,
};
use graphminnet::weights::{self, NamedTensor};
use graphminnet_data::ReadOptions;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A rate that moves no weight: what a run ends with is what it began with.
const STILL: &str = "train.learning_rate=1e-30";

/// Paths of four nodes with a word and a number each; the target is what the number was before `unit` and `offset`.
fn file(folder: &Path, name: &str, words: [&str; 3], [unit, offset]: [f64; 2], target: [f64; 2]) -> PathBuf {
    let mut text = String::new();
    for graph in 0..30usize {
        let value = |at: usize| ((graph * 7 + at * 3) % 16) as f64 / 8.0;
        let node =
            |at: usize| format!("[\"{}\", {:.4}]", words[(graph + at) % 3], value(at) * unit + offset + 0.5);
        let nodes: Vec<String> = (0..4).map(node).collect();
        let target = value(0) * target[0] + target[1];
        let features = nodes.join(",");
        writeln!(text, "{{\"num_nodes\": 4, \"edges\": [[0,1],[1,2],[2,3]], \"node_features\": [{features}], \"target\": {target}}}").unwrap();
    }
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn source(path: &Path) -> DataSource {
    let read = Box::new(ReadOptions::default());
    DataSource::File { path: path.to_owned(), read, split: SplitChoice::Random { seed: 0 }, calibrate: false }
}

fn overrides(fields: &[&str]) -> Vec<Override> {
    fields.iter().map(|field| Override::parse(field).unwrap()).collect()
}

const SMALL: [&str; 8] = [
    "model.hidden=16",
    "model.layers=2",
    "model.lap_dim=3",
    "model.pe_dim=4",
    "model.pe_width=4",
    "train.epochs=2",
    "train.warmup=1",
    "train.batch_size=8",
];

/// A run on a file, beginning with a model or at random.
fn spec(data: &Path, from: Option<Transfer>, fields: &[&str]) -> RunSpec {
    let source = source(data);
    let loaded = source.load().unwrap();
    let schema = &loaded.dataset.schema;
    let recipe = match &from {
        None => {
            let fields: Vec<&str> = SMALL.iter().chain(fields).copied().collect();
            infer_recipe("own", schema, &loaded, &overrides(&fields)).unwrap().recipe
        }
        Some(transfer) => {
            let table = Start::read(transfer).unwrap().recipe(None);
            let fields: Vec<&str> = SMALL[5..].iter().chain(fields).copied().collect();
            fit_recipe("own", &table, Unnamed::Protocol, schema, &loaded, &overrides(&fields)).unwrap().recipe
        }
    };
    RunSpec { from, ..RunSpec::new(recipe, source) }
}

#[derive(Default)]
struct Listener {
    taken: Option<TakenOver>,
    stop_at: Option<usize>,
    flag: AtomicBool,
}

impl Observer for &mut Listener {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::TakenOver(taken) => self.taken = Some(taken.clone()),
            TrainEvent::Step { epoch, step: 1, .. } if self.stop_at == Some(*epoch) => {
                self.flag.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

fn train(run: &mut Run) -> Result<(Summary, TakenOver), TrainError> {
    let mut listener = Listener::default();
    let resources = Resources::on(Device::flex());
    match run.train(&resources, &mut &mut listener, &AtomicBool::new(false))? {
        RunOutcome::Finished(summary) => Ok((summary, listener.taken.unwrap_or_default())),
        other => panic!("{other:?}"),
    }
}

struct Trained {
    folder: tempfile::TempDir,
    model: PathBuf,
}

/// A model of `acid`, `base` and `salt`.
fn trained() -> Trained {
    let folder = tempfile::tempdir().unwrap();
    let data = file(folder.path(), "first.jsonl", ["acid", "base", "salt"], [1.0, 0.0], [1.0, 0.0]);
    let run = folder.path().join("first");
    train(&mut Run::create(&run, &spec(&data, None, &["train.learning_rate=0.01"])).unwrap()).unwrap();
    Trained { model: run.join("seed-0/best.gmn"), folder }
}

impl Trained {
    /// Data of other words, another unit and other targets.
    fn other_data(&self) -> PathBuf {
        file(self.folder.path(), "other.jsonl", ["acid", "aaa", "base"], [3.0, 100.0], [10.0, 7.0])
    }

    fn run(&self, name: &str, spec: &RunSpec) -> Result<(Bundle, TakenOver), TrainError> {
        let path = self.folder.path().join(name);
        let taken = train(&mut Run::create(&path, spec)?)?.1;
        Ok((Bundle::load(&path.join("seed-0/last.gmn")).unwrap(), taken))
    }
}

fn tensors(bundle: &Bundle) -> Vec<NamedTensor> {
    weights::named_tensors(bundle.model())
}

fn tensor(bundle: &Bundle, name: &str) -> NamedTensor {
    tensors(bundle).into_iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn row(tensor: &NamedTensor, at: usize) -> &[f32] {
    &tensor.values[at * tensor.shape[1]..(at + 1) * tensor.shape[1]]
}

fn assert_close(a: &[f32], b: &[f32], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() < 1e-6, "{what}: {a} and {b}");
    }
}

#[test]
fn rows_of_tables_are_matched_by_name_and_the_rest_begins_at_random() {
    let trained = trained();
    let data = trained.other_data();
    let first = Bundle::load(&trained.model).unwrap();
    let transfer = Transfer::from_file(&trained.model);
    let (second, taken) = trained.run("second", &spec(&data, Some(transfer), &[STILL])).unwrap();
    let (random, _) = trained.run("random", &spec(&data, None, &[STILL])).unwrap();

    let name = "node_encoder.categories.tables.0.weight";
    let [old, new, fresh] = [&first, &second, &random].map(|bundle| tensor(bundle, name));
    // Categories are sorted: acid, base, salt then; aaa, acid, base now.
    assert_close(row(&new, 1), row(&old, 0), "acid");
    assert_close(row(&new, 2), row(&old, 1), "base");
    assert_close(row(&new, 0), row(&fresh, 0), "aaa");
    let categories = taken.categories.values().next().unwrap();
    assert!(categories.new.contains(&"aaa".to_owned()), "{taken:?}");
    assert_eq!(categories.taken, categories.all - 1, "{taken:?}");
    let text = taken.to_string();
    assert!(text.contains("; new in node column `") && text.contains("`: aaa"), "{text}");
    assert_eq!((taken.new_head, taken.missing.as_slice()), (None, &[][..]));

    // The number keeps its weights and the scale that they were trained with.
    for name in ["node_encoder.numbers.weight", "node_scale.running_mean", "node_scale.running_var"] {
        assert_close(&tensor(&second, name).values, &tensor(&first, name).values, name);
    }
    // The layers and all of the head but its last map, which answers in the units of the new targets.
    for old in tensors(&first).iter().filter(|tensor| tensor.is_parameter()) {
        if old.name.starts_with("layers.") || old.name == "head.lins.0.weight" {
            assert_close(&tensor(&second, &old.name).values, &old.values, &old.name);
        }
    }
    let answer = |bundle: &Bundle| {
        let scaler = bundle.description().target_scaler.clone().unwrap();
        let bias = tensor(bundle, "head.lins.2.bias");
        f64::from(bias.values[0]) * scaler.deviation[0] + scaler.mean[0]
    };
    assert!((answer(&first) - answer(&second)).abs() < 1e-4, "{} and {}", answer(&first), answer(&second));
    assert_ne!(tensor(&first, "head.lins.2.bias").values, tensor(&second, "head.lins.2.bias").values);

    let from = second.description().from.clone().unwrap();
    assert_eq!((from.file.as_str(), from.name.as_str()), ("best.gmn", "own"));
    assert_eq!(first.description().from, None);
}

#[test]
fn deviations_and_quantiles_that_were_learnt_are_kept_in_other_units() {
    for (loss, quantiles) in
        [("train.loss=mean_variance", None), ("train.loss=quantile", Some("train.quantiles=[0.25,0.5]"))]
    {
        let folder = tempfile::tempdir().unwrap();
        let words = ["acid", "base", "salt"];
        let first = file(folder.path(), "first.jsonl", words, [1.0, 0.0], [1.0, 0.0]);
        let other = file(folder.path(), "other.jsonl", words, [1.0, 0.0], [10.0, 7.0]);
        let fields: Vec<&str> = [loss].into_iter().chain(quantiles).collect();
        let run = |name: &str, spec: &RunSpec| {
            let path = folder.path().join(name);
            let (_, taken) = train(&mut Run::create(&path, spec).unwrap()).unwrap();
            (path.join("seed-0/last.gmn"), taken)
        };
        let started = run("first", &spec(&first, None, &fields)).0;
        let still: Vec<&str> = fields.iter().copied().chain([STILL]).collect();
        let (ended, taken) = run("second", &spec(&other, Some(Transfer::from_file(&started)), &still));
        assert_eq!(taken.new_head, None);
        let graph = source(&first).load().unwrap().dataset.samples[0].graph.clone();
        let said = |path: &Path| {
            let answers = Bundle::load(path).unwrap().predict(std::slice::from_ref(&graph));
            let row = answers.graph(0).unwrap().rows().next().unwrap();
            [row.values(), row.deviations(), row.quantiles()].concat()
        };
        for (before, after) in said(&started).iter().zip(said(&ended)) {
            assert!((before - after).abs() < 1e-3 * (1.0 + before.abs()), "{loss}: {before} and {after}");
        }
    }
}

#[test]
fn what_the_head_reads_of_edges_is_matched_by_name_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, words: [&str; 3]| {
        let mut text = String::new();
        for graph in 0..30usize {
            let word = |at: usize| words[(graph + at) % 3];
            let [a, b, c] = [0, 1, 2].map(word);
            let size = |word: &str| if word == "base" { 2 } else { 1 };
            let [x, y, z] = [a, b, c].map(size);
            writeln!(
                text,
                "{{\"num_nodes\": 4, \"edges\": [[0,1],[1,2],[2,3]], \"node_features\": [[0.5],[1.5],[2.5],[0.25]], \
                 \"edge_features\": [[\"{a}\"],[\"{b}\"],[\"{c}\"]], \"edge_target\": [{x}.5,{y}.25,{z}.75]}}"
            )
            .unwrap();
        }
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let last = |name: &str, spec: &RunSpec| {
        let path = folder.path().join(name);
        let taken = train(&mut Run::create(&path, spec).unwrap()).unwrap().1;
        (Bundle::load(&path.join("seed-0/last.gmn")).unwrap(), taken)
    };
    let first = file("first.jsonl", ["acid", "base", "salt"]);
    let (first, _) = last("first", &spec(&first, None, &["train.learning_rate=0.01"]));
    // As many words, in other places, and one word more.
    for (name, words) in [("same", ["acid", "aaa", "base"]), ("more", ["aaa", "base", "acid"])] {
        let mut data = file(&format!("{name}.jsonl"), words);
        if name == "more" {
            let text = std::fs::read_to_string(&data).unwrap();
            data = folder.path().join("longer.jsonl");
            std::fs::write(&data, text.replacen("aaa", "bbb", 4)).unwrap();
        }
        let transfer = Transfer::from_file(folder.path().join("first/seed-0/last.gmn"));
        let (second, taken) = last(name, &spec(&data, Some(transfer), &[STILL]));
        let [old, new] = [&first, &second].map(|bundle| tensor(bundle, "head_edges.weight"));
        assert_close(row(&new, 1), row(&old, 0), "acid");
        assert_close(row(&new, 2), row(&old, 1), "base");
        let [of_edges] = taken.categories.values().collect::<Vec<_>>()[..] else { panic!("{taken:?}") };
        assert_eq!(of_edges.new[0], "aaa", "each category is counted once: {taken:?}");
    }
}

#[test]
fn a_new_head_begins_at_random_if_asked_for_or_if_the_targets_are_others() {
    let trained = trained();
    let data = trained.other_data();
    let transfer = Transfer { new_head: true, ..Transfer::from_file(&trained.model) };
    let (second, taken) = trained.run("second", &spec(&data, Some(transfer), &[STILL])).unwrap();
    let (random, _) = trained.run("random", &spec(&data, None, &[STILL])).unwrap();
    assert!(taken.new_head.is_some_and(|reason| reason.contains("asked for")));
    for name in ["head.lins.0.weight", "head.lins.2.bias"] {
        assert_close(&tensor(&second, name).values, &tensor(&random, name).values, name);
    }
    let text = std::fs::read_to_string(&data).unwrap();
    let data = trained.folder.path().join("classes.jsonl");
    let classes: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            format!(
                "{}\"target\": \"{}\"}}\n",
                line.split("\"target\"").next().unwrap(),
                ["a", "b", "c"][at % 3]
            )
        })
        .collect();
    std::fs::write(&data, classes).unwrap();
    let transfer = Transfer::from_file(&trained.model);
    let (third, taken) = trained.run("third", &spec(&data, Some(transfer), &[STILL])).unwrap();
    assert_eq!(third.description().model.out_dim, 3);
    assert!(taken.new_head.is_some_and(|reason| reason.contains("task")));
}

#[test]
fn frozen_parts_stay_and_what_was_taken_over_moves_less_at_a_smaller_rate() {
    let trained = trained();
    let data = trained.other_data();
    let first = Bundle::load(&trained.model).unwrap();
    let moved = |name: &str, transfer: Transfer| {
        let (bundle, taken) =
            trained.run(name, &spec(&data, Some(transfer), &["train.learning_rate=0.01"])).unwrap();
        let distance = |tensor_name: &str| {
            let (new, old) = (tensor(&bundle, tensor_name).values, tensor(&first, tensor_name).values);
            new.iter().zip(&old).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        (["layers.0.gmn.W.weight", "layers.1.gmn.W.weight", "head.lins.0.weight"].map(distance), taken)
    };
    let base = || Transfer::from_file(&trained.model);
    let (free, _) = moved("free", base());
    assert!(free.iter().all(|distance| *distance > 0.0), "{free:?}");
    let freeze = vec!["encoders".to_owned(), "layers.0".to_owned()];
    let (frozen, taken) = moved("frozen", Transfer { freeze, ..base() });
    assert!(frozen[0] == 0.0 && frozen[1] > 0.0 && frozen[2] > 0.0, "{frozen:?}");
    // A table with a new row is trained, and it is said.
    assert_eq!(taken.not_frozen, ["node_encoder.categories.tables.0.weight"]);
    let (slow, _) = moved("slow", Transfer { rate: 0.01, ..base() });
    assert!(slow[0] > 0.0 && slow[0] < 0.1 * free[0], "{slow:?} and {free:?}");
}

#[test]
fn a_run_that_began_with_a_model_resumes_to_the_same_bits_without_the_file() {
    let trained = trained();
    let data = trained.other_data();
    let copy = trained.folder.path().join("copy.gmn");
    std::fs::copy(&trained.model, &copy).unwrap();
    let transfer = Transfer { freeze: vec!["layers.0".into()], rate: 0.3, ..Transfer::from_file(&copy) };
    let spec = spec(&data, Some(transfer), &["train.learning_rate=0.01", "train.epochs=3"]);
    let hashes = |summary: &Summary| summary.seeds[0].last_weights_sha256.clone();
    let whole = trained.folder.path().join("whole");
    let (expected, _) = train(&mut Run::create(&whole, &spec).unwrap()).unwrap();

    let path = trained.folder.path().join("interrupted");
    let mut listener = Listener { stop_at: Some(1), ..Listener::default() };
    let flag = AtomicBool::new(false);
    {
        let mut run = Run::create(&path, &spec).unwrap();
        struct Stop<'a>(&'a AtomicBool, &'a mut Listener);
        impl Observer for Stop<'_> {
            fn event(&mut self, event: &TrainEvent) {
                (&mut *self.1).event(event);
                self.0.fetch_or(self.1.flag.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        let outcome = run.train(&Resources::on(Device::flex()), &mut Stop(&flag, &mut listener), &flag);
        assert_eq!(outcome.unwrap(), RunOutcome::Interrupted);
    }
    // It has a copy of its own.
    std::fs::remove_file(&copy).unwrap();
    let text = std::fs::read_to_string(path.join("run.toml")).unwrap();
    assert!(text.contains("[from]\nfile = \"copy.gmn\"\nsha256 = "), "{text}");
    let (summary, taken) = train(&mut Run::open(&path).unwrap()).unwrap();
    assert_eq!(hashes(&summary), hashes(&expected));
    assert_eq!(taken, TakenOver::default(), "what was taken over is said once");

    // Begun otherwise, it is another run.
    let before = text.replace("rate = 0.3", "rate = 0.5");
    assert_ne!(before, text);
    for file in ["seed-0/result.json", "summary.json"] {
        std::fs::remove_file(path.join(file)).unwrap();
    }
    std::fs::write(path.join("run.toml"), before).unwrap();
    let error = train(&mut Run::open(&path).unwrap()).unwrap_err();
    assert!(matches!(error, TrainError::Changed { .. }), "{error}");
    std::fs::write(path.join("run.toml"), text).unwrap();
    std::fs::write(path.join("from.gmn"), "something else").unwrap();
    let error = train(&mut Run::open(&path).unwrap()).unwrap_err();
    assert!(error.to_string().contains("from.gmn is damaged"), "{error}");
}

#[test]
fn a_model_that_cannot_be_begun_with_is_refused_with_the_reason() {
    let trained = trained();
    let data = trained.other_data();
    let base = || Transfer::from_file(&trained.model);
    let refused = |name: &str, transfer: Transfer, fields: &[&str]| -> TrainError {
        match trained.run(name, &spec(&data, Some(transfer), fields)) {
            Ok(_) => panic!("{name} was trained"),
            Err(error) => error,
        }
    };
    let error = refused("wider", base(), &["model.hidden=24"]);
    assert!(
        matches!(&error, TrainError::Transfer(TransferError::Shape { .. }))
            && error.to_string().contains("leave out"),
        "{error}"
    );
    let freeze = vec!["layers.7".to_owned()];
    let error = refused("freeze-7", Transfer { freeze, ..base() }, &[]).to_string();
    assert!(error.contains("the model has the parts"), "{error}");
    // What no model has is refused before there is a run.
    for part in ["layer", "", "layers.", "encoder"] {
        let freeze = vec![part.to_owned()];
        let error = Start::read(&Transfer { freeze, ..base() }).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("the model has the parts encoders"), "{part}: {error}");
    }
    let freeze = vec!["head".to_owned()];
    let error = refused("new", Transfer { freeze, new_head: true, ..base() }, &[]).to_string();
    assert!(error.contains("nothing of it was taken over"), "{error}");
    // With the same words everything can be taken over, and frozen.
    let same = trained.folder.path().join("first.jsonl");
    let freeze = ["encoders", "layers", "head"].map(str::to_owned).to_vec();
    let spec_of_all = spec(&same, Some(Transfer { freeze, ..base() }), &[]);
    let error = trained.run("all", &spec_of_all).map(|_| ()).unwrap_err();
    assert!(matches!(error, TrainError::Transfer(TransferError::AllFrozen)), "{error}");

    for rate in [0.0, -1.0, 2.0, f64::NAN] {
        let error = Start::read(&Transfer { rate, ..base() }).map(|_| ()).unwrap_err();
        assert!(matches!(error, TrainError::Transfer(TransferError::Rate { .. })), "{error}");
    }
    let read = |name: &str, bytes: &[u8]| {
        let path = trained.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Start::read(&Transfer::from_file(&path)).map(|_| ()).unwrap_err().to_string()
    };
    let bytes = std::fs::read(&trained.model).unwrap();
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for (name, bytes) in [
        ("damaged.gmn", flipped.as_slice()),
        ("short.gmn", &bytes[..bytes.len() / 2]),
        ("text.gmn", b"no model"),
    ] {
        let error = read(name, bytes);
        assert!(error.contains(name), "{error}");
    }
    let error = Start::read(&Transfer::from_file(trained.folder.path().join("nothing.gmn"))).map(|_| ());
    assert!(error.unwrap_err().to_string().contains("nothing.gmn"));
}

#[test]
fn an_ensemble_and_the_run_itself_are_nothing_to_begin_with() {
    let trained = trained();
    let data = trained.folder.path().join("first.jsonl");
    let path = trained.folder.path().join("several");
    let several = RunSpec { seeds: vec![0, 1], ..spec(&data, None, &[]) };
    train(&mut Run::create(&path, &several).unwrap()).unwrap();
    let error = Start::read(&Transfer::from_file(path.join("ensemble.gmn"))).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("2 models"), "{error}");

    let itself = Transfer::from_file(&trained.model);
    let spec = spec(&data, Some(itself), &[]);
    let first = trained.folder.path().join("first");
    assert!(matches!(Run::create(&first, &spec), Err(TrainError::RunExists { .. })));
    let error = Run::open_or_create(&first, &spec).map(|_| ()).unwrap_err();
    assert!(matches!(error, TrainError::Changed { .. }), "{error}");
}
