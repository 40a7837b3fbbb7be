//! `graphminnet repro links`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::links;
use std::path::PathBuf;
use std::process::ExitCode;

/// How much.
#[derive(Args)]
pub struct Arguments {
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Seeds of hidden links and weights: one (3), a list (0,2,5) or a range with both ends (0..4) (default: 0..4).
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
    let Arguments { data_dir, seeds, epochs, common } = arguments;
    let effort = Effort { seeds: seeds.clone(), epochs: *epochs, train_graphs: None };
    let choice = Choice { datasets: Vec::new(), data_dir: data_dir.clone() };
    experiment(common, &choice, &effort, links::run)
}
