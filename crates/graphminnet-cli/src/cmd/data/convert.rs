//! `graphminnet data convert`: from one format to another.

use super::may_replace;
use crate::cmd::read_args::FileReading;
use crate::failure::Failure;
use crate::ui::report::say_report;
use crate::ui::say::say;
use clap::Args;
use graphminnet_data::formats::Format;
use graphminnet_data::text::grouped_count;
use graphminnet_data::{ColumnKind, Dataset, Level, escape, formats, open};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to convert.
#[derive(Args)]
pub struct Arguments {
    /// A file or folder of graphs.
    input: PathBuf,
    /// Where to write: .jsonl, .jsonl.gz, .g6, or a name without an extension for a folder of CSV files.
    output: PathBuf,
    #[command(flatten)]
    source: FileReading,
    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let output = may_replace(&arguments.output, arguments.force)?;
    let read = open(&arguments.input, &arguments.source.options())?;
    say_report(&read.report);
    let format = formats::write(&read.dataset, &arguments.output)?;
    say!("{} written as {}", grouped_count(read.dataset.samples.len(), "graph"), format.name());
    say_written(&read.dataset, format);
    writeln!(stdout().lock(), "{output}")?;
    Ok(ExitCode::SUCCESS)
}

/// Says what a format does not hold, or does not hold by itself.
pub fn say_written(dataset: &Dataset, format: Format) {
    let bounds = dataset.qualifiers.num_bounds();
    if bounds > 0 && format != Format::Jsonl {
        say!(
            "note: {bounds} labels are bounds, which only tables of molecules and JSON Lines can have: they are written \
             as missing"
        );
    }
    let level = dataset.schema.level;
    let targets = dataset.schema.targets.join(",");
    // Columns that are targets wherever nobody says otherwise.
    let is_usual = |name: &String| name == "label" || name == "target" || name.starts_with("target_");
    let needs_names = !dataset.schema.targets.iter().all(is_usual);
    let columns = dataset.schema.node_columns.iter().chain(&dataset.schema.edge_columns);
    let like_numbers = columns.filter(|column| match &column.kind {
        ColumnKind::Category { names, .. } => names.iter().any(|name| name.parse::<f64>().is_ok()),
        ColumnKind::Number => false,
    });
    let like_numbers: Vec<String> = like_numbers.map(|column| escape(&column.name)).collect();
    if format == Format::CsvFolder && !like_numbers.is_empty() {
        say!(
            "note: some texts look like numbers, which a table cannot tell: read this with --text {}",
            like_numbers.join(",")
        );
    }
    match format {
        Format::Graph6 => say!(
            "note: graph6 holds the undirected graphs only; features, targets, loops and directions are left out"
        ),
        Format::CsvFolder if matches!(level, Level::Node | Level::Edge) && needs_names => say!(
            "note: a column of {level}s is a feature unless it is named: read this with --level {level} --target {}",
            escape(&targets)
        ),
        _ => {}
    }
}
