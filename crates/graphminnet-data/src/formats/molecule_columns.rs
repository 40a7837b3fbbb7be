//! Which columns of a table hold the molecules.

use super::csv::CsvReader;
use crate::smiles::SmilesError;
use crate::{BadRow, DataError, Place, ReadOptions};

/// Position of a column that was asked for by name; its case does not matter.
pub(super) fn named_column(reader: &CsvReader, name: Option<&String>) -> Result<Option<usize>, DataError> {
    let Some(name) = name else { return Ok(None) };
    let column = reader.column(name).or_else(|| reader.column_called(&[name]));
    column.map(Some).ok_or_else(|| {
        DataError::malformed(
            reader.place(),
            format!("the columns {}", reader.header().join(", ")),
            format!("a column called `{}`", crate::escape(name)),
        )
    })
}

/// Position of the SMILES column: the one named in the options or the schema, or called `smiles`, or the first.
pub(super) fn smiles_column(reader: &CsvReader, options: &ReadOptions) -> Result<usize, DataError> {
    let known = options.schema.as_ref().and_then(|schema| schema.molecules.as_ref());
    // Without a header a column cannot have the name that the schema knows it by.
    let known = known.map(|table| &table.column).filter(|_| reader.molecule_column().is_none());
    let named =
        named_column(reader, options.smiles_column.as_ref().or(known)).map_err(|error| match error {
            // Whoever trained the model may have called it otherwise.
            DataError::Malformed { place, found, expected } if options.smiles_column.is_none() => {
                let expected =
                    format!("{expected} (`--smiles-column NAME` names the one with the molecules)");
                DataError::malformed(place, found, expected)
            }
            error => error,
        })?;
    Ok(named.or(reader.molecule_column()).or_else(|| reader.column_called(&["smiles"])).unwrap_or(0))
}

/// A column of molecules.
pub(super) struct MoleculeColumn {
    /// Position in the file.
    pub(super) column: usize,
    pub(super) name: String,
}

/// The columns of molecules: that of [`smiles_column`], and further ones that the options name or the schema knows.
pub(super) fn molecule_columns(
    reader: &CsvReader,
    options: &ReadOptions,
) -> Result<Vec<MoleculeColumn>, DataError> {
    let name = |column: usize| reader.header().get(column).cloned().unwrap_or_default();
    let first = smiles_column(reader, options)?;
    let mut found = vec![MoleculeColumn { column: first, name: name(first) }];
    let known = options.schema.as_ref().map(|schema| schema.molecules.clone().unwrap_or_default());
    let further = match &known {
        Some(table) if options.smiles_column.is_none() => &table.further,
        _ => &options.further_smiles,
    };
    if let Some(table) = known.as_ref().filter(|table| table.further.len() != further.len()) {
        let names: Vec<&str> =
            std::iter::once(&table.column).chain(&table.further).map(String::as_str).collect();
        let reason = format!(
            "the molecules of {} columns are read together ({}), and {} are named",
            names.len(),
            crate::escape(&names.join(", ")),
            further.len() + 1
        );
        return Err(DataError::Schema { place: reader.place(), reason });
    }
    for asked in further {
        let Some(column) = named_column(reader, Some(asked))? else { continue };
        if found.iter().any(|other| other.column == column) {
            let twice = format!("the column `{}` of molecules named twice", crate::escape(asked));
            return Err(DataError::malformed(reader.place(), twice, "every column once"));
        }
        found.push(MoleculeColumn { column, name: name(column) });
    }
    Ok(found)
}

/// A row whose molecule in one of its columns cannot be read.
pub(super) fn bad_molecule(
    place: Place,
    columns: &[MoleculeColumn],
    smiles: &[String],
    at: usize,
    error: &SmilesError,
) -> BadRow {
    let name = columns.get(at).map_or("smiles", |column| &column.name);
    BadRow::new(place.in_column(name), smiles.get(at).map_or("", |text| text), error.to_string())
}
