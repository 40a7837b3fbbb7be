//! `graphminnet tune`: random search with median stopping, one candidate after the other, resumable.
//!
//! Candidates are a pure function of the search's seed and their number. Every finished, stopped or failed candidate
//! is a line of `journal.jsonl`; started again in the same directory, the search resumes where it was, down to the
//! step within the candidate that was running. There is no daemon and no database.

use super::train::arguments::{DataArguments, MachineArguments, OutputArguments, SOURCES, in_context};
use super::train::configuration::Configuration;
use super::train::execute::{Context, fresh_name};
use super::train::request::{Request, read_overrides};
use crate::failure::Failure;
use crate::ui::signals::INTERRUPTED;
use crate::ui::table::{Align, Table};
use crate::ui::training::Training;
use clap::Args;
use graphminnet::config::{ConfigError, Override};
use graphminnet::train::tune::{Journal, Search, SearchFile, Trial, TrialEnd};
use graphminnet::train::{RunSpec, TrainError, TrainingData};
use graphminnet_data::text::{counted, shell_word};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to search.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    data: DataArguments,
    /// A field and where to search it: train.learning_rate=log:1e-4..1e-2, model.layers=2..8, model.drop_res=0.0..0.6
    /// or a list in brackets, such as `model.local=[gatedgcn,gine]`; may be repeated.
    #[arg(long = "search", value_name = "FIELD=RANGE", required = true)]
    search: Vec<String>,
    /// Replace a field for all candidates, as in --set train.epochs=30; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    overrides: Vec<String>,
    /// Number of candidates.
    #[arg(long, default_value_t = 20)]
    trials: usize,
    /// Seed of the search and of every candidate.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Candidates that run to the end before any is stopped.
    #[arg(long, default_value_t = 3)]
    grace_trials: usize,
    /// Epochs before a candidate may be stopped.
    #[arg(long, default_value_t = 2)]
    grace_epochs: usize,
    /// Directory of the search; an existing one is resumed.
    #[arg(long, value_name = "DIRECTORY")]
    run_dir: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    in_context(&arguments.machine, &arguments.output, |context| search(arguments, context))
}

fn search(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    if arguments.data.is_empty() {
        return Err(Failure::usage(format!("what should be tuned? Give {SOURCES}")));
    }
    let fixed = read_overrides(&arguments.overrides)?;
    let mut search = Search::new(arguments.seed);
    search.grace_trials = arguments.grace_trials;
    search.grace_epochs = arguments.grace_epochs;
    for text in &arguments.search {
        search.add(text)?;
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name.trim());
        if fixed.iter().any(|field| field.path() == name) {
            return Err(Failure::usage(format!(
                "{name} is given by --set and searched by --search: leave one out"
            )));
        }
    }
    let configuration = Configuration::of(&arguments.data, None, &fixed)?;
    let mut base = Request::new(&arguments.data, &fixed, vec![arguments.seed], false, None, context)?;
    if base.loaded.in_parts.is_some() {
        // Candidates share what is prepared for one of them, and that is the whole graph.
        base.loaded = base.source.load_within(&context.resources.limits)?;
    }
    let path = arguments.run_dir.clone().unwrap_or_else(|| fresh_name(&format!("tune-{}", base.recipe.name)));
    let about =
        SearchFile { data: base.source.clone(), set: arguments.overrides.clone(), search: search.describe() };
    let mut journal = Journal::open(&path, &about)?;
    context.verbosity.say(format_args!("search directory: {}", path.display()));
    let recipe_of = |overrides: &[Override]| -> Result<_, ConfigError> {
        let mut all = fixed.clone();
        all.extend_from_slice(overrides);
        Ok(configuration.recipe(&base.loaded, &all)?.recipe)
    };
    // Candidates that need the same preparation share it.
    let mut prepared = None;
    while journal.trials().len() < arguments.trials {
        let number = journal.trials().len();
        let fields = search.candidate(number);
        let shown: Vec<String> = fields.iter().map(Override::to_string).collect();
        context.verbosity.say(format_args!(
            "candidate {}/{}: {}",
            number + 1,
            arguments.trials,
            shown.join("  ")
        ));
        let recipe = match recipe_of(&fields) {
            Ok(recipe) => recipe,
            Err(error) => {
                context.verbosity.say(format_args!("  not possible: {error}"));
                journal.add(Trial::failed(number, shown, error.to_string()))?;
                continue;
            }
        };
        let resources = &context.resources;
        let known = prepared.take();
        let known =
            known.filter(|data: &TrainingData| data.dataset.options == recipe.model.prepare_options());
        prepared = match known {
            Some(data) => Some(data),
            None => {
                let mut progress = Training::new(context.verbosity, recipe.train.metric, "");
                base.loaded.prepare(&recipe.model, resources, &mut progress, context.interrupt.heed())?
            }
        };
        let candidate = RunSpec {
            recipe,
            source: base.source.clone(),
            seeds: base.seeds.clone(),
            from: None,
            command: context.command.clone(),
        };
        let trial = match &prepared {
            Some(data) => search.run(&journal, &candidate, data, resources, context.interrupt.heed()),
            None => Ok(None),
        };
        let trial = match trial {
            Ok(Some(trial)) => trial,
            Ok(None) => {
                context
                    .verbosity
                    .say("interrupted; the search is saved. Resume it with the same command and --run-dir");
                return Ok(ExitCode::from(INTERRUPTED));
            }
            Err(error @ (TrainError::NonFinite { .. } | TrainError::Loss(_))) => {
                Trial::failed(number, shown, error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        context.verbosity.say(format_args!("  {}", describe(&trial)));
        journal.add(trial)?;
    }
    print(&journal, base.recipe.train.metric, context)
}

fn describe(trial: &Trial) -> String {
    let value = trial.valid.map_or_else(|| "no value".to_owned(), |value| format!("{value:.4}"));
    match &trial.end {
        TrialEnd::Finished => format!("validation {value}"),
        TrialEnd::Stopped => format!("validation {value}, stopped after {} epochs", trial.history.len()),
        TrialEnd::Failed { reason } => format!("failed: {reason}"),
    }
}

fn print(
    journal: &Journal,
    metric: graphminnet::config::MetricKind,
    context: &Context,
) -> Result<ExitCode, Failure> {
    let ranked = journal.ranked(metric);
    let mut out = stdout().lock();
    if context.json {
        // Counted from 1, as in the table.
        let mut trials: Vec<Trial> = ranked.iter().map(|trial| (*trial).clone()).collect();
        trials.iter_mut().for_each(|trial| trial.number += 1);
        writeln!(out, "{}", serde_json::to_string(&trials)?)?;
        return all_failed(&ranked);
    }
    let valid = format!("valid {metric}");
    let mut table = Table::new(&[
        ("candidate", Align::Right),
        (&valid, Align::Right),
        ("epochs", Align::Right),
        ("end", Align::Left),
        ("fields", Align::Left),
    ]);
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
    let best = ranked.iter().find(|trial| trial.valid.is_some());
    let command = best.map(|best| training_command(&context.command, &best.fields));
    for trial in &ranked {
        table.row([
            (trial.number + 1).to_string(),
            number(trial.valid),
            trial.history.len().to_string(),
            match &trial.end {
                TrialEnd::Finished => "finished".to_owned(),
                TrialEnd::Stopped => "stopped".to_owned(),
                TrialEnd::Failed { .. } => "failed".to_owned(),
            },
            trial.fields.join("  "),
        ]);
    }
    write!(out, "{table}")?;
    writeln!(out, "search: {}", journal.path().display())?;
    if let Some(command) = command {
        writeln!(out, "train with the best candidate's fields:\n  {command}")?;
    }
    all_failed(&ranked)
}

/// A search in which nothing could be trained is no success.
fn all_failed(trials: &[&Trial]) -> Result<ExitCode, Failure> {
    let reasons: Option<Vec<&String>> = trials
        .iter()
        .map(|trial| match &trial.end {
            TrialEnd::Failed { reason } => Some(reason),
            _ => None,
        })
        .collect();
    match reasons.as_deref() {
        Some([first, ..]) => Err(Failure::usage(format!(
            "none of {} could be trained: {first}",
            counted(trials.len(), "candidate")
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Options of a search that a training does not have; all of them take a value.
const OF_THE_SEARCH: [&str; 5] = ["--search", "--trials", "--grace-trials", "--grace-epochs", "--run-dir"];

/// The command that trains with the fields of a candidate, made from the command of the search.
fn training_command(search: &[String], fields: &[String]) -> String {
    let mut words = vec!["graphminnet".to_owned(), "train".to_owned()];
    let mut given = search.iter().skip(2);
    while let Some(word) = given.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        match word.as_str() {
            word if OF_THE_SEARCH.contains(&word) => drop(given.next()),
            _ if OF_THE_SEARCH.contains(&name) => {}
            "--json" => {}
            _ => words.push(word.clone()),
        }
    }
    for field in fields {
        words.extend(["--set".to_owned(), field.clone()]);
    }
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_candidate_keeps_what_both_commands_share() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let search = "graphminnet tune --data my.csv --target y --search model.layers=2..4 --trials=9 --seed 3 --run-dir s \
                      --set train.epochs=5 --search=model.local=[gine,gin] --json --threads 1";
        assert_eq!(
            training_command(&words(search), &words("model.layers=3 model.local=\"gine\"")),
            "graphminnet train --data my.csv --target y --seed 3 --set train.epochs=5 --threads 1 --set model.layers=3 \
             --set 'model.local=\"gine\"'"
        );
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
