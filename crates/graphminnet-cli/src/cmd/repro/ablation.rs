//! `graphminnet repro ablation`.

use super::shared::{Choice, Common, Effort, experiment};
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
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { name, choice, effort, common } = arguments;
    experiment(common, choice, effort, |lab| {
        ablation::run(lab, name, &lab.datasets(&choice.datasets, ablation::default_datasets(name))?)
    })
}
