//! Calls that train, and calls about runs.
//!
//! A run has a thread of its own. The thread of the call, the only one that may see Ctrl-C, waits for what the run has to
//! say, hands it to Python, and looks for signals in between. A report waits until Python has taken note of it, so an
//! exception there stops the run right after the epoch that it is about.

use crate::calls::{Arrays, Call, Caller, Reply};
use crate::pool;
use crate::source::{Source, read_options};
use graphminnet::DeviceKind;
use graphminnet::config::Override;
use graphminnet::report::{report_html, write_report};
use graphminnet::train::{
    DataSource, EpochRecord, EpochReport, Loaded, Observer, Resources, Run, RunFile, RunOutcome, RunSpec,
    SeedDir, SplitChoice, TrainEvent, fresh_run_path, infer_recipe,
};
use graphminnet_cli::Failure;
use graphminnet_data::ReadOptions;
use graphminnet_data::cache::{Cache, default_cache_dir};
use graphminnet_data::preparation::Transform;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often signals are looked for, and the least time between two reports of steps.
const PATIENCE: Duration = Duration::from_millis(50);

/// Data to train on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    source: Source,
    read: Map<String, Value>,
    split: SplitChoice,
    calibrate: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TrainRequest {
    data: Data,
    name: String,
    set: Vec<String>,
    seeds: Vec<u64>,
    run_dir: Option<PathBuf>,
    /// Whether a run that is in the directory is gone on with.
    resume: bool,
    threads: Option<usize>,
    cache: bool,
    report: bool,
    command: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResumeRequest {
    run_dir: PathBuf,
    data: Option<Data>,
    threads: Option<usize>,
    cache: bool,
    report: bool,
}

impl Data {
    /// Where it comes from, as a run writes it down, and the data itself.
    fn load(&self, arrays: &Arrays<'_>) -> Result<(DataSource, Loaded), Failure> {
        let read = read_options(self.read.clone())?;
        match self.source.path() {
            Some(path) => {
                // Written down as an absolute path, so that the run can be resumed from anywhere.
                let (path, read) = (std::path::absolute(path)?, Box::new(read));
                let (split, calibrate) = (self.split.clone(), self.calibrate);
                let source = DataSource::File { path, read, split, calibrate };
                let loaded = source.load()?;
                Ok((source, loaded))
            }
            None => self.load_given(arrays, &read),
        }
    }

    fn load_given(&self, arrays: &Arrays<'_>, read: &ReadOptions) -> Result<(DataSource, Loaded), Failure> {
        let ignore_split = !self.split.is_of_the_data();
        let found = self.source.read(arrays, &ReadOptions { ignore_split, ..read.clone() })?;
        let mut loaded = Loaded::split(found.dataset, &self.split)?;
        if self.calibrate {
            loaded = loaded.calibrated()?;
        }
        loaded.report = found.report;
        Ok((DataSource::Given { edges: read.edges }, loaded))
    }
}

/// Starts a run.
pub fn train(call: Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let request: TrainRequest = call.read()?;
    let arrays = call.arrays;
    let threads = request.threads;
    watched(threads, caller, move |job| {
        let (source, loaded) = request.data.load(&arrays)?;
        let overrides =
            request.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let inferred = infer_recipe(&request.name, &loaded.dataset.schema, &loaded, &overrides)?;
        let path = request.run_dir.unwrap_or_else(|| fresh_run_path(Path::new("runs"), &request.name));
        let recipe = inferred.recipe;
        job.say(json!({ "event": "inferred", "notes": inferred.notes, "metric": recipe.train.metric }));
        job.loaded(&loaded);
        let spec = RunSpec { recipe, source, seeds: request.seeds, from: None, command: request.command };
        let run =
            if request.resume { Run::open_or_create(&path, &spec)? } else { Run::create(&path, &spec)? };
        finish(run.with_data(loaded), request.cache, request.report, job)
    })
}

/// Goes on with a run; data that was given in memory is given again.
pub fn resume(call: Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let request: ResumeRequest = call.read()?;
    let arrays = call.arrays;
    let threads = request.threads;
    watched(threads, caller, move |job| {
        let mut run = Run::open(&request.run_dir)?;
        if let Some(data) = &request.data {
            let (_, loaded) = data.load(&arrays)?;
            run = run.with_data(loaded);
        }
        job.say(json!({ "event": "inferred", "notes": [], "metric": run.file().train.metric }));
        finish(run, request.cache, request.report, job)
    })
}

fn finish(mut run: Run, cache: bool, report: bool, job: &mut Job<'_>) -> Result<Value, Failure> {
    job.say(json!({ "event": "run", "path": run.path() }));
    let cache = if cache { default_cache_dir().map(Cache::new) } else { None };
    let resources = Resources { cache, ..Resources::on(DeviceKind::Cpu.open()?) };
    let interrupt = job.interrupt;
    let outcome = run.train(&resources, job, interrupt)?;
    let is_finished = matches!(outcome, RunOutcome::Finished(_));
    if is_finished && report {
        // A run is not worth less without its report, so a failure is only told.
        if let Err(reason) = write_report(&run, &|_| None) {
            job.say(json!({ "event": "warning", "text": format!("no report: {reason}") }));
        }
    }
    Ok(json!({ "path": run.path(), "finished": is_finished }))
}

/// What a run may use: a channel to Python, and the flag by which it is stopped.
struct Job<'a> {
    interrupt: &'a AtomicBool,
    /// A message, and where to say that it was taken note of.
    messages: SyncSender<(Value, SyncSender<()>)>,
    said_step: Instant,
}

impl Job<'_> {
    /// Says something, and waits until it is taken note of.
    fn say(&self, message: Value) {
        let (taken, done) = sync_channel(1);
        if self.messages.send((message, taken)).is_ok() {
            let _ = done.recv();
        }
    }

    /// Whether it is time for another of many messages.
    fn is_time(&mut self) -> bool {
        let is_time = self.said_step.elapsed() >= PATIENCE;
        if is_time {
            self.said_step = Instant::now();
        }
        is_time
    }
}

impl Observer for Job<'_> {
    fn loaded(&mut self, data: &Loaded) {
        let parts = [&data.splits.train, &data.splits.valid, &data.splits.test].map(Vec::len);
        let bad: Vec<String> = data.report.bad_rows.iter().map(ToString::to_string).collect();
        self.say(json!({
            "event": "loaded",
            "name": data.dataset.name,
            "graphs": data.dataset.samples.len(),
            "parts": parts,
            "split": data.split_note,
            "notes": data.report.notes,
            "left_out": bad,
        }));
    }

    fn preparing(&mut self, transform: Transform, done: usize, total: usize) {
        if self.is_time() {
            let what = match transform {
                Transform::Eigenpairs => "eigenpairs",
                Transform::RandomWalk => "random walks",
            };
            self.say(json!({ "event": "preparing", "what": what, "done": done, "total": total }));
        }
    }

    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::SeedStarted { seed, parameters, epochs, steps_per_epoch, resumed_at } => {
                self.say(json!({
                    "event": "seed",
                    "seed": seed,
                    "parameters": parameters,
                    "epochs": epochs,
                    "steps": steps_per_epoch,
                    "resumed_at": resumed_at.map(|at| at.epoch),
                }));
            }
            TrainEvent::Step { epoch, step, steps, .. } if self.is_time() => {
                self.say(json!({ "event": "step", "epoch": epoch, "step": step, "steps": steps }));
            }
            TrainEvent::Epoch(report) => self.say(epoch(report)),
            TrainEvent::EarlyStop { epoch, best } => {
                self.say(json!({ "event": "early_stop", "epoch": epoch, "best": best }));
            }
            TrainEvent::StateDamaged(problem) => {
                let text = format!("a saved state cannot be used, an earlier one is: {problem}");
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::Undefined { split, reason, .. } => {
                let text = format!("the metric of the {split} part has no value: {reason}");
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::Disagreement(loss) => {
                let text = format!(
                    "the model answers otherwise in evaluation (loss {:.4}) than in training (loss {:.4})",
                    loss.in_evaluation, loss.in_training
                );
                self.say(json!({ "event": "warning", "text": text }));
            }
            TrainEvent::SeedFinished(result) => {
                self.say(json!({ "event": "seed_finished", "result": result }));
            }
            _ => {}
        }
    }
}

fn epoch(report: &EpochReport) -> Value {
    json!({
        "event": "epoch",
        "epoch": report.epoch,
        "epochs": report.epochs,
        "learning_rate": report.learning_rate,
        "loss": report.train_loss,
        "valid": report.valid,
        "test": report.test,
        "worst_valid": report.worst_valid,
        "improved": report.improved,
        "seconds": report.seconds,
        "graphs_per_second": report.graphs_per_second,
    })
}

/// Does some work on a thread of its own, while this one listens to it and to signals.
fn watched(
    threads: Option<usize>,
    caller: &mut dyn Caller,
    work: impl FnOnce(&mut Job<'_>) -> Result<Value, Failure> + Send,
) -> Result<Reply, Failure> {
    let interrupt = AtomicBool::new(false);
    let (messages, inbox) = sync_channel::<(Value, SyncSender<()>)>(0);
    thread::scope(|scope| {
        let interrupt = &interrupt;
        let run = scope.spawn(move || {
            let mut job = Job { interrupt, messages, said_step: Instant::now() };
            pool::install(threads, || work(&mut job))?
        });
        loop {
            let goes_on = match inbox.recv_timeout(PATIENCE) {
                Ok((message, taken)) => {
                    let goes_on = caller.tell(&message.to_string());
                    if !goes_on {
                        // Before the run goes on.
                        interrupt.store(true, Ordering::Relaxed);
                    }
                    let _ = taken.send(());
                    goes_on
                }
                Err(RecvTimeoutError::Timeout) => caller.is_patient(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if !goes_on {
                interrupt.store(true, Ordering::Relaxed);
            }
        }
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(Reply::from)
    })
}

/// What is known about a run: its description, which seeds are done, their results and their epochs.
pub fn describe(call: &Call<'_>) -> Result<Reply, Failure> {
    let path: PathBuf = call.read()?;
    let file = RunFile::read(&path)?;
    let mut epochs = Map::new();
    for seed in &file.seeds {
        let records = EpochRecord::read(SeedDir::of(&path, *seed).path())?;
        epochs.insert(seed.to_string(), serde_json::to_value(records)?);
    }
    let (unfinished, summary) = (file.unfinished(&path)?, file.summary(&path)?);
    Ok(json!({ "file": file, "unfinished": unfinished, "summary": summary, "epochs": epochs }).into())
}

/// The page of a run.
pub fn report(call: &Call<'_>) -> Result<Reply, Failure> {
    let path: PathBuf = call.read()?;
    Ok(json!(report_html(&[&path], None, &|_| None)?).into())
}
