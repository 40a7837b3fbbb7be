//! Labels of graphs or nodes, and the task that they are for.

use super::meta::Meta;
use super::table::{Label, Pieces, fields, read_cells, read_pieces, text};
use super::{AS_OTHERS, missing};
use crate::budget::Share;
use crate::formats::{Lines, Tree, lines_of};
use crate::schema::{Collector, Table};
use crate::{DataError, Level, Place, ReadOptions, Task};

/// The file of the labels and what they belong to.
pub(super) struct LabelFile {
    pub(super) level: Level,
    /// Where they are; of no labels, where the graphs are counted.
    pub(super) place: Place,
    /// `None` where nobody needs labels.
    lines: Option<Lines>,
}

impl LabelFile {
    /// Finds `raw/graph-label.csv` or `raw/node-label.csv`.
    pub(super) fn find(tree: &dyn Tree, meta: &Meta, options: &ReadOptions) -> Result<Self, DataError> {
        let counts = options.schema.is_some() || options.rules >= AS_OTHERS;
        let asked = options.asked_level().filter(|_| counts);
        let level = asked.or(meta.level(&tree.place("meta.json"))?);
        if options.ignore_targets {
            let level = level.unwrap_or(Level::Graph);
            return Ok(Self { level, place: tree.place("raw/num-node-list.csv"), lines: None });
        }
        let files = [(Level::Graph, "raw/graph-label.csv"), (Level::Node, "raw/node-label.csv")];
        for (of, name) in files.into_iter().filter(|(of, _)| level.is_none_or(|level| level == *of)) {
            if let Some(lines) = lines_of(tree, name, &options.limits)? {
                return Ok(Self { level: of, place: lines.place(), lines: Some(lines) });
            }
        }
        match level {
            Some(Level::Graph) => Err(missing(tree, "raw/graph-label.csv")),
            Some(Level::Node) => Err(missing(tree, "raw/node-label.csv")),
            None => Err(DataError::Missing {
                path: tree.root().to_path_buf(),
                what: "raw/graph-label.csv or raw/node-label.csv".to_owned(),
                expected: "the labels of graphs or of nodes (with .gz or .zst behind their names or not); predicting needs none"
                    .to_owned(),
            }),
            Some(level) => {
                let reason = format!(
                    "no targets of {level}s: this layout has labels of graphs (raw/graph-label.csv) or of nodes \
                     (raw/node-label.csv), and pairs to ask about in split/<scheme>/{{valid,test}}.pt alone. `graphminnet data \
                     convert` writes JSON Lines, to which targets of {level}s can be added"
                );
                Err(DataError::Schema { place: Place::file(tree.root()), reason })
            }
        }
    }

    /// The labels as numbers, for a task that is stated.
    pub(super) fn read(
        self,
        rows: &[usize],
        options: &ReadOptions,
        held: &mut Share,
    ) -> Result<Pieces<Label>, DataError> {
        match self.lines {
            Some(mut lines) => read_pieces(&mut lines, rows, None, options.limits.features, held),
            None => Ok(Pieces { columns: 0, pieces: rows.iter().map(|_| Vec::new()).collect() }),
        }
    }

    /// The labels as cells of target columns, which are judged as those of any other format; no cells where nobody needs them.
    pub(super) fn collect(
        self,
        rows: &[usize],
        collector: &mut Collector<'_>,
        held: &mut Share,
    ) -> Result<Vec<Table>, DataError> {
        let Some(mut lines) = self.lines else { return Ok(rows.iter().map(|_| Table::default()).collect()) };
        let options = collector.options;
        let known = options.schema.as_ref().map(|schema| schema.targets.as_slice());
        let width = known.map(<[String]>::len);
        let pieces =
            read_cells(&mut lines, rows, width, options.limits.features, held, |lines, field, column| {
                if collector.target_columns.len() == 0 {
                    let names = known.map_or_else(|| names(fields(lines)), <[String]>::to_vec);
                    collector.name_target_columns(names)?;
                }
                collector.target_columns.label(column, text(lines, field)?, &lines.place())
            })?;
        Ok(pieces.pieces.into_iter().zip(rows).map(|(values, &rows)| Table { rows, values }).collect())
    }
}

/// Names of target columns, which have none in these tables.
pub(super) fn names(columns: usize) -> Vec<String> {
    match columns {
        1 => vec!["target".to_owned()],
        several => (0..several).map(|column| format!("target_{column}")).collect(),
    }
}

/// The task that the values of labels suggest by the rules of earlier versions.
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
