//! `graphminnet embed`: the vectors that a trained model gives to graphs or nodes.

use super::data::join::check;
use super::model_args::{InputArguments, ModelArguments, ROWS};
use super::rows::{RowNames, Tally};
use super::shards::{ShardArguments, Sharded, SharedWork, reading};
use crate::failure::Failure;
use crate::ui::output::Output;
use crate::ui::say::say;
use clap::{Args, ValueEnum};
use graphminnet::bundle::Bundle;
use graphminnet::config::LevelKind;
use graphminnet::export::NpyWriter;
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::formats::parquet::{ParquetColumn, ParquetKind, ParquetWriter};
use graphminnet_data::formats::{NodeNames, node_text};
use graphminnet_data::{InputRow, Shard, escape};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Rows without a vector that are described one by one.
const DESCRIBED: usize = 20;

/// What to embed, with what.
#[derive(Args)]
#[command(mut_arg("models", |model| model.help("A model: a `.gmn` file, or the folder of a seed or of a run with a single one")))]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    input: InputArguments,
    /// Where the vectors go, by extension `.npy`, `.csv` or `.parquet`; `-` is CSV on standard output. With --shard or
    /// several ranks, a folder for the parts, whose extension says what these are.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    shards: ShardArguments,
    /// One vector per graph (pooled, as before the head) or per node (after the last layer).
    #[arg(long, value_enum, default_value = "graph")]
    level: Per,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Per {
    Graph,
    Node,
}

impl Sharded for Arguments {
    fn shards(&mut self) -> &mut ShardArguments {
        &mut self.shards
    }

    fn run(&self) -> Result<ExitCode, Failure> {
        run(self)
    }

    fn join(self) -> Result<ExitCode, Failure> {
        check(&self.output)
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    arguments.input.keep_from(&arguments.output, &[])?;
    arguments.model.on_threads(|| {
        let bundle = arguments.model.load_one()?;
        let width = bundle.description().model.hidden;
        let settings = [
            ("reading", reading(&arguments.input.options(bundle.description()))?),
            ("level", json!(if arguments.level == Per::Node { "node" } else { "graph" })),
            ("width", json!(width)),
        ];
        let (folder, input) = (Some(arguments.output.as_path()), arguments.input.path());
        let shared = arguments.shards.begin("embed", folder, input, Some(&arguments.model), settings)?;
        let shard = shared.as_ref().map(SharedWork::shard);
        let extension =
            arguments.output.extension().and_then(|extension| extension.to_str()).unwrap_or("csv");
        let path = shared.as_ref().map(|shared| shared.file(extension)).transpose()?;
        let mut reader = arguments.input.open(bundle.description(), shard)?;
        let path = path.as_deref().unwrap_or(&arguments.output);
        let nodes = match arguments.level {
            Per::Graph => NodeColumn::None,
            Per::Node => NodeColumn::of(arguments.input.node_names(bundle.description())?),
        };
        let mut sink = Sink::create(path, width, &nodes, shard.is_none_or(Shard::is_first))?;
        let (before, names) = (reader.records_before(), RowNames::of(&reader, bundle.description()));
        let written = (arguments.level == Per::Node).then_some(0);
        let mut tally = Tally { written, ..Tally::default() };
        loop {
            let some = reader.next_rows(ROWS)?;
            if some.is_empty() {
                break;
            }
            let rows = tally.rows;
            let name = |row: &InputRow, at: usize| names.name(row, before + rows + at);
            embed(&bundle, &some, name, &nodes, &mut sink, &mut tally)?;
        }
        sink.finish()?;
        tally.end("a vector", start, shared.map(|shared| (shared, extension)))
    })
}

/// Embeds some rows; a graph without a vector has one of NaN, its nodes none.
fn embed(
    bundle: &Bundle,
    rows: &[InputRow],
    name: impl Fn(&InputRow, usize) -> String,
    of_nodes: &NodeColumn,
    sink: &mut Sink,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let per_graph = matches!(of_nodes, NodeColumn::None);
    let level = if per_graph { LevelKind::Graph } else { LevelKind::Node };
    let found = bundle.embed(rows, level);
    let (mut ids, mut nodes, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (row, answer)) in rows.iter().zip(found.iter()).enumerate() {
        let id = name(row, at);
        match answer {
            Err(reason) => {
                tally.bad += 1;
                if tally.bad <= DESCRIBED {
                    say!("no vector for {}: {reason}", escape(&id));
                }
                if per_graph {
                    ids.push(id);
                    values.extend(std::iter::repeat_n(f32::NAN, found.columns()));
                }
            }
            Ok(answer) => {
                if !per_graph {
                    let numbers = 0..answer.num_rows() as u32;
                    nodes.extend(numbers.map(|node| node_text(of_nodes.names(), &row.id, node)));
                }
                ids.extend(std::iter::repeat_n(id, answer.num_rows()));
                values.extend(answer.outputs());
            }
        }
    }
    tally.rows += rows.len();
    tally.written.iter_mut().for_each(|written| *written += ids.len());
    sink.write(&ids, &nodes, &values)
}

/// What the column `node` holds.
enum NodeColumn {
    /// There is none: a vector is one of a graph.
    None,
    /// Numbers within the graph, from 0.
    Numbers,
    /// The names that the input gives them, as in predictions.
    Names(NodeNames),
}

impl NodeColumn {
    fn of(names: Option<NodeNames>) -> Self {
        names.map_or(Self::Numbers, Self::Names)
    }

    fn names(&self) -> Option<&NodeNames> {
        match self {
            Self::Names(names) => Some(names),
            Self::None | Self::Numbers => None,
        }
    }

    /// What it is in a Parquet file.
    fn kind(&self) -> Option<ParquetKind> {
        match self {
            Self::None => None,
            Self::Numbers => Some(ParquetKind::Integer),
            Self::Names(_) => Some(ParquetKind::Text),
        }
    }
}

/// Where vectors go.
enum Sink {
    Csv { out: CsvWriter<Output>, width: usize },
    Npy(NpyWriter<Output>),
    Parquet { out: ParquetWriter<Output>, width: usize, node: Option<ParquetKind> },
}

impl Sink {
    fn create(path: &Path, width: usize, nodes: &NodeColumn, has_header: bool) -> Result<Self, Failure> {
        let (mut names, node) = (vec!["id".to_owned()], nodes.kind());
        if node.is_some() {
            names.push("node".to_owned());
        }
        names.extend((0..width).map(|column| format!("e{column}")));
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        Ok(match extension {
            "npy" => Self::Npy(NpyWriter::new(Output::create(path)?, width)?),
            "parquet" => {
                let kinds = [ParquetKind::Text].into_iter().chain(node);
                let kinds = kinds.chain(std::iter::repeat(ParquetKind::Float));
                let columns: Vec<_> = names.into_iter().zip(kinds).collect();
                Self::Parquet { out: ParquetWriter::new(Output::create(path)?, &columns)?, width, node }
            }
            "csv" => Self::csv(path, width, &names, has_header)?,
            _ if path.as_os_str() == "-" => Self::csv(path, width, &names, has_header)?,
            other => {
                return Err(Failure::usage(format!(
                    "--output {}: extension `{other}` is none of .npy, .csv, .parquet",
                    path.display()
                )));
            }
        })
    }

    fn csv(path: &Path, width: usize, names: &[String], has_header: bool) -> Result<Self, Failure> {
        let mut out = CsvWriter::new(Output::create(path)?);
        if has_header {
            out.row(names)?;
        }
        Ok(Self::Csv { out, width })
    }

    fn write(&mut self, ids: &[String], nodes: &[String], values: &[f32]) -> Result<(), Failure> {
        match self {
            Self::Npy(out) => out.write(values)?,
            Self::Csv { out, width } => {
                for (at, (id, vector)) in ids.iter().zip(values.chunks((*width).max(1))).enumerate() {
                    out.field(id)?;
                    if let Some(node) = nodes.get(at) {
                        out.field(node)?;
                    }
                    out.row(vector)?;
                }
            }
            Self::Parquet { out, width, node } => {
                if !ids.is_empty() {
                    out.write(&columns(ids, nodes, values, *width, *node))?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Npy(out) => out.finish()?.finish(),
            Self::Csv { out, .. } => out.into_inner().finish(),
            Self::Parquet { out, .. } => out.finish()?.finish(),
        }
    }
}

fn columns<'a>(
    ids: &'a [String],
    nodes: &'a [String],
    values: &[f32],
    width: usize,
    node: Option<ParquetKind>,
) -> Vec<ParquetColumn<'a>> {
    let texts = |texts: &'a [String]| ParquetColumn::Text(texts.iter().map(String::as_str).collect());
    let mut columns = vec![texts(ids)];
    columns.extend(node.map(|kind| match kind {
        ParquetKind::Integer => {
            ParquetColumn::Integers(nodes.iter().map(|number| number.parse().ok()).collect())
        }
        _ => texts(nodes),
    }));
    for column in 0..width {
        let values = values.iter().skip(column).step_by(width.max(1)).copied().collect();
        columns.push(ParquetColumn::Floats(values));
    }
    columns
}
