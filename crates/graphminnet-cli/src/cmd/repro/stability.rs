//! `graphminnet repro stability`.

use super::shared::{Choice, Effort, Place, Talk, experiment};
use crate::cmd::train::arguments::MachineArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet::config::RECIPE_NAMES;
use graphminnet_lab::repro::stability;
use std::process::ExitCode;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Recipes whose equivariance is measured, separated by commas (default: all ten).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    datasets: Vec<String>,
    #[command(flatten)]
    machine: MachineArguments,
    #[command(flatten)]
    talk: Talk,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { place, datasets, machine, talk } = arguments;
    let effort = Effort { seeds: Some("0".into()), ..Effort::default() };
    experiment(place, &Choice::default(), &effort, machine, talk, |lab| {
        stability::run(lab, &lab.datasets(datasets, RECIPE_NAMES)?)
    })
}
