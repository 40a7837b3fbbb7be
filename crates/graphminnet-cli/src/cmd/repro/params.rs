//! `graphminnet repro params`.

use super::shared::{Place, show};
use crate::failure::Failure;
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet::config::{RECIPE_NAMES, Recipe};
use graphminnet_lab::repro::{Store, params};
use std::process::ExitCode;

/// What to count.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Recipes, separated by commas (default: all ten).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    datasets: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let default: &[&str] = if arguments.place.smoke { &["zinc"] } else { RECIPE_NAMES };
    let names: Vec<String> = match arguments.datasets.as_slice() {
        [] => default.iter().map(|name| (*name).to_owned()).collect(),
        asked => asked.to_vec(),
    };
    for name in &names {
        Recipe::named(name)?;
    }
    Store::open(&arguments.place.output)?;
    show(&params::run(&names, &DeviceKind::Cpu.open()?)?, &arguments.place)
}
