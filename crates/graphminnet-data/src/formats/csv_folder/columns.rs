//! What the columns of the tables are for, by their names: targets as they are asked for, features, or nothing.

use crate::formats::csv::CsvReader;
use crate::schema::{Collector, Table};
use crate::text::quoted_some;
use crate::{Column, DataError, Place, ReadOptions};

/// The first version of the rules under which targets have the order in which they are asked for, and columns with the name of a
/// target that nobody asks for are no features.
const AS_ASKED: u32 = 6;

/// The columns of a table that hold targets, with their names; a model has a place also for one that the table lacks.
pub(super) struct TargetColumns(Vec<(Option<usize>, String)>);

impl TargetColumns {
    /// Puts those that were found in the order in which they are asked for.
    pub(super) fn new(found: Vec<(usize, String)>, options: &ReadOptions) -> Self {
        let has_schema = options.schema.is_some();
        let wanted = options.asked_targets().filter(|_| has_schema || options.rules >= AS_ASKED);
        let place = |name: &String| found.iter().find(|(_, found)| found == name).map(|(column, _)| *column);
        Self(match wanted {
            Some(wanted) if !found.is_empty() => {
                let all = wanted.iter().map(|name| (place(name), name.clone()));
                // Without a model it may be that of another table.
                all.filter(|(column, _)| has_schema || column.is_some()).collect()
            }
            _ => found.into_iter().map(|(column, name)| (Some(column), name)).collect(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.iter().map(|(_, name)| name.clone()).collect()
    }

    /// Adds the labels of the current row.
    pub(super) fn take_row(
        &self,
        table: &CsvReader,
        collector: &mut Collector<'_>,
        place: &Place,
        into: &mut Table,
    ) -> Result<(), DataError> {
        for (position, (column, _)) in self.0.iter().enumerate() {
            into.values.push(match column {
                Some(column) => {
                    collector.target_columns.label(position, &table.number_field(*column), place)?
                }
                None => f64::NAN,
            });
        }
        into.rows += usize::from(!self.is_empty());
        Ok(())
    }
}

/// Whether a column of nodes or edges holds targets by its name.
pub(super) fn is_target_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower == "target" || lower == "label" || lower.starts_with("target_")
}

/// Whether a column is a feature whatever its name looks like: a model knows it as one, or the options say so.
pub(super) fn is_feature(name: &str, known: &[Column], options: &ReadOptions) -> bool {
    known.iter().any(|column| column.name == name)
        || options.text.iter().chain(&options.numeric).any(|asked| asked == name)
}

/// Whether a column that is not asked for as a target is none of the features either: it has the name of a target.
pub(super) fn is_unused(name: &str, known: &[Column], options: &ReadOptions) -> bool {
    options.rules >= AS_ASKED && is_target_name(name) && !is_feature(name, known, options)
}

/// Says which columns are not used.
pub(super) fn note_unused(unused: &[String], table: &str, collector: &mut Collector<'_>) {
    if !unused.is_empty() {
        collector.notes.push(format!(
            "not used, because nobody asked for these targets of {table}: {} (`--numeric` or `--text` makes a column a feature)",
            quoted_some(unused)
        ));
    }
}
