//! `graphminnet cross-validate`: one training on several splits, each a run, resumable.

use super::train::arguments::{DataArguments, MachineArguments, OutputArguments, in_context};
use super::train::execute::{Context, fresh_name, train, with_data};
use super::train::request::{Request, read_overrides, read_seeds};
use crate::failure::Failure;
use crate::ui::figure::figure;
use crate::ui::signals::INTERRUPTED;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet::train::{CrossValidation, FoldBy, MeanStd, Rounds, Run, Summary};
use graphminnet_data::text::duration;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to train on which splits.
#[derive(Args)]
#[command(mut_arg("split", |split| split.help("How to make the splits: random (also auto), stratified, scaffold or kmeans")))]
pub struct Arguments {
    #[command(flatten)]
    data: DataArguments,
    /// Number of folds: every graph is tested once, by a model that was trained without it.
    #[arg(long, value_name = "K", conflicts_with = "replicates", value_parser = clap::value_parser!(u64).range(3..=1000))]
    folds: Option<u64>,
    /// Number of splits of 80/10/10 instead of folds, with seeds from --split-seed on.
    #[arg(long, value_name = "SPLITS", value_parser = clap::value_parser!(u64).range(1..=1000))]
    replicates: Option<u64>,
    /// Replace a field of the configuration, as in --set train.epochs=50; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    overrides: Vec<String>,
    /// Seeds of every split: one (3), a list (0,2,5) or a range with both ends (0..4).
    #[arg(long, visible_alias = "seed", value_name = "SEEDS", default_value = "0")]
    seeds: String,
    /// Directory of the runs, one for every split; what is there already is resumed. Without it: `runs/NAME-TIME`.
    #[arg(long, value_name = "DIRECTORY")]
    run_dir: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    in_context(&arguments.machine, &arguments.output, |context| validate(arguments, context))
}

fn validate(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let data = &arguments.data;
    if data.data.is_none() {
        return Err(Failure::usage("cross-validate splits a file of your own: give it with --data"));
    }
    let by: FoldBy = match data.split.as_str() {
        "auto" => FoldBy::Random,
        text => text.parse().map_err(|reason| {
            Failure::usage(format!("--split {}: for cross-validation {reason}", text.escape_debug()))
        })?,
    };
    let rounds = match (arguments.replicates, arguments.folds.unwrap_or(5)) {
        (Some(count), _) => Rounds::Replicates(count as usize),
        (None, folds) => Rounds::Folds(folds as usize),
    };
    let overrides = read_overrides(&arguments.overrides)?;
    let seeds = read_seeds(&arguments.seeds)?;
    let splits = rounds.splits(by, data.split_seed.unwrap_or(0));
    let Some((_, first)) = splits.first() else { return Err(Failure::usage("no split to train on")) };
    // What is inferred from the first split holds for all, so that they can be compared.
    let request = Request::with_split(data, first.clone(), &overrides, seeds, false, None, context)?;
    let metric = request.recipe.train.metric;
    let folder = arguments.run_dir.clone().unwrap_or_else(|| fresh_name(&request.recipe.name));
    let (spec, loaded) = request.into_spec(context);
    let mut loaded = Some(loaded);
    let mut done: Vec<(String, Summary)> = Vec::new();
    for (name, split) in &splits {
        let path = folder.join(name);
        let spec = spec.on_split(split);
        let run = Run::open_or_create(&path, &spec)?;
        // One that is done is not read again, so nothing else would notice.
        if !run.file().data.is_same_as(&spec.source) {
            return Err(Failure::usage(format!(
                "{} is a run on other data or on another split; give another --run-dir",
                path.display()
            )));
        }
        context.verbosity.say(format_args!("run directory: {}", path.display()));
        let mut run = match loaded.take() {
            Some(first) => run.with_data(first),
            None => with_data(run, context)?,
        };
        match train(&mut run, name, context)? {
            Some(summary) => done.push((name.clone(), summary)),
            None => {
                context.verbosity.say(format_args!(
                    "{} of {} splits are done; the same command with --run-dir {} goes on",
                    done.len(),
                    splits.len(),
                    folder.display()
                ));
                return Ok(ExitCode::from(INTERRUPTED));
            }
        }
    }
    print(&CrossValidation::new(metric, &done), &folder, context)
}

fn print(result: &CrossValidation, folder: &Path, context: &Context) -> Result<ExitCode, Failure> {
    result.write(folder)?;
    let mut out = stdout().lock();
    if context.json {
        writeln!(out, "{}", serde_json::to_string(result)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let metric = result.metric;
    let (valid, test) = (format!("valid {metric}"), format!("test {metric}"));
    let mut columns =
        vec![("split", Align::Left), (valid.as_str(), Align::Right), (test.as_str(), Align::Right)];
    let together = result.ensemble.is_some();
    if together {
        columns.push(("seeds together", Align::Right));
    }
    columns.push(("time", Align::Right));
    let over =
        |values: Option<MeanStd>| values.map_or_else(|| "undefined".to_owned(), |values| values.printed(4));
    let mut table = Table::new(&columns);
    let mut row = |name: &str, valid: Option<MeanStd>, test, ensemble: Option<String>, seconds| {
        let mut cells = vec![name.to_owned(), over(valid), over(test)];
        if together {
            cells.push(ensemble.unwrap_or_else(|| "undefined".to_owned()));
        }
        cells.push(duration(seconds));
        table.row(cells);
    };
    for round in &result.rounds {
        let ensemble = round.ensemble.map(figure);
        row(&round.name, round.valid, round.test, ensemble, round.seconds);
    }
    let seconds = result.rounds.iter().map(|round| round.seconds).sum();
    let ensemble = result.ensemble.map(|ensemble| ensemble.printed(4));
    row("all", result.valid, result.test, ensemble, seconds);
    write!(out, "{table}")?;
    let trainings = result.test.map_or(0, |test| test.count);
    writeln!(out, "mean ± population standard deviation; all: over {trainings} trainings")?;
    writeln!(out, "runs: {}", folder.display())?;
    Ok(ExitCode::SUCCESS)
}
