//! The demonstration: the same model with and without the global block on a task that needs to see far.

use super::execute::{Context, create, fresh_name, print_summary, train};
use super::request::Request;
use crate::failure::Failure;
use crate::ui::signals::INTERRUPTED;
use graphminnet::config::{Override, RING_TRANSFER, with_overrides};
use graphminnet::train::{DataSource, Generator, Run, Summary};
use graphminnet_data::text::duration;
use serde_json::json;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toml::Value;

const STORY: &str = "\
Ring transfer: in rings of 16 to 24 nodes one node is marked, and the node opposite to it shows one of 4 classes.
The marked node must name that class, 8 to 12 steps away. Guessing is right in 25 % of the cases.
A model that only passes messages along edges sees 3 steps far with its 3 layers, so it can do no better than guess.
The GraphMinNet block lets every node see the whole ring at once. Both are trained here, on the same data.
";

/// Trains both models and compares them.
pub fn run(
    overrides: &[Override],
    seeds: &[u64],
    run_dir: Option<&Path>,
    context: &Context,
) -> Result<ExitCode, Failure> {
    context.verbosity.say(STORY);
    let root = run_dir.map_or_else(|| fresh_name("ring-transfer"), Path::to_owned);
    // Both exist before the first is trained, so that both are resumed if this is interrupted.
    let mut runs: Vec<(&str, Run)> = Vec::new();
    for (name, label, global) in
        [("graphminnet", "GraphMinNet", "graphminnet"), ("local-only", "local only ", "none")]
    {
        let table = RING_TRANSFER.parse().map_err(|error: toml::de::Error| Failure::usage(error))?;
        let mut fields = overrides.to_vec();
        if global == "none" {
            fields.push(Override::new("model", "global", Value::String(global.to_owned())));
        }
        let recipe = with_overrides("ring-transfer", table, &fields)?;
        let source = DataSource::Generated { generator: Generator::RingTransfer, seed: 0, graphs: None };
        let loaded = source.load()?;
        let request = Request { recipe, source, loaded, seeds: seeds.to_vec(), from: None };
        runs.push((label, create(&root.join(name), request, context)?));
    }
    let mut results: Vec<(&str, PathBuf, Summary)> = Vec::new();
    for (label, mut run) in runs {
        let Some(summary) = train(&mut run, label, context)? else {
            return Ok(ExitCode::from(INTERRUPTED));
        };
        results.push((label.trim(), run.path().to_owned(), summary));
    }
    if context.json {
        let object: serde_json::Map<String, serde_json::Value> = results
            .iter()
            .map(|(label, path, summary)| {
                Ok(((*label).to_owned(), json!({ "run": path, "summary": serde_json::to_value(summary)? })))
            })
            .collect::<Result<_, serde_json::Error>>()?;
        writeln!(stdout().lock(), "{}", serde_json::Value::Object(object))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (_, path, summary) in results.iter().filter(|_| seeds.len() > 1) {
        print_summary(path, summary, context)?;
    }
    let mut out = stdout().lock();
    writeln!(out, "\nright answers on 500 test rings (guessing: 25 %)")?;
    for (label, _, summary) in &results {
        let share = summary.test.map_or(f64::NAN, |test| 100.0 * test.mean);
        writeln!(
            out,
            "  {label:12} {share:5.1} %   {} parameters, {}",
            summary.parameters,
            duration(summary.seconds)
        )?;
    }
    writeln!(out, "runs: {}", root.display())?;
    Ok(ExitCode::SUCCESS)
}
