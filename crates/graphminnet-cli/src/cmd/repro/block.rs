//! `graphminnet repro block`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::block;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to look at.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    /// A finished run directory to look at, instead of training; may be repeated.
    #[arg(long = "run", value_name = "DIRECTORY")]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { choice, effort, runs, common } = arguments;
    experiment(common, choice, effort, |lab| {
        let datasets = lab.datasets(&choice.datasets, &block::DATASETS)?;
        block::run(lab, &block::Request { datasets, runs: runs.clone() })
    })
}
