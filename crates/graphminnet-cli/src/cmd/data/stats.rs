//! `graphminnet data stats`: the counts of any file, or the paper's table of data sets with ours beside it.

#[cfg(feature = "benchmarks")]
pub mod benchmarks;

use crate::cmd::read_args::FileReading;
use crate::failure::Failure;
use crate::ui::report::say_report;
use crate::ui::table::{Align, Table};
use clap::Args;
use graphminnet_data::text::grouped;
use graphminnet_data::{escape, open, statistics};
use serde_json::json;
use std::io::{Write, stdout};
use std::path::Path;
use std::process::ExitCode;

/// What to count.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub struct Arguments {
    /// Name of a benchmark data set, or a file or folder of your own.
    #[cfg_attr(feature = "benchmarks", arg(value_name = "NAME|FILE"))]
    #[cfg_attr(not(feature = "benchmarks"), arg(value_name = "FILE", help = "A file or folder of your own"))]
    #[arg(group = "which")]
    what: Option<String>,
    /// All benchmark data sets of which there is a local copy.
    #[cfg(feature = "benchmarks")]
    #[arg(long, group = "which")]
    all: bool,
    #[command(flatten)]
    source: FileReading,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Counts a file.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = Path::new(arguments.what.as_deref().unwrap_or_default());
    let read = open(path, &arguments.source.options())?;
    let statistics = statistics(&read.dataset);
    let mut out = stdout().lock();
    if arguments.json {
        let object = json!({ "file": path, "statistics": statistics, "notes": read.report.notes });
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    say_report(&read.report);
    let mut table = Table::new(&[
        ("data set", Align::Left),
        ("level", Align::Left),
        ("task", Align::Left),
        ("graphs", Align::Right),
        ("mean nodes", Align::Right),
        ("mean edges, directed", Align::Right),
        ("undirected", Align::Right),
    ]);
    table.row([
        escape(&read.dataset.name),
        statistics.level.to_string(),
        statistics.task.to_string(),
        grouped(statistics.graphs),
        format!("{:.1}", statistics.mean_nodes),
        format!("{:.1}", statistics.mean_directed_edges),
        format!("{:.1}", statistics.mean_undirected_edges),
    ]);
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}
