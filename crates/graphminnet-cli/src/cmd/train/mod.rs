//! `graphminnet train`: from a recipe, a file or nothing at all to trained weights in a run directory.

pub mod arguments;
mod demo;
pub mod execute;
pub mod request;

use crate::failure::Failure;
use arguments::{DataArguments, MachineArguments, OutputArguments, in_context};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to train.
///
/// Without a source of data and without --resume: a demonstration on generated data, about two minutes long.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    data: DataArguments,
    /// Replace a field of the configuration, as in --set train.epochs=50; may be repeated.
    #[arg(long = "set", value_name = "FIELD=VALUE")]
    overrides: Vec<String>,
    /// Seeds: one (3), a list (0,2,5) or a range with both ends (0..4).
    #[arg(long, visible_alias = "seed", default_value = "0", value_name = "SEEDS")]
    seeds: String,
    /// Directory of the run; it must not exist yet. Without it: `runs/NAME-TIME`.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "resume")]
    run_dir: Option<PathBuf>,
    /// Go on with an interrupted or killed run, to the same bits as if nothing had happened.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["data", "generate", "split", "overrides", "seeds"])]
    #[cfg_attr(feature = "benchmarks", arg(conflicts_with = "recipe"))]
    resume: Option<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    in_context(&arguments.machine, &arguments.output, |context| {
        if let Some(path) = &arguments.resume {
            arguments.data.reading.refuse("a run that goes on: its data is known")?;
            return execute::resume(path, context);
        }
        let overrides = request::read_overrides(&arguments.overrides)?;
        let seeds = request::read_seeds(&arguments.seeds)?;
        if arguments.data.is_empty() {
            return demo::run(&overrides, &seeds, arguments.run_dir.as_deref(), context);
        }
        let request = request::Request::new(&arguments.data, &overrides, seeds, context.verbosity)?;
        execute::start(request, arguments.run_dir.as_deref(), context)
    })
}
