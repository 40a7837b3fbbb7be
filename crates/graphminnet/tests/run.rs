//! A run from the library: started, interrupted, opened again, given its data, and refused where it is another.
#![cfg(feature = "train")]

use burn::tensor::Device;
use graphminnet::config::{Override, RING_TRANSFER, Recipe, with_overrides};
use graphminnet::train::{
    DataSource, Generator, Loaded, Observer, Resources, Run, RunOutcome, RunSpec, SplitChoice, Summary,
    TrainError, TrainEvent, runs_in,
};
use graphminnet_data::preparation::Transform;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn recipe(fields: &[&str]) -> Recipe {
    let tiny = ["model.hidden=8", "model.layers=2", "model.lap_dim=4", "model.pe_dim=2", "model.pe_width=4"];
    let short = ["train.epochs=3", "train.batch_size=4", "train.warmup=1"];
    let fields = tiny.iter().chain(&short).chain(fields).map(|field| Override::parse(field).unwrap());
    let fields: Vec<Override> = fields.collect();
    with_overrides("rings", RING_TRANSFER.parse().unwrap(), &fields).unwrap()
}

fn rings(graphs: usize) -> DataSource {
    DataSource::Generated { generator: Generator::RingTransfer, seed: 0, graphs: Some(graphs) }
}

fn spec() -> RunSpec {
    RunSpec { command: vec!["a program".into(), "a call".into()], ..RunSpec::new(recipe(&[]), rings(24)) }
}

fn resources() -> Resources {
    Resources::on(Device::flex())
}

/// Interrupts a run at some event.
struct Stop<'a> {
    flag: &'a AtomicBool,
    at: fn(&TrainEvent) -> bool,
}

impl Observer for Stop<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if (self.at)(event) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

fn finish(run: &mut Run) -> Summary {
    match run.train(&resources(), &mut (), &AtomicBool::new(false)).unwrap() {
        RunOutcome::Finished(summary) => summary,
        other => panic!("{other:?}"),
    }
}

fn weights(summary: &Summary) -> Vec<(String, String)> {
    let hashes = |seed: &graphminnet::train::SeedResult| {
        (seed.best_weights_sha256.clone(), seed.last_weights_sha256.clone())
    };
    summary.seeds.iter().map(hashes).collect()
}

#[test]
fn a_run_records_when_and_by_what_it_was_started() {
    let folder = tempfile::tempdir().unwrap();
    let run = Run::create(&folder.path().join("run"), &spec()).unwrap();
    assert_eq!(run.file().started.len(), "2026-11-15T18-40-09Z".len());
    let started = std::fs::read_to_string(run.path().join("started.json")).unwrap();
    assert!(started.contains("'a program' 'a call'"), "{started}");
}

/// Interrupts a run and goes on with it; gives the hashes of its weights, which are those of a run as a whole.
fn interrupted_and_resumed(spec: &RunSpec) -> Vec<(String, String)> {
    interrupted_at(spec, |event| matches!(event, TrainEvent::Step { epoch: 1, step: 2, .. }))
}

/// The same, interrupted at some event.
fn interrupted_at(spec: &RunSpec, at: fn(&TrainEvent) -> bool) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let expected = weights(&finish(&mut Run::create(&folder.path().join("whole"), spec).unwrap()));
    let path = folder.path().join("interrupted");
    let flag = AtomicBool::new(false);
    let mut run = Run::create(&path, spec).unwrap();
    let outcome = run.train(&resources(), &mut Stop { flag: &flag, at }, &flag).unwrap();
    assert_eq!(outcome, RunOutcome::Interrupted);
    assert_eq!((run.unfinished().unwrap(), run.summary().unwrap()), (vec![0], None));
    assert!(matches!(Run::open(&path), Err(TrainError::Locked { .. })));
    drop(run);
    let mut run = Run::open(&path).unwrap();
    assert_eq!(weights(&finish(&mut run)), expected);
    assert!(run.unfinished().unwrap().is_empty());
    assert_eq!(weights(&run.summary().unwrap().unwrap()), expected);
    assert!(path.join("summary.json").is_file());
    expected
}

#[test]
fn an_interrupted_run_is_opened_again_and_ends_with_the_same_bits() {
    let plain = interrupted_and_resumed(&spec());
    let recipe = recipe(&["train.average_decay=0.9"]);
    let averaged = interrupted_and_resumed(&RunSpec { recipe, ..spec() });
    assert!(plain[0].0 != averaged[0].0 && plain[0].1 != averaged[0].1, "averaged weights are others");
}

#[test]
fn every_schedule_resumes_to_the_same_bits() {
    let mut found = Vec::new();
    for fields in [
        &["train.schedule=constant"][..],
        &["train.schedule=plateau", "train.plateau_patience=1", "train.plateau_factor=0.1"],
        &["train.schedule_unit=step"],
        &["train.loss=focal_cross_entropy", "train.focal_gamma=1.5"],
    ] {
        let fields: Vec<&str> = fields.iter().copied().chain(["train.epochs=8"]).collect();
        let spec = RunSpec { recipe: recipe(&fields), ..spec() };
        // Late enough for a plateau before it.
        found
            .push(interrupted_at(&spec, |event| matches!(event, TrainEvent::Step { epoch: 6, step: 1, .. })));
    }
    found.dedup();
    assert_eq!(found.len(), 4, "each is another training");
}

#[test]
fn a_plateau_reduces_the_learning_rate_by_its_factor() {
    let folder = tempfile::tempdir().unwrap();
    let fields =
        ["train.schedule=plateau", "train.plateau_patience=1", "train.plateau_factor=0.5", "train.epochs=12"];
    let path = folder.path().join("run");
    finish(&mut Run::create(&path, &RunSpec { recipe: recipe(&fields), ..spec() }).unwrap());
    let text = std::fs::read_to_string(path.join("seed-0/metrics.jsonl")).unwrap();
    let rates: Vec<f64> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["learning_rate"].as_f64())
        .collect();
    let steps: Vec<f64> = rates[1..].windows(2).map(|pair| pair[1] / pair[0]).collect();
    assert!(steps.iter().all(|step| *step == 1.0 || *step == 0.5), "{rates:?}");
    assert!(steps.contains(&0.5), "{rates:?}");
}

/// Counts what it is told of the preparation, and interrupts it.
struct Preparation<'a> {
    flag: &'a AtomicBool,
    told: usize,
    loaded: bool,
}

impl Observer for Preparation<'_> {
    fn event(&mut self, event: &TrainEvent) {
        panic!("{event:?}");
    }

    fn loaded(&mut self, data: &Loaded) {
        assert_eq!(data.dataset.samples.len(), 24);
        self.loaded = true;
    }

    fn preparing(&mut self, _: Transform, _: usize, total: usize) {
        assert_eq!(total, 24);
        self.told += 1;
        self.flag.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_run_can_be_interrupted_while_its_data_is_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let flag = AtomicBool::new(false);
    let mut observer = Preparation { flag: &flag, told: 0, loaded: false };
    let mut run = Run::create(&path, &spec()).unwrap();
    assert_eq!(run.train(&resources(), &mut observer, &flag).unwrap(), RunOutcome::Interrupted);
    assert!(observer.loaded && observer.told > 0);
    assert!(run.data().is_none() && !path.join("data.json").exists());
    // The same run goes on, and so does a new process.
    drop(run);
    finish(&mut Run::open(&path).unwrap());
    assert!(path.join("data.json").exists() && path.join("splits.json").exists());
}

#[test]
fn graphs_in_memory_are_given_again_and_must_be_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let given = |graphs: usize| {
        let dataset = rings(graphs).load().unwrap().dataset;
        Loaded::split(dataset, &SplitChoice::Official).unwrap()
    };
    let spec = RunSpec::new(recipe(&[]), DataSource::Given { edges: None });
    let flag = AtomicBool::new(false);
    let at = |event: &TrainEvent| matches!(event, TrainEvent::Epoch(_));
    let mut run = Run::create(&path, &spec).unwrap().with_data(given(24));
    assert_eq!(
        run.train(&resources(), &mut Stop { flag: &flag, at }, &flag).unwrap(),
        RunOutcome::Interrupted
    );
    drop(run);
    let error = Run::open(&path).unwrap().train(&resources(), &mut (), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::DataNotGiven), "{error}");
    let mut other = Run::open(&path).unwrap().with_data(given(30));
    let error = other.train(&resources(), &mut (), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::Changed { what: "the data", .. }), "{error}");
    drop(other);
    let summary = finish(&mut Run::open(&path).unwrap().with_data(given(24)));
    assert_eq!(weights(&finish(&mut Run::open(&path).unwrap().with_data(given(24)))), weights(&summary));
    // A run that is done does not answer for other data either.
    let mut other = Run::open(&path).unwrap().with_data(given(30));
    let error = other.train(&resources(), &mut (), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::Changed { what: "the data", .. }), "{error}");
    drop(other);
    let mut from_source = Run::create(&folder.path().join("source"), &self::spec()).unwrap();
    assert_eq!(weights(&summary), weights(&finish(&mut from_source)));
}

#[test]
fn prepared_data_is_shared_only_by_models_that_need_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Run::create(&folder.path().join("first"), &spec()).unwrap();
    let expected = weights(&finish(&mut first));
    let data = first.data().unwrap().clone();
    let mut second = Run::create(&folder.path().join("second"), &spec()).unwrap().with_prepared(data.clone());
    assert_eq!(weights(&finish(&mut second)), expected);
    assert!(Arc::ptr_eq(&second.data().unwrap().dataset, &data.dataset));
    let other = RunSpec { recipe: recipe(&["model.lap_dim=5"]), ..spec() };
    let mut third = Run::create(&folder.path().join("third"), &other).unwrap().with_prepared(data);
    let error = third.train(&resources(), &mut (), &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, TrainError::PreparedOtherwise { .. }), "{error}");
}

#[test]
fn a_run_takes_more_seeds_but_no_other_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut run = Run::open_or_create(&path, &spec()).unwrap();
    finish(&mut run);
    drop(run);
    let more = RunSpec { seeds: vec![2, 0], ..spec() };
    let mut run = Run::open_or_create(&path, &more).unwrap();
    assert_eq!((run.file().seeds.as_slice(), run.unfinished().unwrap()), (&[0, 2][..], vec![2]));
    let outcome = run.train_seeds(&[2], &resources(), &mut (), &AtomicBool::new(false)).unwrap();
    let RunOutcome::Finished(summary) = outcome else { panic!("{outcome:?}") };
    assert_eq!(summary.seeds.iter().map(|seed| seed.seed).collect::<Vec<_>>(), [2]);
    let whole = run.summary().unwrap().unwrap();
    assert_eq!(whole.seeds.iter().map(|seed| seed.seed).collect::<Vec<_>>(), [0, 2]);
    drop(run);
    let other = RunSpec { recipe: recipe(&["train.learning_rate=0.5"]), ..spec() };
    let error = Run::open_or_create(&path, &other).unwrap_err();
    assert!(matches!(error, TrainError::Changed { what: "the configuration", .. }), "{error}");
    for seeds in [vec![], vec![1, 1]] {
        let wrong = RunSpec { seeds, ..spec() };
        assert!(matches!(Run::create(&folder.path().join("no"), &wrong), Err(TrainError::Config(_))));
    }
}

#[test]
fn a_directory_without_a_run_is_started_unless_it_holds_something_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    // What an earlier version left that was killed, or out of space, before the directory was a run.
    std::fs::create_dir(&path).unwrap();
    for name in ["lock", "splits.json", "data.json", "run.toml.tmp-1234"] {
        std::fs::write(path.join(name), "{").unwrap();
    }
    assert!(matches!(Run::open(&path), Err(TrainError::NoRun { .. })));
    finish(&mut Run::create(&path, &spec()).unwrap());
    assert!(matches!(Run::create(&path, &spec()), Err(TrainError::RunExists { .. })));
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.txt"), "").unwrap();
    let error = Run::create(&foreign, &spec()).unwrap_err();
    assert!(matches!(&error, TrainError::Occupied { found, .. } if found == "thesis.txt"), "{error}");
    assert_eq!(std::fs::read_dir(&foreign).unwrap().count(), 1, "what is not ours is not touched");
    assert_eq!(runs_in(folder.path()).unwrap(), [path]);
}

#[test]
fn keys_that_are_not_known_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    finish(&mut Run::create(&path, &spec()).unwrap());
    let file = path.join("run.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let sections = ["version", "[data]", "[model]", "[train]"];
    for section in sections {
        let with_more = if section == "version" {
            format!("hiden = 3\n{text}")
        } else {
            text.replace(section, &format!("{section}\nhiden = 3"))
        };
        std::fs::write(&file, with_more).unwrap();
        let error = Run::open(&path).unwrap_err().to_string();
        assert!(error.contains("run.toml") && error.contains("`hiden`"), "{section}: {error}");
    }
    std::fs::write(&file, &text).unwrap();
    for name in ["data.json", "seed-0/result.json"] {
        let whole = std::fs::read_to_string(path.join(name)).unwrap();
        std::fs::write(path.join(name), whole.replacen('{', "{\n  \"hiden\": 3,", 1)).unwrap();
        let error = graphminnet::report::report_html(&[&path], None, &|_| None).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("`hiden`"), "{name}: {error}");
        std::fs::write(path.join(name), whole).unwrap();
    }
}

#[test]
fn several_seeds_are_one_file_that_answers_as_their_mean() {
    use graphminnet::Ensemble;
    use graphminnet::bundle::{Bundle, BundleError};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut run = Run::create(&path, &RunSpec { seeds: vec![0, 1, 2], ..spec() }).unwrap();
    let summary = finish(&mut run);
    let together = summary.ensemble.clone().unwrap();
    assert_eq!(together.seeds, [0, 1, 2]);
    assert!(together.test.is_some() && together.valid.is_some());
    assert_eq!(run.summary().unwrap().unwrap().ensemble, Some(together));
    let file = folder.path().join("copied.gmn");
    std::fs::copy(path.join("ensemble.gmn"), &file).unwrap();
    let graphs: Vec<_> =
        rings(24).load().unwrap().dataset.samples.into_iter().map(|sample| sample.graph).collect();
    let (one, three) = (Ensemble::load(&[&file]).unwrap(), Ensemble::load(&[&path]).unwrap());
    assert_eq!(one.len(), 3);
    assert_eq!(
        one.answer(&graphs).graph(0).unwrap().values(),
        three.answer(&graphs).graph(0).unwrap().values()
    );
    assert!(matches!(Bundle::load(&file), Err(BundleError::Several { models: 3, .. })));
    // A run of one seed has no such file, and one that is lost comes back.
    drop(run);
    for lost in [&["ensemble.gmn"][..], &["ensemble.json", "summary.json"]] {
        lost.iter().for_each(|name| std::fs::remove_file(path.join(name)).unwrap());
        let mut again = Run::open(&path).unwrap();
        assert!(!again.is_done().unwrap());
        assert_eq!(finish(&mut again).ensemble, summary.ensemble, "{lost:?}");
        assert!(again.is_done().unwrap());
        assert_eq!(std::fs::read(path.join("ensemble.gmn")).unwrap(), std::fs::read(&file).unwrap());
    }
    let single = folder.path().join("single");
    finish(&mut Run::create(&single, &spec()).unwrap());
    assert!(!single.join("ensemble.gmn").exists());
}

#[test]
fn runs_of_the_same_name_have_names_of_their_own_in_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["rings-a", "rings-b"].map(|name| folder.path().join(name));
    for path in &paths {
        finish(&mut Run::create(path, &spec()).unwrap());
    }
    let paths: Vec<&std::path::Path> = paths.iter().map(|path| path.as_path()).collect();
    let html = graphminnet::report::report_html(&paths, None, &|_| None).unwrap();
    assert!(html.contains("rings (rings-a)") && html.contains("rings (rings-b)"));
}

#[test]
fn what_was_written_over_fewer_seeds_does_not_outlive_more_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let seeds = |seeds: &[u64]| RunSpec { seeds: seeds.to_vec(), ..spec() };
    finish(&mut Run::create(&path, &seeds(&[0, 1])).unwrap());
    let written = ["summary.json", "ensemble.json", "ensemble.gmn"];
    assert!(written.iter().all(|name| path.join(name).is_file()));
    // Stopped before the third seed is done: nothing is left that speaks of two.
    let flag = AtomicBool::new(false);
    let mut stop = Stop { flag: &flag, at: |event| matches!(event, TrainEvent::SeedStarted { seed: 2, .. }) };
    let mut run = Run::open(&path).unwrap();
    let outcome = run.train_seeds(&[0, 1, 2], &resources(), &mut stop, &flag).unwrap();
    assert!(matches!(outcome, RunOutcome::Interrupted), "{outcome:?}");
    assert!(!written.iter().any(|name| path.join(name).is_file()));
}
