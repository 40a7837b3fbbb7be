//! `graphminnet repro datasets`.

use super::shared::{Choice, Common, Effort, Place, Talk, experiment};
use crate::cmd::train::arguments::MachineArguments;
use crate::failure::Failure;
use clap::Args;
use graphminnet::config::RECIPE_NAMES;
use graphminnet_lab::repro::datasets;
use std::process::ExitCode;

/// What to count.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    talk: Talk,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { place, choice, talk } = arguments;
    let machine = MachineArguments::default();
    let common = Common { place: place.clone(), machine, talk: talk.clone() };
    experiment(&common, choice, &Effort::default(), |lab| {
        datasets::run(lab, &lab.datasets(&choice.datasets, RECIPE_NAMES)?)
    })
}
