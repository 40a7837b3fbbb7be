//! From arguments to a configuration and its data.

use super::arguments::DataArguments;
use super::configuration::Configuration;
use super::execute::Context;
use crate::failure::Failure;
use crate::ui::preparation::say_loaded;
use graphminnet::config::{Override, Recipe};
use graphminnet::train::{
    DataSource, Generator, Inferred, Loaded, Resources, RunSpec, SplitChoice, Start, Transfer,
    takes_parts_alone,
};
use graphminnet_data::LimitChange;
use graphminnet_data::split::GroupBy;
use graphminnet_data::text::counted;

/// A configuration with its data.
pub struct Request {
    /// The recipe.
    pub recipe: Recipe,
    /// Where the data comes from.
    pub source: DataSource,
    /// The data.
    pub loaded: Loaded,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The model to begin with.
    pub from: Option<Transfer>,
}

impl Request {
    /// Resolves the arguments and loads the data.
    ///
    /// # Errors
    ///
    /// A usage error, or an error of the data.
    pub fn new(
        arguments: &DataArguments,
        overrides: &[Override],
        seeds: Vec<u64>,
        calibrate: bool,
        from: Option<(Transfer, Start)>,
        context: &Context,
    ) -> Result<Self, Failure> {
        let split = split_choice(&arguments.split, arguments.split_seed)?;
        Self::with_split(arguments, split, overrides, seeds, calibrate, from, context)
    }

    /// The same with another split than the arguments name.
    ///
    /// # Errors
    ///
    /// A usage error, or an error of the data.
    pub fn with_split(
        arguments: &DataArguments,
        split: SplitChoice,
        overrides: &[Override],
        seeds: Vec<u64>,
        calibrate: bool,
        from: Option<(Transfer, Start)>,
        context: &Context,
    ) -> Result<Self, Failure> {
        let verbosity = context.verbosity;
        let needs_chance = arguments.split_seed.is_some() && matches!(split, SplitChoice::Auto { .. });
        let (from, start) = from.unzip();
        let configuration = Configuration::of(arguments, start.as_ref(), overrides)?;
        // A model to begin with has read molecules with or without them.
        let describes = !arguments.no_descriptors && start.as_ref().is_none_or(Start::describes_molecules);
        let Resources { limits, exchange, .. } = &context.resources;
        let mut source = source(arguments, split, &configuration, calibrate, describes, limits)?;
        if let (DataSource::File { path, read, .. }, Some(start)) = (&mut source, &start) {
            start.read_alike(path, read);
        }
        let parts = configuration.parts(overrides);
        let mut loaded = match &parts {
            Some((parts, how)) => source.load_parts(limits, (*parts, how), &**exchange)?,
            None => source.load_within(limits)?,
        };
        if needs_chance && loaded.is_split_as_given() {
            return Err(Failure::usage(
                "--split-seed has no effect: the data names its parts; --split random (or another one) splits it anew",
            ));
        }
        if arguments.no_descriptors && loaded.dataset.schema.molecules.is_none() {
            return Err(Failure::usage(
                "--no-descriptors is for tables of molecules; this data has no descriptors",
            ));
        }
        say_loaded(verbosity, &loaded);
        let Inferred { recipe, notes } = configuration.recipe(&loaded, overrides)?;
        let whole = match (&loaded.in_parts, takes_parts_alone(&recipe.model, &recipe.train)) {
            (Some(_), Ok(())) => None,
            (Some(_), Err(error)) => {
                // The other ranks find that out by themselves.
                loaded = source.load_within(limits)?;
                Some(error.to_string())
            }
            (None, _) => {
                parts.map(|_| "only folders of CSV files with one graph are read in parts".to_owned())
            }
        };
        if let Some(reason) = whole.filter(|_| exchange.size() > 1) {
            verbosity.say(format_args!("every rank reads the whole graph before it is cut: {reason}"));
        }
        if !notes.is_empty() {
            verbosity.say("inferred:");
            for note in &notes {
                verbosity.say(format_args!("  {note}"));
            }
            let (model, train) = (&recipe.model, &recipe.train);
            verbosity.say(format_args!(
                "  model: {} of width {}, {}; {}, batches of {}, loss {}, metric {}",
                counted(model.layers, "layer"),
                model.hidden,
                counted(model.lap_dim, "eigenpair"),
                counted(train.epochs, "epoch"),
                train.batch_size,
                train.loss,
                train.metric
            ));
        }
        Ok(Self { recipe, source, loaded, seeds, from })
    }

    /// The run that this asks for, and its data.
    pub fn into_spec(self, context: &Context) -> (RunSpec, Loaded) {
        let Self { recipe, source, loaded, seeds, from } = self;
        (RunSpec { recipe, source, seeds, from, command: context.command.clone() }, loaded)
    }
}

fn source(
    arguments: &DataArguments,
    split: SplitChoice,
    configuration: &Configuration,
    calibrate: bool,
    describe_molecules: bool,
    limits: &[LimitChange],
) -> Result<DataSource, Failure> {
    if let Some(path) = &arguments.data {
        // Written down as an absolute path, so that the run can be resumed from anywhere.
        let path = std::path::absolute(path)?;
        let mut read = Box::new(arguments.reading.options());
        read.weight_column.clone_from(&arguments.weight_column);
        read.describe_molecules = describe_molecules;
        // Written down, so that the run can be resumed without saying it again.
        read.limits.apply(limits);
        if read.split_column.is_some() && !split.is_of_the_data() {
            let split = arguments.split.escape_debug();
            return Err(Failure::usage(format!("--split-column has no effect on --split {split}")));
        }
        if read.split.is_some() && !split.is_of_the_data() {
            let split = arguments.split.escape_debug();
            return Err(Failure::usage(format!("--split-scheme has no effect on --split {split}")));
        }
        return Ok(DataSource::File { path, read, split, calibrate });
    }
    arguments.reading.refuse("benchmark and generated data")?;
    if arguments.weight_column.is_some() {
        return Err(Failure::usage("--weight-column is for files of your own (--data)"));
    }
    if calibrate {
        return Err(Failure::usage("--calibrate is for files of your own (--data)"));
    }
    if arguments.split != "auto" && arguments.split != "official" {
        return Err(Failure::usage("--split: benchmark and generated data have a split of their own"));
    }
    if let Some(name) = &arguments.generate {
        let generator = match name.as_str() {
            "ring-transfer" => Generator::RingTransfer,
            "pattern" => Generator::Pattern,
            "cluster" => Generator::Cluster,
            other => {
                let message = format!(
                    "--generate {}: the generators are ring-transfer, pattern, cluster",
                    other.escape_debug()
                );
                return Err(Failure::usage(message));
            }
        };
        return Ok(DataSource::Generated { generator, seed: 0, graphs: arguments.graphs });
    }
    benchmark(arguments, &configuration.dataset()?)
}

#[cfg(feature = "benchmarks")]
fn benchmark(arguments: &DataArguments, dataset: &str) -> Result<DataSource, Failure> {
    use graphminnet_data::registry::{data_dir, find};
    let known = find(dataset).map_err(|error| {
        Failure::usage(format!("the recipe is not for a benchmark: {error}; give your own data with --data"))
    })?;
    let folder = data_dir(arguments.data_dir.as_deref());
    let folder = folder.map(std::path::absolute).transpose()?;
    Ok(DataSource::Registry { name: known.name.clone(), folder })
}

#[cfg(not(feature = "benchmarks"))]
fn benchmark(_: &DataArguments, _: &str) -> Result<DataSource, Failure> {
    Err(Failure::usage(format!("where is the data? Give {}", super::arguments::SOURCES)))
}

fn split_choice(text: &str, seed: Option<u64>) -> Result<SplitChoice, Failure> {
    let choice = match text {
        "auto" => SplitChoice::Auto { seed: seed.unwrap_or(0) },
        "random" => SplitChoice::Random { seed: seed.unwrap_or(0) },
        "stratified" => SplitChoice::Stratified { seed: seed.unwrap_or(0) },
        "official" | "column" => SplitChoice::Official,
        "scaffold" => match seed {
            Some(seed) => SplitChoice::Groups { by: GroupBy::Scaffold, seed },
            None => SplitChoice::Scaffold,
        },
        "kmeans" => SplitChoice::Groups { by: GroupBy::Fingerprint, seed: seed.unwrap_or(0) },
        path if std::path::Path::new(path).exists() => SplitChoice::File { path: std::path::absolute(path)? },
        other => {
            return Err(Failure::usage(format!(
                "--split {}: expected auto, random, stratified, scaffold, kmeans, column (the data's own) or a split file; \
                 there is no file of that name",
                other.escape_debug()
            )));
        }
    };
    if seed.is_some() && matches!(choice, SplitChoice::Official | SplitChoice::File { .. }) {
        return Err(Failure::usage(format!("--split-seed has no effect on --split {}", text.escape_debug())));
    }
    Ok(choice)
}

/// Reads `--set` arguments.
///
/// # Errors
///
/// A usage error.
pub fn read_overrides(texts: &[String]) -> Result<Vec<Override>, Failure> {
    texts.iter().map(|text| Ok(Override::parse(text)?)).collect()
}

/// Reads `3`, `0,2,5` or `0..4` (both ends included).
///
/// # Errors
///
/// A usage error.
pub fn read_seeds(text: &str) -> Result<Vec<u64>, Failure> {
    let wrong = || Failure::usage(format!("--seeds {}: expected 3, 0,2,5 or 0..4", text.escape_debug()));
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let seeds: Vec<u64> = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
            if last < first || last - first > 10_000 {
                return Err(wrong());
            }
            (first..=last).collect()
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    let mut distinct = seeds.clone();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() == seeds.len() { Ok(seeds) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_split_of_a_file_has_the_name_that_data_split_gives_it() {
        for word in ["official", "column"] {
            assert!(matches!(split_choice(word, None), Ok(SplitChoice::Official)), "{word}");
            assert!(split_choice(word, Some(1)).is_err(), "{word}");
        }
    }

    #[test]
    fn what_is_no_scheme_is_a_split_file_if_there_is_one() {
        assert!(split_choice("scafold", None).is_err());
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(matches!(split_choice(file, None), Ok(SplitChoice::File { .. })));
    }

    #[test]
    fn seeds_are_one_a_list_or_a_range_with_both_ends() {
        let read = |text: &str| read_seeds(text).ok();
        assert_eq!(read("3"), Some(vec![3]));
        assert_eq!(read("0,2, 5"), Some(vec![0, 2, 5]));
        assert_eq!(read("0..4"), Some(vec![0, 1, 2, 3, 4]));
        for wrong in ["", "a", "4..0", "1,1", "0..99999999", "-1"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
