//! Several ranks train one model: they come to the bits of one process, stop together and fail together. The ranks are
//! threads here; the exchange between processes is another implementation of the same seam.
#![cfg(feature = "train")]

use burn::tensor::Device;
use graphminnet::config::{LevelKind, Override, RING_TRANSFER, Recipe, with_overrides};
use graphminnet::train::{
    DataSource, Generator, Observer, Outcome, Resources, Run, RunOutcome, RunSpec, SeedDir, SeedResult,
    Settings, TrainError, TrainEvent, TrainingData, assist, dismiss, train_seed,
};
use graphminnet_data::cache::Cache;
use graphminnet_data::exchange::{Exchange, Threads};
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::preparation::{
    Origin, prepare_dataset, prepare_dataset_among, prepare_dataset_on_disk,
};
use graphminnet_data::spectral::{PrepareOptions, SpectralError};
use graphminnet_data::split::Splits;
use graphminnet_data::{Dataset, Level};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const RECIPE: &str = r#"
[model]
hidden = 8
layers = 2
lap_dim = 4
node_in = 4
drop_ffn = 0.2
drop_local = 0.1
node_pe = "lappe"
pe_dim = 3
level = "node"
out_dim = 3
standardize = true
[train]
epochs = 2
warmup = 1
batch_size = 3
accumulate = 5
learning_rate = 0.01
loss = "cross_entropy"
metric = "accuracy"
"#;

/// Rings of which some have no label, so that batches are skipped.
fn rings(level: Level) -> Dataset {
    let sizes = PartSizes { train: 31, valid: 10, test: 7 };
    let mut dataset =
        RingTransfer { sizes, smallest: 4, largest: 8, classes: 3, level, ..Default::default() }
            .generate(1)
            .unwrap();
    for sample in dataset.samples.iter_mut().step_by(3) {
        sample.targets.fill(f32::NAN);
    }
    for sample in &mut dataset.samples[4..8] {
        sample.targets.fill(f32::NAN);
    }
    dataset
}

/// The same, where some count more than others and some not at all.
fn weighted_rings(level: Level) -> Dataset {
    let mut dataset = rings(level);
    let graphs = dataset.samples.len();
    dataset.qualifiers.weights = (0..graphs).map(|graph| (graph % 4) as f32 * 0.7).collect();
    dataset
}

fn recipe(change: impl FnOnce(&mut Recipe)) -> Recipe {
    let mut recipe = Recipe::parse("test", RECIPE).unwrap();
    change(&mut recipe);
    recipe
}

fn data(recipe: &Recipe, dataset: &Dataset) -> TrainingData {
    let splits = Splits::official(dataset).unwrap();
    TrainingData::prepare(dataset, splits, &recipe.model, None, &()).unwrap().0
}

/// Training loss, metrics of training and validation, batches that were skipped.
type EpochNumbers = (u64, Option<f64>, Option<f64>, usize);

/// Remembers what was reported, and sets a flag after some step.
#[derive(Default)]
struct Seen<'a> {
    epochs: Vec<EpochNumbers>,
    losses: Vec<Option<u64>>,
    stop_after: Option<(usize, &'a AtomicBool)>,
}

impl Observer for Seen<'_> {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::Epoch(report) => {
                self.epochs.push((
                    report.train_loss.to_bits(),
                    report.train,
                    report.valid,
                    report.skipped_batches,
                ));
            }
            TrainEvent::Step { loss, .. } => {
                self.losses.push(loss.map(f64::to_bits));
                if let Some((steps, flag)) = self.stop_after {
                    flag.store(self.losses.len() >= steps, Ordering::Relaxed);
                }
            }
            _ => {}
        }
    }
}

fn train(
    recipe: &Recipe,
    data: &TrainingData,
    exchange: &dyn Exchange,
    directory: Option<&SeedDir>,
    observer: &mut dyn Observer,
    interrupt: &AtomicBool,
) -> Result<Outcome, TrainError> {
    let (model, train) = (&recipe.model, &recipe.train);
    let device = Device::flex();
    let settings =
        Settings { name: "rings", edges: None, model, train, seed: 5, device, interrupt, exchange };
    train_seed(&settings, data, directory.filter(|_| exchange.rank() == 0), observer)
}

/// All that the numbers of a run can show.
type Shown = (String, String, Option<f64>, usize, Vec<EpochNumbers>, Vec<Option<u64>>);

fn shown(result: SeedResult, seen: Seen<'_>) -> Shown {
    let SeedResult { best_weights_sha256, last_weights_sha256, best, epochs, .. } = result;
    (best_weights_sha256, last_weights_sha256, best.test, epochs, seen.epochs, seen.losses)
}

fn whole(recipe: &Recipe, data: &TrainingData, ranks: usize) -> Shown {
    let outcomes = Threads::run(ranks, |exchange| {
        let mut seen = Seen::default();
        let outcome = train(recipe, data, exchange, None, &mut seen, &AtomicBool::new(false));
        (outcome.unwrap(), exchange.rank(), seen.epochs, seen.losses)
    });
    let mut outcomes = outcomes.into_iter();
    let Some((Outcome::Finished(result), 0, epochs, losses)) = outcomes.next() else { panic!() };
    for (outcome, _, others, _) in outcomes {
        assert_eq!((outcome, &others), (Outcome::Assisted, &epochs));
    }
    shown(result, Seen { epochs, losses, stop_after: None })
}

#[test]
fn any_number_of_ranks_trains_to_the_bits_of_one_process() {
    for (level, kind) in [(Level::Graph, LevelKind::Graph), (Level::Node, LevelKind::Node)] {
        let plain = recipe(|recipe| recipe.model.level = kind);
        let data = data(&plain, &rings(level));
        let alone = whole(&plain, &data, 1);
        assert!(alone.4.iter().all(|(.., skipped)| *skipped > 0), "no batch was without labels");
        // Of a row per graph the metric of training is kept.
        assert!(alone.4.iter().all(|(_, metric, ..)| metric.is_some() == (level == Level::Graph)));
        for ranks in 2..=4 {
            assert_eq!(whole(&plain, &data, ranks), alone, "{level}, {ranks} ranks");
        }
    }
    let plain = recipe(|_| {});
    let plain_data = data(&plain, &rings(Level::Node));
    let weighted_data = data(&plain, &weighted_rings(Level::Node));
    assert_ne!(whole(&plain, &weighted_data, 1), whole(&plain, &plain_data, 1), "weights have an effect");
    // Of every kind of local branch, protocol and number of batches in a step.
    proptest!(ProptestConfig::with_cases(8), |(
        ranks in 2usize..=4,
        accumulate in 1usize..=6,
        batch_size in 1usize..=5,
        local in prop_oneof![Just("gatedgcn"), Just("gine"), Just("none")],
        recompute in prop_oneof![Just(None), Just(Some(1))],
        average in prop_oneof![Just(0.0), Just(0.9)],
        estimates in prop_oneof![Just("running"), Just("recomputed")],
        max_nodes in prop_oneof![Just(None), Just(Some(15))],
        patience in prop_oneof![Just(None), Just(Some(1))],
        weighted: bool,
    )| {
        let recipe = recipe(|recipe| {
            recipe.model.local = local.parse().unwrap();
            recipe.train.norm_estimates = estimates.parse().unwrap();
            recipe.train.accumulate = accumulate;
            recipe.train.batch_size = batch_size;
            recipe.train.recompute_layers = recompute;
            recipe.train.average_decay = average;
            recipe.train.max_nodes = max_nodes;
            recipe.train.patience = patience;
        });
        let data = if weighted { &weighted_data } else { &plain_data };
        prop_assert_eq!(whole(&recipe, data, ranks), whole(&recipe, data, 1));
    });
}

#[test]
fn a_rank_that_is_asked_to_stop_stops_all_and_any_number_goes_on() {
    let dataset = weighted_rings(Level::Graph);
    let recipe = recipe(|recipe| {
        recipe.model.level = LevelKind::Graph;
        recipe.train.checkpoint_steps = Some(1);
    });
    let data = data(&recipe, &dataset);
    let expected = whole(&recipe, &data, 1);
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed-5")).unwrap();
    for (ranks, steps) in [(3, 1), (2, 1), (1, 1), (4, 1)] {
        let outcomes = Threads::run(ranks, |exchange| {
            // The last rank alone is told, as if a signal had reached it first.
            let (flag, unset) = (AtomicBool::new(false), AtomicBool::new(false));
            let stop_after = (exchange.rank() + 1 == exchange.size()).then_some((steps, &flag));
            let mut seen = Seen { stop_after, ..Seen::default() };
            let interrupt = if stop_after.is_some() { &flag } else { &unset };
            train(&recipe, &data, exchange, Some(&directory), &mut seen, interrupt).unwrap()
        });
        assert!(
            outcomes
                .iter()
                .all(|outcome| matches!(outcome, Outcome::Interrupted(_)) && *outcome == outcomes[0]),
            "{outcomes:?}"
        );
    }
    let outcomes = Threads::run(3, |exchange| {
        let mut seen = Seen::default();
        let never = AtomicBool::new(false);
        (train(&recipe, &data, exchange, Some(&directory), &mut seen, &never).unwrap(), seen.epochs)
    });
    let Some((Outcome::Finished(result), epochs)) = outcomes.into_iter().next() else { panic!() };
    // Of the second epoch the first step was done before.
    assert_eq!(epochs, expected.4[1..]);
    assert_eq!((&result.best_weights_sha256, &result.last_weights_sha256), (&expected.0, &expected.1));
}

#[test]
fn a_number_that_is_not_finite_on_one_rank_ends_all_and_rank_0_describes_the_batch() {
    let text = RECIPE
        .replace("cross_entropy", "l1")
        .replace("accuracy", "mae")
        .replace("out_dim = 3", "out_dim = 1");
    let recipe = Recipe::parse("test", &text).unwrap();
    let mut dataset = rings(Level::Node);
    dataset.samples[8].targets[0] = f32::INFINITY;
    let data = data(&recipe, &dataset);
    let folder = tempfile::tempdir().unwrap();
    let mut described = Vec::new();
    for ranks in [1, 3, 4] {
        let directory = SeedDir::new(folder.path().join(format!("{ranks}"))).unwrap();
        let errors = Threads::run(ranks, |exchange| {
            train(&recipe, &data, exchange, Some(&directory), &mut (), &AtomicBool::new(false)).unwrap_err()
        });
        for (rank, error) in errors.iter().enumerate() {
            match error {
                TrainError::NonFinite { what: "loss", .. } => assert_eq!(rank, 0),
                TrainError::OnRank { message, .. } => {
                    assert!(message.contains("loss is not finite"), "{message}")
                }
                error => panic!("{error}"),
            }
        }
        let mut files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap());
        let file = files.find(|file| file.file_name().to_string_lossy().starts_with("nonfinite-")).unwrap();
        described.push((file.file_name(), std::fs::read_to_string(file.path()).unwrap()));
    }
    assert!(described[0].1.contains(&dataset.samples[8].id));
    assert!(described.iter().all(|file| *file == described[0]), "{described:?}");
}

#[test]
fn ranks_with_other_data_are_told_so() {
    let recipe = recipe(|_| {});
    let (mine, mut theirs) = (rings(Level::Node), rings(Level::Node));
    theirs.samples[1].targets[0] = 2.0;
    let (mine, theirs) = (data(&recipe, &mine), data(&recipe, &theirs));
    let errors = Threads::run(2, |exchange| {
        let data = if exchange.rank() == 0 { &mine } else { &theirs };
        if exchange.rank() == 0 {
            // It would wait for the other: what it says first is all that is needed here.
            let stop = AtomicBool::new(true);
            let trained = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                train(&recipe, data, exchange, None, &mut (), &stop)
            }));
            assert!(trained.is_err(), "rank 0 went on alone");
            return None;
        }
        Some(train(&recipe, data, exchange, None, &mut (), &AtomicBool::new(false)).unwrap_err())
    });
    assert!(matches!(&errors[1], Some(TrainError::Unlike { what: "data", rank: 1, .. })), "{errors:?}");
}

fn small_recipe() -> Recipe {
    let fields =
        ["model.hidden=8", "model.layers=2", "model.lap_dim=4", "model.pe_dim=2", "model.pe_width=4"];
    let short = ["train.epochs=2", "train.batch_size=4", "train.warmup=1", "train.accumulate=3"];
    let fields: Vec<_> = fields.iter().chain(&short).map(|field| Override::parse(field).unwrap()).collect();
    with_overrides("rings", RING_TRANSFER.parse().unwrap(), &fields).unwrap()
}

#[test]
fn a_run_of_several_seeds_asks_its_ranks_to_read_prepare_and_train() {
    let source = DataSource::Generated { generator: Generator::RingTransfer, seed: 0, graphs: Some(24) };
    let spec = RunSpec { seeds: vec![3, 4], ..RunSpec::new(small_recipe(), source) };
    let folder = tempfile::tempdir().unwrap();
    let trained = |ranks: usize| {
        std::thread::scope(|scope| {
            let mut hashes = Vec::new();
            for exchange in Threads::team(ranks).into_iter().rev() {
                let cache = Some(Cache::new(folder.path().join(format!("cache-{ranks}"))));
                let resources =
                    Resources { cache, exchange: Arc::new(exchange), ..Resources::on(Device::flex()) };
                if resources.exchange.rank() > 0 {
                    scope.spawn(move || assist(&resources, &AtomicBool::new(false)).unwrap());
                    continue;
                }
                let mut run = Run::create(&folder.path().join(format!("run-{ranks}")), &spec).unwrap();
                let outcome = run.train(&resources, &mut (), &AtomicBool::new(false)).unwrap();
                dismiss(&resources);
                let RunOutcome::Finished(summary) = outcome else { panic!("{outcome:?}") };
                hashes.extend(summary.seeds.into_iter().map(|seed| seed.last_weights_sha256));
            }
            hashes
        })
    };
    let alone = trained(1);
    assert_eq!(alone.len(), 2);
    assert_eq!(trained(3), alone);
}

#[test]
fn ranks_prepare_a_part_each_and_all_get_the_whole_from_them_or_from_the_cache_of_rank_0() {
    let dataset = rings(Level::Node);
    let options = PrepareOptions { eigenpairs: 4, random_walk_steps: 3, ..PrepareOptions::default() };
    let plain = prepare_dataset(&dataset, &options, None, &()).unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    for (ranks, cached) in [(3, false), (4, true), (2, true)] {
        let prepared = Threads::run(ranks, |exchange| {
            // Only rank 0 has the entries of the round before.
            let name = if exchange.rank() == 0 {
                "rank-0".to_owned()
            } else {
                format!("{ranks}-{}", exchange.rank())
            };
            let cache = Cache::new(folder.path().join(name));
            prepare_dataset_among(&dataset, &options, Some(&cache), &(), exchange).unwrap()
        });
        for (prepared, report) in prepared {
            // Targets are not compared: unknown ones are unlike themselves.
            let graphs = prepared.samples.iter().map(|sample| &sample.prepared);
            assert!(graphs.eq(plain.samples.iter().map(|sample| &sample.prepared)), "{ranks} ranks");
            let found = |(_, origin, _): &(_, Origin, _)| matches!(origin, Origin::Cached);
            assert!(report.parts.iter().all(|part| found(part) == cached), "{:?}", report.parts);
        }
    }
    // On disk: nobody gets what others prepared, but all can read it.
    for (ranks, cached) in [(3, false), (4, true), (2, true)] {
        let cache = Cache::new(folder.path().join("shared"));
        let prepared = Threads::run(ranks, |exchange| {
            prepare_dataset_on_disk(&dataset, &options, &cache, &(), exchange).unwrap()
        });
        for (prepared, report) in prepared {
            for (at, sample) in plain.samples.iter().enumerate() {
                assert_eq!(*prepared.complete(at).unwrap(), sample.prepared, "graph {at} on {ranks} ranks");
            }
            let found = |(_, origin, _): &(_, Origin, _)| matches!(origin, Origin::Cached);
            assert!(report.parts.iter().all(|part| found(part) == cached), "{:?}", report.parts);
        }
        // The parts of the ranks are gone.
        assert_eq!(cache.entries().unwrap().len(), 2);
    }
    let apart = Threads::run(2, |exchange| {
        let cache = Cache::new(folder.path().join(format!("own-{}", exchange.rank())));
        prepare_dataset_on_disk(&dataset, &options, &cache, &(), exchange).unwrap_err().to_string()
    });
    assert!(apart.iter().all(|error| error.contains("own-0: what was prepared is not there")), "{apart:?}");
    // A signal that reaches one rank stops all.
    let stopped = Threads::run(3, |exchange| {
        let stop = AtomicBool::new(exchange.rank() == 1);
        prepare_dataset_among(&dataset, &options, None, &stop, exchange).unwrap_err()
    });
    assert!(stopped.iter().all(|error| *error == SpectralError::Interrupted), "{stopped:?}");
}
