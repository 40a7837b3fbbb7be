//! Judges finished columns: what a column holds, and how its raw values turn into categories and numbers.

use super::columns::{ColumnSet, ColumnTrace, Table};
use crate::graph::{Features, GraphError};
use crate::limits::within;
use crate::{Column, ColumnKind, DataError, Place, ReadOptions, Schema, Task};

/// How one raw column is used.
#[derive(Debug, Clone)]
enum Use {
    /// Category: raw code or integer → category through `map` where there is one.
    Category { size: usize, map: Option<Vec<Option<u32>>>, raw: usize },
    /// Number.
    Number { raw: usize },
}

/// Turns raw tables into feature tables.
#[derive(Debug, Clone)]
pub(super) struct Encoder {
    categories: Vec<Use>,
    numbers: Vec<Use>,
    raw_columns: usize,
    names: Vec<String>,
}

/// A value that the schema does not know: column name, raw value.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) column: String,
    pub(super) value: String,
    pub(super) expected: String,
}

/// Why a raw table did not become a feature table.
pub(super) enum EncodeError {
    Unknown(Unknown),
    Graph(GraphError),
}

impl Encoder {
    /// Infers the columns, or follows `known` ones.
    pub(super) fn new(
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
                        list(raw.traces().iter().map(|trace| trace.name.as_str()))
                    ),
                });
            };
            match &column.kind {
                ColumnKind::Number => encoder.numbers.push(Use::Number { raw: position }),
                ColumnKind::Category { size, names } => {
                    let map = (!names.is_empty()).then(|| text_map(trace, names, *size));
                    encoder.categories.push(Use::Category { size: *size, map, raw: position });
                }
            }
        }
        let mut ordered: Vec<Column> = Vec::with_capacity(columns.len());
        ordered.extend(columns.iter().filter(|column| is_category(column)).cloned());
        ordered.extend(columns.into_iter().filter(|column| !is_category(column)));
        Ok((encoder, ordered))
    }

    /// The feature table of one raw table.
    pub(super) fn encode(&self, raw: &ColumnSet, table: &Table) -> Result<Features, EncodeError> {
        let mut categories = Vec::with_capacity(table.rows.saturating_mul(self.categories.len()));
        let mut numbers = Vec::with_capacity(table.rows.saturating_mul(self.numbers.len()));
        for row in table.values.chunks_exact(self.raw_columns.max(1)).take(table.rows) {
            for column in &self.categories {
                let Use::Category { size, map, raw: position } = column else { continue };
                let value = row.get(*position).copied().unwrap_or(-1.0);
                let category = match map {
                    Some(map) => map.get(value as usize).copied().flatten(),
                    None => {
                        (value >= 0.0 && value < *size as f64 && value.fract() == 0.0).then_some(value as u32)
                    }
                };
                match category {
                    Some(category) => categories.push(category),
                    None => return Err(EncodeError::Unknown(self.unknown(raw, *position, value, *size))),
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

    fn unknown(&self, raw: &ColumnSet, position: usize, value: f64, size: usize) -> Unknown {
        let trace = raw.traces().get(position);
        let is_text = trace.is_some_and(|trace| trace.is_text == Some(true));
        let text = trace
            .filter(|_| is_text)
            .and_then(|trace| trace.codes.iter().find(|(_, code)| f64::from(**code) == value))
            .map_or_else(|| value.to_string(), |(text, _)| text.clone());
        Unknown {
            column: self.names.get(position).cloned().unwrap_or_default(),
            value: text,
            expected: if is_text {
                format!("one of the {size} categories seen in training")
            } else {
                format!("a category from 0 to {}", size.saturating_sub(1))
            },
        }
    }
}

fn is_category(column: &Column) -> bool {
    matches!(column.kind, ColumnKind::Category { .. })
}

/// Category of every code of a text column; unseen text goes to the reserved slot if there is one.
fn text_map(trace: &ColumnTrace, names: &[String], size: usize) -> Vec<Option<u32>> {
    let reserved = (size > names.len()).then_some(names.len() as u32);
    let mut map = vec![reserved; trace.codes.len()];
    let by_name: std::collections::HashMap<&str, u32> =
        names.iter().enumerate().map(|(category, name)| (name.as_str(), category as u32)).collect();
    for (text, code) in &trace.codes {
        if let (Some(slot), Some(category)) = (map.get_mut(*code as usize), by_name.get(text.as_str())) {
            *slot = Some(*category);
        }
    }
    map
}

fn infer_columns(raw: &ColumnSet, options: &ReadOptions, place: &Place) -> Result<Vec<Column>, DataError> {
    raw.traces()
        .iter()
        .map(|trace| {
            let kind = if trace.is_text == Some(true) {
                let names = sorted_names(trace);
                ColumnKind::Category { size: names.len() + usize::from(options.reserve_unknown), names }
            } else if options.numeric.contains(&trace.name) || !looks_like_categories(trace, options) {
                ColumnKind::Number
            } else {
                let size = if trace.largest >= 0.0 { trace.largest as u64 + 1 } else { 1 };
                within("categories", size, options.limits.categories)
                    .map_err(DataError::limit(place.clone().in_column(&trace.name)))?;
                ColumnKind::Category { size: size as usize, names: Vec::new() }
            };
            Ok(Column { name: trace.name.clone(), kind })
        })
        .collect()
}

fn looks_like_categories(trace: &ColumnTrace, options: &ReadOptions) -> bool {
    let seen_any = trace.largest >= trace.smallest;
    !seen_any
        || (trace.all_integers && trace.smallest >= 0.0 && trace.largest < options.category_limit as f64)
}

/// Counts and measurements are often written as integers too: with more than a few of them, every class should have
/// come up several times.
fn look_like_classes(trace: &ColumnTrace, options: &ReadOptions) -> bool {
    const FEW_CLASSES: f64 = 20.0;
    const TIMES: f64 = 10.0;
    let classes = trace.largest + 1.0;
    classes <= FEW_CLASSES
        || (classes <= options.category_limit as f64 && trace.numbers as f64 >= TIMES * classes)
}

/// The task and the integers of a column in which integers are names of classes: there are two of them, or they do not
/// begin with 0.
fn named_by_integers(trace: &ColumnTrace, options: &ReadOptions) -> Option<(Task, Vec<i64>)> {
    let integers = trace.integers.as_ref().filter(|_| trace.all_integers && trace.is_text == Some(false))?;
    let integers: Vec<i64> = integers.iter().copied().collect();
    let (two, numbered) = (integers.len() == 2, integers.first() == Some(&0));
    if integers.len() < 2 || integers == [0, 1] || (numbered && !two) {
        return None;
    }
    let task = match options.task {
        None if integers == [-1, 1] || (trace.smallest >= 0.0 && look_like_classes(trace, options)) => {
            if two { Task::Binary } else { Task::MultiClass { classes: integers.len() } }
        }
        Some(Task::Binary) if two => Task::Binary,
        Some(Task::MultiClass { classes }) if classes == integers.len() => Task::MultiClass { classes },
        _ => return None,
    };
    Some((task, integers))
}

pub(super) fn sorted_names(trace: &ColumnTrace) -> Vec<String> {
    let mut names: Vec<String> = trace.codes.keys().cloned().collect();
    // Names that are all integers sort as such: -1, 1, 2, 10.
    match names.iter().map(|name| name.parse::<i64>().ok()).collect::<Option<Vec<_>>>() {
        Some(_) => names.sort_by_key(|name| name.parse::<i64>().unwrap_or(i64::MAX)),
        None => names.sort_unstable(),
    }
    names
}

/// What the targets mean, how they are named, and how raw values map to them.
#[derive(Debug, Clone)]
pub(super) struct TargetEncoder {
    pub(super) task: Task,
    pub(super) class_names: Vec<String>,
    /// Class of every text code, for text targets.
    map: Option<Vec<Option<u32>>>,
    /// The integers that are names of classes, ascending; empty where integers are numbers of classes.
    integers: Vec<i64>,
    /// What a person should know about it.
    pub(super) note: Option<String>,
}

impl TargetEncoder {
    pub(super) fn new(raw: &ColumnSet, options: &ReadOptions) -> Self {
        if let Some(schema) = &options.schema {
            return Self::of_schema(raw, schema);
        }
        let traces = raw.traces();
        let text = traces.first().filter(|trace| traces.len() == 1 && trace.is_text == Some(true));
        if let Some(trace) = text {
            let class_names = sorted_names(trace);
            let classes = class_names.len();
            let task = options.task.unwrap_or(if classes == 2 {
                Task::Binary
            } else {
                Task::MultiClass { classes }
            });
            let map = Some(text_map(trace, &class_names, classes));
            return Self { task, class_names, map, integers: Vec::new(), note: None };
        }
        if let [trace] = traces
            && let Some((task, integers)) = named_by_integers(trace, options)
        {
            let class_names: Vec<String> = integers.iter().map(i64::to_string).collect();
            let name = crate::escape(&trace.name);
            let note = Some(format!("the classes of `{name}` are the numbers {}", class_names.join(", ")));
            return Self { task, class_names, map: None, integers, note };
        }
        let seen = || traces.iter().filter(|trace| trace.largest >= trace.smallest);
        let integers = seen().all(|trace| trace.all_integers && trace.smallest >= 0.0);
        let largest = seen().map(|trace| trace.largest).fold(0.0, f64::max);
        let inferred = if seen().next().is_none() || !integers {
            Task::Regression
        } else if largest <= 1.0 {
            Task::Binary
        } else if traces.len() == 1 && look_like_classes(&traces[0], options) {
            Task::MultiClass { classes: largest as usize + 1 }
        } else {
            Task::Regression
        };
        let task = options.task.unwrap_or(inferred);
        Self { task, class_names: Vec::new(), map: None, integers: Vec::new(), note: None }
    }

    fn of_schema(raw: &ColumnSet, schema: &Schema) -> Self {
        let map = (!schema.class_names.is_empty())
            .then(|| raw.traces().first())
            .flatten()
            .map(|trace| text_map(trace, &schema.class_names, schema.class_names.len()));
        let class_names = schema.class_names.clone();
        Self { task: schema.task, class_names, map, integers: Vec::new(), note: None }
    }

    /// One raw value as a target; the error says what was expected.
    pub(super) fn encode(&self, value: f64) -> Result<f32, String> {
        if value.is_nan() {
            return Ok(f32::NAN);
        }
        let unknown = || format!("not one of the classes {}", list(self.class_names.iter()));
        let value = match &self.map {
            Some(map) => map.get(value as usize).copied().flatten().map(f64::from).ok_or_else(unknown)?,
            None if self.integers.is_empty() => value,
            None => self.integers.binary_search(&(value as i64)).map_err(|_| unknown())? as f64,
        };
        match self.task {
            Task::Regression => Ok(value as f32),
            Task::Binary if value == 0.0 || value == 1.0 => Ok(value as f32),
            Task::Binary => Err("not 0, 1 or blank".to_owned()),
            Task::MultiClass { classes }
                if value >= 0.0 && value < classes as f64 && value.fract() == 0.0 =>
            {
                Ok(value as f32)
            }
            Task::MultiClass { classes } => {
                Err(format!("not a class from 0 to {}, or blank", classes.saturating_sub(1)))
            }
        }
    }
}

/// A short list for messages, escaped.
pub(super) fn list<T: AsRef<str>>(names: impl Iterator<Item = T>) -> String {
    let mut text = String::new();
    for (position, name) in names.enumerate() {
        if position == 12 {
            text.push_str(", …");
            break;
        }
        if position > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(&crate::escape(name.as_ref()));
        text.push('`');
    }
    if text.is_empty() { "none".to_owned() } else { text }
}
