//! Runs the seeds of a request in a run directory and prints what came out.

use super::request::{Request, say_loaded};
use crate::cmd::report;
use crate::failure::Failure;
use crate::ui::clock::timestamp;
use crate::ui::preparation::{Preparation, say_preparation};
use crate::ui::say::{Verbosity, say};
use crate::ui::signals::{INTERRUPTED, Interrupt};
use crate::ui::training::Training;
use graphminnet::config::ModelConfig;
use graphminnet::data::cache::Cache;
use graphminnet::data::fs::write_atomically;
use graphminnet::data::text::duration;
use graphminnet::train::{
    Circumstances, Device, Loaded, Outcome, RunDir, RunFile, Settings, Summary, TrainingData, train_seed,
};
use serde_json::json;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a run needs from its surroundings.
pub struct Context {
    /// How much to say.
    pub verbosity: Verbosity,
    /// Where to compute.
    pub device: Device,
    /// Prepared data of earlier runs.
    pub cache: Option<Cache>,
    /// Set when the user wants to stop.
    pub interrupt: Interrupt,
    /// Whether results are printed as JSON.
    pub json: bool,
}

/// Starts a run.
///
/// # Errors
///
/// Whatever stops it.
pub fn start(request: Request, run_dir: Option<&Path>, context: &Context) -> Result<ExitCode, Failure> {
    let path = run_dir.map_or_else(|| fresh_name(&request.recipe.name), Path::to_owned);
    let Some((path, summary)) = start_in(&path, request, "", context)? else {
        return Ok(ExitCode::from(INTERRUPTED));
    };
    print_summary(&path, &summary, context)
}

/// Creates the run directory and trains; `None` if interrupted.
///
/// # Errors
///
/// Whatever stops it.
pub fn start_in(
    path: &Path,
    request: Request,
    label: &str,
    context: &Context,
) -> Result<Option<(PathBuf, Summary)>, Failure> {
    let Request { recipe, source, loaded, seeds } = request;
    let data = prepare(loaded, &recipe.model, context)?;
    let run = RunFile {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: recipe.name,
        started: timestamp(),
        seeds,
        data: source,
        model: recipe.model,
        train: recipe.train,
    };
    let directory = RunDir::create(path, &run, &data)?;
    directory.write_circumstances(&Circumstances::here(command_line()))?;
    context.verbosity.say(format_args!("run directory: {}", path.display()));
    train_seeds(&directory, &run, &data, label, context)
}

/// Goes on with a run.
///
/// # Errors
///
/// Whatever stops it.
pub fn resume(path: &Path, context: &Context) -> Result<ExitCode, Failure> {
    let Some(summary) = resume_in(path, "", context)? else { return Ok(ExitCode::from(INTERRUPTED)) };
    print_summary(path, &summary, context)
}

/// Goes on with a run; `None` if interrupted.
///
/// # Errors
///
/// Whatever stops it.
pub fn resume_in(path: &Path, label: &str, context: &Context) -> Result<Option<Summary>, Failure> {
    let (directory, run) = RunDir::open(path)?;
    let loaded = run.data.load()?;
    say_loaded(context.verbosity, &loaded);
    let data = prepare(loaded, &run.model, context)?;
    directory.check_data(&data)?;
    Ok(train_seeds(&directory, &run, &data, label, context)?.map(|(_, summary)| summary))
}

/// `runs/<name>-<time>`.
pub fn fresh_name(name: &str) -> PathBuf {
    let name: String = name
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect();
    let base = format!("{name}-{}", timestamp());
    let candidates = (1..).map(|number| match number {
        1 => Path::new("runs").join(&base),
        number => Path::new("runs").join(format!("{base}-{number}")),
    });
    candidates.into_iter().find(|path| !path.exists()).unwrap_or_else(|| Path::new("runs").join(base))
}

/// Prepares the data, showing how far it is.
///
/// # Errors
///
/// A failure of the data.
pub fn prepare(loaded: Loaded, model: &ModelConfig, context: &Context) -> Result<TrainingData, Failure> {
    let progress = Preparation::new(context.verbosity, &context.interrupt);
    let cache = context.cache.as_ref();
    let prepared = TrainingData::prepare(&loaded.dataset, loaded.splits, model, cache, &progress);
    drop(progress);
    let (mut data, report) = prepared?;
    data.deviations = loaded.report.deviations;
    say_preparation(context.verbosity, &report);
    Ok(data)
}

fn train_seeds(
    directory: &RunDir,
    run: &RunFile,
    data: &TrainingData,
    label: &str,
    context: &Context,
) -> Result<Option<(PathBuf, Summary)>, Failure> {
    let mut results = Vec::with_capacity(run.seeds.len());
    for &seed in &run.seeds {
        let settings = Settings {
            name: &run.name,
            edges: run.data.edges(),
            model: &run.model,
            train: &run.train,
            seed,
            device: context.device.clone(),
            interrupt: context.interrupt.heed(),
        };
        let seed_dir = directory.seed(seed)?;
        let mut progress = Training::new(context.verbosity, run.train.metric, label);
        match train_seed(&settings, data, Some(&seed_dir), &mut progress)? {
            Outcome::Finished(result) => results.push(result),
            _ => {
                drop(progress);
                context.verbosity.say(format_args!(
                    "interrupted; the state is saved. Go on with: graphminnet train --resume {}",
                    directory.path().display()
                ));
                return Ok(None);
            }
        }
    }
    let summary = Summary::new(run.train.metric, results);
    directory.write_summary(&summary)?;
    write_report(directory, data, context);
    Ok(Some((directory.path().to_owned(), summary)))
}

/// The command as it was given, under the name by which the program is known.
fn command_line() -> impl Iterator<Item = String> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once("graphminnet".to_owned()).chain(arguments)
}

/// Writes `report.html`. A run is not worth less without it, so a failure is only told.
fn write_report(directory: &RunDir, data: &TrainingData, context: &Context) {
    let path = directory.path().join("report.html");
    let written = report::page(&[directory.path()], Some(data))
        .map_err(|error| error.to_string())
        .and_then(|html| write_atomically(&path, html.as_bytes()).map_err(|error| error.to_string()));
    match written {
        Ok(()) => context.verbosity.say(format_args!("report: {}", path.display())),
        Err(reason) => say!("warning: no report: {reason}"),
    }
}

/// Prints the result of a run.
///
/// # Errors
///
/// If standard output cannot be written.
pub fn print_summary(path: &Path, summary: &Summary, context: &Context) -> Result<ExitCode, Failure> {
    let mut out = stdout().lock();
    if context.json {
        let mut object = serde_json::to_value(summary)?;
        object["run"] = json!(path);
        writeln!(out, "{object}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let metric = summary.metric;
    let number =
        |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), |value| format!("{value:.4}"));
    for seed in &summary.seeds {
        writeln!(
            out,
            "seed {}: test {metric} {} at epoch {} of {} (validation {}, worst single error {}; selected by {}), {}, weights {}",
            seed.seed,
            number(seed.best.test),
            seed.best.epoch + 1,
            seed.epochs,
            number(seed.best.valid),
            number(seed.best.worst_valid),
            seed.selected_by,
            duration(seed.seconds),
            seed.best_weights_sha256.get(..16).unwrap_or_default(),
        )?;
        if seed.undefined_evaluations > 0 {
            writeln!(out, "seed {}: {} evaluations gave no value", seed.seed, seed.undefined_evaluations)?;
        }
    }
    if let Some(test) = summary.test.filter(|test| test.count > 1) {
        writeln!(
            out,
            "test {metric} {:.4} ± {:.4} (mean ± population standard deviation over {} seeds)",
            test.mean, test.population_std, test.count
        )?;
    }
    writeln!(out, "run: {}", path.display())?;
    Ok(ExitCode::SUCCESS)
}
