//! Arguments and output that the commands share which use a trained model.

use crate::failure::Failure;
use clap::Args;
use graphminnet::bundle::{Bundle, Ensemble, csv_field};
use graphminnet::data::formats::Format;
use graphminnet::data::{ReadOptions, RowReader};
use graphminnet::{DeviceKind, bundle};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

/// Rows that are read, predicted and written before the next are looked at.
pub const ROWS: usize = 4096;

/// Which model, and on what it runs.
#[derive(Args)]
pub struct ModelArguments {
    /// A model: a `.gmn` file, the folder of a seed, or a run. Several (also the seeds of a run) form an ensemble.
    #[arg(long = "model", short, value_name = "PATH", required = true, num_args = 1..)]
    models: Vec<PathBuf>,
    /// Number of threads; all cores without it. Results do not depend on it.
    #[arg(long)]
    threads: Option<usize>,
    /// Where to run: cpu, wgpu, cuda or rocm.
    #[arg(long, default_value_t = DeviceKind::Cpu)]
    device: DeviceKind,
}

impl ModelArguments {
    /// Reads the models.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn load(&self) -> Result<Ensemble, Failure> {
        let ensemble = Ensemble::load_on(&self.models, &self.device.open()?)?;
        for member in ensemble.members() {
            eprintln!("model: {}", describe(member));
        }
        Ok(ensemble)
    }

    /// Reads the one model.
    ///
    /// # Errors
    ///
    /// A failure of usage if there are several.
    pub fn load_one(&self) -> Result<Bundle, Failure> {
        let mut files = Vec::new();
        for path in &self.models {
            files.extend(bundle::locate(path)?);
        }
        let [file] = files.as_slice() else {
            return Err(Failure::usage(format!(
                "{} models were given, this command takes one: name the `.gmn` file or the folder of a seed",
                files.len()
            )));
        };
        let bundle = Bundle::load_on(file, &self.device.open()?)?;
        eprintln!("model: {}", describe(&bundle));
        Ok(bundle)
    }

    /// Runs some work on as many threads as were asked for.
    ///
    /// # Errors
    ///
    /// A failure of usage if there are none to be had; what the work fails with.
    pub fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let threads = self.threads()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(Failure::usage)?;
        pool.install(work)
    }

    /// How many threads were asked for.
    ///
    /// # Errors
    ///
    /// A failure of usage if that is none.
    pub fn threads(&self) -> Result<usize, Failure> {
        match self.threads {
            Some(0) => Err(Failure::usage("--threads 0: at least one thread is needed")),
            Some(threads) => Ok(threads),
            None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}

fn describe(bundle: &Bundle) -> String {
    let about = bundle.description();
    let value =
        |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.4}"));
    format!(
        "{} ({}, seed {}, epoch {}; {} on validation {}, on test {})",
        bundle.path().display(),
        about.name,
        about.seed,
        about.selection.epoch + 1,
        about.metric,
        value(about.selection.valid),
        value(about.selection.test),
    )
}

/// The graphs to look at.
#[derive(Args)]
pub struct InputArguments {
    /// A file or folder in any known format; `-` reads CSV with SMILES, or JSON Lines, from standard input.
    #[arg(long, value_name = "PATH", required_unless_present = "smiles")]
    data: Option<PathBuf>,
    /// A molecule; may be repeated.
    #[arg(long, value_name = "SMILES", conflicts_with = "data")]
    smiles: Vec<String>,
    #[command(flatten)]
    columns: InputColumns,
}

/// How a file is to be read with the schema of a model.
#[derive(Args)]
pub struct InputColumns {
    /// jsonl, smiles-csv, graph6, csv-folder, ogb, tudataset or edgelist-folder; by default found from the path.
    #[arg(long)]
    format: Option<Format>,
    /// Column with SMILES strings; `smiles` or the first without it.
    #[arg(long, value_name = "COLUMN")]
    smiles_column: Option<String>,
}

impl InputColumns {
    /// How to read files for a model.
    pub fn options(&self, about: &bundle::Description) -> ReadOptions {
        ReadOptions { format: self.format, smiles_column: self.smiles_column.clone(), ..about.read_options() }
    }
}

impl InputArguments {
    /// Opens the input.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open(&self, about: &bundle::Description) -> Result<RowReader, Failure> {
        let mut options = self.columns.options(about);
        let Some(path) = &self.data else {
            if let Some(blank) = self.smiles.iter().find(|smiles| smiles.trim().is_empty()) {
                return Err(Failure::usage(format!("--smiles '{blank}': a SMILES string must not be empty")));
            }
            let mut table = String::from("smiles\n");
            for smiles in &self.smiles {
                table.push_str(&csv_field(smiles));
                table.push('\n');
            }
            options.format = Some(Format::SmilesCsv);
            options.smiles_column = None;
            return Ok(RowReader::from_stream(Box::new(io::Cursor::new(table)), "--smiles", &options)?);
        };
        if path.as_os_str() != "-" {
            return Ok(RowReader::open(path, &options)?);
        }
        let usual = if about.featurizer.is_some() { Format::SmilesCsv } else { Format::Jsonl };
        options.format = Some(self.columns.format.unwrap_or(usual));
        Ok(RowReader::from_stream(Box::new(io::stdin()), "standard input", &options)?)
    }
}

/// A result on its way to standard output or to a file, which appears only when it is whole.
pub enum Output {
    /// Standard output.
    Stdout(BufWriter<io::Stdout>),
    /// A file under a name of its own until it is done.
    File {
        /// The file.
        file: BufWriter<File>,
        /// Its name for now.
        scratch: PathBuf,
        /// Its name in the end.
        path: PathBuf,
    },
}

impl Output {
    /// `-` is standard output.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdout(BufWriter::new(io::stdout())));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let scratch = path.with_file_name(name);
        let file = File::create(&scratch).map_err(|error| at(&scratch, "create", &error))?;
        Ok(Self::File { file: BufWriter::with_capacity(1 << 16, file), scratch, path: path.to_owned() })
    }

    /// Makes the result appear.
    ///
    /// # Errors
    ///
    /// If it cannot be written or renamed.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        if let Self::File { file, scratch, path } = &mut self {
            file.get_ref().sync_all()?;
            std::fs::rename(&*scratch, &*path).map_err(|error| at(path, "write", &error))?;
        }
        Ok(())
    }
}

fn at(path: &Path, what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}

/// A result that was given up leaves nothing behind.
impl Drop for Output {
    fn drop(&mut self) {
        if let Self::File { scratch, .. } = self {
            let _ = std::fs::remove_file(scratch);
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(out) => out.write(bytes),
            Self::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(out) => out.flush(),
            Self::File { file, .. } => file.flush(),
        }
    }
}

impl Seek for Output {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        match self {
            Self::Stdout(_) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "this format cannot go to standard output"))
            }
            Self::File { file, .. } => file.seek(to),
        }
    }
}

/// Says how much was done and how fast.
pub fn say_done(rows: usize, bad: usize, what: &str, start: std::time::Instant) {
    let seconds = start.elapsed().as_secs_f64();
    let missing = match bad {
        0 => String::new(),
        bad => format!(", {bad} of them without {what}"),
    };
    eprintln!("{rows} rows{missing}; {seconds:.1} s, {:.0} rows/s", rows as f64 / seconds.max(1e-9));
}
