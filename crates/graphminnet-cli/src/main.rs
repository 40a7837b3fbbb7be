//! The `graphminnet` command: parse, run, exit code. Mathematics and data live in the library.

mod allocator;
mod cmd;
mod failure;
mod ui;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::KeepLargeBlocks = allocator::KeepLargeBlocks::new();

/// Learning on graphs with long-range dependencies at linear cost.
#[derive(Parser)]
#[command(name = "graphminnet", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model: on a benchmark, on your own file, or as a demonstration.
    Train(cmd::train::Arguments),
    /// Search for better settings: random candidates, hopeless ones stopped early.
    Tune(cmd::tune::Arguments),
    /// Predict new graphs with a trained model: a table with one row per input row.
    Predict(cmd::predict::Arguments),
    /// Measure a trained model on labelled graphs: all metrics with confidence intervals, by class or target.
    Evaluate(cmd::evaluate::Arguments),
    /// Write the vectors that a trained model gives to graphs or nodes.
    Embed(cmd::embed::Arguments),
    /// Benchmark data sets and your own files: list, fetch, import, count, generate, check, split, convert.
    Data(cmd::data::Arguments),
    /// Compute what training needs of every graph, once, into the cache.
    Prepare(cmd::prepare::Arguments),
    /// List, verify or shrink the cache of prepared data.
    Cache(cmd::cache::Arguments),
    /// Show what a model is made of: parts, shapes, parameters, and the paper's count beside ours.
    Inspect(cmd::inspect::Arguments),
    /// Reproduce the paper: each table and figure, ours beside the printed numbers, with a verdict.
    Repro(cmd::repro::Arguments),
    /// Time training steps and inference on batches shaped like the benchmarks.
    Bench(cmd::bench::Arguments),
    /// Describe this program and this machine, for bug reports.
    Doctor(cmd::doctor::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Train(arguments) => cmd::train::run(&arguments),
        Command::Tune(arguments) => cmd::tune::run(&arguments),
        Command::Predict(arguments) => cmd::predict::run(&arguments),
        Command::Evaluate(arguments) => cmd::evaluate::run(&arguments),
        Command::Embed(arguments) => cmd::embed::run(&arguments),
        Command::Data(arguments) => cmd::data::run(&arguments),
        Command::Prepare(arguments) => cmd::prepare::run(&arguments),
        Command::Cache(arguments) => cmd::cache::run(&arguments),
        Command::Inspect(arguments) => cmd::inspect::run(&arguments),
        Command::Repro(arguments) => cmd::repro::run(&arguments),
        Command::Bench(arguments) => cmd::bench::run(&arguments),
        Command::Doctor(arguments) => cmd::doctor::run(&arguments),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
