//! `graphminnet repro table1`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet::config::RECIPE_NAMES;
use graphminnet_lab::paper;
use graphminnet_lab::repro::table1;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to train.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    effort: Effort,
    /// Systems to train: gcn, gin, gat, gatedgcn, san, graphgps, exphormer, grit, gred, graph-mamba, gssc, graphminnet;
    /// default: all. Unless shortened, all of them on all data sets take weeks.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    systems: Vec<String>,
    /// A finished run directory of `graphminnet train` to take a result from; may be repeated.
    #[arg(long = "run", value_name = "DIRECTORY")]
    runs: Vec<PathBuf>,
    /// Train nothing: only the results of --run beside the paper's.
    #[arg(long, requires = "runs", conflicts_with = "systems")]
    collect: bool,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { choice, effort, systems: asked, runs, collect, common } = arguments;
    experiment(common, choice, effort, |lab| {
        let request = table1::Request {
            datasets: lab.datasets(&choice.datasets, RECIPE_NAMES)?,
            systems: match asked.as_slice() {
                [] if *collect => Vec::new(),
                [] => paper::systems().map(str::to_owned).collect(),
                asked => asked.to_vec(),
            },
            runs: runs.clone(),
        };
        table1::run(lab, &request)
    })
}
