//! The `graphminnet` command: parse, run, exit code. Mathematics and data live in the library `graphminnet`; this one has
//! no interface but what the program itself, the Python package and the fuzz crate need.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod allocator;
mod cmd;
mod failure;
mod ranks;
mod ui;

// For the fuzz crate.
#[cfg(all(feature = "benchmarks", feature = "serve"))]
#[doc(hidden)]
pub use cmd::serve::fuzzing;

pub use allocator::KeepLargeBlocks;
pub use failure::Failure;
// For the Python package, which warns in the same words.
#[doc(hidden)]
pub use ui::coverage::coverage_text;

use clap::{Parser, Subcommand};
use graphminnet_data::foreign::hush_contained_panics;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Memory of the command's own program. A module inside a foreign process leaves allocation to that process.
pub static ALLOCATOR: KeepLargeBlocks = KeepLargeBlocks::new();

#[derive(Parser)]
#[command(
    name = "graphminnet",
    version,
    about = "Learn from graphs, with long-range dependencies at linear cost",
    after_help = FIRST_STEPS,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// What a newcomer types first.
const FIRST_STEPS: &str = "First steps:
  graphminnet train                                          a demonstration, in seconds
  graphminnet train --data molecules.csv --target logS       a file of your own
  graphminnet predict --model runs/NAME --data new.csv       what the model says of new graphs";

#[derive(Subcommand)]
enum Command {
    /// Train a model: on a benchmark, on your own file, or as a demonstration.
    #[cfg_attr(
        not(feature = "benchmarks"),
        command(about = "Train a model: on your own file, or as a demonstration")
    )]
    Train(cmd::train::Arguments),
    /// Train on several splits of your own file, and say what comes out on average: mean ± standard deviation.
    CrossValidate(cmd::cross_validate::Arguments),
    /// Search for better settings: random candidates, hopeless ones stopped early.
    Tune(cmd::tune::Arguments),
    /// Recipes of your own: list, show, new, check.
    Recipe(cmd::recipe::Arguments),
    /// Predict new graphs with a trained model: a table with one row per input row.
    Predict(cmd::predict::Arguments),
    /// Measure a trained model on labelled graphs: all metrics with confidence intervals, by class or target.
    Evaluate(cmd::evaluate::Arguments),
    /// Write the vectors that a trained model gives to graphs or nodes.
    Embed(cmd::embed::Arguments),
    /// Benchmark data sets and your own files: list, fetch, import, count, generate, check, split, convert.
    #[cfg_attr(
        not(feature = "benchmarks"),
        command(about = "Your own files: count, generate, check, split, convert")
    )]
    Data(cmd::data::Arguments),
    /// Compute what training needs of every graph, once, into the cache.
    Prepare(cmd::prepare::Arguments),
    /// List, verify or shrink the cache of prepared data.
    Cache(cmd::cache::Arguments),
    /// Say which nodes and edges a prediction rests on, and from how far away its gradient comes.
    Explain(cmd::explain::Arguments),
    /// One or several runs as a page to read: results, curves, predictions, range, model card.
    Report(cmd::report::Arguments),
    /// Show what a model is made of: parts, shapes, parameters, and the paper's count beside ours.
    #[cfg_attr(
        not(feature = "lab"),
        command(about = "Show what a model is made of: parts, shapes, parameters")
    )]
    Inspect(cmd::inspect::Arguments),
    /// Reproduce the paper: each table and figure, ours beside the printed numbers, with a verdict.
    #[cfg(feature = "lab")]
    Repro(cmd::repro::Arguments),
    /// Time training steps, inference and preparation on batches shaped like the benchmarks.
    #[cfg(feature = "lab")]
    Bench(cmd::bench::Arguments),
    /// Answer predictions over HTTP, with a page to try them.
    #[cfg(feature = "serve")]
    Serve(cmd::serve::Arguments),
    /// Describe this program and this machine, for bug reports.
    Doctor(cmd::doctor::Arguments),
}

/// Runs the command for these arguments, the program's name first, and gives the exit code. Does not end the process,
/// unless a signal does.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    cmd::remember_command_line(&arguments);
    hush_contained_panics();
    let arguments = match Arguments::try_parse_from(&arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing to be done if nobody listens.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let result = match arguments.command {
        Command::Train(arguments) => cmd::train::run(&arguments),
        Command::CrossValidate(arguments) => cmd::cross_validate::run(&arguments),
        Command::Tune(arguments) => cmd::tune::run(&arguments),
        Command::Recipe(arguments) => cmd::recipe::run(&arguments),
        Command::Predict(arguments) => cmd::predict::start(arguments),
        Command::Evaluate(arguments) => cmd::evaluate::start(arguments),
        Command::Embed(arguments) => ranks::in_shards(arguments),
        Command::Data(arguments) => cmd::data::run(&arguments),
        Command::Prepare(arguments) => ranks::in_shards(arguments),
        Command::Cache(arguments) => cmd::cache::run(&arguments),
        Command::Explain(arguments) => cmd::explain::run(&arguments),
        Command::Report(arguments) => cmd::report::run(&arguments),
        Command::Inspect(arguments) => cmd::inspect::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Repro(arguments) => cmd::repro::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Bench(arguments) => cmd::bench::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => cmd::serve::run(&arguments),
        Command::Doctor(arguments) => cmd::doctor::run(&arguments),
    };
    let code = result.unwrap_or_else(Failure::report);
    // Only the end of a Rust program flushes by itself.
    let _ = std::io::stdout().flush();
    // A code does not say its number, but it can be compared.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(u8::MAX)
}
