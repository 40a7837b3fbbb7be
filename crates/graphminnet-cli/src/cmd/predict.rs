//! `graphminnet predict`: what a trained model says about new graphs, one output row per input row.

use super::data::join::check;
use super::model_args::{InputArguments, ModelArguments, ROWS};
use super::parts_args::PartsArguments;
use super::predict_pairs::{likeliest, listed};
use super::prediction_writer::PredictionWriter;
use super::rows::Input;
use super::shards::{ShardArguments, Sharded, SharedWork, reading};
use crate::failure::Failure;
use crate::ranks;
use crate::ui::coverage::doubts;
use crate::ui::output::Output;
use crate::ui::say::say;
use clap::Args;
use graphminnet::bundle::{
    AnswerKind, Answers, Conformal, Correction, DEFAULT_LEVEL, Description, DropoutSamples, Ensemble,
    PredictError, PredictionTable, Shift,
};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::formats::NodeNames;
use graphminnet_data::parts::InputIdentity;
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::{Graph, InputRow, Level, ReadOptions, RowReader, Shard, escape, open};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

/// What to predict, with what.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    input: InputArguments,
    /// Where the table goes, as CSV or, by extension, `.parquet`; `-` is standard output. Endings of other formats, such as
    /// `.xlsx`, are refused. With --shard or several ranks, a folder for the parts.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    shards: ShardArguments,
    #[command(flatten)]
    parts: PartsArguments,
    /// Labelled graphs that were neither trained on nor used to choose the epoch; adds intervals or sets that hold the
    /// truth with probability `--level`. A model from `train --calibrate` needs no file.
    #[arg(long, value_name = "FILE", conflicts_with = "parts")]
    calibrate: Option<PathBuf>,
    /// How sure intervals and sets are, between 0 and 1 (default: 0.9).
    #[arg(long)]
    level: Option<f64>,
    /// How the probabilities of binary answers are corrected on the calibration (cal_…): platt (two numbers, the order
    /// stays) or isotonic (any rising curve, for calibrations with a few hundred labels). Default: platt.
    #[arg(long, value_name = "HOW", value_parser = Correction::from_str, conflicts_with_all = ["pairs", "top"])]
    calibration: Option<Correction>,
    /// Ask every model so many times with dropout, as in training: predictions are the mean over samples, and std_… how far
    /// they are apart. Intervals and sets are not for these answers.
    #[arg(long, value_name = "SAMPLES", value_parser = clap::value_parser!(u64).range(2..=1000),
        conflicts_with_all = ["calibrate", "level", "calibration", "pairs", "top", "shard", "parts"])]
    dropout_samples: Option<u64>,
    /// Seed of the samples (default: 0).
    #[arg(long, value_name = "SEED", requires = "dropout_samples")]
    dropout_seed: Option<u64>,
    /// Pairs of nodes to ask about, of a model that answers for pairs: a CSV table with the columns source and destination
    /// (the node_ids of nodes.csv, or else numbers from 0), and graph_id where there are several graphs. Without it: the pairs
    /// of the data.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["calibrate", "level", "shard", "parts"])]
    pairs: Option<PathBuf>,
    /// The likeliest pairs of every graph that have no edge, so many of them, of a model that predicts links.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["calibrate", "level", "shard", "pairs", "parts"])]
    top: Option<usize>,
}

/// Runs the command on all processes that were started together: on shards of the input, or on parts of its only graph.
pub fn start(arguments: Arguments) -> Result<ExitCode, Failure> {
    if !arguments.parts.are_given() {
        return ranks::in_shards(arguments);
    }
    arguments.shards.refuse("--parts")?;
    ranks::on_all(|hosts| run(&arguments, Some(&hosts)))
}

impl Sharded for Arguments {
    fn shards(&mut self) -> &mut ShardArguments {
        &mut self.shards
    }

    fn run(&self) -> Result<ExitCode, Failure> {
        run(self, None)
    }

    fn join(self) -> Result<ExitCode, Failure> {
        check(&self.output)
    }
}

fn run(arguments: &Arguments, hosts: Option<&Arc<dyn Exchange>>) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    arguments
        .input
        .keep_from(&arguments.output, &[arguments.calibrate.as_deref(), arguments.pairs.as_deref()])?;
    let asks_pairs = arguments.pairs.is_some() || arguments.top.is_some();
    let is_parquet = is_parquet(&arguments.output, asks_pairs)?;
    arguments.model.on_threads(|| {
        let ensemble = arguments.model.load(hosts.map_or(0, |hosts| hosts.rank()))?;
        arguments.input.check(&ensemble)?;
        let samples = samples(arguments, &ensemble)?;
        let conformal = conformal(arguments, &ensemble, samples.is_some())?;
        say_unnamed(ensemble.description());
        let shared = if asks_pairs { None } else { share(arguments, &ensemble)? };
        if samples.is_some() && shared.is_some() {
            return Err(Failure::usage("--dropout-samples: one process draws the samples of all rows"));
        }
        let shard = shared.as_ref().map(SharedWork::shard);
        let own = hosts.map_or(Ok(None), |hosts| read_in_parts(arguments, &ensemble, &**hosts))?;
        let (mut reader, own) = match own {
            Some((reader, own)) => (reader, Some(own)),
            None => (arguments.input.open(ensemble.description(), shard)?, None),
        };
        let mut answered = None;
        if let Some(hosts) = hosts {
            answered = answer_in_parts(arguments, &ensemble, &mut reader, own, hosts)?;
            if answered.is_none() {
                // Rank 0 has the answers.
                return Ok(ExitCode::SUCCESS);
            }
        }
        let names = match ensemble.description().schema.level {
            Level::Graph => None,
            _ => arguments.input.node_names(ensemble.description())?,
        };
        let names = names.as_ref();
        if asks_pairs {
            return pairs(arguments, &ensemble, &mut reader, names, start);
        }
        let table = PredictionTable::new(&ensemble, conformal.as_ref());
        let table = if samples.is_some() { table.with_deviations() } else { table };
        let extension = if is_parquet { "parquet" } else { "csv" };
        let path = shared.as_ref().map(|shared| shared.file(extension)).transpose()?;
        let out = Output::create(path.as_deref().unwrap_or(&arguments.output))?;
        let has_header = shard.is_none_or(Shard::is_first);
        let mut writer = PredictionWriter::begin(&reader, &ensemble, table, names, out, is_parquet, has_header)?;
        writer.shift = conformal.as_ref().map(Shift::new);
        match answered {
            Some((row, answers)) => writer.write(&[row], &answers)?,
            None => write_all(&mut reader, &ensemble, samples, &mut writer)?,
        }
        if let Some(distance) = writer.shift.as_ref().and_then(Shift::distance) {
            say!(
                "warning: these graphs are not like those of the calibration (answers differ by {distance:.2} \
                 between 0 and 1): intervals and sets may hold the truth less often than they say"
            );
        }
        let asks_none = ensemble.description().schema.level == Level::Pair && writer.written() == Some(0);
        if asks_none && shared.is_none() {
            return Err(Failure::usage(
                "the model answers for pairs of nodes, and the data asks about none: --pairs FILE lists some, --top COUNT \
                 finds the likeliest without an edge",
            ));
        }
        writer.finish()?.end("a prediction", start, shared.map(|shared| (shared, extension)))
    })
}

/// The calibration that answers come with, if any.
fn conformal(
    arguments: &Arguments,
    ensemble: &Ensemble,
    with_samples: bool,
) -> Result<Option<Conformal>, Failure> {
    let level = arguments.level.unwrap_or(DEFAULT_LEVEL);
    let found = match &arguments.calibrate {
        // A calibration is of answers without dropout.
        None if with_samples => None,
        None => {
            let found = ensemble.conformal(level)?;
            match &found {
                Some(found) => say_calibrated(ensemble, found),
                None => say_not_calibrated(ensemble),
            }
            found
        }
        Some(path) => {
            let options = arguments.input.options(ensemble.description());
            Some(calibrate(ensemble, path, options, level)?)
        }
    };
    const UNCALIBRATED: &str = "needs --calibrate, or models from one `train --calibrate`";
    if found.is_none() && arguments.level.is_some() {
        return Err(Failure::usage(format!("--level {UNCALIBRATED}")));
    }
    match (arguments.calibration, found) {
        (Some(how), Some(found)) if ensemble.description().answers() == AnswerKind::Binary => {
            Ok(Some(found.correcting_by(how)))
        }
        (Some(_), Some(_)) => {
            Err(Failure::usage("--calibration corrects probabilities of yes, and the model has none"))
        }
        (Some(_), None) => Err(Failure::usage(format!("--calibration {UNCALIBRATED}"))),
        (None, found) => Ok(found),
    }
}

/// Answers for pairs that a file lists, or the likeliest ones.
fn pairs(
    arguments: &Arguments,
    ensemble: &Ensemble,
    reader: &mut Input,
    names: Option<&NodeNames>,
    start: Instant,
) -> Result<ExitCode, Failure> {
    let level = ensemble.description().schema.level;
    if level != Level::Pair {
        let message = format!("--pairs and --top: the model answers per {level}, not for pairs of nodes");
        return Err(Failure::usage(message));
    }
    let output = arguments.output.as_path();
    match (&arguments.pairs, arguments.top) {
        (Some(list), _) => {
            let limits = arguments.input.options(ensemble.description()).limits;
            listed(list, &limits, names, ensemble, reader, output, start)
        }
        (None, top) => likeliest(top.unwrap_or(0), names, ensemble, reader, output, start),
    }
}

/// Answers for all rows, some at a time.
fn write_all(
    reader: &mut Input,
    ensemble: &Ensemble,
    samples: Option<DropoutSamples>,
    writer: &mut PredictionWriter<'_>,
) -> Result<(), Failure> {
    let mut before = 0;
    loop {
        let rows = reader.next_rows(ROWS)?;
        if rows.is_empty() {
            return Ok(());
        }
        let answers = match samples {
            Some(samples) => ensemble.sample(&rows, DropoutSamples { before, ..samples }),
            None => ensemble.answer(&rows),
        };
        writer.write(&rows, &answers)?;
        before += rows.len() as u64;
    }
}

/// Endings that promise another format than a table of text.
const OTHER_FORMATS: [&str; 25] = [
    "arrow", "feather", "g6", "gz", "h5", "html", "json", "jsonl", "md", "mol", "ndjson", "npy", "npz",
    "ods", "pq", "s6", "sd", "sdf", "smi", "sqlite", "tsv", "xls", "xlsx", "zip", "zst",
];

/// Whether the table is Parquet; it is text otherwise, whatever it is called, unless its name says something else.
fn is_parquet(output: &Path, asks_pairs: bool) -> Result<bool, Failure> {
    let ending = output.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let ending = ending.unwrap_or_default();
    let is_parquet = ending == "parquet";
    if OTHER_FORMATS.contains(&ending.as_str()) || (is_parquet && asks_pairs) {
        let known =
            if asks_pairs { "CSV (.csv) with --pairs and --top" } else { "CSV (.csv) or Parquet (.parquet)" };
        return Err(Failure::usage(format!(
            "--output {}: predictions are written as {known}, not as .{ending}",
            output.display()
        )));
    }
    Ok(is_parquet)
}

/// The input where this process reads its own parts of the only graph alone; `None` where format or model need all of it.
fn read_in_parts(
    arguments: &Arguments,
    ensemble: &Ensemble,
    hosts: &dyn Exchange,
) -> Result<Option<(Input, GraphInParts)>, Failure> {
    match arguments.input.path() {
        Some(path) if path.as_os_str() != "-" && ensemble.takes_parts_alone() => {
            let options = arguments.input.options(ensemble.description());
            let found = arguments.parts.read(hosts, |how| RowReader::open_in_parts(path, &options, how))?;
            Ok(found.map(|(reader, own)| (Input::new(reader, ensemble.description()), own)))
        }
        _ => Ok(None),
    }
}

/// The only graph of the input, without its edges and features, and what is said about its nodes; `None` on ranks besides 0.
fn answer_in_parts(
    arguments: &Arguments,
    ensemble: &Ensemble,
    reader: &mut Input,
    own: Option<GraphInParts>,
    hosts: &Arc<dyn Exchange>,
) -> Result<Option<(InputRow, Answers)>, Failure> {
    let several = || Failure::usage("--parts is for an input that is a single graph");
    let [row] = <[InputRow; 1]>::try_from(reader.next_rows(2)?).map_err(|_| several())?;
    let graph = row.graph.map_err(|bad| Failure::usage(format!("--parts: {bad}")))?;
    let outline = Graph::from_edges(graph.num_nodes(), Vec::new()).map_err(PredictError::from)?;
    let answers = arguments.parts.answer(ensemble, graph, own, hosts)?;
    Ok(answers.map(|answers| (InputRow { graph: Ok(Arc::new(outline)), ..row }, answers)))
}

/// The samples that were asked for, and what they mean in words.
fn samples(arguments: &Arguments, ensemble: &Ensemble) -> Result<Option<DropoutSamples>, Failure> {
    let Some(samples) = arguments.dropout_samples else { return Ok(None) };
    if !ensemble.has_dropout() {
        return Err(Failure::usage(
            "--dropout-samples: the model has no dropout, so its samples are all alike",
        ));
    }
    let kept = ensemble.members().any(|member| member.description().calibration.is_some());
    let without = if kept { "; the calibration of the model is not for them" } else { "" };
    say!("{samples} samples with dropout: mean and deviation{without}");
    let seed = arguments.dropout_seed.unwrap_or(0);
    Ok(Some(DropoutSamples { samples: samples as usize, seed, before: 0 }))
}

/// This process's part of the work, if it does not do everything.
fn share(arguments: &Arguments, ensemble: &Ensemble) -> Result<Option<SharedWork>, Failure> {
    // What the parts have in common is asked of their files alone.
    if arguments.shards.shard().is_none() {
        return Ok(None);
    }
    let calibration = arguments.calibrate.as_deref().map(InputIdentity::of).transpose()?;
    let settings = [
        ("reading", reading(&arguments.input.options(ensemble.description()))?),
        ("level", json!(arguments.level)),
        ("correction", json!(arguments.calibration.map(Correction::word))),
        ("calibration", json!(calibration.map(|file| (file.bytes, file.ends_sha256)))),
    ];
    let (folder, input) = (Some(arguments.output.as_path()), arguments.input.path());
    arguments.shards.begin("predict", folder, input, Some(&arguments.model), settings)
}

fn calibrate(
    ensemble: &Ensemble,
    path: &Path,
    options: ReadOptions,
    level: f64,
) -> Result<Conformal, Failure> {
    let options = ReadOptions { repeated_ids: true, ignore_split: true, ..options };
    let read = open(path, &options)?;
    let conformal = Conformal::calibrate(ensemble, &read.dataset, level)?;
    let counts: Vec<String> = conformal.counts().iter().map(usize::to_string).collect();
    say!("calibrated at level {level} on {} labels", counts.join(", "));
    let (name, graphs) = (&read.dataset.name, read.dataset.samples.len());
    if ensemble.members().any(|member| member.description().data.resembles(name, graphs)) {
        say!(
            "note: {} is called like the data that the model was trained on and is as large: intervals and sets from graphs that a \
             model knows hold less than they promise",
            escape(&path.display().to_string())
        );
    }
    Ok(conformal)
}

/// Says where intervals come from, and how they did on the test parts.
fn say_calibrated(ensemble: &Ensemble, conformal: &Conformal) {
    let counts: Vec<String> = conformal.counts().iter().map(usize::to_string).collect();
    let level = conformal.level();
    say!("calibrated at level {level} on {} labels that were set aside in training", counts.join(", "));
    doubts(ensemble, conformal).iter().for_each(|doubt| say!("warning: {doubt}"));
}

/// Says why there are no intervals, where some of the models have a calibration.
fn say_not_calibrated(ensemble: &Ensemble) {
    let calibrated = ensemble.members().filter(|member| member.description().calibration.is_some()).count();
    if calibrated > 0 {
        say!(
            "note: {calibrated} of {} models were calibrated in training, not all on the same graphs: there are no intervals; \
             --calibrate FILE makes some",
            ensemble.members().count()
        );
    }
}

/// A model of version 0.1 has a positive class too, but its column does not name it.
fn say_unnamed(about: &Description) {
    let unnamed = about.answers() == AnswerKind::Binary && about.positive_class().is_none();
    if let (true, Some(class), Some(target)) = (unnamed, about.ranked_class(), about.schema.targets.first()) {
        say!("note: `pred_{target}` is the probability of `{class}`; a model trained anew names it");
    }
}
