//! Arguments that the commands share which use a trained model.

use super::keep_inputs;
use super::limit_args::LimitArguments;
use super::read_args::yes_no;
use super::rows::Input;
use super::threads::Threads;
use crate::failure::Failure;
use crate::ui::say::say;
use clap::Args;
use graphminnet::bundle::{Bundle, Ensemble};
use graphminnet::train::RunFile;
use graphminnet::{DeviceKind, bundle};
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::formats::{Format, NodeNames};
use graphminnet_data::fs::{decompress_stream, hash_file};
use graphminnet_data::{ReadOptions, RowReader, Shard, escape};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Rows that are read, predicted and written before the next are looked at.
pub const ROWS: usize = 4096;

/// Blanks at the start of a stream through which its first word is looked for.
const BLANKS: usize = 4096;

/// Which model, and on what it runs.
#[derive(Args)]
pub struct ModelArguments {
    /// A model: a `.gmn` file, the folder of a seed, or a run. Several (also the seeds of a run) form an ensemble.
    #[arg(long = "model", short, value_name = "PATH", required = true, num_args = 1..)]
    models: Vec<PathBuf>,
    #[command(flatten)]
    threads: Threads,
    /// Where to run: cpu, wgpu, cuda or rocm.
    #[arg(help_heading = super::MACHINE, long, default_value_t = DeviceKind::Cpu)]
    device: DeviceKind,
}

impl ModelArguments {
    /// Reads the models. Of several processes that do one thing together rank 0 says what they are; one that is alone is
    /// rank 0.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    pub fn load(&self, rank: usize) -> Result<Ensemble, Failure> {
        let ensemble = Ensemble::load_on(&self.models, &self.device.open()?)?;
        if rank == 0 {
            for member in ensemble.members() {
                say!("model: {}", describe(member));
            }
            self.models.iter().for_each(|path| say_unfinished(path));
            let members: Vec<&Bundle> = ensemble.members().collect();
            let is_known = |at: &usize| {
                members[..*at].iter().any(|other| other.description() == members[*at].description())
            };
            for twice in (0..members.len()).filter(is_known) {
                let name = members[twice].path().display();
                say!("warning: {name} is among the models before it: it counts twice");
            }
        }
        Ok(ensemble)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut files = Vec::new();
        for path in &self.models {
            files.extend(bundle::locate(path)?);
        }
        Ok(files)
    }

    /// SHA-256 of the model files.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn identities(&self) -> Result<Vec<String>, Failure> {
        self.files()?.iter().map(|file| Ok(hash_file(file)?.1)).collect()
    }

    /// Reads the one model.
    ///
    /// # Errors
    ///
    /// A usage error if there are several.
    pub fn load_one(&self) -> Result<Bundle, Failure> {
        self.load_only(&self.files()?)
    }

    /// Reads one more model, which stands beside.
    ///
    /// # Errors
    ///
    /// As [`ModelArguments::load_one`].
    pub fn load_beside(&self, path: &Path) -> Result<Bundle, Failure> {
        self.load_only(&bundle::locate(path)?)
    }

    fn load_only(&self, files: &[PathBuf]) -> Result<Bundle, Failure> {
        let [file] = files else {
            return Err(Failure::usage(format!(
                "{} models were given where one is expected: name the `.gmn` file or the folder of a seed",
                files.len()
            )));
        };
        let bundle = Bundle::load_on(file, &self.device.open()?)?;
        say!("model: {}", describe(&bundle));
        Ok(bundle)
    }

    /// Runs some work on as many threads as were asked for.
    ///
    /// # Errors
    ///
    /// A usage error if there are none to be had; what the work fails with.
    pub fn on_threads<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        self.threads.pool()?.install(work)
    }

    /// How many threads to work with.
    #[cfg(feature = "serve")]
    pub fn threads(&self) -> usize {
        self.threads.count()
    }
}

/// Warns of a run, or the folder of a seed, whose training is not over.
fn say_unfinished(path: &Path) {
    let left = RunFile::read(path).and_then(|run| run.unfinished(path)).unwrap_or_default();
    if !left.is_empty() {
        let seeds: Vec<String> = left.iter().map(u64::to_string).collect();
        let seeds = seeds.join(", ");
        say!(
            "warning: {} is not finished (no result of seed {seeds}); what there is so far is used",
            path.display()
        );
    } else if path.join("state").is_dir() && !path.join("result.json").is_file() {
        say!("warning: the training in {} is not finished; the best epoch so far is used", path.display());
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
    /// A file or folder in any known format; `-` reads CSV with SMILES, or JSON Lines (from their first `{`), from standard
    /// input, also compressed.
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
    /// jsonl, smiles-csv, parquet, xlsx, sdf, graph6, csv-folder, ogb, tudataset or edgelist-folder; by default found from
    /// the path.
    #[arg(help_heading = super::READING, long)]
    format: Option<Format>,
    /// Column with SMILES strings, or a list of them with commas (default: those of the training data).
    #[arg(help_heading = super::READING, long, value_name = "COLUMN", value_delimiter = ',')]
    smiles_column: Vec<String>,
    /// Whether a table of molecules begins with the names of its columns: yes or no; by default found from its first row.
    #[arg(help_heading = super::READING, long, value_name = "YES/NO", value_parser = yes_no)]
    header: Option<bool>,
    #[command(flatten)]
    limits: LimitArguments,
}

impl InputColumns {
    /// How to read files for a model.
    pub fn options(&self, about: &bundle::Description) -> ReadOptions {
        let (format, header) = (self.format, self.header);
        let smiles_column = self.smiles_column.first().cloned();
        let further_smiles = self.smiles_column.iter().skip(1).cloned().collect();
        self.limits.on(ReadOptions { format, smiles_column, further_smiles, header, ..about.read_options() })
    }

    /// Fails if models were trained on molecules of other columns, and nobody says which ones are to be read.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn check(&self, ensemble: &Ensemble) -> Result<(), Failure> {
        let columns = |about: &bundle::Description| {
            let table = about.schema.molecules.as_ref();
            let names =
                table.into_iter().flat_map(|table| std::iter::once(&table.column).chain(&table.further));
            names.map(|name| name.to_lowercase()).collect::<Vec<_>>().join(",")
        };
        let first = columns(ensemble.description());
        let other =
            ensemble.members().map(|member| columns(member.description())).find(|other| *other != first);
        match other.filter(|_| self.smiles_column.is_empty()) {
            None => Ok(()),
            Some(other) => Err(Failure::usage(format!(
                "the models were trained on molecules of the columns `{}` and `{}`: name those that all of them are to read with \
                 --smiles-column",
                escape(&first),
                escape(&other)
            ))),
        }
    }
}

impl InputArguments {
    /// Fails if the output would replace the input, or one of other inputs.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn keep_from(&self, output: &Path, others: &[Option<&Path>]) -> Result<(), Failure> {
        keep_inputs(output, others.iter().copied().chain([self.data.as_deref()]).flatten())
    }

    /// As [`InputColumns::check`], where there is a file.
    ///
    /// # Errors
    ///
    /// A usage error.
    pub fn check(&self, ensemble: &Ensemble) -> Result<(), Failure> {
        if self.data.is_some() { self.columns.check(ensemble) } else { Ok(()) }
    }

    /// The names of the nodes, where the input has some.
    ///
    /// # Errors
    ///
    /// That they cannot be read.
    pub fn node_names(&self, about: &bundle::Description) -> Result<Option<NodeNames>, Failure> {
        match &self.data {
            Some(path) if path.as_os_str() != "-" => Ok(NodeNames::read(path, &self.columns.options(about))?),
            _ => Ok(None),
        }
    }

    /// Opens the input.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn open(&self, about: &bundle::Description, shard: Option<Shard>) -> Result<Input, Failure> {
        let mut options = ReadOptions { shard, ..self.columns.options(about) };
        let Some(path) = &self.data else {
            if let Some(blank) = self.smiles.iter().find(|smiles| smiles.trim().is_empty()) {
                return Err(Failure::usage(format!("--smiles '{blank}': a SMILES string must not be empty")));
            }
            if let Some(table) = about.schema.molecules.as_ref().filter(|table| !table.further.is_empty()) {
                let names: Vec<&str> =
                    std::iter::once(&table.column).chain(&table.further).map(String::as_str).collect();
                return Err(Failure::usage(format!(
                    "the model reads several molecules together: give --data a table with the columns {}",
                    escape(&names.join(", "))
                )));
            }
            let mut table = CsvWriter::new(Vec::new());
            table.row(["smiles"])?;
            self.smiles.iter().try_for_each(|smiles| table.row([smiles]))?;
            let table = table.into_inner();
            if options.smiles_column.is_some() || options.format.is_some() || options.header.is_some() {
                return Err(Failure::usage(
                    "--smiles-column, --header and --format have no effect on --smiles",
                ));
            }
            options.format = Some(Format::SmilesCsv);
            options.smiles_column = Some("smiles".to_owned());
            let reader = RowReader::from_stream(Box::new(io::Cursor::new(table)), "--smiles", &options)?;
            return Ok(Input::new(reader, about));
        };
        let reader = if path.as_os_str() != "-" {
            RowReader::open(path, &options)?
        } else {
            let (first, stream) = peek(decompress_stream(Box::new(io::stdin()), &options.limits)?)?;
            // No table of molecules begins like an object.
            let is_table = about.featurizer.is_some() && first != Some(b'{');
            let usual = if is_table { Format::SmilesCsv } else { Format::Jsonl };
            options.format = Some(self.columns.format.unwrap_or(usual));
            RowReader::from_stream(stream, "standard input", &options)?
        };
        for note in reader.notes() {
            say!("note: {note}");
        }
        // Models of version 0.1 do not know the column of their molecules, and the first one may hold something else.
        let is_guessed = about.schema.molecules.is_none() && options.smiles_column.is_none();
        if let (true, Some(column)) = (is_guessed, reader.smiles_column())
            && !column.eq_ignore_ascii_case("smiles")
        {
            let column = escape(column);
            say!(
                "note: molecules are read from column `{column}`, the first one; --smiles-column names another"
            );
        }
        Ok(Input::new(reader, about))
    }

    /// The file or folder, where one was given.
    pub fn path(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// How other files beside the input are to be read.
    pub fn options(&self, about: &bundle::Description) -> ReadOptions {
        self.columns.options(about)
    }
}

/// The first byte of a stream that is no white space, if it comes soon, and the stream with all its bytes.
fn peek(mut stream: impl Read + Send + 'static) -> io::Result<(Option<u8>, Box<dyn Read + Send>)> {
    let mut before = Vec::new();
    while before.len() < BLANKS && before.last().is_none_or(u8::is_ascii_whitespace) {
        if stream.by_ref().take(1).read_to_end(&mut before)? == 0 {
            break;
        }
    }
    let first = before.last().copied().filter(|byte| !byte.is_ascii_whitespace());
    Ok((first, Box::new(io::Cursor::new(before).chain(stream))))
}
