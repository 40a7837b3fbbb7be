//! `graphminnet data`: the benchmark data sets, and files of your own.

mod check;
mod convert;
#[cfg(feature = "benchmarks")]
mod get;
#[cfg(feature = "benchmarks")]
mod import;
#[cfg(feature = "benchmarks")]
mod info;
pub mod join;
mod links;
#[cfg(feature = "benchmarks")]
mod list;
mod split;
mod stats;
mod synth;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use graphminnet_data::escape;
use std::path::Path;
#[cfg(feature = "benchmarks")]
use std::path::PathBuf;
use std::process::ExitCode;

/// What to do with data.
#[derive(Args)]
pub struct Arguments {
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[cfg(feature = "benchmarks")]
    #[arg(long, value_name = "FOLDER", global = true)]
    data_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the benchmark data sets and whether a local copy is there.
    #[cfg(feature = "benchmarks")]
    List(list::Arguments),
    /// Show everything known about a data set: columns, split, licence, citation, where to get it and where to put it.
    #[cfg(feature = "benchmarks")]
    Info(info::Arguments),
    /// Fetch the published files of a data set: resumed, verified, never prompting.
    #[cfg(feature = "benchmarks")]
    Get(get::Arguments),
    /// Turn published archives that you already have into a local copy.
    #[cfg(feature = "benchmarks")]
    Import(import::Arguments),
    /// Count graphs, nodes and edges; for benchmarks with the paper's table beside ours.
    #[cfg_attr(not(feature = "benchmarks"), command(about = "Count graphs, nodes and edges"))]
    Stats(stats::Arguments),
    /// Generate graphs from a recipe and a seed.
    Synth(synth::Arguments),
    /// Validate a file and print a data card; exits with 1 if rows cannot be used.
    Check(check::Arguments),
    /// Hide links of graphs, to be asked about: the data of link prediction.
    Links(links::Arguments),
    /// Divide a file into train, valid and test, and write the parts down.
    Split(split::Arguments),
    /// Read a file in one format and write it in another.
    Convert(convert::Arguments),
    /// Check what the shards of `predict` or `embed` wrote, and put it together.
    Join(join::Arguments),
}

/// The name of a file to be written, for people; fails if there is one that nobody said to replace.
fn may_replace(path: &Path, force: bool) -> Result<String, Failure> {
    let name = escape(&path.to_string_lossy());
    if path.exists() && !force {
        return Err(Failure::usage(format!("{name} exists; --force replaces it")));
    }
    Ok(name)
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    #[cfg(feature = "benchmarks")]
    let data_dir = arguments.data_dir.as_deref();
    match &arguments.command {
        #[cfg(feature = "benchmarks")]
        Command::List(arguments) => list::run(arguments, data_dir),
        #[cfg(feature = "benchmarks")]
        Command::Info(arguments) => info::run(arguments, data_dir),
        #[cfg(feature = "benchmarks")]
        Command::Get(arguments) => get::run(arguments, data_dir),
        #[cfg(feature = "benchmarks")]
        Command::Import(arguments) => import::run(arguments, data_dir),
        #[cfg(feature = "benchmarks")]
        Command::Stats(arguments) => stats::benchmarks::run(arguments, data_dir),
        #[cfg(not(feature = "benchmarks"))]
        Command::Stats(arguments) => stats::run(arguments),
        Command::Synth(arguments) => synth::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Links(arguments) => links::run(arguments),
        Command::Split(arguments) => split::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
        Command::Join(arguments) => join::run(arguments),
    }
}
