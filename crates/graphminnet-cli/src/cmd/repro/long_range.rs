//! `graphminnet repro long-range`.

use super::shared::{Choice, Common, Effort, experiment};
use crate::failure::Failure;
use clap::Args;
use graphminnet_lab::repro::long_range;
use std::process::ExitCode;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Lengths of the paths, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NODES")]
    lengths: Vec<usize>,
    /// Epochs of the training on rings instead of 8; marks results as shortened.
    #[arg(long)]
    epochs: Option<usize>,
    /// Seed of the training on rings.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let Arguments { lengths, epochs, seed, common } = arguments;
    if let Some(short) = lengths.iter().find(|length| **length < 12) {
        return Err(Failure::usage(format!("--lengths {short}: a path of at least 12 nodes is needed")));
    }
    let effort = Effort { seeds: Some(seed.to_string()), epochs: *epochs, train_graphs: None };
    experiment(common, &Choice::default(), &effort, |lab| {
        let default: &[usize] = if lab.smoke { &[12, 24] } else { &[16, 32, 64, 128, 256] };
        long_range::run(lab, if lengths.is_empty() { default } else { lengths })
    })
}
