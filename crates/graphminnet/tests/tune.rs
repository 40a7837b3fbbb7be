//! Candidates of a search are runs: what they record, and that those of earlier versions go on.
#![cfg(feature = "train")]

use burn::tensor::Device;
use graphminnet::Bundle;
use graphminnet::config::{Override, RING_TRANSFER, with_overrides};
use graphminnet::train::tune::{Journal, Search, SearchFile, Trial, TrialEnd};
use graphminnet::train::{
    DataSource, Generator, Observer, Outcome, Resources, Run, RunSpec, SeedDir, Settings, TrainEvent,
    TrainingData, train_seed,
};
use graphminnet_data::EdgeDirection;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const SEED: u64 = 3;

fn search() -> Search {
    let mut search = Search::new(SEED);
    search.add("train.learning_rate=log:1e-3..1e-1").unwrap();
    search
}

fn candidate(search: &Search, number: usize) -> RunSpec {
    let tiny = ["model.hidden=8", "model.layers=2", "model.lap_dim=4", "model.pe_dim=2", "model.pe_width=4"];
    let short = ["train.epochs=3", "train.batch_size=4", "train.warmup=1"];
    let mut fields: Vec<Override> =
        tiny.iter().chain(&short).map(|field| Override::parse(field).unwrap()).collect();
    fields.extend(search.candidate(number));
    let recipe = with_overrides("rings", RING_TRANSFER.parse().unwrap(), &fields).unwrap();
    let command = vec!["graphminnet".to_owned(), "tune".to_owned()];
    RunSpec { command, ..RunSpec::new(recipe, DataSource::Given { edges: Some(EdgeDirection::BothWays) }) }
}

fn data(spec: &RunSpec) -> TrainingData {
    let source = DataSource::Generated { generator: Generator::RingTransfer, seed: 0, graphs: Some(24) };
    let (model, flag) = (&spec.recipe.model, AtomicBool::new(false));
    source.load().unwrap().prepare(model, &resources(), &mut (), &flag).unwrap().unwrap()
}

fn resources() -> Resources {
    Resources::on(Device::flex())
}

fn journal(folder: &Path, search: &Search) -> Journal {
    let data = DataSource::Given { edges: Some(EdgeDirection::BothWays) };
    Journal::open(folder, &SearchFile { data, set: vec![], search: search.describe() }).unwrap()
}

fn next(search: &Search, journal: &Journal) -> Trial {
    let spec = candidate(search, journal.trials().len());
    let flag = AtomicBool::new(false);
    search.run(journal, &spec, &data(&spec), &resources(), &flag).unwrap().unwrap()
}

#[test]
fn a_candidate_is_a_run_whose_model_reads_new_data_as_its_own_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let search = search();
    let trial = next(&search, &journal(folder.path(), &search));
    assert_eq!((trial.number, trial.history.len(), &trial.end), (0, 3, &TrialEnd::Finished));
    let run = Run::open(&folder.path().join("candidate-0000")).unwrap();
    let bundle = Bundle::load(&run.seed(SEED).file("best.gmn")).unwrap();
    assert_eq!(bundle.description().edges, Some(EdgeDirection::BothWays));
    assert!(!run.file().started.is_empty());
    assert_eq!(run.summary().unwrap().unwrap().seeds[0].best.valid, trial.valid);
}

/// Interrupts after two steps of the second epoch.
struct Stop<'a>(&'a AtomicBool);

impl Observer for Stop<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if matches!(event, TrainEvent::Step { epoch: 1, step: 2, .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_candidate_that_an_earlier_version_left_without_a_run_goes_on() {
    let search = search();
    let whole = tempfile::tempdir().unwrap();
    let expected = next(&search, &journal(whole.path(), &search));
    let folder = tempfile::tempdir().unwrap();
    let spec = candidate(&search, 0);
    let flag = AtomicBool::new(false);
    let settings = Settings {
        seed: SEED,
        ..Settings::new(&spec.recipe.name, &spec.recipe.model, &spec.recipe.train, &flag)
    };
    let path = folder.path().join("candidate-0000");
    let flat = SeedDir::new(path.clone()).unwrap();
    let outcome = train_seed(&settings, &data(&spec), Some(&flat), &mut Stop(&flag)).unwrap();
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    assert_eq!(next(&search, &journal(folder.path(), &search)), expected);
    let weights = |folder: &Path| {
        let seed = SeedDir::of(&folder.join("candidate-0000"), SEED);
        seed.result().unwrap().unwrap().last_weights_sha256
    };
    assert_eq!(weights(folder.path()), weights(whole.path()));
    assert!(!path.join("state").exists(), "nothing is left beside the run");
}
