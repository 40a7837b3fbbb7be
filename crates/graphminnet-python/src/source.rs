//! Graphs as Python gives them: a path, SMILES, the text of a table, or arrays.

use crate::calls::{Arrays, Call};
use crate::pool::Threads;
use graphminnet_cli::Failure;
use graphminnet_data::formats::Format;
use graphminnet_data::memory::{Cells, GraphTables, TableColumns, molecule_rows};
use graphminnet_data::{InputRow, RULES, Read, ReadOptions, RowReader, Split, open, read_stream};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::Cursor;
use std::path::PathBuf;

/// Rows that are read at a time.
const ROWS: usize = 4096;

/// Bytes of so little data that it is answered at once.
const FEW: usize = 1 << 16;

/// Where graphs come from.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// A file or folder.
    Path(PathBuf),
    /// SMILES, for prediction.
    Smiles(Vec<String>),
    /// The text of a CSV table with a column of SMILES.
    Csv {
        /// Name of the data set.
        name: String,
        /// The table.
        text: String,
    },
    /// Arrays of all nodes and edges.
    Tables(Tables),
}

/// Graphs one after the other; numbers are positions among the arrays of the call.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    name: String,
    nodes: usize,
    edges: usize,
    edge_index: [usize; 2],
    node_columns: Vec<Columns>,
    edge_columns: Vec<Columns>,
    pairs: Option<Pairs>,
    targets: Vec<Columns>,
    parts: Option<Vec<Split>>,
    node_parts: Option<usize>,
}

/// Pairs of nodes that a model is asked about: how many each graph has, and their ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    counts: usize,
    index: [usize; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    width: usize,
    names: Option<Vec<String>>,
    cells: CellsAt,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum CellsAt {
    Integers(usize),
    Numbers(usize),
    Text(Vec<Option<String>>),
}

impl Source {
    /// Threads to answer on. Much data has its own, so that what is asked meanwhile does not wait for it; few graphs are
    /// answered faster than threads start.
    pub fn threads(&self, call: &Call<'_>, asked: Option<usize>) -> Threads {
        let size = call.request.len() + call.arrays.0.iter().map(|array| array.len()).sum::<usize>();
        match asked {
            None if size < FEW && !matches!(self, Self::Path(_)) => Threads::Shared,
            asked => Threads::own(asked),
        }
    }

    /// The graphs for a model whose options these are; none is lost.
    pub fn rows(&self, arrays: &Arrays<'_>, options: &ReadOptions) -> Result<Vec<InputRow>, Failure> {
        Ok(match self {
            Self::Smiles(smiles) => molecule_rows(smiles, options)?,
            Self::Tables(tables) => tables.build(arrays)?.rows(options)?,
            Self::Path(path) => all_rows(RowReader::open(path, options)?)?,
            Self::Csv { name, text } => {
                let options = csv(options);
                all_rows(RowReader::from_stream(stream(text), name, &options)?)?
            }
        })
    }

    /// A data set to train on.
    pub fn read(&self, arrays: &Arrays<'_>, options: &ReadOptions) -> Result<Read, Failure> {
        Ok(match self {
            Self::Path(path) => open(path, options)?,
            Self::Csv { name, text } => read_stream(stream(text), name, &csv(options))?,
            Self::Tables(tables) => tables.build(arrays)?.read(&tables.name, options)?,
            Self::Smiles(_) => return Err(Failure::usage("SMILES without targets cannot be trained on")),
        })
    }
}

/// The same options for the text of a table.
pub fn csv(options: &ReadOptions) -> ReadOptions {
    // Python always writes the names of the columns.
    ReadOptions { format: Some(Format::SmilesCsv), header: Some(true), ..options.clone() }
}

fn stream(text: &str) -> Box<dyn std::io::Read + Send> {
    Box::new(Cursor::new(text.as_bytes().to_vec()))
}

fn all_rows(mut reader: RowReader) -> Result<Vec<InputRow>, Failure> {
    let mut rows = Vec::new();
    loop {
        let some = reader.next_rows(ROWS)?;
        if some.is_empty() {
            return Ok(rows);
        }
        rows.extend(some);
    }
}

impl Tables {
    fn build(&self, arrays: &Arrays<'_>) -> Result<GraphTables, Failure> {
        let counts = |at: usize| -> Result<Vec<usize>, Failure> {
            let count = |count: &i64| usize::try_from(*count);
            let counts: Result<Vec<usize>, _> = arrays.integers(at)?.iter().map(count).collect();
            counts.map_err(|_| Failure::usage("a graph cannot have a negative number of nodes or edges"))
        };
        let columns = |all: &[Columns]| all.iter().map(|some| some.build(arrays)).collect::<Result<_, _>>();
        let ends = |[sources, targets]: [usize; 2]| -> Result<[Vec<i64>; 2], Failure> {
            Ok([arrays.integers(sources)?, arrays.integers(targets)?])
        };
        let pairs = self.pairs.as_ref();
        Ok(GraphTables {
            nodes: counts(self.nodes)?,
            edges: counts(self.edges)?,
            edge_index: ends(self.edge_index)?,
            pairs: pairs.map(|pairs| counts(pairs.counts)).transpose()?.unwrap_or_default(),
            pair_index: pairs.map(|pairs| ends(pairs.index)).transpose()?.unwrap_or_default(),
            node_columns: columns(&self.node_columns)?,
            edge_columns: columns(&self.edge_columns)?,
            targets: columns(&self.targets)?,
            parts: self.parts.clone(),
            node_parts: self.node_parts.map(|at| node_parts(arrays, at)).transpose()?,
        })
    }
}

/// Parts of nodes (edges, pairs) by number; a number that is none stands for one of no part.
fn node_parts(arrays: &Arrays<'_>, at: usize) -> Result<Vec<Option<Split>>, Failure> {
    let part = |number: i64| usize::try_from(number).ok().and_then(|number| Split::ALL.get(number).copied());
    Ok(arrays.integers(at)?.into_iter().map(part).collect())
}

impl Columns {
    fn build(&self, arrays: &Arrays<'_>) -> Result<TableColumns, Failure> {
        let cells = match &self.cells {
            CellsAt::Integers(at) => Cells::Integers(arrays.integers(*at)?),
            CellsAt::Numbers(at) => Cells::Numbers(arrays.numbers(*at)?),
            CellsAt::Text(cells) => Cells::Text(cells.clone()),
        };
        Ok(TableColumns { width: self.width, names: self.names.clone(), cells })
    }
}

/// Options for reading as Python gives them: the keys of [`ReadOptions`].
pub fn read_options(mut keys: serde_json::Map<String, Value>) -> Result<ReadOptions, Failure> {
    // A file without a version is an old one, a call is a new one.
    keys.insert("rules".to_owned(), RULES.into());
    let options = serde_json::from_value(Value::Object(keys.clone()));
    options.map_err(|error| {
        let is_wrong = |key: &&String| {
            serde_json::from_value::<ReadOptions>(json!({ key.as_str(): keys[*key] })).is_err()
        };
        let key = keys.keys().find(is_wrong).map_or_else(String::new, |key| format!(" `{key}`:"));
        Failure::usage(format!("read:{key} {error}"))
    })
}
