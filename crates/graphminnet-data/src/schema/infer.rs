//! Judges finished columns: what a column holds, and how its raw values turn into categories and numbers.

use super::columns::{ColumnSet, ColumnTrace, Table, is_missing};
use crate::graph::{Features, GraphError};
use crate::limits::within;
use crate::text::quoted_some;
use crate::{Column, ColumnKind, DataError, Place, ReadOptions};

/// The first version of the rules under which the whole numbers that came up are remembered.
const CAME_UP: u32 = 7;

/// The first version of the rules under which numbers with words such as `NA` among them are not text.
const GAPS: u32 = 7;

/// How one raw column is used.
#[derive(Debug, Clone)]
enum Use {
    /// Category: raw code or integer → category through `map` where there is one.
    Category { size: usize, map: Option<Vec<Option<u32>>>, seen: Option<Vec<u32>>, raw: usize },
    /// Number.
    Number { raw: usize },
}

/// Turns raw tables into feature tables.
#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    categories: Vec<Use>,
    numbers: Vec<Use>,
    raw_columns: usize,
    names: Vec<String>,
}

/// A value that the schema does not know: column name, raw value.
#[derive(Debug)]
pub(crate) struct Unknown {
    pub(super) column: String,
    pub(super) value: String,
    pub(super) expected: String,
}

/// Why a raw table did not become a feature table.
pub(crate) enum EncodeError {
    Unknown(Unknown),
    Graph(GraphError),
}

impl Encoder {
    /// Infers the columns, or follows `known` ones.
    pub(crate) fn new(
        raw: &ColumnSet,
        known: Option<&[Column]>,
        options: &ReadOptions,
        place: &Place,
    ) -> Result<(Self, Vec<Column>), DataError> {
        let mut encoder = Self {
            categories: Vec::new(),
            numbers: Vec::new(),
            raw_columns: raw.len(),
            names: raw.traces().iter().map(|trace| trace.name.clone()).collect(),
        };
        let columns = match known {
            Some(columns) => columns.to_vec(),
            None => infer_columns(raw, options, place)?,
        };
        for column in &columns {
            let position = raw.traces().iter().position(|trace| trace.name == column.name);
            let Some((position, trace)) = position.and_then(|at| Some((at, raw.traces().get(at)?))) else {
                return Err(DataError::Schema {
                    place: place.clone(),
                    reason: format!(
                        "column `{}` is missing; the schema needs it and the file has {}",
                        crate::escape(&column.name),
                        quoted_some(raw.traces().iter().map(|trace| trace.name.as_str()))
                    ),
                });
            };
            match &column.kind {
                ColumnKind::Number => encoder.numbers.push(Use::Number { raw: position }),
                ColumnKind::Category { size, names } => {
                    let map = (!names.is_empty()).then(|| text_map(trace, names, *size));
                    let seen = column.seen.clone();
                    encoder.categories.push(Use::Category { size: *size, map, seen, raw: position });
                }
            }
        }
        let mut ordered: Vec<Column> = Vec::with_capacity(columns.len());
        ordered.extend(columns.iter().filter(|column| is_category(column)).cloned());
        ordered.extend(columns.into_iter().filter(|column| !is_category(column)));
        Ok((encoder, ordered))
    }

    /// The feature table of one raw table.
    pub(crate) fn encode(&self, raw: &ColumnSet, table: &Table) -> Result<Features, EncodeError> {
        let mut categories = Vec::with_capacity(table.rows.saturating_mul(self.categories.len()));
        let mut numbers = Vec::with_capacity(table.rows.saturating_mul(self.numbers.len()));
        for row in table.values.chunks_exact(self.raw_columns.max(1)).take(table.rows) {
            for column in &self.categories {
                let Use::Category { size, map, seen, raw: position } = column else { continue };
                let value = row.get(*position).copied().unwrap_or(-1.0);
                let category = match map {
                    Some(map) => map.get(value as usize).copied().flatten(),
                    None => {
                        (value >= 0.0 && value < *size as f64 && value.fract() == 0.0).then_some(value as u32)
                    }
                };
                let is_seen =
                    |category: &u32| seen.as_ref().is_none_or(|seen| seen.binary_search(category).is_ok());
                match category.filter(is_seen) {
                    Some(category) => categories.push(category),
                    None => {
                        let unknown = self.unknown(raw, *position, value, *size, seen.as_deref());
                        return Err(EncodeError::Unknown(unknown));
                    }
                }
            }
            for column in &self.numbers {
                let Use::Number { raw: position } = column else { continue };
                numbers.push(row.get(*position).copied().unwrap_or(f64::NAN) as f32);
            }
        }
        Features::mixed(table.rows, self.categories.len(), categories, self.numbers.len(), numbers)
            .map_err(EncodeError::Graph)
    }

    fn unknown(
        &self,
        raw: &ColumnSet,
        position: usize,
        value: f64,
        size: usize,
        seen: Option<&[u32]>,
    ) -> Unknown {
        let trace = raw.traces().get(position);
        let is_text = trace.is_some_and(ColumnTrace::holds_text);
        Unknown {
            column: self.names.get(position).cloned().unwrap_or_default(),
            value: trace.map_or_else(|| value.to_string(), |trace| trace.written(value)),
            expected: match seen {
                _ if is_text => format!("one of the {size} categories seen in training"),
                Some(&[only]) if value < size as f64 && value >= 0.0 => {
                    format!("{only}, the only category of training")
                }
                Some(seen) if value < size as f64 && value >= 0.0 => {
                    format!("among the {} categories of training", seen.len())
                }
                _ => format!("a category from 0 to {}", size.saturating_sub(1)),
            },
        }
    }
}

fn is_category(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Category { .. })
}

/// Category of every code of a text column; unseen text goes to the reserved slot if there is one. Without one, what is `True` in
/// one file may be `true` or `TRUE` in another.
pub(super) fn text_map(trace: &ColumnTrace, names: &[String], size: usize) -> Vec<Option<u32>> {
    let reserved = (size > names.len()).then_some(names.len() as u32);
    let mut map = vec![reserved; trace.codes.len()];
    let by_name: std::collections::HashMap<&str, u32> =
        names.iter().enumerate().map(|(category, name)| (name.as_str(), category as u32)).collect();
    let in_any_case = |text: &str| {
        ["true", "false"].iter().find(|word| reserved.is_none() && word.eq_ignore_ascii_case(text))?;
        let mut same = (0..).zip(names).filter(|(_, name)| name.eq_ignore_ascii_case(text));
        let (category, _) = same.next()?;
        same.next().is_none().then_some(category)
    };
    for (text, code) in &trace.codes {
        let category = by_name.get(text.as_str()).copied().or_else(|| in_any_case(text));
        if let (Some(slot), Some(category)) = (map.get_mut(*code as usize), category) {
            *slot = Some(category);
        }
    }
    map
}

fn infer_columns(raw: &ColumnSet, options: &ReadOptions, place: &Place) -> Result<Vec<Column>, DataError> {
    raw.traces()
        .iter()
        .map(|trace| {
            let mut seen = None;
            let kind = if trace.is_text == Some(true) {
                check_gaps(trace, options)?;
                let names = sorted_names(trace);
                ColumnKind::Category { size: names.len() + usize::from(options.reserve_unknown), names }
            } else if options.numeric.contains(&trace.name) || !looks_like_categories(trace, options) {
                ColumnKind::Number
            } else {
                let size = if trace.largest >= 0.0 { trace.largest as u64 + 1 } else { 1 };
                within("categories", size, options.limits.categories)
                    .map_err(DataError::limit(place.clone().in_column(&trace.name)))?;
                let came_up: Vec<u32> = trace.seen().collect();
                let is_part = !came_up.is_empty() && (came_up.len() as u64) < size;
                seen = (is_part && options.rules >= CAME_UP).then_some(came_up);
                ColumnKind::Category { size: size as usize, names: Vec::new() }
            };
            Ok(Column { name: trace.name.clone(), kind, seen })
        })
        .collect()
}

/// Fails for numbers that were read as text because a word such as `NA` comes first: the same word further down is a bad row.
fn check_gaps(trace: &ColumnTrace, options: &ReadOptions) -> Result<(), DataError> {
    let is_asked = options.text.contains(&trace.name) || options.rules < GAPS;
    match &trace.missing_at {
        Some(place) if !is_asked && trace.is_numbers_with_gaps() => {
            let word = trace.codes.keys().filter(|text| is_missing(text)).min();
            let reason = format!(
                "`{}` among numbers: a feature must have a value. Leave the row out or write a number there, or read the whole                  column as text (`--text {}`)",
                crate::escape(word.map_or("", String::as_str)),
                crate::escape(&trace.name)
            );
            Err(DataError::Schema { place: place.clone(), reason })
        }
        _ => Ok(()),
    }
}

fn looks_like_categories(trace: &ColumnTrace, options: &ReadOptions) -> bool {
    let seen_any = trace.largest >= trace.smallest;
    !seen_any
        || (trace.all_integers && trace.smallest >= 0.0 && trace.largest < options.category_limit as f64)
}

pub(super) fn sorted_names(trace: &ColumnTrace) -> Vec<String> {
    let mut names: Vec<String> = trace.codes.keys().cloned().collect();
    names.sort_unstable();
    // Names that are all integers sort as such: -1, 1, 2, 10. Of equal ones (1 and 01) the order of texts stays.
    if names.iter().all(|name| name.parse::<i64>().is_ok()) {
        names.sort_by_key(|name| name.parse::<i64>().unwrap_or(i64::MAX));
    }
    names
}
