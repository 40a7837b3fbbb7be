//! `graphminnet repro block`.

use super::shared::{Choice, Effort, Place, Talk, experiment};
use crate::cmd::train::arguments::MachineArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::block;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to look at.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    /// A finished run directory to look at, instead of training; may be repeated.
    #[arg(long = "run", value_name = "DIRECTORY")]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    talk: Talk,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { place, choice, effort, runs, machine, talk } = arguments;
    experiment(place, choice, effort, machine, talk, |lab| {
        let datasets = lab.datasets(&choice.datasets, &block::DATASETS)?;
        block::run(lab, &block::Request { datasets, runs: runs.clone() })
    })
}
