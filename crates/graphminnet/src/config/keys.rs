//! Strict reading of a configuration section: unknown keys are errors that name the nearest valid one.

use super::ConfigError;
use serde::{Serialize, de::DeserializeOwned};
use toml::{Table, Value};

/// How alike two keys must be (Jaro–Winkler, 0 to 1) for one to be offered in place of the other.
const SIMILAR_ENOUGH: f64 = 0.75;

/// The candidate that looks most like `word`, if any does.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILAR_ENOUGH)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

/// Fails on the first key of `table` that is not in `known`.
pub(super) fn reject_unknown(section: &str, table: &Table, known: &[String]) -> Result<(), ConfigError> {
    match table.keys().find(|key| !known.contains(key)) {
        None => Ok(()),
        Some(key) => Err(ConfigError::UnknownKey {
            key: path(section, key),
            nearest: nearest(key, known.iter().map(String::as_str)),
        }),
    }
}

/// Reads a section over the defaults: keys that are not written keep their default value.
pub(super) fn read_section<T>(section: &str, table: &Table, defaults: &T) -> Result<T, ConfigError>
where
    T: Serialize + DeserializeOwned,
{
    let Ok(Value::Table(mut merged)) = Value::try_from(defaults) else {
        unreachable!("a configuration section always serialises to a table")
    };
    let known: Vec<String> = keys_of::<T>(defaults);
    reject_unknown(section, table, &known)?;
    for (key, value) in table {
        merged.insert(key.clone(), value.clone());
        // One key at a time, so that the message names the key that is wrong.
        Value::Table(merged.clone()).try_into::<T>().map_err(|error| ConfigError::BadValue {
            key: path(section, key),
            message: one_line(error.message()),
        })?;
    }
    Value::Table(merged).try_into().map_err(|error: toml::de::Error| ConfigError::BadValue {
        key: section.to_owned(),
        message: one_line(error.message()),
    })
}

/// Every key of a section: those of its JSON form, which keeps optional keys that are unset.
pub(super) fn keys_of<T: Serialize>(defaults: &T) -> Vec<String> {
    object_of(defaults).into_iter().map(|(key, _)| key).collect()
}

/// A section as a JSON object, with optional keys that are unset.
pub(super) fn object_of<T: Serialize>(section: &T) -> serde_json::Map<String, serde_json::Value> {
    match serde_json::to_value(section) {
        Ok(serde_json::Value::Object(object)) => object,
        _ => unreachable!("a configuration section always serialises to an object"),
    }
}

/// `section.key`, or the key alone at the top level.
pub(super) fn path(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

fn one_line(message: &str) -> String {
    message.trim().replace('\n', "; ")
}
