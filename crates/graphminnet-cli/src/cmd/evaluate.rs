//! `graphminnet evaluate`: how good a trained model is on labelled graphs, and how sure that is.

mod tables;

use self::tables::print;
use super::data::join::{collect, damaged, files};
use super::model_args::{InputColumns, ModelArguments};
use super::parts_args::PartsArguments;
use super::rows::Directions;
use super::shards::{ShardArguments, Sharded, SharedWork, reading};
use crate::failure::Failure;
use crate::ranks;
use crate::ui::say::say;
use clap::Args;
use graphminnet::bundle::{AnswerKind, Description, Ensemble, Evaluated, Labelled, evaluate_answers};
use graphminnet::task::assess::Bootstrap;
use graphminnet::task::links::{LinkQuestion, LinkScores};
use graphminnet::train::{Loaded, data_fingerprint};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::fs::AtomicFile;
use graphminnet_data::parts::PartFolder;
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::split::Splits;
use graphminnet_data::{
    Dataset, Level, OnBadRow, Read, ReadInParts, ReadOptions, Sample, Split, escape, open, open_in_parts,
};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// What to evaluate, on what.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    /// Labelled graphs: a file or folder in any known format.
    #[arg(long, value_name = "PATH", required_unless_present = "join")]
    data: Option<PathBuf>,
    /// Evaluate the answers that `evaluate --shard` left in this folder.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["data", "shard", "parts", "part", "skip_bad_rows", "format",
        "smiles_column", "header", "memory", "limits"])]
    join: Option<PathBuf>,
    /// With --shard or several ranks, a folder for the parts.
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
    #[command(flatten)]
    shards: ShardArguments,
    #[command(flatten)]
    parts: PartsArguments,
    #[command(flatten)]
    columns: InputColumns,
    /// Only a part of the data: train, valid or test, as the data names them or --split does.
    #[arg(long, value_parser = part)]
    part: Option<Split>,
    /// With --part: the parts of a split file in place of those that the data names. `splits.json` of a run has the parts that
    /// its model was trained, chosen and tested on.
    #[arg(long, value_name = "FILE", requires = "part", conflicts_with_all = ["join", "shard"])]
    split: Option<PathBuf>,
    /// Leave out rows that cannot be read, and say how many; without it they stop the command.
    #[arg(long)]
    skip_bad_rows: bool,
    /// Samples drawn for the confidence intervals; 0 draws none.
    #[arg(long, default_value_t = Bootstrap::default().replicates, value_name = "COUNT")]
    replicates: usize,
    /// For links: nodes that are drawn to rank each link among, in place of all nodes of its graph.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["join", "shard"])]
    candidates: Option<NonZeroUsize>,
    /// How sure the confidence intervals are, between 0 and 1.
    #[arg(long, default_value_t = Bootstrap::default().level)]
    level: f64,
    /// Seed of the confidence intervals.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

fn part(text: &str) -> Result<Split, String> {
    let found = Split::ALL.into_iter().find(|part| part.to_string() == text);
    found.ok_or_else(|| "expected train, valid or test".to_owned())
}

/// What was read with its parts, if it has some.
fn in_splits(arguments: &Arguments, read: Read) -> Result<(Dataset, Option<Splits>), Failure> {
    if let Some(path) = &arguments.split {
        let Loaded { dataset, splits, .. } = Loaded::by_file(read, path)?;
        return Ok((dataset, Some(splits)));
    }
    let dataset = read.dataset;
    let splits = match &dataset.node_parts {
        Some(parts) => Some(parts.graphs_by_part()),
        None => dataset.official_split.as_ref().and_then(|_| Splits::official(&dataset).ok()),
    };
    Ok((dataset, splits))
}

/// Whether these are other graphs, or in other parts, than those of a training.
fn has_other_parts(dataset: &Dataset, splits: &Splits, about: &Description) -> bool {
    // What was set aside for a calibration was not tested either.
    let Splits { mut train, valid, test, mut calibration } = splits.clone();
    train.append(&mut calibration);
    train.sort_unstable();
    let splits = Splits { train, valid, test, calibration };
    data_fingerprint(dataset, &splits) != *about.data.plain()
}

/// How good a model of links is at them; `None` for other models.
fn link_scores(
    arguments: &Arguments,
    ensemble: &Ensemble,
    dataset: &Dataset,
) -> Result<Option<LinkScores>, Failure> {
    let about = ensemble.description();
    let is_binary = about.answers() == AnswerKind::Binary && about.schema.num_targets() == 1;
    if about.schema.level != Level::Pair || !is_binary {
        return match arguments.candidates {
            Some(_) => Err(Failure::usage("--candidates: the model does not predict links")),
            None => Ok(None),
        };
    }
    let Arguments { part, seed, .. } = *arguments;
    let candidates = arguments.candidates.map(NonZeroUsize::get);
    let question = LinkQuestion { part, candidates, seed, ..LinkQuestion::default() };
    Ok(Some(ensemble.score_links(dataset, question)?))
}

impl Sharded for Arguments {
    fn shards(&mut self) -> &mut ShardArguments {
        &mut self.shards
    }

    fn run(&self) -> Result<ExitCode, Failure> {
        run(self, None)
    }

    fn join(self) -> Result<ExitCode, Failure> {
        run(&Self { join: self.output, data: None, output: None, ..self }, None)
    }
}

/// Runs the command on all processes that were started together: on shards of the data, or on parts of its only graph.
pub fn start(arguments: Arguments) -> Result<ExitCode, Failure> {
    if !arguments.parts.are_given() {
        return ranks::in_shards(arguments);
    }
    arguments.shards.refuse("--parts")?;
    ranks::on_all(|hosts| run(&arguments, Some(&hosts)))
}

fn run(arguments: &Arguments, hosts: Option<&Arc<dyn Exchange>>) -> Result<ExitCode, Failure> {
    arguments.shards.refuse_folder(arguments.output.as_deref())?;
    if !(arguments.level > 0.0 && arguments.level < 1.0) {
        return Err(Failure::usage(format!(
            "--level {}: expected a number between 0 and 1",
            arguments.level
        )));
    }
    arguments.model.on_threads(|| {
        let ensemble = arguments.model.load(hosts.map_or(0, |hosts| hosts.rank()))?;
        arguments.columns.check(&ensemble)?;
        let (labelled, links, data) = match (&arguments.join, &arguments.data) {
            (Some(folder), _) => {
                let (labelled, data) = join(arguments, folder, &ensemble)?;
                (labelled, None, data)
            }
            (None, Some(data)) => match answer(arguments, data, &ensemble, hosts)? {
                Some((labelled, links)) => (labelled, links, data.clone()),
                None => return Ok(ExitCode::SUCCESS),
            },
            (None, None) => unreachable!("one of them is required"),
        };
        let bootstrap =
            Bootstrap { replicates: arguments.replicates, level: arguments.level, seed: arguments.seed };
        let found = evaluate_answers(&ensemble, &labelled, bootstrap)?;
        let mut out = stdout().lock();
        if arguments.json {
            let object = as_json(arguments, &ensemble, &found, links.as_ref(), &data)?;
            writeln!(out, "{object}")?;
        } else {
            print(&mut out, &found, arguments.level, links.as_ref(), arguments.candidates)?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn as_json(
    arguments: &Arguments,
    ensemble: &Ensemble,
    found: &Evaluated,
    links: Option<&LinkScores>,
    data: &Path,
) -> Result<Value, Failure> {
    let mut object = serde_json::to_value(found)?;
    object["models"] = json!(ensemble.members().map(|member| member.path()).collect::<Vec<_>>());
    object["data"] = json!(data);
    object["level"] = json!(arguments.level);
    object["seed"] = json!(arguments.seed);
    if let Some(links) = links {
        object["links"] = serde_json::to_value(links)?;
    }
    Ok(object)
}

/// Extension of the parts.
const PART: &str = "answers";

/// Asks the models about the graphs; `None` where another process evaluates the answers.
fn answer(
    arguments: &Arguments,
    data: &Path,
    ensemble: &Ensemble,
    hosts: Option<&Arc<dyn Exchange>>,
) -> Result<Option<(Labelled, Option<LinkScores>)>, Failure> {
    let on_bad_row = if arguments.skip_bad_rows { OnBadRow::Skip } else { OnBadRow::Error };
    let options = ReadOptions {
        on_bad_row,
        repeated_ids: true,
        ignore_split: arguments.part.is_none(),
        ..arguments.columns.options(ensemble.description())
    };
    let part = arguments.part.map(|part| part.to_string());
    let settings = [("reading", reading(&options)?), ("part", json!(part))];
    let (folder, models) = (arguments.output.as_deref(), Some(&arguments.model));
    let shared = arguments.shards.begin("evaluate", folder, Some(data), models, settings)?;
    let options = ReadOptions { shard: shared.as_ref().map(SharedWork::shard), ..options };
    // Of the only graph in parts, this process reads its own alone where format and models allow it.
    let in_parts = match hosts.filter(|_| ensemble.takes_parts_alone()) {
        Some(hosts) => arguments.parts.read(&**hosts, |how| open_in_parts(data, &options, how))?,
        None => None,
    };
    let (read, own) = match in_parts {
        Some(ReadInParts { read, graph, .. }) => (read, Some(graph)),
        None => (open(data, &options)?, None),
    };
    let bad = usize::try_from(read.report.bad_row_count).unwrap_or(usize::MAX);
    if bad > 0 {
        say!("{bad} rows cannot be read and are left out");
    }
    let (mut dataset, splits) = in_splits(arguments, read)?;
    let mut directions = Directions::new(ensemble.description());
    dataset.samples.iter().for_each(|sample| directions.see(&sample.graph));
    directions.say();
    if let (Some(splits), Some(_), None, None) = (&splits, arguments.part, &shared, &own)
        && has_other_parts(&dataset, splits, ensemble.description())
    {
        say!(
            "note: the model was not trained on these data in these parts, so rows of `test` may be among those that it was trained \
             on (`splits.json` of a run, given as --split, has its own parts)"
        );
    }
    if let (Some(part), None) = (arguments.part, &dataset.node_parts) {
        keep_graphs(&mut dataset, part, splits.as_ref(), shared.is_some())?;
    }
    // Links are ranked among all nodes of their graph, which answers in a file do not hold.
    let links = if shared.is_none() { link_scores(arguments, ensemble, &dataset)? } else { None };
    if shared.is_some() && ensemble.description().schema.level == Level::Pair {
        say!("note: shards give no ranks (hits@k, MRR); evaluate in one process for these");
    }
    if let (Some(part), Some(parts)) = (arguments.part, dataset.node_parts.take()) {
        let columns = dataset.schema.num_targets();
        for (graph, sample) in dataset.samples.iter_mut().enumerate() {
            parts.hide_others(part, &[graph], columns, &mut sample.targets);
        }
    }
    let bounds = dataset.qualifiers.num_bounds();
    if bounds > 0 {
        say!("{bounds} labels are bounds, such as >3.5; metrics count exact labels only");
    }
    if let Some(hosts) = hosts {
        return Ok(
            answer_in_parts(arguments, dataset, own, ensemble, hosts)?.map(|labelled| (labelled, None))
        );
    }
    let labelled = Labelled::answer(ensemble, &dataset)?;
    let Some(shared) = shared else { return Ok(Some((labelled, links))) };
    let mut file = AtomicFile::create(&shared.file(PART)?)?;
    labelled.write(&mut file)?;
    file.commit()?;
    shared.finish(Some(PART), labelled.len() + bad, bad)?;
    Ok(None)
}

/// Leaves out the graphs that are not in a part.
fn keep_graphs(
    dataset: &mut Dataset,
    part: Split,
    splits: Option<&Splits>,
    is_shard: bool,
) -> Result<(), Failure> {
    match splits {
        Some(splits) => {
            keep_at(&mut dataset.samples, splits.part(part));
            keep_at(&mut dataset.qualifiers.bounds, splits.part(part));
        }
        // A shard may be without rows, and then names no part.
        None if is_shard && dataset.samples.is_empty() => {}
        None => {
            return Err(Failure::usage(
                "--part: the data names no parts (a `split` column does, or --split FILE, such as the `splits.json` of a run)",
            ));
        }
    }
    dataset.official_split = Some(vec![part; dataset.samples.len()]);
    Ok(())
}

/// Keeps what is at these places, which ascend.
fn keep_at<T>(list: &mut Vec<T>, places: &[usize]) {
    let mut place = 0..;
    list.retain(|_| place.next().is_some_and(|place| places.binary_search(&place).is_ok()));
}

/// The answers for the only graph, on rank 0.
fn answer_in_parts(
    arguments: &Arguments,
    dataset: Dataset,
    own: Option<GraphInParts>,
    ensemble: &Ensemble,
    hosts: &Arc<dyn Exchange>,
) -> Result<Option<Labelled>, Failure> {
    let several = |_| Failure::usage("--parts is for data that is a single graph");
    let [Sample { graph, targets, .. }] = <[Sample; 1]>::try_from(dataset.samples).map_err(several)?;
    let answers = arguments.parts.answer(ensemble, graph, own, hosts)?;
    Ok(answers.map(|answers| Labelled::new(answers, vec![targets])).transpose()?)
}

/// The answers of all shards, and the file that they are about.
fn join(arguments: &Arguments, folder: &Path, ensemble: &Ensemble) -> Result<(Labelled, PathBuf), Failure> {
    let folder = PartFolder::new(folder);
    let parts = collect(&folder)?;
    let mut labelled = Labelled::none(ensemble);
    let Some(first) = parts.first() else { return Err(Failure::usage("--join: no parts")) };
    if first.work.command != "evaluate" {
        let command = escape(&first.work.command);
        return Err(Failure::usage(format!("--join: these are parts of `{command}`, not of `evaluate`")));
    }
    if first.work.models != arguments.model.identities()? {
        return Err(Failure::usage("--join: these are answers of other models than --model names"));
    }
    for file in files(&folder, &parts) {
        let (path, mut file) = file?;
        labelled.read_more(&mut file).map_err(damaged(&path))?;
    }
    Ok((labelled, first.work.input.path.clone()))
}
