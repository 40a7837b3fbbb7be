//! Trains runs, shows their progress, and prints the results.

use super::request::Request;
use crate::cmd::report::write_report;
use crate::failure::Failure;
use crate::ui::coverage::coverage_text;
use crate::ui::figure::figure;
use crate::ui::preparation::say_loaded;
use crate::ui::say::{Verbosity, say};
use crate::ui::signals::{INTERRUPTED, Interrupt};
use crate::ui::training::Training;
use graphminnet::train::{
    Compared, Resources, Run, RunFile, RunOutcome, Summary, TrainError, fresh_run_path, runs_in,
};
use graphminnet_data::text::duration;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a run needs from its surroundings.
#[derive(Clone)]
pub struct Context {
    /// How much to say.
    pub verbosity: Verbosity,
    /// Where to compute, and prepared data of earlier runs.
    pub resources: Resources,
    /// Set when the user wants to stop.
    pub interrupt: Interrupt,
    /// Whether results are printed as JSON.
    pub json: bool,
    /// The command as it was given, for the record.
    pub command: Vec<String>,
}

/// Starts a run.
///
/// # Errors
///
/// Whatever stops it.
pub fn start(request: Request, run_dir: Option<&Path>, context: &Context) -> Result<ExitCode, Failure> {
    let path = run_dir.map_or_else(|| fresh_name(&request.recipe.name), Path::to_owned);
    let run = create(&path, request, context)?;
    finish(run, context)
}

/// Creates the directory of a run that is yet to be trained.
///
/// # Errors
///
/// Whatever stops it.
pub fn create(path: &Path, request: Request, context: &Context) -> Result<Run, Failure> {
    let (spec, loaded) = request.into_spec(context);
    let run = Run::create(path, &spec)?.with_data(loaded);
    context.verbosity.say(format_args!("run directory: {}", path.display()));
    Ok(run)
}

/// Resumes a run, or all runs of a folder.
///
/// # Errors
///
/// Whatever stops it.
pub fn resume(path: &Path, context: &Context) -> Result<ExitCode, Failure> {
    match Run::open(path) {
        Ok(run) => finish(with_data(run, context)?, context),
        Err(error @ TrainError::NoRun { .. }) => match runs_in(path).unwrap_or_default() {
            runs if runs.is_empty() => Err(Failure::usage(format!("{error}; start it with --run-dir"))),
            runs => resume_all(&runs, context),
        },
        Err(error) => Err(error.into()),
    }
}

/// Resumes a run, or starts it if there is none yet.
///
/// # Errors
///
/// Whatever stops it.
pub fn resume_or_start(path: &Path, request: Request, context: &Context) -> Result<ExitCode, Failure> {
    let (spec, loaded) = request.into_spec(context);
    finish(Run::open_or_create(path, &spec)?.with_data(loaded), context)
}

/// Resumes every unfinished run. One that fails is reported, and does not stop the others.
fn resume_all(runs: &[PathBuf], context: &Context) -> Result<ExitCode, Failure> {
    let mut failed = None;
    let mut done = Vec::new();
    for path in runs {
        match resume_one(path, context) {
            Ok(Some(summary)) => done.push((path, summary)),
            Ok(None) => return Ok(ExitCode::from(INTERRUPTED)),
            Err(failure) => {
                say!("{}:", path.display());
                let code = failure.report();
                failed.get_or_insert(code);
            }
        }
    }
    for (path, summary) in &done {
        print_summary(path, summary, context)?;
    }
    Ok(failed.unwrap_or(ExitCode::SUCCESS))
}

fn resume_one(path: &Path, context: &Context) -> Result<Option<Summary>, Failure> {
    let file = RunFile::read(path)?;
    if let (true, Some(summary)) = (file.is_done(path)?, file.summary(path)?) {
        return Ok(Some(summary));
    }
    context.verbosity.say(format_args!("resuming {}", path.display()));
    train(&mut with_data(Run::open(path)?, context)?, "", context)
}

/// Reads the data of a run that is not done, while Ctrl-C still ends the command at once.
///
/// # Errors
///
/// Whatever is wrong with the data.
pub fn with_data(run: Run, context: &Context) -> Result<Run, Failure> {
    if run.is_done()? {
        return Ok(run);
    }
    let loaded = run.file().load(&context.resources)?;
    say_loaded(context.verbosity, &loaded);
    Ok(run.with_data(loaded))
}

/// Trains a run and prints its result.
fn finish(mut run: Run, context: &Context) -> Result<ExitCode, Failure> {
    match train(&mut run, "", context)? {
        Some(summary) => print_summary(run.path(), &summary, context),
        None => Ok(ExitCode::from(INTERRUPTED)),
    }
}

/// Trains a run and writes its report; `None` if interrupted.
///
/// # Errors
///
/// Whatever stops it.
pub fn train(run: &mut Run, label: &str, context: &Context) -> Result<Option<Summary>, Failure> {
    let is_done = run.is_done()? && run.path().join("report.html").is_file();
    let mut progress = Training::new(context.verbosity, run.file().train.metric, label);
    let outcome = run.train(&context.resources, &mut progress, context.interrupt.heed())?;
    drop(progress);
    let RunOutcome::Finished(summary) = outcome else {
        context.verbosity.say(format_args!(
            "interrupted; the state is saved. Resume it with: graphminnet train --resume {}",
            run.path().display()
        ));
        return Ok(None);
    };
    if !is_done {
        // A run is not worth less without its report, so a failure is only reported.
        match write_report(run) {
            Ok(path) => context.verbosity.say(format_args!("report: {}", path.display())),
            Err(reason) => say!("warning: no report: {reason}"),
        }
    }
    Ok(Some(summary))
}

/// `runs/<name>-<time>`.
pub fn fresh_name(name: &str) -> PathBuf {
    fresh_run_path(Path::new("runs"), name)
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
    let number = |value: Option<f64>| value.map_or_else(|| "undefined".to_owned(), figure);
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
        for coverage in seed.coverage.iter().filter(|coverage| coverage.labels > 0) {
            writeln!(out, "seed {}: {}", seed.seed, coverage_text(coverage))?;
        }
        if seed.undefined_evaluations > 0 {
            writeln!(out, "seed {}: {} evaluations gave no value", seed.seed, seed.undefined_evaluations)?;
        }
        if let Some(loss) = seed.training_loss.filter(|loss| loss.disagree) {
            writeln!(
                out,
                "seed {}: warning: the {} weights' loss on training graphs is {:.4} as seen in training and {:.4} in \
                 evaluation: the model answers otherwise than it was trained; \
                 --set train.norm_estimates=recomputed or structural encodings (model.node_pe) may help",
                seed.seed,
                match loss.of {
                    Compared::Selected => "selected",
                    Compared::Last => "last",
                },
                loss.in_training,
                loss.in_evaluation,
            )?;
        }
    }
    if let Some(test) = summary.test.filter(|test| test.count > 1) {
        writeln!(
            out,
            "test {metric} {:.4} ± {:.4} (mean ± population standard deviation over {} seeds)",
            test.mean, test.population_std, test.count
        )?;
    }
    if let Some(together) = &summary.ensemble {
        writeln!(
            out,
            "ensemble of {} models: test {metric} {} (validation {}), in one file: {}",
            together.seeds.len(),
            number(together.test),
            number(together.valid),
            path.join("ensemble.gmn").display()
        )?;
    }
    writeln!(out, "run: {}", path.display())?;
    Ok(ExitCode::SUCCESS)
}
