//! Cells of a table of molecules that hold a value for every atom or every bond, such as `[0.1, -0.3, 0.2]`.
//!
//! The order is that of the atoms in the SMILES string, or that of the bonds of the graph ([`Items::bonds`]). Brackets may be left out, and values are separated by commas,
//! semicolons or blanks. A value that is not known is one of the words for that (`nan`, `none`, …), or nothing between two commas.

use crate::graph::Graph;
use crate::schema::{ColumnSet, Table};
use crate::{DataError, Level, Place};

/// What a list has a value for.
pub(super) struct Items {
    name: &'static str,
    count: usize,
}

impl Items {
    /// What the lists of a level speak of; `None` at a level without lists.
    pub(super) fn of(level: Level, graph: &Graph) -> Option<Self> {
        match level {
            Level::Node => Some(Self { name: "atoms", count: graph.num_nodes() }),
            Level::Edge => Some(Self::bonds(graph)),
            Level::Graph | Level::Pair => None,
        }
    }

    /// The bonds as they are written one after the other, and after them those that close rings, by the number of the
    /// ring; each has two edges.
    fn bonds(graph: &Graph) -> Self {
        Self { name: "bonds", count: graph.written_edges(true).len() }
    }
}

/// The values of a list.
pub(super) fn items(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let inner = [('[', ']'), ('(', ')')]
        .into_iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))
        .unwrap_or(text);
    let (quotes, marks) = (['"', '\''], [',', ';']);
    let inner = inner.trim();
    // As in Python, a list may end with a comma.
    let inner = inner.strip_suffix(marks).unwrap_or(inner);
    let has_marks = inner.contains(marks);
    inner
        .split(move |letter: char| if has_marks { marks.contains(&letter) } else { letter.is_whitespace() })
        .map(move |item| item.trim().trim_matches(quotes))
        .filter(move |item| has_marks || !item.is_empty())
}

/// The targets of a molecule's atoms or bonds, from one list for each target column. An empty cell says nothing of any
/// of them.
///
/// # Errors
///
/// [`DataError::Value`] for a list of another length, or with a value that is no label.
pub(super) fn targets<'a>(
    columns: &mut ColumnSet,
    cells: impl ExactSizeIterator<Item = (&'a str, &'a str)>,
    of: &Items,
    place: &Place,
) -> Result<Table, DataError> {
    let width = cells.len();
    let mut values = vec![f64::NAN; of.count * width];
    for (column, (text, name)) in cells.enumerate() {
        let found = items(text).count();
        if found != of.count && found > 0 {
            let Items { name: items, count } = of;
            let expected = format!(
                "a list with a value for each of the {count} {items}, as in [0.1, 0.3]; it has {found}"
            );
            return Err(DataError::value(place.clone().in_column(name), text, expected));
        }
        for (item, row) in items(text).zip(values.chunks_exact_mut(width)) {
            if let Some(value) = row.get_mut(column) {
                *value = columns.label(column, item, place)?;
            }
        }
    }
    Ok(Table { rows: if width > 0 { of.count } else { 0 }, values })
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
        assert_eq!(
            items("[1,,2; ]").collect::<Vec<_>>(),
            ["1", "", "2"],
            "what is left blank keeps its place"
        );
        for text in ["", "[]", " ", "[ ]"] {
            assert_eq!(items(text).count(), 0, "{text}");
        }
    }
}
