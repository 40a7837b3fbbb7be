//! What the columns of the tables are for, by their names: targets as they are asked for, features, or nothing.

use crate::formats::csv::CsvReader;
use crate::schema::{Collector, Table};
use crate::text::{quoted, quoted_some};
use crate::{Column, DataError, Level, Place, ReadOptions};

/// The first version of the rules under which targets have the order in which they are asked for, and columns with the name of a
/// target that nobody asks for are no features.
const AS_ASKED: u32 = 6;

/// The first version of the rules under which targets of graphs and of nodes are looked for at the level that is asked for alone.
const AT_ITS_LEVEL: u32 = 8;

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

/// Whether the targets of this level, graphs or nodes, are none because those of another one are asked for.
pub(super) fn are_elsewhere(level: Level, options: &ReadOptions) -> bool {
    match options.asked_level() {
        None => false,
        Some(Level::Edge | Level::Pair) => true,
        Some(asked) => asked != level && options.rules >= AT_ITS_LEVEL,
    }
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

/// Which of the columns are targets: those that are asked for, or else all that have a name; then the names of the others.
pub(super) fn wanted_targets(
    columns: impl Iterator<Item = (usize, String)>,
    table: &CsvReader,
    wanted: Option<&[String]>,
) -> (Vec<(usize, String)>, Vec<String>) {
    let (mut targets, mut nameless) = (Vec::new(), Vec::new());
    for (column, name) in columns {
        match wanted {
            Some(wanted) if wanted.contains(&name) => targets.push((column, name)),
            Some(_) => {}
            None if table.is_nameless(column) => nameless.push(name),
            None => targets.push((column, name)),
        }
    }
    (targets, nameless)
}

/// Says which columns without a name are ignored.
pub(super) fn note_nameless(nameless: &[String], table: &str, collector: &mut Collector<'_>) {
    if nameless.is_empty() {
        return;
    }
    let as_feature = match table {
        "nodes.csv" | "edges.csv" => "; `--numeric` or `--text` makes a column a feature",
        _ => "",
    };
    collector.notes.push(format!(
        "columns without a name were ignored in {table}: {} (name one as a target to use it{as_feature})",
        quoted(nameless)
    ));
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
