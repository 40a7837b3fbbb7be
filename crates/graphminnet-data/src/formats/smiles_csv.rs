//! A CSV file with a column of SMILES strings: one molecule per row, other columns as targets.
//!
//! The SMILES column is the one named in the options or the schema, or called `smiles`, or the first; without a header,
//! the first whose first cell is a molecule. Targets are the columns named in the options; without names, every other column whose cells are all numbers or
//! missing. `id` and `split` columns are recognised. Rows keep their order; molecules are read in parallel.
//!
//! A cell such as `>3.5` in a column of numbers is a bound. At node level a cell is a list with a value for every atom,
//! at edge level one with a value for every bond.

mod columns;

use super::Format;
use super::csv::CsvReader;
use super::molecule_columns::{MoleculeColumn, bad_molecule};
use super::parquet::ParquetRows;
use super::sheet::SheetRows;
use super::target_columns::{labels, usable};
use super::value_lists::{self as lists, Items};
use crate::budget::{Budget, bytes_of};
use crate::formats::Lines;
use crate::graph::Graph;
use crate::schema::{Collector, Record, Table};
use crate::smiles::MoleculeReading;
use crate::text::quoted;
use crate::{BadRow, DataError, EdgeDirection, Level, MoleculeTable, Place, Read, ReadOptions, Split};
use columns::{Columns, kept_table, whole_names};
use rayon::prelude::*;
use std::path::Path;

/// Rows that are turned into molecules at a time.
const CHUNK_ROWS: usize = 8_192;

/// Bytes of SMILES that are turned into molecules at a time, before anybody counts how much memory those take: a
/// molecule takes up to a hundred times as much as its text.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// One row before its targets are understood.
struct Row {
    place: Place,
    /// One string for each column of molecules.
    smiles: Vec<String>,
    id: Option<String>,
    split: Option<Split>,
    cells: Vec<Box<str>>,
    descriptors: Vec<f32>,
    weight: Option<f32>,
}

impl Row {
    /// Bytes that it takes.
    fn bytes(&self) -> u64 {
        let cells: usize = self.cells.iter().map(|cell| size_of::<Box<str>>() + cell.len()).sum();
        let texts = self.smiles_bytes() + self.id.as_ref().map_or(0, String::len) + cells;
        bytes_of::<Result<(Self, Graph), BadRow>>(1)
            + self.place.bytes()
            + texts as u64
            + bytes_of::<f32>(self.descriptors.len())
            + bytes_of::<String>(self.smiles.len())
    }

    fn smiles_bytes(&self) -> usize {
        self.smiles.iter().map(String::len).sum()
    }
}

/// Reads a table of molecules.
pub(super) fn read(format: Format, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let (reader, notes) = open_table(format, path, options)?;
    read_table(reader, notes, path, options)
}

/// Reads a CSV table of molecules from any stream of lines.
pub(crate) fn read_lines(lines: Lines, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let mut notes = Vec::new();
    let reader = CsvReader::of_molecules(lines, path, options, &mut notes)?;
    read_table(reader, notes, path, options)
}

/// Opens a table of molecules, with what was found out about it.
pub(super) fn open_table(
    format: Format,
    path: &Path,
    options: &ReadOptions,
) -> Result<(CsvReader, Vec<String>), DataError> {
    let mut notes = Vec::new();
    let reader = match format {
        Format::Sdf => CsvReader::of_blocks(path, options)?,
        Format::Xlsx => {
            let mut rows = SheetRows::open(path, options)?;
            let (names, about) = rows.take_names();
            notes.extend(about);
            let header = (names, rows.header_row());
            CsvReader::of_rows(path, header, 0, Box::new(rows), options)?
        }
        Format::Parquet => of_parquet(ParquetRows::open(path, options)?, path, options, &mut notes)?,
        _ => {
            let part = options.shard.map(|shard| shard.bytes_of(path)).transpose()?;
            let lines = Lines::open(path, &options.limits)?;
            let mut reader = CsvReader::of_molecules(lines, path, options, &mut notes)?;
            if let Some(part) = part {
                reader.only(&part)?;
            }
            reader
        }
    };
    Ok((reader, notes))
}

fn of_parquet(
    mut rows: ParquetRows,
    path: &Path,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<CsvReader, DataError> {
    let (names, about) = rows.take_names();
    notes.extend(about);
    let before = rows.rows_before();
    CsvReader::of_rows(path, (names, 0), before, Box::new(rows), options)
}

/// Reads a table of molecules from the bytes of a Parquet file.
#[cfg(feature = "benchmarks")]
pub(crate) fn read_parquet_bytes(
    bytes: Vec<u8>,
    path: &Path,
    options: &ReadOptions,
) -> Result<Read, DataError> {
    let (mut notes, length) = (Vec::new(), bytes.len() as u64);
    let rows = ParquetRows::new(std::io::Cursor::new(bytes), length, path, options)?;
    let reader = of_parquet(rows, path, options, &mut notes)?;
    read_table(reader, notes, path, options)
}

fn read_table(
    mut reader: CsvReader,
    mut notes: Vec<String>,
    path: &Path,
    options: &ReadOptions,
) -> Result<Read, DataError> {
    let options = &whole_names(&reader, options);
    let columns = Columns::find(&reader, options, &mut notes)?;
    let options =
        &ReadOptions { repeated_ids: options.repeated_ids || reader.has_loose_names(), ..options.clone() };
    let reading = reading(path, options)?;
    let refused = match (options.asked_level(), options.edges) {
        (Some(Level::Edge), _) if reading.form.reactions => {
            Some("lists of values are of the bonds of molecules, not of reactions")
        }
        (Some(Level::Pair), _) => Some(
            "a table of molecules has targets of molecules, of atoms (at node level) or of bonds (at edge level), none \
             per pair; JSON Lines may have them",
        ),
        (Some(Level::Edge), Some(EdgeDirection::AsGiven)) => {
            Some("bonds go both ways: edges of molecules cannot be read as given")
        }
        _ => None,
    };
    if let Some(reason) = refused {
        return Err(DataError::Schema { place: Place::file(path), reason: reason.to_owned() });
    }
    let budget = Budget::new(&options.limits);
    let mut held = budget.share();
    let mut rows: Vec<Result<(Row, Graph), BadRow>> = Vec::new();
    let mut chunk: Vec<Result<Row, BadRow>> = Vec::with_capacity(CHUNK_ROWS);
    let mut chunk_bytes = 0;
    loop {
        let record = reader.advance()?;
        let is_last = record.is_none();
        if let Some(record) = record {
            let row = match record.and_then(|()| columns.row(&reader)) {
                Ok(row) => Ok(row),
                Err(error) => Err(error.into_bad_row(reader.place())?),
            };
            chunk_bytes += row.as_ref().map_or(0, Row::smiles_bytes);
            let bytes = row.as_ref().map_or_else(BadRow::bytes, Row::bytes);
            held.grow(bytes).map_err(DataError::limit(reader.place()))?;
            chunk.push(row);
        }
        if is_last || chunk.len() == CHUNK_ROWS || chunk_bytes >= CHUNK_BYTES {
            chunk_bytes = 0;
            let before = rows.len();
            rows.par_extend(chunk.par_drain(..).map(|row| {
                let row = row?;
                let graph = reading.graph_of(&row.smiles, &options.limits).and_then(|graph| {
                    columns.descriptors.join(graph, &row.descriptors).map_err(|error| (0, error))
                });
                match graph {
                    Ok(graph) => Ok((row, graph)),
                    Err((at, error)) => {
                        Err(bad_molecule(row.place, &columns.molecules, &row.smiles, at, &error))
                    }
                }
            }));
            let graphs = rows.get(before..).unwrap_or_default().iter().flatten();
            held.grow(graphs.map(|(_, graph)| graph.bytes()).sum())
                .map_err(DataError::limit(reader.place()))?;
        }
        if is_last {
            break;
        }
    }
    // From here on the collector counts what it takes over.
    drop(held);
    let mut collector = Collector::within(path, options, budget);
    collector.notes = notes;
    collector.edges = EdgeDirection::BothWays;
    collect(collector, columns, reading, rows)
}

/// How molecules are read.
///
/// # Errors
///
/// [`DataError::Schema`] if the schema's columns are not those of molecules.
pub(crate) fn reading(path: &Path, options: &ReadOptions) -> Result<MoleculeReading, DataError> {
    let refused = |reason: &str| DataError::Schema { place: Place::file(path), reason: reason.to_owned() };
    let reading = MoleculeReading::of(options).ok_or_else(|| {
        refused("the columns of graphs are not those of molecules, so SMILES cannot be read")
    })?;
    reading.contradiction().map_or(Ok(reading), |reason| Err(refused(reason)))
}

/// The place and SMILES string of every record, in order; `None` for a record that cannot be split into fields.
pub(crate) fn smiles(
    format: Format,
    path: &Path,
    options: &ReadOptions,
) -> Result<Vec<Option<(Place, String)>>, DataError> {
    let (reader, _) = open_table(format, path, options)?;
    strings(reader, options)
}

/// The same of a stream of lines.
pub(crate) fn smiles_of_lines(
    lines: Lines,
    path: &Path,
    options: &ReadOptions,
) -> Result<Vec<Option<(Place, String)>>, DataError> {
    strings(CsvReader::of_molecules(lines, path, options, &mut Vec::new())?, options)
}

fn strings(mut reader: CsvReader, options: &ReadOptions) -> Result<Vec<Option<(Place, String)>>, DataError> {
    // Of several molecules the first one counts.
    let options = &whole_names(&reader, options);
    let (column, name) = match Columns::find(&reader, options, &mut Vec::new())?.molecules.into_iter().next()
    {
        Some(MoleculeColumn { column, name }) => (column, name),
        None => return Ok(Vec::new()),
    };
    let mut held = Budget::new(&options.limits).share();
    let mut found = Vec::new();
    while let Some(record) = reader.advance()? {
        let bytes = reader.place().bytes() + reader.field(column).len() as u64;
        held.grow(bytes_of::<Option<(Place, String)>>(2) + bytes)
            .map_err(DataError::limit(reader.place()))?;
        let string = || (reader.place().in_column(&name), reader.field(column).to_owned());
        found.push(record.is_ok().then(string));
    }
    Ok(found)
}

fn collect(
    mut collector: Collector<'_>,
    columns: Columns,
    reading: MoleculeReading,
    rows: Vec<Result<(Row, Graph), BadRow>>,
) -> Result<Read, DataError> {
    let mut names: Vec<String> = columns.molecules.iter().map(|column| column.name.clone()).collect();
    collector.fixed_columns = Some(reading.columns_of(names.clone()));
    if names.len() > 1 {
        collector.notes.push(format!(
            "the molecules of {} are one graph for each row; the node column `role` tells them apart",
            quoted(&names)
        ));
    }
    let further = names.split_off(1.min(names.len()));
    let (column, descriptors) = (names.pop().unwrap_or_default(), columns.descriptors.names());
    let options = collector.options;
    let kept = kept_table(options).cloned().unwrap_or_default();
    let id_column = options.id_column.clone().or(kept.id_column);
    let split_column = options.split_column.clone().or(kept.split_column);
    let MoleculeReading { form, rules, .. } = reading;
    collector.molecules =
        Some(MoleculeTable { column, further, form, descriptors, id_column, split_column, rules });
    let known = || rows.iter().flatten().map(|(row, _)| row);
    let cells = |at: usize| known().filter_map(move |row| row.cells.get(at)).map(|text| &**text);
    let names = columns.targets.iter().map(|(_, name)| name);
    let how = (columns.explicit, known().next().is_some());
    let used = usable(names, how, cells, collector.options, &mut collector.notes);
    collector.name_target_columns(used.iter().map(|column| column.name.clone()).collect())?;
    for row in rows {
        let (row, graph) = match row {
            Ok(row) => row,
            Err(bad) => {
                collector.push(Err(bad))?;
                continue;
            }
        };
        let cells = used.iter().map(|column| (row.cells.get(column.cell).map_or("", |text| text), column));
        let columns = &mut collector.target_columns;
        let targets = match Items::of(collector.level, &graph) {
            Some(items) => {
                let cells = cells.map(|(text, column)| (text, column.name.as_str()));
                lists::targets(columns, cells, &items, &row.place).map(|targets| (targets, Vec::new()))
            }
            None => labels(cells, columns, &row.place)
                .map(|(values, bounds)| (Table { rows: usize::from(!values.is_empty()), values }, bounds)),
        };
        let record = match targets {
            Err(error) => Err(error.into_bad_row(row.place)?),
            Ok((targets, bounds)) => Ok(Record {
                place: row.place,
                id: row.id,
                num_nodes: graph.num_nodes(),
                edges: Vec::new(),
                nodes: Table::default(),
                edge_rows: Table::default(),
                targets,
                split: row.split,
                node_split: None,
                pairs: Vec::new(),
                graph: Some(graph),
                weight: row.weight,
                bounds,
            }),
        };
        collector.push(record)?;
    }
    collector.finish()
}
