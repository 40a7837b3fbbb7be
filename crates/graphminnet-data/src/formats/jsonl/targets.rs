//! Which fields of a line are its targets: those that were asked for by name, or else the usual ones.

mod named;
mod usual;

use super::parse::Line;
use super::parts::{split_field, weight_field};
use super::values::{Cell, Rows};
use crate::text::{quoted, quoted_some};
use crate::{DataError, Level, Place, ReadOptions, escape};
use named::joined;
use std::path::Path;
use usual::Fields;

/// The first version of the rules under which a name that is asked for is looked for among the fields.
const BY_NAME: u32 = 5;

/// The first version of the rules under which a name that is almost that of a field is not one for other targets.
const NOT_MISSPELT: u32 = 7;

/// Fields that say what a graph is, which is nothing to be learnt.
const STRUCTURE: [&str; 10] = [
    "id",
    "num_nodes",
    "edges",
    "edge_index",
    "pairs",
    "edge_label_index",
    "node_features",
    "x",
    "edge_features",
    "edge_attr",
];

/// Fields that hold targets whatever these are called.
const USUAL: [&str; 6] = ["target", "y", "node_target", "edge_target", "pair_target", "edge_label"];

/// Names of so many targets that nothing was found out about.
pub(super) fn target_names(columns: usize, options: &ReadOptions) -> Vec<String> {
    match options.asked_targets() {
        Some(known) if known.len() == columns => known.to_vec(),
        _ => by_position(columns),
    }
}

fn by_position(columns: usize) -> Vec<String> {
    match columns {
        1 => vec!["target".to_owned()],
        _ => (0..columns).map(|column| format!("target_{column}")).collect(),
    }
}

/// Whether a name may be another one misspelt.
fn is_alike(name: &str, other: &str) -> bool {
    let [name, other] = [name, other].map(str::to_lowercase);
    let longest = name.chars().count().max(other.chars().count());
    strsim::osa_distance(&name, &other) <= (longest / 4).max(1)
}

/// The targets that a line has.
pub(super) enum Found {
    /// Those of fields that were asked for by name.
    Named(Level, Option<Rows>),
    /// Those of the usual fields.
    Usual(Fields),
}

/// Where all lines have their targets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Named,
    Usual,
}

/// The targets by the names that were asked for, or those of the schema: a field of such a name is a target, else the name
/// is that of a column of the usual ones. All lines are read alike; the first one with targets decides.
pub(super) struct TargetFields<'a> {
    /// Nothing is looked for by name where there are none.
    names: &'a [String],
    /// Names of a model only guide: an earlier one may have called `target` by any name.
    of_schema: bool,
    source: Option<Source>,
    /// The names that some line has a field of.
    seen: Vec<bool>,
    /// Whether lines have usual targets beside those that were asked for.
    has_others: bool,
    /// Whether names that no field has are those of the usual targets.
    has_new_names: bool,
    /// The columns that are used, in this order; `None` for all of them.
    columns: Option<Vec<usize>>,
}

impl<'a> TargetFields<'a> {
    /// Nothing is seen yet.
    ///
    /// # Errors
    ///
    /// [`DataError::Schema`] if something was asked for that says what a graph is.
    pub(super) fn new(path: &Path, options: &'a ReadOptions) -> Result<Self, DataError> {
        let (names, of_schema): (&[String], bool) = match (&options.schema, &options.targets) {
            _ if options.rules < BY_NAME || options.ignore_targets => (&[], false),
            (Some(schema), _) => (&schema.targets, true),
            (None, Some(names)) => (names, false),
            (None, None) => (&[], false),
        };
        let found = Self {
            names,
            of_schema,
            source: None,
            seen: vec![false; names.len()],
            has_others: false,
            has_new_names: false,
            columns: None,
        };
        match names.iter().find(|name| STRUCTURE.contains(&name.as_str())).filter(|_| !of_schema) {
            None => Ok(found),
            Some(name) => {
                let reason = format!(
                    "`{name}` says what a graph is and cannot be a target; give what is to be learnt a field of another name"
                );
                Err(DataError::Schema { place: Place::file(path), reason })
            }
        }
    }

    /// The fields that are looked for, beside the usual ones.
    pub(super) fn fields(&self, options: &ReadOptions) -> Vec<&'a str> {
        let is_taken = |name: &str| {
            STRUCTURE.contains(&name) || name == split_field(options) || Some(name) == weight_field(options)
        };
        let names = self.names.iter().map(String::as_str).filter(|name| !is_taken(name));
        // One usual field is found without that; of several names it is a column among others.
        names.filter(|name| self.names.len() > 1 || !USUAL.contains(name)).collect()
    }

    /// Which of `target` and `y`, that stand for one another, counts where a line has both; `None` for the last one.
    pub(super) fn preferred(&self) -> Option<&'a str> {
        match self.names {
            [name] if name == "y" || (name == "target" && !self.of_schema) => Some(name.as_str()),
            _ => None,
        }
    }

    /// Takes the targets out of a line of a graph with so many nodes; `asked` is the level that they must have.
    ///
    /// # Errors
    ///
    /// [`DataError::Schema`] for a field that was asked for and comes up only after lines that were read without it; what is
    /// wrong with the fields of this line.
    pub(super) fn of_line(
        &mut self,
        line: &mut Line,
        num_nodes: usize,
        asked: Option<Level>,
        place: &Place,
    ) -> Result<Found, DataError> {
        let (named, usual) = (std::mem::take(&mut line.named), Fields::take(line));
        for (name, seen) in self.names.iter().zip(&mut self.seen) {
            *seen |= named.iter().any(|(field, _)| field == name);
        }
        let found = match (named.is_empty(), usual.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Source::Usual),
            (false, true) => Some(Source::Named),
            // A model of `target` has such names as well.
            (false, false) if self.of_schema && self.are_positions() => Some(Source::Usual),
            (false, false) => Some(Source::Named),
        };
        // A line without targets decides nothing.
        self.source = self.source.or(found);
        match (self.source.unwrap_or(Source::Usual), found) {
            (Source::Usual, Some(Source::Named)) => {
                let field = named.first().map_or("", |(field, _)| field.as_str());
                let reason = "this field was asked for, but earlier lines have `target` and not this one: write `null` there if \
                              it is not known";
                Err(DataError::Schema { place: place.clone().in_column(field), reason: reason.to_owned() })
            }
            (Source::Usual, _) => Ok(Found::Usual(match self.names {
                // A model of nodes that calls its targets so may have had them from another field.
                [name] if !self.of_schema && ["y", "target"].contains(&name.as_str()) => {
                    usual.only(name).one_target(num_nodes, asked)
                }
                [name] if !self.of_schema || name != "target" || asked == Some(Level::Graph) => {
                    usual.only(name)
                }
                _ => usual,
            })),
            (Source::Named, _) => {
                self.has_others |= !usual.is_empty();
                let (level, rows) = joined(self.names, named, num_nodes, asked, place)?;
                Ok(Found::Named(level, rows))
            }
        }
    }

    /// Whether the names are those that targets have without a name.
    fn are_positions(&self) -> bool {
        self.names == by_position(self.names.len())
    }

    /// The names of the targets, of which lines have so many; from now on [`TargetFields::chosen`] takes those that are used.
    ///
    /// # Errors
    ///
    /// [`DataError::Schema`] if the names fit nothing; it lists what there is.
    pub(super) fn names_for(
        &mut self,
        columns: usize,
        others: &[String],
        options: &ReadOptions,
        place: &Place,
    ) -> Result<Vec<String>, DataError> {
        if self.names.is_empty() {
            return Ok(target_names(columns, options));
        }
        let usual = by_position(columns);
        let at = |name: &String| usual.iter().position(|usual| usual == name);
        let chosen: Option<Vec<usize>> = self.names.iter().map(at).collect();
        match chosen {
            Some(chosen) if self.source == Some(Source::Usual) => {
                self.columns = (!chosen.iter().copied().eq(0..columns)).then_some(chosen);
            }
            _ if self.names.len() == columns => self.rename(others, options, place)?,
            _ => {
                let unknown = self.names.iter().filter(|name| !usual.contains(name));
                return Err(self.not_here(unknown, &usual, others, place));
            }
        }
        Ok(self.names.to_vec())
    }

    /// Takes the names that were asked for as those of the usual targets, unless a field has almost such a name.
    fn rename(&mut self, others: &[String], options: &ReadOptions, place: &Place) -> Result<(), DataError> {
        if self.of_schema || self.source != Some(Source::Usual) {
            return Ok(());
        }
        let unused = |name: &&String| !USUAL.contains(&name.as_str());
        for name in self.names.iter().filter(unused) {
            let alike = others.iter().find(|other| is_alike(name, other));
            if let Some(field) = alike.filter(|_| options.rules >= NOT_MISSPELT) {
                let reason = format!(
                    "no field or target has the name `{}`; did you mean `{}`?",
                    escape(name),
                    escape(field)
                );
                return Err(DataError::Schema { place: place.clone(), reason });
            }
            self.has_new_names = true;
        }
        Ok(())
    }

    /// The columns that are used.
    pub(super) fn chosen(&self, rows: Rows) -> Rows {
        let Some(chosen) = self.columns.as_ref() else { return rows };
        let row =
            |row: &[Cell]| -> Vec<Cell> { chosen.iter().filter_map(|&at| row.get(at).cloned()).collect() };
        let cells = rows.cells.chunks(rows.columns.max(1)).flat_map(row).collect();
        Rows { rows: rows.rows, columns: chosen.len(), cells }
    }

    fn not_here<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        targets: &[String],
        others: &[String],
        place: &Place,
    ) -> DataError {
        let whose = if self.of_schema {
            "the model has targets that are not here"
        } else {
            "no field or target has the name"
        };
        let mut there = vec![match targets {
            [] => "no targets".to_owned(),
            _ => format!("targets: {}", quoted_some(targets)),
        }];
        if !others.is_empty() {
            there.push(format!("other fields: {}", quoted_some(others)));
        }
        let reason = format!("{whose}: {} (the lines have {})", quoted(names), there.join("; "));
        DataError::Schema { place: place.clone(), reason }
    }

    /// What a person should know when all lines are read.
    pub(super) fn note(&self) -> Option<String> {
        let names = || quoted(self.names);
        if self.has_new_names {
            return Some(format!(
                "no line has the field {}: the targets in `target` (or `y`) get this name",
                names()
            ));
        }
        self.has_others
            .then(|| format!("the targets are those of {}; others (`target`) are not used", names()))
    }

    /// Fails for what was asked for and is nowhere; `others` are fields that nobody asked for.
    ///
    /// # Errors
    ///
    /// [`DataError::Schema`].
    pub(super) fn check_all_found(&self, others: &[String], path: &Path) -> Result<(), DataError> {
        let missing = || self.names.iter().zip(&self.seen).filter(|(_, seen)| !**seen).map(|(name, _)| name);
        if self.of_schema || self.source == Some(Source::Usual) || missing().next().is_none() {
            return Ok(());
        }
        Err(self.not_here(missing(), &[], others, &Place::file(path)))
    }
}
