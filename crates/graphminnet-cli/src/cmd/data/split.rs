//! `graphminnet data split`: divides a file into train, valid and test.

use crate::cmd::keep_inputs;
use crate::cmd::read_args::FileReading;
use crate::failure::Failure;
use crate::ui::report::say_report;
use crate::ui::say::say;
use clap::{Args, ValueEnum};
use graphminnet::train::{Loaded, SplitChoice};
use graphminnet_data::fs::write_atomically;
use graphminnet_data::split::{GroupBy, Ratios, Splits, read_with_groups};
use graphminnet_data::text::grouped;
use graphminnet_data::{Dataset, NodeParts, OnBadRow, Read, ReadOptions, escape, open};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to divide, and how.
#[derive(Args)]
pub struct Arguments {
    /// A file or folder of graphs.
    file: PathBuf,
    /// How to divide.
    #[arg(long = "split", alias = "scheme", value_name = "HOW")]
    scheme: Scheme,
    /// Shares of train, valid and test (default: 80, 10 and 10).
    #[arg(long, value_name = "TRAIN,VALID,TEST", value_parser = ratios)]
    ratios: Option<Ratios>,
    /// Seed of the random, stratified, kmeans and auto schemes (default: 0); with scaffold, groups go to the parts at random.
    #[arg(long = "split-seed", alias = "seed", value_name = "SEED")]
    seed: Option<u64>,
    /// Where to write the parts, as JSON (default: on standard output).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    source: FileReading,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scheme {
    /// Uniformly random.
    Random,
    /// Random, with the same share of every class (or range of values) in each part.
    Stratified,
    /// Molecules with the same Bemis–Murcko scaffold stay together; largest groups train.
    Scaffold,
    /// Molecules with similar fingerprints (clusters found by k-means) stay together.
    Kmeans,
    /// As the file's own split column (or the split scheme of its folder) says; also `official`.
    #[value(alias = "official")]
    Column,
    /// As `train` does if nothing is said: the file's own split, or at random.
    Auto,
}

fn ratios(text: &str) -> Result<Ratios, String> {
    let parts: Vec<f64> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match parts[..] {
        [train, valid, test] if text.split(',').count() == 3 => {
            Ok(Ratios { train, valid, test, ..Ratios::default() })
        }
        _ => Err("expected three numbers, such as 80,10,10".to_owned()),
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.seed.is_some() && arguments.scheme == Scheme::Column {
        return Err(Failure::usage("--split-seed has no effect on `--split column`"));
    }
    if arguments.ratios.is_some() && matches!(arguments.scheme, Scheme::Column | Scheme::Auto) {
        return Err(Failure::usage(
            "--ratios has no effect on `--split column` and `--split auto`; name another split",
        ));
    }
    if let Some(output) = &arguments.output {
        keep_inputs(output, [&*arguments.file])?;
    }
    let Divided { read, splits, are_rows, groups } = divide(arguments)?;
    say_report(&read.report);
    let sizes = [&splits.train, &splits.valid, &splits.test].map(|part| grouped(part.len()));
    let what = if are_rows { format!("{}s: ", read.dataset.schema.level) } else { String::new() };
    say!("{what}train {}, valid {}, test {}", sizes[0], sizes[1], sizes[2]);
    if let Some((groups, noun)) = groups {
        let shares = arguments.ratios.unwrap_or_default();
        for (part, share, name) in [
            (&splits.train, shares.train, "training"),
            (&splits.valid, shares.valid, "validation"),
            (&splits.test, shares.test, "test"),
        ] {
            if part.is_empty() && share > 0.0 {
                say!(
                    "note: the {name} part is empty: the molecules have {groups} {noun}, and each goes to one part as a whole; \
                     `--split random` fills all parts"
                );
            }
        }
    }
    // Under `null` rows keep their numbers, also those after a bad one.
    let is_aligned = !are_rows && arguments.source.options().on_bad_row == OnBadRow::Null;
    let text = if is_aligned { splits.in_rows(&read.report.rows).to_json() } else { splits.to_json() };
    let mut out = stdout().lock();
    match &arguments.output {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            write_atomically(path, text.as_bytes())?;
            writeln!(out, "{}", escape(&path.to_string_lossy()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What was read, and its parts.
struct Divided {
    read: Read,
    splits: Splits,
    /// Whether the parts are those of nodes (edges, pairs), as `train --split FILE` reads them of a single graph.
    are_rows: bool,
    /// Where groups stay together: how many there are, and what they are called.
    groups: Option<(usize, &'static str)>,
}

fn divide(arguments: &Arguments) -> Result<Divided, Failure> {
    let ignore_split = !matches!(arguments.scheme, Scheme::Column | Scheme::Auto);
    let options = ReadOptions { ignore_split, ..arguments.source.options() };
    if ignore_split && options.split_column.is_some() {
        return Err(Failure::usage(
            "--split-column has an effect on `--split column` and `--split auto` only",
        ));
    }
    if ignore_split && options.split.is_some() {
        return Err(Failure::usage(
            "--split-scheme has an effect on `--split column` and `--split auto` only",
        ));
    }
    let (ratios, seed) = (arguments.ratios.unwrap_or_default(), arguments.seed.unwrap_or(0));
    let by = match arguments.scheme {
        Scheme::Scaffold => Some(GroupBy::Scaffold),
        Scheme::Kmeans => Some(GroupBy::Fingerprint),
        _ => None,
    };
    if let Some(by) = by {
        let (read, groups) = read_with_groups(&arguments.file, &options, by, seed)?;
        let splits = match (by, arguments.seed) {
            (GroupBy::Scaffold, None) => Splits::by_groups(&groups, ratios)?,
            _ => Splits::by_groups_at_random(&groups, ratios, seed)?,
        };
        let noun = match by {
            GroupBy::Scaffold => "different scaffolds",
            GroupBy::Fingerprint => "clusters of fingerprints",
        };
        // Groups are numbered from 0.
        let count = groups.iter().max().map_or(0, |last| last + 1);
        return Ok(Divided { read, splits, are_rows: false, groups: Some((count, noun)) });
    }
    let read = open(&arguments.file, &options)?;
    let has_own = read.dataset.node_parts.is_some() || read.dataset.official_split.is_some();
    let scheme = match arguments.scheme {
        Scheme::Auto if has_own => Scheme::Column,
        scheme => scheme,
    };
    if let Some(parts) = parts_of_rows(&read.dataset, scheme, ratios, seed)? {
        return Ok(Divided { read, splits: parts.nodes_by_part(), are_rows: true, groups: None });
    }
    let splits = match scheme {
        // The training decides, so that both have the same parts.
        Scheme::Auto => {
            let Loaded { dataset, splits, .. } = Loaded::split(read.dataset, &SplitChoice::Auto { seed })?;
            let rows = dataset.node_parts.as_ref().map(NodeParts::nodes_by_part);
            let are_rows = rows.is_some();
            let read = Read { dataset, report: read.report };
            return Ok(Divided { read, splits: rows.unwrap_or(splits), are_rows, groups: None });
        }
        Scheme::Random => Splits::random(read.dataset.samples.len(), ratios, seed)?,
        Scheme::Stratified => Splits::stratified_by_target(&read.dataset, ratios, seed)?,
        Scheme::Column | Scheme::Scaffold | Scheme::Kmeans => Splits::official(&read.dataset)?,
    };
    Ok(Divided { read, splits, are_rows: false, groups: None })
}

/// The parts of nodes (edges, pairs), where training would split these: of a single graph with targets of them.
fn parts_of_rows(
    dataset: &Dataset,
    scheme: Scheme,
    ratios: Ratios,
    seed: u64,
) -> Result<Option<NodeParts>, Failure> {
    match scheme {
        Scheme::Random | Scheme::Stratified => Ok(NodeParts::at_random(dataset, ratios, seed)?),
        Scheme::Column if dataset.node_parts.is_some() && dataset.samples.len() > 1 => {
            Err(Failure::usage(format!(
                "the file names parts of the {}s of several graphs, which a split file cannot say; `train` uses them as they are",
                dataset.schema.level
            )))
        }
        Scheme::Column => Ok(dataset.node_parts.clone()),
        Scheme::Scaffold | Scheme::Kmeans | Scheme::Auto => Ok(None),
    }
}
