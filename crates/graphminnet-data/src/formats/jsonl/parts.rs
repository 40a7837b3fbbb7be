//! The parts that a line names: one for the graph, or one for every node, edge or pair; and how much the graph counts.

use super::AS_SAID;
use super::values::Cell;
use crate::formats::weight_column::weight;
use crate::formats::{Masks, parse_split};
use crate::{DataError, Place, ReadOptions, Split};
use serde_json::Value;

/// The part of the graph, or of its nodes.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) graph: Option<Split>,
    pub(super) nodes: Option<Vec<Option<Split>>>,
}

/// The field that names parts.
pub(super) fn split_field(options: &ReadOptions) -> &str {
    options.split_column.as_deref().unwrap_or("split")
}

/// The field with weights; a schema is of data to predict on, where nothing is weighed.
pub(super) fn weight_field(options: &ReadOptions) -> Option<&str> {
    options.weight_column.as_deref().filter(|_| options.schema.is_none())
}

/// The weight of a line.
pub(super) fn weight_of(cell: Option<&Cell>, field: &str, place: &Place) -> Result<f32, DataError> {
    let (number, text) = match cell {
        Some(Cell::Integer(value)) => (Some(*value as f64), value.to_string()),
        Some(Cell::Number(value)) => (Some(*value), value.to_string()),
        Some(Cell::Text(text)) => (None, text.clone()),
        Some(Cell::Null) => (None, "null".to_owned()),
        None => (None, String::new()),
    };
    weight(number, &text, field, place)
}

impl Parts {
    /// Reads `split` (a text, or a list of texts), or masks; lists have an entry for each of so many rows.
    pub(super) fn read(
        fields: &[(String, Value)],
        rows: usize,
        what: &str,
        options: &ReadOptions,
        place: &Place,
    ) -> Result<Self, DataError> {
        // Parts that nobody asks for may be called what they like.
        if options.ignore_split {
            return Ok(Self::default());
        }
        let name = split_field(options);
        if let Some((_, value)) = fields.iter().find(|(field, _)| field == name) {
            let wrong = || {
                let place = place.clone().in_column(name);
                DataError::malformed(
                    place,
                    "something else",
                    "`train`, `valid`, `test` or null, or a list of one of these for each node, edge or pair",
                )
            };
            return match value {
                Value::Null => Ok(Self::default()),
                Value::String(text) => Ok(Self { graph: parse_split(Some(text), name, place)?, nodes: None }),
                Value::Array(list) => {
                    check_length(name, list.len(), rows, what, place)?;
                    let part = |item: &Value| match item {
                        Value::Null => Ok(None),
                        Value::String(text) => parse_split(Some(text), name, place),
                        _ => Err(wrong()),
                    };
                    Ok(Self { graph: None, nodes: Some(list.iter().map(part).collect::<Result<_, _>>()?) })
                }
                _ => Err(wrong()),
            };
        }
        let mut flags = vec![[false; 3]; rows];
        let mut masks: [Option<&str>; 3] = [None; 3];
        for (field, value) in fields {
            let Some(part) = Masks::part_of(field) else { continue };
            let Value::Array(list) = value else {
                if value.is_null() || options.rules < AS_SAID {
                    continue;
                }
                return Err(DataError::malformed(
                    place.clone().in_column(field),
                    "something else",
                    format!(
                        "a list with true or false for each {what} (the part of a graph is named in `split`)"
                    ),
                ));
            };
            if let Some(other) = masks[part as usize].replace(field).filter(|_| options.rules >= AS_SAID) {
                return Err(DataError::malformed(
                    place.clone().in_column(field),
                    format!("`{other}` in the line as well, which is the same thing"),
                    "one of the two",
                ));
            }
            check_length(field, list.len(), rows, what, place)?;
            check_columns(field, list, options, place)?;
            for (row, (flags, item)) in flags.iter_mut().zip(list).enumerate() {
                flags[part as usize] = flag(item, options).ok_or_else(|| {
                    DataError::malformed(
                        place.clone().in_column(field),
                        format!("something else for {what} {row}"),
                        "true or false (or 1 or 0) for each of them, or a list of these with `--split-column` as the \
                         number of the one to use, from 0",
                    )
                })?;
            }
        }
        if masks == [None; 3] {
            return Ok(Self::default());
        }
        let parts = flags.into_iter().map(|flags| Masks::part(flags, place));
        Ok(Self { graph: None, nodes: Some(parts.collect::<Result<_, _>>()?) })
    }
}

/// Fails for several masks side by side of which none is chosen; earlier rules took the first one.
fn check_columns(field: &str, mask: &[Value], options: &ReadOptions, place: &Place) -> Result<(), DataError> {
    let several = mask.iter().filter_map(Value::as_array).map(Vec::len).find(|columns| *columns > 1);
    match several.filter(|_| options.split_column.is_none() && options.rules >= AS_SAID) {
        None => Ok(()),
        Some(columns) => Err(DataError::malformed(
            place.clone().in_column(field),
            format!("{columns} masks side by side"),
            "one of them, which `--split-column` numbers from 0, as in `--split-column 0`",
        )),
    }
}

/// One entry of a mask; of several columns the one that the options number.
fn flag(item: &Value, options: &ReadOptions) -> Option<bool> {
    match item {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_u64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::Array(columns) => {
            let column =
                options.split_column.as_deref().map_or(Some(0), |text| text.parse::<usize>().ok())?;
            columns.get(column).filter(|item| !item.is_array()).and_then(|item| flag(item, options))
        }
        _ => None,
    }
}

fn check_length(field: &str, found: usize, rows: usize, what: &str, place: &Place) -> Result<(), DataError> {
    if found == rows {
        return Ok(());
    }
    let place = place.clone().in_column(field);
    Err(DataError::malformed(place, format!("{found} entries"), format!("{rows}, one for each {what}")))
}
