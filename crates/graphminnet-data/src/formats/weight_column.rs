//! The column that says how much a row counts in training.

use super::csv::CsvReader;
use super::molecule_columns::named_column;
use crate::{DataError, Place, ReadOptions};

/// Its name and position in the file.
#[derive(Debug, Clone)]
pub(super) struct WeightColumn {
    name: String,
    column: usize,
}

impl WeightColumn {
    /// The column that the options name; a schema is of data to predict on, where nothing is weighed.
    ///
    /// # Errors
    ///
    /// [`DataError::Malformed`] for a column that the file does not have, or that is among the `taken` ones or the targets.
    pub(super) fn find(
        reader: &CsvReader,
        options: &ReadOptions,
        taken: &[Option<usize>],
    ) -> Result<Option<Self>, DataError> {
        let asked = options.weight_column.as_ref().filter(|_| options.schema.is_none());
        let Some(column) = named_column(reader, asked)? else { return Ok(None) };
        let name = reader.header().get(column).cloned().unwrap_or_default();
        let is_same = |other: &String| other.eq_ignore_ascii_case(&name);
        let others = options.targets.iter().flatten().chain(&options.descriptors);
        if taken.contains(&Some(column)) || others.into_iter().any(is_same) {
            let found = format!("`{}` as the weights and as something else", crate::escape(&name));
            return Err(DataError::malformed(reader.place(), found, "a column of its own for the weights"));
        }
        Ok(Some(Self { name, column }))
    }

    /// Whether a column of the file is this one.
    pub(super) fn is(&self, column: usize) -> bool {
        self.column == column
    }

    /// The weight of the reader's row.
    ///
    /// # Errors
    ///
    /// As [`weight`].
    pub(super) fn value(&self, reader: &CsvReader, place: &Place) -> Result<f32, DataError> {
        let text = reader.number_field(self.column);
        let text = text.trim();
        weight(text.parse().ok(), text, &self.name, place)
    }
}

/// A weight as it was read.
///
/// # Errors
///
/// [`DataError::Value`] for anything but a finite number from 0 on: nobody knows how much such a row counts.
pub(super) fn weight(number: Option<f64>, text: &str, column: &str, place: &Place) -> Result<f32, DataError> {
    // A negative zero is a zero.
    let weight = number.map(|number| number as f32 + 0.0);
    weight.filter(|weight| weight.is_finite() && *weight >= 0.0).ok_or_else(|| {
        DataError::value(place.clone().in_column(column), text, "a finite number from 0 on (a weight)")
    })
}
