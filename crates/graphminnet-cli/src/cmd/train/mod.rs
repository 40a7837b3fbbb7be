//! `graphminnet train`: from a recipe, a file or nothing at all to trained weights in a run directory.

pub mod arguments;
pub mod configuration;
mod demo;
pub mod execute;
pub mod request;

use crate::cmd::parts_args::PartsArguments;
use crate::failure::Failure;
use crate::ranks;
use crate::ui::priority::give_way;
use arguments::{DataArguments, MachineArguments, OutputArguments, TransferArguments, in_context};
use clap::Args;
use execute::Context;
use graphminnet::config::Override;
use std::path::PathBuf;
use std::process::ExitCode;
use toml::Value;

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
    #[command(flatten)]
    parts: PartsArguments,
    /// How much each target column counts in the training loss, as in 1,0.5,2: one number per column, scaled to a mean of 1.
    /// The same as --set train.task_weights=[1,0.5,2].
    #[arg(long, value_name = "WEIGHTS", value_delimiter = ',', allow_negative_numbers = true)]
    task_weights: Vec<f64>,
    /// Seeds: one (3), a list (0,2,5) or a range with both ends (0..4).
    /// Default: seed 0.
    #[arg(long, visible_alias = "seed", value_name = "SEEDS")]
    seeds: Option<String>,
    /// Train this many models that differ in their seeds (0, 1, …). Their mean is better than one of them, and
    /// `ensemble.gmn` holds them all in one file, as after any run with several seeds.
    #[arg(long, value_name = "MODELS", conflicts_with = "seeds", value_parser = clap::value_parser!(u64).range(1..=100))]
    ensemble: Option<u64>,
    /// Set part of the training graphs aside, neither to train on nor to choose the epoch by: the model then predicts
    /// with intervals or sets that hold the truth with a known probability, which is tested on the test part.
    #[arg(long)]
    calibrate: bool,
    #[command(flatten)]
    transfer: TransferArguments,
    /// Directory of the run; it must not hold one yet. Without it: `runs/NAME-TIME`.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "resume")]
    run_dir: Option<PathBuf>,
    /// Resume an interrupted or killed run, to the same bits as if nothing had happened; for a folder of runs, every
    /// unfinished one. Together with the arguments that start a run: start it if it does not exist yet.
    #[arg(long, value_name = "RUN")]
    resume: Option<PathBuf>,
    /// For the training queue, which starts runs this way.
    #[arg(long, hide = true)]
    background: bool,
    #[command(flatten)]
    machine: MachineArguments,
    /// Leave eigenpairs and random walks in the cache, and read those of a batch when it is made: less memory, the same
    /// numbers. Ranks need a cache in a folder that they share.
    #[arg(help_heading = crate::cmd::MACHINE, long, conflicts_with = "no_cache")]
    prepared_on_disk: bool,
    #[command(flatten)]
    output: OutputArguments,
}

impl Arguments {
    /// What the weights of target columns stand for.
    fn weights(&self) -> Option<Override> {
        let weights: Vec<Value> = self.task_weights.iter().copied().map(Value::Float).collect();
        (!weights.is_empty()).then(|| Override::new("train", "task_weights", Value::Array(weights)))
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.background {
        give_way();
    }
    let work = |context: &Context| {
        let started = !arguments.data.is_empty();
        if let (Some(path), false) = (&arguments.resume, started) {
            arguments.data.reading.refuse("a resumed run: its data is known")?;
            let split = arguments.data.split != "auto";
            if !arguments.overrides.is_empty()
                || arguments.seeds.is_some()
                || arguments.ensemble.is_some()
                || split
                || arguments.calibrate
                || arguments.transfer.is_given()
                || arguments.parts.are_given()
                || !arguments.task_weights.is_empty()
            {
                return Err(Failure::usage(
                    "--set, --seeds, --ensemble, --split, --calibrate, --parts, --task-weights and --from: a resumed run stays as it was started",
                ));
            }
            return execute::resume(path, context);
        }
        let mut overrides = request::read_overrides(&arguments.overrides)?;
        overrides.extend(arguments.parts.overrides());
        overrides.extend(arguments.weights());
        let seeds = match arguments.ensemble {
            Some(models) => (0..models).collect(),
            None => request::read_seeds(arguments.seeds.as_deref().unwrap_or("0"))?,
        };
        if !started {
            if arguments.transfer.is_given() {
                return Err(Failure::usage(format!("--from: on which data? Give {}", arguments::SOURCES)));
            }
            return demo::run(&overrides, &seeds, arguments.run_dir.as_deref(), context);
        }
        let calibrate = arguments.calibrate;
        let from = arguments.transfer.read()?;
        let request = request::Request::new(&arguments.data, &overrides, seeds, calibrate, from, context)?;
        match &arguments.resume {
            Some(path) => execute::resume_or_start(path, request, context),
            None => execute::start(request, arguments.run_dir.as_deref(), context),
        }
    };
    in_context(&arguments.machine, &arguments.output, |context| {
        let mut context = context.clone();
        context.resources.prepared_on_disk = arguments.prepared_on_disk;
        ranks::together(&context, work)
    })
}
