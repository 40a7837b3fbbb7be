//! `graphminnet repro ablation`.

use super::shared::{Choice, Effort, Place, Talk, experiment};
use crate::cmd::train::arguments::MachineArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::ablation;
use std::process::ExitCode;

/// Which choice to switch.
#[derive(Args)]
pub struct Arguments {
    /// The choice; the first six are the paper's.
    #[arg(value_parser = ablation::NAMES)]
    name: String,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    talk: Talk,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { name, place, choice, effort, machine, talk } = arguments;
    experiment(place, choice, effort, machine, talk, |lab| {
        ablation::run(lab, name, &lab.datasets(&choice.datasets, ablation::default_datasets(name))?)
    })
}
