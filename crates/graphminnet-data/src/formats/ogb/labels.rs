//! Labels of graphs or nodes, and the task that they are for.

use super::meta::Meta;
use super::table::{Label, Pieces, read_pieces};
use super::{Counts, missing};
use crate::budget::Share;
use crate::formats::{Tree, lines_of};
use crate::{DataError, Level, Place, ReadOptions, Task};

/// Reads `raw/graph-label.csv` or `raw/node-label.csv`.
pub(super) fn read_labels(
    tree: &dyn Tree,
    meta: &Meta,
    counts: &Counts,
    options: &ReadOptions,
    held: &mut Share,
) -> Result<(Level, Pieces<Label>), DataError> {
    let stated = meta.level(&tree.place("meta.json"))?;
    let one_each = vec![1; counts.nodes.len()];
    for (level, name, rows) in
        [(Level::Graph, "raw/graph-label.csv", &one_each), (Level::Node, "raw/node-label.csv", &counts.nodes)]
    {
        if stated.is_some_and(|stated| stated != level) {
            continue;
        }
        let Some(mut lines) = lines_of(tree, name, &options.limits)? else { continue };
        return Ok((level, read_pieces(&mut lines, rows, None, options.limits.features, held)?));
    }
    Err(missing(tree, "raw/graph-label.csv or raw/node-label.csv"))
}

/// The task that the values of labels suggest.
pub(super) fn infer_task(labels: &Pieces<Label>) -> Task {
    let values = || labels.pieces.iter().flatten().map(|label| label.0).filter(|value| !value.is_nan());
    let largest = values().fold(0.0f32, f32::max);
    if values().any(|value| value < 0.0 || value.fract() != 0.0) {
        Task::Regression
    } else if largest <= 1.0 {
        Task::Binary
    } else if labels.columns == 1 && largest < 1_000.0 {
        Task::MultiClass { classes: largest as usize + 1 }
    } else {
        Task::Regression
    }
}

/// Fails for a label that is outside the task's domain.
pub(super) fn check_labels(task: Task, labels: &Pieces<Label>, place: &Place) -> Result<(), DataError> {
    let classes = match task {
        Task::Regression => return Ok(()),
        Task::Binary => 2,
        Task::MultiClass { classes } => classes,
    };
    let mut row = 0u64;
    for values in labels.pieces.iter().flat_map(|piece| piece.chunks_exact(labels.columns.max(1))) {
        row += 1;
        for Label(value) in values {
            let is_class = *value >= 0.0 && value.fract() == 0.0 && (*value as usize) < classes;
            if !value.is_nan() && !is_class {
                let expected = format!("a class from 0 to {}, or blank", classes.saturating_sub(1));
                return Err(DataError::value(place.clone().at_line(row), value.to_string(), expected));
            }
        }
    }
    Ok(())
}
