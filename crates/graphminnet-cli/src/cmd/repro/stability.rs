//! `graphminnet repro stability`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet::config::RECIPE_NAMES;
use graphminnet_lab::repro::stability;
use std::process::ExitCode;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Recipes whose equivariance is measured, separated by commas (default: all ten).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    datasets: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { datasets, common } = arguments;
    let effort = Effort { seeds: Some("0".into()), ..Effort::default() };
    experiment(common, &Choice::default(), &effort, |lab| {
        stability::run(lab, &lab.datasets(datasets, RECIPE_NAMES)?)
    })
}
