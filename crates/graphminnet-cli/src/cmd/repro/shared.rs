//! What the experiments have in common: arguments, surroundings, and where results go.

use super::draw;
use crate::cmd::command_line;
use crate::cmd::train::arguments::MachineArguments;
use crate::cmd::train::request::read_seeds;
use crate::failure::Failure;
use crate::ui::say::Verbosity;
use crate::ui::signals::Interrupt;
use crate::ui::training::Training;
use clap::Args;
use graphminnet::config::MetricKind;
use graphminnet::train::Observer;
use graphminnet_lab::repro::{Lab, Outcome, ReproError, Store, Watch};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where results go, and how much is done.
#[derive(Args, Clone)]
pub struct Place {
    /// Directory of the results; what is done there is not done again.
    #[arg(short, long, value_name = "DIRECTORY", default_value = "repro")]
    pub output: PathBuf,
    /// Everything in seconds, on tiny generated data: the numbers mean nothing.
    #[arg(long)]
    pub smoke: bool,
}

/// What every experiment is given.
#[derive(Args)]
pub struct Common {
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub machine: MachineArguments,
    #[command(flatten)]
    pub talk: Talk,
}

/// Which data sets.
#[derive(Args, Default)]
pub struct Choice {
    /// Data sets by recipe name, separated by commas, as in zinc,molhiv.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub datasets: Vec<String>,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

/// How much is trained.
#[derive(Args, Default)]
pub struct Effort {
    /// Seeds: one (3), a list (0,2,5) or a range with both ends (0..4) (default: the protocol's 0..4).
    #[arg(long, visible_alias = "seed", value_name = "SEEDS")]
    pub seeds: Option<String>,
    /// Epochs instead of the protocol's; marks results as shortened.
    #[arg(long)]
    pub epochs: Option<usize>,
    /// The first training graphs only; marks results as shortened.
    #[arg(long, value_name = "GRAPHS")]
    pub train_graphs: Option<usize>,
}

/// Talking, or not.
#[derive(Args, Clone)]
pub struct Talk {
    /// Say nothing but errors and the result.
    #[arg(short, long)]
    pub quiet: bool,
}

struct Terminal {
    verbosity: Verbosity,
}

impl Watch for Terminal {
    fn say(&self, text: &str) {
        self.verbosity.say(text);
    }

    fn observer(&self, metric: MetricKind, label: &str) -> Box<dyn Observer> {
        Box::new(Training::new(self.verbosity, metric, label))
    }
}

/// Sets up the surroundings, runs an experiment and shows what came out.
///
/// # Errors
///
/// Whatever stops it.
pub fn experiment(
    common: &Common,
    choice: &Choice,
    effort: &Effort,
    run: impl FnOnce(&Lab<'_>) -> Result<Outcome, ReproError> + Send,
) -> Result<ExitCode, Failure> {
    let Common { place, machine, talk } = common;
    if effort.epochs == Some(0) || effort.train_graphs == Some(0) {
        return Err(Failure::usage("--epochs and --train-graphs: at least 1"));
    }
    let seeds = match &effort.seeds {
        Some(text) => read_seeds(text)?,
        None if place.smoke => vec![0],
        None => (0..5).collect(),
    };
    let interrupt = Interrupt::listen()?;
    let verbosity = Verbosity::from_flags(talk.quiet, false);
    let device = machine.device.open()?;
    let outcome = machine.threads.pool()?.install(|| -> Result<Outcome, ReproError> {
        let terminal = Terminal { verbosity };
        let mut lab = Lab {
            store: Store::open(&place.output)?,
            device,
            cache: machine.cache(),
            limits: machine.limits.changes(),
            interrupt: interrupt.heed(),
            data_dir: choice.data_dir.clone(),
            smoke: place.smoke,
            seeds,
            epochs: effort.epochs,
            train_graphs: effort.train_graphs,
            command: command_line(),
            watch: &terminal,
        };
        lab.set_up()?;
        run(&lab)
    })?;
    show(&outcome, place)
}

/// Prints the tables and writes all files.
///
/// # Errors
///
/// If something cannot be written or drawn.
pub fn show(outcome: &Outcome, place: &Place) -> Result<ExitCode, Failure> {
    let mut files = Vec::new();
    for (name, sheet) in &outcome.sheets {
        files.extend(sheet.write(&place.output, name)?);
    }
    for (name, figure) in &outcome.figures {
        files.extend(draw::write(figure, &place.output, name)?);
    }
    let mut out = stdout().lock();
    for (at, (_, sheet)) in outcome.sheets.iter().enumerate() {
        write!(out, "{}{}", if at == 0 { "" } else { "\n" }, sheet.markdown())?;
    }
    let names: Vec<String> = files
        .iter()
        .filter_map(|path| path.file_name().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    writeln!(out, "\nwritten to {}: {}", place.output.display(), names.join(", "))?;
    Ok(ExitCode::SUCCESS)
}
