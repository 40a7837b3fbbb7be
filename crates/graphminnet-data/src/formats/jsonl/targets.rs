//! Which fields of a line are its targets: those that were asked for by name, or else the usual ones.

use super::AS_SAID;
use super::parse::Line;
use super::parts::{split_field, weight_field};
use super::values::{Cell, Rows, Target};
use crate::text::quoted;
use crate::{DataError, Level, Place, ReadOptions};
use std::path::Path;

/// The first version of the rules under which a name that is asked for is looked for among the fields.
const BY_NAME: u32 = 5;

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

/// The usual fields of a line that can hold targets.
#[derive(Default)]
pub(super) struct Fields {
    target: Option<Target>,
    of_nodes: Option<Rows>,
    of_edges: Option<Rows>,
    of_pairs: Option<Rows>,
    has_pairs: bool,
}

impl Fields {
    fn take(line: &mut Line) -> Self {
        Self {
            target: line.target.take(),
            of_nodes: line.node_target.take(),
            of_edges: line.edge_target.take(),
            of_pairs: line.pair_target.take(),
            has_pairs: line.pairs.is_some(),
        }
    }

    fn is_empty(&self) -> bool {
        self.target.is_none() && self.of_nodes.is_none() && self.of_edges.is_none() && self.of_pairs.is_none()
    }

    /// Whether `target` is a list of values, which may be those of the graph or one for each node.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self.target, Some(Target::Flat(_)))
    }

    /// The field of this name alone, where the line has it: another one is not what was asked for.
    fn only(self, name: &str) -> Self {
        let none = Self { has_pairs: self.has_pairs, ..Self::default() };
        match name {
            "target" | "y" if self.target.is_some() => Self { target: self.target, ..none },
            "node_target" if self.of_nodes.is_some() => Self { of_nodes: self.of_nodes, ..none },
            "edge_target" if self.of_edges.is_some() => Self { of_edges: self.of_edges, ..none },
            "pair_target" | "edge_label" if self.of_pairs.is_some() => {
                Self { of_pairs: self.of_pairs, ..none }
            }
            _ => self,
        }
    }

    /// Level and rows of the targets; `None` if the line has none.
    ///
    /// The level that was asked for decides which field is looked at; otherwise the first one that is there.
    pub(super) fn targets(
        self,
        num_nodes: usize,
        num_edges: usize,
        options: &ReadOptions,
    ) -> (Level, Option<Rows>) {
        let asked = options.asked_level();
        if let (true, Some(level)) = (options.ignore_targets, asked) {
            return (level, None);
        }
        let Self { target, of_nodes, of_edges, of_pairs, has_pairs } = self;
        let is_asked = |level: Level| asked.is_none_or(|asked| asked == level);
        match (of_nodes, of_edges, of_pairs) {
            // Targets of nodes have always come first, whatever was asked for.
            (Some(rows), ..) if !matches!(asked, Some(Level::Edge | Level::Pair)) => {
                return (Level::Node, Some(rows));
            }
            (_, Some(rows), _) if is_asked(Level::Edge) && (asked.is_some() || target.is_none()) => {
                return (Level::Edge, Some(rows));
            }
            (_, _, Some(rows)) if is_asked(Level::Pair) && (asked.is_some() || target.is_none()) => {
                return (Level::Pair, Some(rows));
            }
            _ => {}
        }
        let usual = if has_pairs && target.is_none() { Level::Pair } else { Level::Graph };
        let level = asked.unwrap_or(usual);
        match target {
            None => (level, None),
            Some(Target::Flat(cells)) if cells.is_empty() => (level, None),
            Some(Target::Nested(rows)) => match asked {
                Some(level @ (Level::Edge | Level::Pair)) => (level, Some(rows)),
                _ => (Level::Node, Some(rows)),
            },
            Some(Target::Flat(cells)) => {
                let per_node = asked
                    .map_or_else(|| is_per_node(&cells, num_nodes, options), |level| level == Level::Node);
                let level = match asked {
                    // How many there are is checked as in every format.
                    Some(level @ (Level::Node | Level::Edge)) if options.rules >= AS_SAID => level,
                    Some(Level::Edge) if cells.len() == num_edges => Level::Edge,
                    Some(Level::Pair) => Level::Pair,
                    _ if per_node && cells.len() == num_nodes => Level::Node,
                    _ => Level::Graph,
                };
                let rows = if level == Level::Graph { 1 } else { cells.len() };
                (level, Some(Rows { rows, columns: cells.len() / rows.max(1), cells }))
            }
        }
    }
}

/// Targets that a graph may well have: a flat list of more, as long as the graph has nodes, has one for each node.
const FEW_TARGETS: usize = 64;

fn is_per_node(cells: &[Cell], num_nodes: usize, options: &ReadOptions) -> bool {
    options.rules >= 3 && cells.len() > FEW_TARGETS && cells.len() == num_nodes
}

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
    pub(super) fn name(
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
            _ if self.names.len() == columns => {}
            _ => {
                let unknown = self.names.iter().filter(|name| !usual.contains(name));
                return Err(self.unknown(unknown, &usual, others, place));
            }
        }
        Ok(self.names.to_vec())
    }

    /// The columns that are used.
    pub(super) fn chosen(&self, rows: Rows) -> Rows {
        let Some(chosen) = self.columns.as_ref() else { return rows };
        let row =
            |row: &[Cell]| -> Vec<Cell> { chosen.iter().filter_map(|&at| row.get(at).cloned()).collect() };
        let cells = rows.cells.chunks(rows.columns.max(1)).flat_map(row).collect();
        Rows { rows: rows.rows, columns: chosen.len(), cells }
    }

    fn unknown<'n>(
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
            _ => format!("targets: {}", quoted(targets)),
        }];
        if !others.is_empty() {
            there.push(format!("other fields: {}", quoted(others)));
        }
        let reason = format!("{whose}: {} (the lines have {})", quoted(names), there.join("; "));
        DataError::Schema { place: place.clone(), reason }
    }

    /// What a person should know when all lines are read.
    pub(super) fn note(&self) -> Option<String> {
        let names = || quoted(self.names);
        self.has_others
            .then(|| format!("the targets are those of {}; others (`target`) are not used", names()))
    }

    /// Fails for what was asked for and is nowhere; `others` are fields that nobody asked for.
    ///
    /// # Errors
    ///
    /// [`DataError::Schema`].
    pub(super) fn check(&self, others: &[String], path: &Path) -> Result<(), DataError> {
        let missing = || self.names.iter().zip(&self.seen).filter(|(_, seen)| !**seen).map(|(name, _)| name);
        if self.of_schema || self.source == Some(Source::Usual) || missing().next().is_none() {
            return Ok(());
        }
        Err(self.unknown(missing(), &[], others, &Place::file(path)))
    }
}

/// Named fields side by side: a value of each for the graph, or lists of one for each node (edge, pair).
fn joined(
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
