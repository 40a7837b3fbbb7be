//! `graphminnet data import`: published archives become a local copy.

use crate::cmd::limit_args::LimitArguments;
use crate::failure::Failure;
use crate::ui::report::say_report;
use crate::ui::say::say;
use clap::Args;
use graphminnet_data::registry::{DATA_VARIABLE, data_dir, find, import_published, store};
use graphminnet_data::text::grouped;
use graphminnet_data::{ReadOptions, escape};
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What to import.
#[derive(Args)]
pub struct Arguments {
    /// Name of the data set, such as zinc.
    name: String,
    /// The published archive, folder or file; repeat it where there are several.
    #[arg(long, value_name = "FILE", required = true)]
    from: Vec<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments, folder: Option<&Path>) -> Result<ExitCode, Failure> {
    let info = find(&arguments.name)?;
    let root = required_data_dir(folder)?;
    let start = Instant::now();
    let read = import_published(info, &arguments.from, &arguments.limits.on(ReadOptions::default()))?;
    say_report(&read.report);
    let path = store(info, &read.dataset, &root)?;
    say!(
        "{}: {} graphs imported in {:.1} s",
        info.title,
        grouped(read.dataset.samples.len()),
        start.elapsed().as_secs_f64()
    );
    writeln!(stdout().lock(), "{}", escape(&path.to_string_lossy()))?;
    Ok(ExitCode::SUCCESS)
}

/// The folder to put data into, which must be named.
pub fn required_data_dir(folder: Option<&Path>) -> Result<PathBuf, Failure> {
    data_dir(folder).ok_or_else(|| {
        Failure::usage(format!("no data folder to put it into: give --data-dir or set {DATA_VARIABLE}"))
    })
}
