//! `graphminnet repro robustness`.

use super::shared::{Choice, Effort, Place, Talk, experiment};
use crate::cmd::train::arguments::MachineArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::robustness;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to disturb.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    /// A finished run directory whose model is taken, instead of training one; may be repeated.
    #[arg(long = "run", value_name = "DIRECTORY")]
    runs: Vec<PathBuf>,
    /// Draws of the noise per level.
    #[arg(long, default_value_t = 5)]
    draws: u64,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    talk: Talk,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { place, choice, effort, runs, draws, machine, talk } = arguments;
    experiment(place, choice, effort, machine, talk, |lab| {
        let datasets = lab.datasets(&choice.datasets, &robustness::DATASETS)?;
        robustness::run(lab, &robustness::Request { datasets, runs: runs.clone(), draws: *draws })
    })
}
