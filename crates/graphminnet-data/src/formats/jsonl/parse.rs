//! One line of JSON to its fields, without an intermediate tree: nothing is stored that the graph does not need.

use super::values::{Cell, CellSeed, NameSeed, Pairs, Rows, Table, Target, from_index};
use crate::budget::{Share, bytes_of};
use crate::formats::Masks;
use crate::limits::within;
use crate::{DataError, Limits, Place};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// One parsed line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Line {
    pub(super) id: Option<String>,
    pub(super) num_nodes: Option<u64>,
    pub(super) edges: Option<Vec<[u32; 2]>>,
    pub(super) node_features: Option<Rows>,
    pub(super) edge_features: Option<Rows>,
    pub(super) target: Option<Target>,
    pub(super) node_target: Option<Rows>,
    pub(super) edge_target: Option<Rows>,
    pub(super) pairs: Option<Vec<[u32; 2]>>,
    pub(super) pair_target: Option<Rows>,
    /// Fields that were asked for as targets.
    pub(super) named: Vec<(String, Target)>,
    /// Fields that name parts: `split` (or the one that was asked for) and masks.
    pub(super) parts: Vec<(String, Value)>,
    /// The field that says how much the graph counts.
    pub(super) weight: Option<Cell>,
    /// Names of fields that are not understood.
    pub(super) unknown: Vec<String>,
}

const EXPECTED_LINE: &str = "one JSON object with `num_nodes` and `edges`";

/// What a field holds, for people.
fn expected_in(field: &str) -> &'static str {
    match field {
        "num_nodes" => "a whole number from 0",
        "edges" | "pairs" => "pairs of nodes, counted from 0",
        "edge_index" | "edge_label_index" => "two equally long lists of nodes, counted from 0",
        "node_features" | "x" | "edge_features" | "edge_attr" => {
            "one list for each, all of one length, of finite numbers or texts"
        }
        "target" | "y" | "node_target" | "edge_target" | "pair_target" | "edge_label" => {
            "a finite number, a text, null, or a list of these"
        }
        _ => EXPECTED_LINE,
    }
}

/// The other name of a field, where both mean the same; `target` and `y` have a rule of their own, and so have masks.
fn other_name(field: &str) -> Option<&'static str> {
    const NAMES: [[&str; 2]; 5] = [
        ["edges", "edge_index"],
        ["node_features", "x"],
        ["edge_features", "edge_attr"],
        ["pairs", "edge_label_index"],
        ["pair_target", "edge_label"],
    ];
    NAMES.into_iter().find_map(|[one, other]| match field {
        _ if field == one => Some(other),
        _ if field == other => Some(one),
        _ => None,
    })
}

/// Fields that have a meaning because of the options.
pub(super) struct Asked<'a> {
    /// The one that names parts.
    pub(super) split: &'a str,
    /// The one with weights.
    pub(super) weight: Option<&'a str>,
    /// Those with targets.
    pub(super) targets: Vec<&'a str>,
    /// Which of `target` and `y` counts where there are both; `None` for the last one.
    pub(super) preferred: Option<&'a str>,
    /// Whether a thing that has two names may be given under both; the last one counts.
    pub(super) both_names: bool,
}

/// Parses one line.
pub(super) fn line(
    text: &str,
    asked: &Asked<'_>,
    place: &Place,
    limits: &Limits,
    held: &mut Share,
) -> Result<Line, DataError> {
    let (depth, commas) = depth_and_commas(text);
    within("json_depth", depth, limits.json_depth).map_err(DataError::limit(place.clone()))?;
    // A comma between any two cells; a list that grows takes twice what is in it.
    held.grow(bytes_of::<Cell>(2).saturating_mul(commas + 1) + text.len() as u64)
        .map_err(DataError::limit(place.clone()))?;
    let mut line = Line::default();
    let mut field = String::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result = LineSeed { line: &mut line, field: &mut field, asked }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    match result {
        Ok(()) => Ok(line),
        Err(error) => {
            let reason = error.to_string();
            let reason =
                reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason).to_owned();
            let mut place = place.clone().at_byte(error.column().saturating_sub(1) as u64);
            if !field.is_empty() {
                place = place.in_column(&field);
            }
            let field = if asked.targets.contains(&field.as_str()) { "target" } else { field.as_str() };
            let expected = if error.is_eof() { EXPECTED_LINE } else { expected_in(field) };
            Err(DataError::malformed(place, reason, expected))
        }
    }
}

/// The id of a line that is no graph, as far as it can be read: the row is then still known by its name.
pub(super) fn id(text: &str) -> Option<String> {
    let mut found = None;
    // Whatever is wrong with the line has been told.
    let _ = IdSeed(&mut found).deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

struct IdSeed<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for IdSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for IdSeed<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("one JSON object per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" if self.0.is_none() => *self.0 = map.next_value_seed(NameSeed)?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// Deepest nesting of brackets, and number of commas, outside strings.
fn depth_and_commas(text: &str) -> (u64, u64) {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0u64, 0u64, false, false);
    let mut commas = 0;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            b',' if !in_string => commas += 1,
            _ => {}
        }
    }
    (deepest, commas)
}

struct LineSeed<'a> {
    line: &'a mut Line,
    field: &'a mut String,
    asked: &'a Asked<'a>,
}

impl<'de> DeserializeSeed<'de> for LineSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("one JSON object per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen: Vec<String> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            self.field.clone_from(&key);
            if seen.contains(&key) {
                return Err(A::Error::custom("this field appears twice"));
            }
            let is_one_of_two = !self.asked.both_names && !self.asked.targets.contains(&key.as_str());
            let other = other_name(&key).filter(|_| is_one_of_two);
            if let Some(other) = other.filter(|other| seen.iter().any(|name| name == other)) {
                let reason =
                    format!("`{other}` in the line as well, which is the same thing (give one of the two)");
                return Err(A::Error::custom(reason));
            }
            let line = &mut *self.line;
            match key.as_str() {
                name if self.asked.targets.contains(&name) => {
                    line.named.push((key.clone(), map.next_value_seed(Table)?));
                }
                "id" => line.id = map.next_value_seed(NameSeed)?,
                "num_nodes" => {
                    line.num_nodes = match map.next_value_seed(CellSeed)? {
                        Cell::Integer(value) => Some(
                            u64::try_from(value)
                                .map_err(|_| A::Error::custom(format!("{value}, which is negative")))?,
                        ),
                        _ => return Err(A::Error::custom("something that is not a non-negative integer")),
                    }
                }
                "edges" => line.edges = Some(map.next_value_seed(Pairs)?),
                "edge_index" => {
                    let index = map.next_value_seed(Table)?;
                    line.edges = Some(from_index(&index).map_err(A::Error::custom)?);
                }
                "node_features" | "x" => line.node_features = Some(map.next_value_seed(Table)?.into_rows()),
                "edge_features" | "edge_attr" => {
                    line.edge_features = Some(map.next_value_seed(Table)?.into_rows())
                }
                name @ ("target" | "y") => {
                    let target = map.next_value_seed(Table)?;
                    if line.target.is_none() || self.asked.preferred.is_none_or(|preferred| preferred == name)
                    {
                        line.target = Some(target);
                    }
                }
                "node_target" => line.node_target = Some(map.next_value_seed(Table)?.into_rows()),
                "edge_target" => line.edge_target = Some(map.next_value_seed(Table)?.into_rows()),
                "pairs" => line.pairs = Some(map.next_value_seed(Pairs)?),
                "edge_label_index" => {
                    let index = map.next_value_seed(Table)?;
                    line.pairs = Some(from_index(&index).map_err(A::Error::custom)?);
                }
                "pair_target" | "edge_label" => {
                    line.pair_target = Some(map.next_value_seed(Table)?.into_rows())
                }
                name if Some(name) == self.asked.weight => line.weight = Some(map.next_value_seed(CellSeed)?),
                name if name == self.asked.split || Masks::part_of(name).is_some() => {
                    line.parts.push((key.clone(), map.next_value()?));
                }
                // Another column of parts, which is not asked for.
                "split" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    line.unknown.push(key.clone());
                }
            }
            if seen.len() < 64 {
                seen.push(key);
            }
        }
        self.field.clear();
        Ok(())
    }
}
