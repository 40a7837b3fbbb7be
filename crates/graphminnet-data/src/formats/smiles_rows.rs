//! Molecules of a CSV table, some rows at a time: nothing but the SMILES column and the descriptors are looked at.

use super::Format;
use super::csv::CsvReader;
use super::descriptor_columns::DescriptorColumns;
use super::molecule_columns::{MoleculeColumn, bad_molecule, molecule_columns};
use super::smiles_csv::CHUNK_BYTES;
use crate::formats::Lines;
use crate::rows::{InputRow, PIECE_BYTES};
use crate::smiles::MoleculeReading;
use crate::{DataError, ReadOptions};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

/// A CSV table on its way to graphs.
pub(crate) struct SmilesRows {
    reader: CsvReader,
    header: Vec<u8>,
    molecules: Vec<MoleculeColumn>,
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
        let molecules = molecule_columns(&reader, options)?;
        let descriptors = DescriptorColumns::find(&reader, options)?;
        let header = reader.written_header();
        Ok(Self { reader, header, molecules, descriptors, reading, notes, options: options.clone() })
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

    /// Name of the first column with molecules.
    pub(crate) fn smiles_column(&self) -> &str {
        self.molecules.first().map_or("", |found| &found.name)
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
                Ok(values) => {
                    let field = |found: &MoleculeColumn| self.reader.field(found.column).to_owned();
                    Ok((self.molecules.iter().map(field).collect::<Vec<String>>(), values, place))
                }
                Err(error) => Err(error.into_bad_row(place)?),
            };
            let record = self.reader.record();
            bytes += 2 * record.len();
            smiles_bytes += smiles.as_ref().map_or(0, |(smiles, ..)| smiles.iter().map(String::len).sum());
            records.push((record, smiles));
        }
        let (reading, limits) = (self.reading, &self.options.limits);
        let graph = |(smiles, values, place): (Vec<String>, Vec<f32>, crate::Place)| {
            let graph = reading.graph_of(&smiles, limits);
            graph
                .and_then(|graph| self.descriptors.join(graph, &values).map_err(|error| (0, error)))
                .map(Arc::new)
                .map_err(|(at, error)| bad_molecule(place, &self.molecules, &smiles, at, &error))
        };
        Ok(records
            .into_par_iter()
            .map(|(text, smiles)| InputRow { text, id: String::new(), graph: smiles.and_then(graph) })
            .collect())
    }
}
