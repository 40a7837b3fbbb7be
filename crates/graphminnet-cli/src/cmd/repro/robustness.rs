//! `graphminnet repro robustness`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::robustness;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to disturb.
#[derive(Args)]
pub struct Arguments {
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
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { choice, effort, runs, draws, common } = arguments;
    experiment(common, choice, effort, |lab| {
        let datasets = lab.datasets(&choice.datasets, &robustness::DATASETS)?;
        robustness::run(lab, &robustness::Request { datasets, runs: runs.clone(), draws: *draws })
    })
}
