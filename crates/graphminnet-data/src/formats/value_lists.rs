//! Cells of a table of molecules that hold a value for every atom, such as `[0.1, -0.3, 0.2]`.
//!
//! The order is that of the atoms in the SMILES string. Brackets may be left out, and values are separated by commas,
//! semicolons or blanks. A value that is not known is one of the words for that (`nan`, `none`, …).

use crate::schema::{ColumnSet, Table};
use crate::{DataError, Place};

/// The values of a list.
pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let inner = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))
        .unwrap_or(text);
    let quotes = ['"', '\''];
    inner
        .split(|letter: char| letter == ',' || letter == ';' || letter.is_whitespace())
        .map(move |item| item.trim_matches(quotes))
        .filter(|item| !item.is_empty())
}

/// The targets of a molecule's atoms, from one list for each target column. An empty cell says nothing of any atom.
///
/// # Errors
///
/// [`DataError::Value`] for a list of another length, or with a value that is no label.
pub(super) fn targets<'a>(
    columns: &mut ColumnSet,
    cells: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    atoms: usize,
    place: &Place,
) -> Result<Table, DataError> {
    let width = cells.len();
    let mut values = vec![f64::NAN; atoms * width];
    for (column, (text, name)) in cells.enumerate() {
        let found = items(text).count();
        if found != atoms && found > 0 {
            let expected = format!(
                "a list with a value for each of the {atoms} atoms, as in [0.1, 0.3]; it has {found}"
            );
            return Err(DataError::value(place.clone().in_column(name), text, expected));
        }
        for (item, row) in items(text).zip(values.chunks_exact_mut(width)) {
            if let Some(value) = row.get_mut(column) {
                *value = columns.label(column, item, place)?;
            }
        }
    }
    Ok(Table { rows: if width > 0 { atoms } else { 0 }, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_however_they_are_written() {
        let expected = ["1", "-0.5", "nan"];
        for text in
            ["[1, -0.5, nan]", "1;-0.5;nan", "(1 -0.5 nan)", " [ 1 , -0.5,nan ] ", "['1', \"-0.5\", nan]"]
        {
            assert_eq!(items(text).collect::<Vec<_>>(), expected, "{text}");
        }
        for text in ["", "[]", " ", "[ ]"] {
            assert_eq!(items(text).count(), 0, "{text}");
        }
    }
}
