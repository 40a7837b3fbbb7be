//! Arguments that several commands share: where the data comes from, and the machine.

use super::execute::Context;
use crate::cmd::command_line;
use crate::cmd::limit_args::LimitArguments;
use crate::cmd::read_args::Reading;
use crate::cmd::threads::Threads;
use crate::failure::Failure;
use crate::ui::say::Verbosity;
use crate::ui::signals::Interrupt;
use clap::Args;
use graphminnet::DeviceKind;
use graphminnet::train::{Resources, Start, Transfer};
use graphminnet_data::cache::{Cache, default_cache_dir};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where the data comes from.
#[derive(Args)]
pub struct DataArguments {
    /// A built-in recipe, such as zinc or peptides-func; its data set is looked for in the data folder. With --data: its
    /// model and protocol for data of your own.
    #[cfg(feature = "benchmarks")]
    #[arg(long, value_name = "NAME", conflicts_with = "generate")]
    pub recipe: Option<String>,
    /// A recipe of your own, a TOML file (see `graphminnet recipe new`); with --data, what it does not name is inferred.
    #[arg(long, value_name = "FILE")]
    #[cfg_attr(feature = "benchmarks", arg(conflicts_with = "recipe"))]
    pub config: Option<PathBuf>,
    /// A file or folder of your own: SMILES in CSV, JSON lines, CSV folder, edge lists, and more.
    #[arg(long, value_name = "PATH", conflicts_with = "generate")]
    pub data: Option<PathBuf>,
    /// Generated data: ring-transfer, pattern or cluster; pattern and cluster train their recipes.
    #[arg(long, value_name = "GENERATOR")]
    pub generate: Option<String>,
    /// Number of generated graphs.
    #[arg(long, requires = "generate", conflicts_with = "data")]
    pub graphs: Option<usize>,
    #[command(flatten)]
    pub reading: Reading,
    /// Do not compute the dozen descriptors that molecules of a table get otherwise (--basic-descriptors).
    #[arg(help_heading = crate::cmd::READING, long, requires = "data", conflicts_with = "basic_descriptors")]
    pub no_descriptors: bool,
    /// Column that says how much a row counts in the training loss: a number from 0 on. It is scaled to a mean of 1 over the
    /// training part; metrics count every row alike.
    #[arg(help_heading = crate::cmd::READING, long, value_name = "COLUMN", requires = "data")]
    pub weight_column: Option<String>,
    /// How to split a file of your own: auto (its own split, or at random), column or official (its own split),
    /// random, stratified, scaffold (molecules with a common core stay together), kmeans (molecules with similar
    /// fingerprints stay together), or a split file.
    #[arg(long, default_value = "auto", value_name = "HOW")]
    pub split: String,
    /// Seed of a split that has to do with chance (default: 0); with scaffold, groups go to the parts at random.
    #[arg(long, value_name = "SEED", requires = "data")]
    pub split_seed: Option<u64>,
    /// Folder with the benchmark data sets; also GRAPHMINNET_DATA.
    #[cfg(feature = "benchmarks")]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

/// The arguments of which one says where the data comes from.
pub const SOURCES: &str = if cfg!(feature = "benchmarks") {
    "--recipe, --config, --data or --generate"
} else {
    "--data or --generate"
};

impl DataArguments {
    /// The recipe that was asked for.
    pub fn recipe(&self) -> Option<&str> {
        #[cfg(feature = "benchmarks")]
        return self.recipe.as_deref();
        #[cfg(not(feature = "benchmarks"))]
        None
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.recipe().is_none() && self.config.is_none() && self.data.is_none() && self.generate.is_none()
    }
}

/// A trained model to begin with.
#[derive(Args, Default)]
pub struct TransferArguments {
    /// Begin with the weights of a trained model (best.gmn, or a run of one seed). Its model is used unless another is asked
    /// for; categories and columns are matched by name, the rest begins at random, and it is said what was taken over.
    #[arg(help_heading = TRANSFER, long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Begin with a new head, also where the targets are those of the model.
    #[arg(help_heading = TRANSFER, long, requires = "from")]
    new_head: bool,
    /// Parts that keep the weights they begin with: encoders, layers, layers.0, layers.1, …, head.
    #[arg(help_heading = TRANSFER, long, value_name = "PARTS", requires = "from", value_delimiter = ',')]
    freeze: Vec<String>,
    /// Factor of the learning rate for what was taken over, as in 0.1.
    #[arg(help_heading = TRANSFER, long, value_name = "FACTOR", requires = "from")]
    from_rate: Option<f64>,
}

const TRANSFER: &str = "Transfer";

impl TransferArguments {
    /// Whether a model to begin with was asked for.
    pub fn is_given(&self) -> bool {
        self.from.is_some()
    }

    /// What was asked for, and the model.
    ///
    /// # Errors
    ///
    /// If the model cannot be read, or there are several.
    pub fn read(&self) -> Result<Option<(Transfer, Start)>, Failure> {
        let Some(path) = &self.from else { return Ok(None) };
        let (path, new_head, freeze) = (path.clone(), self.new_head, self.freeze.clone());
        let rate = self.from_rate.unwrap_or(1.0);
        let transfer = Transfer { path, new_head, freeze, rate }.located()?;
        let start = Start::read(&transfer)?;
        Ok(Some((transfer, start)))
    }
}

/// What to run on.
#[derive(Args, Default)]
pub struct MachineArguments {
    #[command(flatten)]
    pub threads: Threads,
    /// Where to run: cpu, wgpu, cuda or rocm.
    #[arg(help_heading = crate::cmd::MACHINE, long, default_value_t = DeviceKind::Cpu)]
    pub device: DeviceKind,
    /// Do not keep prepared data for later runs.
    #[arg(help_heading = crate::cmd::MACHINE, long)]
    pub no_cache: bool,
    #[command(flatten)]
    pub limits: LimitArguments,
}

impl MachineArguments {
    /// The cache of prepared data.
    pub fn cache(&self) -> Option<Cache> {
        if self.no_cache { None } else { default_cache_dir().map(Cache::new) }
    }
}

/// What to say, and in which form.
#[derive(Args)]
pub struct OutputArguments {
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Say nothing but errors and the result.
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say more.
    #[arg(short, long)]
    verbose: bool,
}

impl OutputArguments {
    /// How much to say.
    pub fn verbosity(&self) -> Verbosity {
        Verbosity::from_flags(self.quiet, self.verbose)
    }
}

/// Runs something on the threads and the device that were asked for, with Ctrl-C listened to.
///
/// # Errors
///
/// A usage error, an error of the machine, or whatever stops the work.
pub fn in_context(
    machine: &MachineArguments,
    output: &OutputArguments,
    work: impl FnOnce(&Context) -> Result<ExitCode, Failure> + Send,
) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen_in_batch()?;
    let pool = machine.threads.pool()?;
    // Inside the pool the kernels need not wake it for every operation.
    pool.install(|| {
        work(&Context {
            verbosity: output.verbosity(),
            resources: Resources {
                cache: machine.cache(),
                limits: machine.limits.changes(),
                ..Resources::on(machine.device.open()?)
            },
            interrupt,
            json: output.json,
            command: command_line(),
        })
    })
}
