//! Predictions on their way to a table: as text, or as Parquet.

use super::rows::Tally;
use crate::failure::Failure;
use crate::ui::output::Output;
use graphminnet::bundle::{Answers, Description, Ensemble, PredictionTable, Shift};
use graphminnet_data::formats::csv::{CsvWriter, fields_of};
use graphminnet_data::formats::parquet::{ParquetColumn, ParquetKind, ParquetWriter};
use graphminnet_data::formats::{NodeNames, node_text};
use graphminnet_data::{InputRow, Level, RowReader};
use std::io;

/// Writes a row, or a row per node, edge or pair, for every row of the input.
pub struct PredictionWriter<'a> {
    table: PredictionTable<'a>,
    out: Sink,
    /// Whether rows begin with those of the input.
    keeps_input: bool,
    about: &'a Description,
    /// What the data calls its nodes, where they have names.
    names: Option<&'a NodeNames>,
    /// Columns of the answer.
    columns: usize,
    tally: Tally,
    /// How far the answers are from those of the calibration.
    pub shift: Option<Shift<'a>>,
}

impl<'a> PredictionWriter<'a> {
    /// Begins a table; as CSV, with its header or without.
    pub fn begin(
        reader: &RowReader,
        ensemble: &'a Ensemble,
        table: PredictionTable<'a>,
        names: Option<&'a NodeNames>,
        out: Output,
        is_parquet: bool,
        has_header: bool,
    ) -> Result<Self, Failure> {
        let about = ensemble.description();
        let place = about.schema.level.place_columns();
        let columns = table.columns();
        let own = columns.iter().map(String::as_str).chain(["reason"]).chain(place.iter().copied());
        if let Some(taken) = own.into_iter().find(|name| reader.columns().iter().any(|column| column == name))
        {
            return Err(Failure::usage(format!(
                "the input already has a column `{taken}`, which predictions need; rename it"
            )));
        }
        let keeps_input = reader.header().is_some();
        let out = if is_parquet {
            let text = |name: &String| (name.clone(), ParquetKind::Text);
            let mut kinds: Vec<(String, ParquetKind)> = reader.columns().iter().map(text).collect();
            kinds.extend((!keeps_input).then(|| text(&"id".to_owned())));
            let of_place = if names.is_some() { ParquetKind::Text } else { ParquetKind::Integer };
            kinds.extend(place.iter().map(|name| ((*name).to_owned(), of_place)));
            let kind = |is_number| if is_number { ParquetKind::Number } else { ParquetKind::Text };
            kinds.extend(columns.iter().cloned().zip(table.are_numbers().into_iter().map(kind)));
            kinds.push(text(&"reason".to_owned()));
            Sink::Parquet(Group::new(out, kinds)?)
        } else {
            let mut out = CsvWriter::new(out);
            if has_header {
                out.written(reader.header().unwrap_or(b"id"))?;
                let own = place.iter().copied().chain(columns.iter().map(String::as_str));
                out.row(own.chain(["reason"]))?;
            }
            Sink::Csv(out)
        };
        let columns = columns.len() + place.len();
        let written = (about.schema.level != Level::Graph).then_some(0);
        let tally = Tally { written, ..Tally::default() };
        Ok(Self { table, out, keeps_input, about, names, columns, tally, shift: None })
    }

    /// Writes what is said about some rows.
    pub fn write(&mut self, rows: &[InputRow], answers: &Answers) -> Result<(), Failure> {
        for (row, answer) in rows.iter().zip(answers.iter()) {
            self.tally.rows += 1;
            match answer {
                Err(reason) => {
                    self.tally.bad += 1;
                    let blank = std::iter::repeat_n(String::new(), self.columns);
                    self.row(row, blank.chain([reason.to_string()]))?;
                }
                Ok(answer) => {
                    let places =
                        row.graph.as_ref().map_or_else(|_| Vec::new(), |graph| self.about.places(graph));
                    for (said, place) in answer.rows().zip(places) {
                        let Some(place) = place else { continue };
                        if let Some(shift) = &mut self.shift {
                            shift.look(&said);
                        }
                        let names = self.names;
                        let place = place.iter().map(|node| node_text(names, &row.id, *node));
                        let cells = place.chain(self.table.cells(&said)).chain([String::new()]);
                        self.row(row, cells)?;
                    }
                }
            }
        }
        match &mut self.out {
            Sink::Csv(_) => Ok(()),
            Sink::Parquet(group) => Ok(group.write()?),
        }
    }

    /// A row begins with that of the input, or with the name of the graph.
    fn row(&mut self, input: &InputRow, cells: impl Iterator<Item = String>) -> io::Result<()> {
        self.tally.written.iter_mut().for_each(|written| *written += 1);
        match &mut self.out {
            Sink::Csv(out) => {
                if self.keeps_input { out.written(&input.text) } else { out.field(&input.id) }?;
                out.row(cells)
            }
            Sink::Parquet(group) => {
                let before = if self.keeps_input { fields_of(&input.text) } else { vec![input.id.clone()] };
                group
                    .cells
                    .iter_mut()
                    .zip(before.into_iter().chain(cells))
                    .for_each(|(column, cell)| column.push(cell));
                Ok(())
            }
        }
    }

    /// Rows of the table so far, where a row of the input has several or none; `None` where it has one.
    pub fn written(&self) -> Option<usize> {
        self.tally.written
    }

    /// Makes the table appear.
    pub fn finish(self) -> Result<Tally, Failure> {
        match self.out {
            Sink::Csv(out) => out.into_inner().finish()?,
            Sink::Parquet(group) => group.out.finish()?.finish()?,
        }
        Ok(self.tally)
    }
}

enum Sink {
    Csv(CsvWriter<Output>),
    Parquet(Group),
}

/// Rows that become a row group together.
struct Group {
    out: ParquetWriter<Output>,
    kinds: Vec<ParquetKind>,
    /// The cells of each column.
    cells: Vec<Vec<String>>,
}

impl Group {
    fn new(out: Output, columns: Vec<(String, ParquetKind)>) -> io::Result<Self> {
        let kinds: Vec<ParquetKind> = columns.iter().map(|(_, kind)| *kind).collect();
        let cells = vec![Vec::new(); kinds.len()];
        Ok(Self { out: ParquetWriter::new(out, &columns)?, kinds, cells })
    }

    fn write(&mut self) -> io::Result<()> {
        let columns: Vec<ParquetColumn<'_>> = self
            .cells
            .iter()
            .zip(&self.kinds)
            .map(|(cells, kind)| match kind {
                ParquetKind::Text => ParquetColumn::Text(cells.iter().map(String::as_str).collect()),
                // A blank cell is a number that is missing.
                ParquetKind::Integer => {
                    ParquetColumn::Integers(cells.iter().map(|cell| cell.parse().ok()).collect())
                }
                _ => ParquetColumn::Numbers(cells.iter().map(|cell| cell.parse().ok()).collect()),
            })
            .collect();
        self.out.write(&columns)?;
        self.cells.iter_mut().for_each(Vec::clear);
        Ok(())
    }
}
