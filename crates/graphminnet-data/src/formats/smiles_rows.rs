//! Molecules of a CSV table, some rows at a time: nothing but the SMILES column and the descriptors are looked at.

use super::Format;
use super::csv::CsvReader;
use super::descriptor_columns::DescriptorColumns;
use super::smiles_csv::CHUNK_BYTES;
use crate::formats::Lines;
use crate::rows::{InputRow, PIECE_BYTES};
use crate::smiles::MoleculeReading;
use crate::{BadRow, DataError, ReadOptions};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// A CSV table on its way to graphs.
pub(crate) struct SmilesRows {
    reader: CsvReader,
    header: Vec<u8>,
    smiles: usize,
    smiles_name: String,
    descriptors: DescriptorColumns,
    reading: MoleculeReading,
    notes: Vec<String>,
    options: ReadOptions,
}

impl SmilesRows {
    /// Reads the header.
    pub(crate) fn new(lines: Lines, path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let mut notes = Vec::new();
        let reader = CsvReader::of_molecules(lines, path, options, &mut notes)?;
        Self::of(reader, notes, path, options)
    }

    /// Opens a file.
    pub(crate) fn open(format: Format, path: &Path, options: &ReadOptions) -> Result<Self, DataError> {
        let (reader, notes) = super::smiles_csv::open_table(format, path, options)?;
        Self::of(reader, notes, path, options)
    }

    fn of(
        reader: CsvReader,
        notes: Vec<String>,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let reading = super::smiles_csv::reading(path, options)?;
        let smiles = super::smiles_csv::smiles_column(&reader, options)?;
        let smiles_name = reader.header().get(smiles).cloned().unwrap_or_default();
        let descriptors = DescriptorColumns::find(&reader, options)?;
        let header = reader.written_header();
        Ok(Self {
            reader,
            header,
            smiles,
            smiles_name,
            descriptors,
            reading,
            notes,
            options: options.clone(),
        })
    }

    /// What was found out about the table.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The header as it is written.
    pub(crate) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Names of the columns.
    pub(crate) fn columns(&self) -> &[String] {
        self.reader.header()
    }

    /// Name of the column with the molecules.
    pub(crate) fn smiles_column(&self) -> &str {
        &self.smiles_name
    }

    /// Records before the shard that is read.
    pub(crate) fn records_before(&self) -> usize {
        self.reader.records_before()
    }

    /// The next rows, at most so many; none at the end.
    pub(crate) fn next(&mut self, count: usize) -> Result<Vec<InputRow>, DataError> {
        let (mut records, mut bytes, mut smiles_bytes) = (Vec::new(), 0, 0);
        // Long rows come a few at a time.
        while records.len() < count && bytes < PIECE_BYTES && smiles_bytes < CHUNK_BYTES {
            let Some(record) = self.reader.advance()? else { break };
            let place = self.reader.place();
            let values = record.and_then(|()| self.descriptors.values(&self.reader, &place));
            let smiles = match values {
                Ok(values) => Ok((self.reader.field(self.smiles).to_owned(), values, place)),
                Err(error) => Err(error.into_bad_row(place)?),
            };
            let record = self.reader.record();
            bytes += 2 * record.len();
            smiles_bytes += smiles.as_ref().map_or(0, |(smiles, ..)| smiles.len());
            records.push((record, smiles));
        }
        let (reading, limits) = (self.reading, &self.options.limits);
        let graph = |(smiles, values, place): (String, Vec<f32>, crate::Place)| {
            let graph = reading.graph(&smiles, limits);
            graph
                .and_then(|graph| self.descriptors.join(graph, &values))
                .map(Arc::new)
                .map_err(|error| BadRow::new(place.in_column(&self.smiles_name), &smiles, error.to_string()))
        };
        Ok(records
            .into_par_iter()
            .map(|(text, smiles)| InputRow { text, id: String::new(), graph: smiles.and_then(graph) })
            .collect())
    }
}
