//! `graphminnet data links`: hides links of graphs, to be asked about.

use super::may_replace;
use crate::cmd::read_args::FileReading;
use crate::failure::Failure;
use crate::ui::report::say_report;
use crate::ui::say::say;
use clap::Args;
use graphminnet_data::links::HideLinks;
use graphminnet_data::text::{grouped, grouped_count};
use graphminnet_data::{Split, formats, open};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to hide.
///
/// A single graph keeps most links as edges; those that are hidden become pairs of the parts train, valid and test, the
/// last two beside pairs without a link. Of many graphs, each hides a share of its links.
#[derive(Args)]
pub struct Arguments {
    /// A file or folder of graphs.
    input: PathBuf,
    /// Where to write: .jsonl, .jsonl.gz, or a name without an extension for a folder of CSV files.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Share of the links to validate by (one graph).
    #[arg(long, default_value_t = HideLinks::default().valid)]
    valid: f64,
    /// Share of the links to test on (one graph).
    #[arg(long, default_value_t = HideLinks::default().test)]
    test: f64,
    /// Share of the remaining links (of many graphs: of all) to ask about in training; the others are edges.
    #[arg(long, default_value_t = HideLinks::default().ask)]
    ask: f64,
    /// Pairs without a link for every hidden link to validate and to test.
    #[arg(long, default_value_t = HideLinks::default().negatives)]
    negatives: usize,
    /// Seed of the draw; the same seed hides the same links.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    source: FileReading,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { valid, test, ask, negatives, seed, .. } = *arguments;
    let output = may_replace(&arguments.output, arguments.force)?;
    let read = open(&arguments.input, &arguments.source.options())?;
    say_report(&read.report);
    let hidden = HideLinks { valid, test, ask, negatives, seed }.apply(&read.dataset)?;
    formats::write(&hidden, &arguments.output)?;
    let edges: usize = hidden.samples.iter().map(|sample| sample.graph.num_edges()).sum();
    let pairs: usize = hidden.samples.iter().map(|sample| sample.graph.pairs().len()).sum();
    let parts = match &hidden.node_parts {
        None => format!("{} pairs", grouped(pairs)),
        Some(parts) => {
            let counts = Split::ALL.map(|part| format!("{} {part}", grouped(parts.count(part))));
            format!("pairs: {}", counts.join(", "))
        }
    };
    let graphs = grouped_count(hidden.samples.len(), "graph");
    say!("{graphs}, {} left, {parts}", grouped_count(edges, "directed edge"));
    writeln!(stdout().lock(), "{output}")?;
    Ok(ExitCode::SUCCESS)
}
