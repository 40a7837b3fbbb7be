//! Targets in fields that were asked for by name.

use crate::formats::jsonl::values::{Cell, Rows, Target};
use crate::{DataError, Level, Place};

/// Named fields side by side: a value of each for the graph, or lists of one for each node (edge, pair).
pub(super) fn joined(
    names: &[String],
    mut named: Vec<(String, Target)>,
    num_nodes: usize,
    asked: Option<Level>,
    place: &Place,
) -> Result<(Level, Option<Rows>), DataError> {
    let is_value = |target: &Target| matches!(target, Target::Flat(cells) if cells.len() == 1);
    let level = match asked {
        Some(level) => level,
        None if named.iter().all(|(_, target)| is_value(target)) => Level::Graph,
        None => Level::Node,
    };
    // What is not known is `null`, whatever it would be a list of.
    named.retain(|(_, target)| !matches!(target, Target::Flat(cells) if cells.as_slice() == [Cell::Null]));
    let mut tables = Vec::with_capacity(named.len());
    for (field, target) in named {
        let rows = target.into_rows();
        let fits = match level {
            Level::Graph => rows.rows == 1,
            Level::Node => rows.rows == num_nodes,
            // Others are counted when the graph is built.
            Level::Edge | Level::Pair => true,
        };
        if !fits || (rows.columns != 1 && rows.rows > 0) {
            return Err(DataError::malformed(
                place.clone().in_column(field),
                format!("{} values", rows.cells.len()),
                format!(
                    "one value, or one for each of the {num_nodes} nodes (`--level` says which): a field that is asked for by \
                     name is one target"
                ),
            ));
        }
        tables.push((field, rows));
    }
    let rows = tables.iter().map(|(_, table)| table.rows).max().unwrap_or(0);
    if let Some((field, table)) = tables.iter().find(|(_, table)| table.rows != rows) {
        let expected = format!("{rows}, as many as of the other targets");
        let place = place.clone().in_column(field);
        return Err(DataError::malformed(place, format!("{} values", table.rows), expected));
    }
    if rows == 0 {
        return Ok((level, None));
    }
    let mut cells = vec![Cell::Null; rows * names.len()];
    for (field, table) in tables {
        let column = names.iter().position(|name| *name == field).unwrap_or(0);
        for (row, cell) in cells.chunks_exact_mut(names.len()).zip(table.cells) {
            if let Some(slot) = row.get_mut(column) {
                *slot = cell;
            }
        }
    }
    Ok((level, Some(Rows { rows, columns: names.len(), cells })))
}
