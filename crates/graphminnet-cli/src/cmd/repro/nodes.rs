//! `graphminnet repro nodes`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::nodes;
use std::process::ExitCode;

/// How much.
#[derive(Args)]
pub struct Arguments {
    /// Seeds of graphs and weights: one (3), a list (0,2,5) or a range with both ends (0..4) (default: 0..4).
    #[arg(long, visible_alias = "seed", value_name = "SEEDS")]
    seeds: Option<String>,
    /// Epochs of all systems instead of their own.
    #[arg(long)]
    epochs: Option<usize>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { seeds, epochs, common } = arguments;
    let effort = Effort { seeds: seeds.clone(), epochs: *epochs, train_graphs: None };
    experiment(common, &Choice::default(), &effort, nodes::run)
}
