//! `graphminnet repro runtime`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::paper;
use graphminnet_lab::repro::runtime;
use std::process::ExitCode;

/// What to time.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// Epochs that are timed; the fastest counts.
    #[arg(long, default_value_t = 3)]
    epochs: usize,
    /// At most so many graphs of every part, the first ones; marks results as shortened.
    #[arg(long, value_name = "GRAPHS")]
    train_graphs: Option<usize>,
    /// Systems to time (default: all twelve).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    systems: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { choice, epochs, train_graphs, systems: asked, common } = arguments;
    let effort = Effort { seeds: Some("0".into()), epochs: Some(*epochs), train_graphs: *train_graphs };
    experiment(common, choice, &effort, |lab| {
        let names: Vec<String> = match asked.as_slice() {
            [] => paper::systems().map(str::to_owned).collect(),
            asked => asked.to_vec(),
        };
        runtime::run(
            lab,
            &lab.datasets(&choice.datasets, &["zinc", "molhiv", "peptides-func", "cluster"])?,
            &names,
        )
    })
}
