//! Columns of a table of molecules whose numbers join the graphs.

use super::csv::CsvReader;
use super::molecule_columns::named_column;
use crate::graph::{Features, Graph};
use crate::smiles::SmilesError;
use crate::{DataError, Place, ReadOptions};

/// Which columns, by name and position in the file.
#[derive(Debug, Clone, Default)]
pub(super) struct DescriptorColumns {
    columns: Vec<(String, usize)>,
}

impl DescriptorColumns {
    /// The columns that the options name, or that the schema knows.
    ///
    /// # Errors
    ///
    /// [`DataError::Malformed`] for a column that the file does not have or that is named twice.
    pub(super) fn find(reader: &CsvReader, options: &ReadOptions) -> Result<Self, DataError> {
        let known = options.schema.as_ref().map(|schema| schema.molecules.as_ref());
        let wanted = match known {
            Some(table) => table.map_or(&[][..], |table| &table.descriptors),
            None => &options.descriptors,
        };
        let mut columns: Vec<(String, usize)> = Vec::with_capacity(wanted.len());
        for name in wanted {
            let Some(column) = named_column(reader, Some(name))? else { continue };
            if columns.iter().any(|(_, other)| *other == column) {
                let found = format!("the descriptor `{}` named twice", crate::escape(name));
                return Err(DataError::malformed(reader.place(), found, "every column once"));
            }
            columns.push((name.clone(), column));
        }
        Ok(Self { columns })
    }

    /// Their names.
    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Whether a column of the file is one of them.
    pub(super) fn holds(&self, column: usize) -> bool {
        self.columns.iter().any(|(_, own)| *own == column)
    }

    /// The numbers of the reader's row.
    ///
    /// # Errors
    ///
    /// [`DataError::Value`] for a cell that holds no finite number: a model has no answer without it.
    pub(super) fn values(&self, reader: &CsvReader, place: &Place) -> Result<Vec<f32>, DataError> {
        let value = |(name, column): &(String, usize)| {
            let text = reader.number_field(*column);
            let number = text.trim().parse::<f32>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| {
                DataError::value(place.clone().in_column(name), &text, "a finite number (a descriptor)")
            })
        };
        self.columns.iter().map(value).collect()
    }

    /// A graph with these numbers after those that it has.
    pub(super) fn join(&self, graph: Graph, values: &[f32]) -> Result<Graph, SmilesError> {
        if values.is_empty() {
            return Ok(graph);
        }
        let mut numbers = graph.graph_features().number_values().to_vec();
        numbers.extend_from_slice(values);
        let features = Features::numbers(1, numbers.len(), numbers);
        features
            .and_then(|features| graph.with_graph_features(features))
            .map_err(|error| SmilesError::Unsupported(error.to_string()))
    }
}
