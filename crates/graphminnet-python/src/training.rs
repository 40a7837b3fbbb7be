//! Calls that train, and calls about runs.

use crate::calls::{Arrays, Call, Caller, Reply};
use crate::pool::Threads;
use crate::source::{Source, csv, read_options};
use crate::watched::{Job, watched};
use graphminnet::DeviceKind;
use graphminnet::config::Override;
use graphminnet::report::{report_html, write_report};
use graphminnet::train::{
    DataSource, EpochRecord, Inferred, Loaded, Observer, Resources, Run, RunFile, RunOutcome, RunSpec,
    SeedDir, SplitChoice, Start, Summary, Transfer, Unnamed, fit_recipe, fresh_run_path, infer_recipe,
};
use graphminnet_cli::Failure;
use graphminnet_data::ReadOptions;
use graphminnet_data::cache::{Cache, default_cache_dir};
use graphminnet_data::formats::Format;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Data to train on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    source: Source,
    read: Map<String, Value>,
    /// Cross-validation makes its own.
    split: Option<SplitChoice>,
    /// Whether a seed was named for a split that is at random only where the data names no parts.
    needs_chance: bool,
    calibrate: bool,
}

/// What to train.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainRequest {
    /// On what.
    pub data: Data,
    name: String,
    set: Vec<String>,
    seeds: Vec<u64>,
    run_dir: Option<PathBuf>,
    /// Whether a run that is in the directory is gone on with.
    resume: bool,
    /// A model to begin with.
    start: Option<Beginning>,
    /// Threads to use.
    pub threads: Option<usize>,
    /// How to go about it.
    pub how: How,
    command: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Beginning {
    path: PathBuf,
    new_head: bool,
    freeze: Vec<String>,
    rate: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResumeRequest {
    run_dir: PathBuf,
    data: Option<Data>,
    threads: Option<usize>,
    how: How,
}

/// What may differ between two calls about the same run.
#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
pub struct How {
    /// Whether prepared data is kept.
    cache: bool,
    /// Whether a report is written.
    report: bool,
}

impl Data {
    /// Where it comes from, as a run writes it down, and the data itself, in parts of its own or in others.
    pub fn load(
        &self,
        arrays: &Arrays<'_>,
        split: Option<&SplitChoice>,
    ) -> Result<(DataSource, Loaded), Failure> {
        let split = split.or(self.split.as_ref()).ok_or_else(|| Failure::usage("how is the data split?"))?;
        let read = read_options(self.read.clone())?;
        let mut source = DataSource::Given { edges: read.edges };
        let loaded = match &self.source {
            Source::Path(path) => {
                // Written down as an absolute path, so that the run can be resumed from anywhere.
                let (path, read) = (std::path::absolute(path)?, Box::new(read));
                source = DataSource::File { path, read, split: split.clone(), calibrate: self.calibrate };
                source.load()?
            }
            Source::Csv { name, text } => Loaded::molecules(text, name, &csv(&read), split, self.calibrate)?,
            given => {
                let ignore_split = !split.is_of_the_data();
                let found = given.read(arrays, &ReadOptions { ignore_split, ..read.clone() })?;
                let mut loaded = Loaded::split(found.dataset, split)?;
                if self.calibrate {
                    loaded = loaded.calibrated()?;
                }
                loaded.report = found.report;
                loaded
            }
        };
        if self.needs_chance && loaded.is_split_as_given() {
            return Err(Failure::usage(
                "split_seed= has no effect: the data names its parts; split=\"random\" (or another one) splits it anew",
            ));
        }
        Ok((source, loaded))
    }
}

impl TrainRequest {
    /// The run that is asked for on data that is there; what was inferred is said.
    pub fn spec(&self, source: DataSource, loaded: &Loaded, job: &mut Job<'_>) -> Result<RunSpec, Failure> {
        let overrides = self.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let from = self.transfer()?;
        let schema = &loaded.dataset.schema;
        let Inferred { recipe, notes } = match &from {
            None => infer_recipe(&self.name, schema, loaded, &overrides)?,
            // The model is that of the file to begin with.
            Some(from) => {
                let table = Start::read(from)?.recipe(None);
                fit_recipe(&self.name, &table, Unnamed::Protocol, schema, loaded, &overrides)?
            }
        };
        job.say(json!({ "event": "inferred", "notes": notes, "metric": recipe.train.metric }));
        job.loaded(loaded);
        Ok(RunSpec { recipe, source, seeds: self.seeds.clone(), from, command: self.command.clone() })
    }

    fn transfer(&self) -> Result<Option<Transfer>, Failure> {
        let Some(Beginning { path, new_head, freeze, rate }) = &self.start else { return Ok(None) };
        let (path, freeze) = (path.clone(), freeze.clone());
        Ok(Some(Transfer { path, new_head: *new_head, freeze, rate: *rate }.located()?))
    }

    /// A model to begin with has read molecules in some form, with or without descriptors; where nothing was said, it stays so.
    fn read_as_the_start(&mut self) -> Result<(), Failure> {
        let Some(transfer) = self.transfer()? else { return Ok(()) };
        let start = Start::read(&transfer)?;
        if let Some(describes) = self.data.read.get_mut("describe_molecules") {
            *describes = Value::Bool(start.describes_molecules());
        }
        let mut read = read_options(self.data.read.clone())?;
        let path = match &self.data.source {
            Source::Path(path) => path.clone(),
            Source::Csv { .. } => {
                read.format = Some(Format::SmilesCsv);
                PathBuf::new()
            }
            _ => return Ok(()),
        };
        let asked = read.molecules;
        start.read_alike(&path, &mut read);
        if read.molecules == asked {
            return Ok(());
        }
        let mut form = json!(read.molecules);
        let said = self.data.read.get("molecules").and_then(Value::as_object);
        if let (Some(form), Some(said)) = (form.as_object_mut(), said) {
            form.extend(said.clone());
        }
        self.data.read.insert("molecules".to_owned(), form);
        Ok(())
    }

    /// The directory that was asked for, or a fresh one.
    pub fn folder(&self) -> PathBuf {
        self.run_dir.clone().unwrap_or_else(|| fresh_run_path(Path::new("runs"), &self.name))
    }
}

/// Starts a run.
pub fn train(call: Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let mut request: TrainRequest = call.read()?;
    let arrays = call.arrays;
    watched(Threads::own(request.threads), caller, move |job| {
        request.read_as_the_start()?;
        let (source, loaded) = request.data.load(&arrays, None)?;
        let spec = request.spec(source, &loaded, job)?;
        let path = request.folder();
        let run =
            if request.resume { Run::open_or_create(&path, &spec)? } else { Run::create(&path, &spec)? };
        let mut run = run.with_data(loaded);
        let finished = finish(&mut run, request.how, job)?.is_some();
        Ok(json!({ "path": run.path(), "finished": finished }).into())
    })
}

/// Goes on with a run; data that was given in memory is given again.
pub fn resume(call: Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let request: ResumeRequest = call.read()?;
    let arrays = call.arrays;
    watched(Threads::own(request.threads), caller, move |job| {
        let mut run = Run::open(&request.run_dir)?;
        if let Some(data) = &request.data {
            let (_, loaded) = data.load(&arrays, None)?;
            run = run.with_data(loaded);
        }
        job.say(json!({ "event": "inferred", "notes": [], "metric": run.file().train.metric }));
        let finished = finish(&mut run, request.how, job)?.is_some();
        Ok(json!({ "path": run.path(), "finished": finished }).into())
    })
}

/// Trains a run to its end and writes its report; `None` if it was interrupted.
pub fn finish(run: &mut Run, how: How, job: &mut Job<'_>) -> Result<Option<Summary>, Failure> {
    job.say(json!({ "event": "run", "path": run.path() }));
    let is_done = run.is_done()? && run.path().join("report.html").is_file();
    let cache = if how.cache { default_cache_dir().map(Cache::new) } else { None };
    let resources = Resources { cache, ..Resources::on(DeviceKind::Cpu.open()?) };
    let interrupt = job.interrupt;
    let RunOutcome::Finished(summary) = run.train(&resources, job, interrupt)? else { return Ok(None) };
    if how.report && !is_done {
        // A run is not worth less without its report, so a failure is only told.
        if let Err(reason) = write_report(run, &|_| None) {
            job.say(json!({ "event": "warning", "text": format!("no report: {reason}") }));
        }
    }
    Ok(Some(summary))
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
