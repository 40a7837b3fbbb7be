//! One line of JSON to flat vectors, without an intermediate tree: ragged rows and out-of-range numbers are noticed
//! where they stand, and nothing is stored that the graph does not need.

use crate::budget::{Share, bytes_of};
use crate::formats::Masks;
use crate::limits::within;
use crate::{DataError, Limits, Place};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// A value of a feature table or a target.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Integer(i64),
    Number(f64),
    Text(String),
    Null,
}

/// A rectangular table, row-major.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Rows {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) cells: Vec<Cell>,
}

/// The `target` of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    /// A value, or a list of values.
    Flat(Vec<Cell>),
    /// A list of lists.
    Nested(Rows),
}

/// One parsed line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Line {
    pub(super) id: Option<String>,
    pub(super) num_nodes: Option<u64>,
    pub(super) edges: Vec<[u32; 2]>,
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
                "id" if self.0.is_none() => *self.0 = map.next_value_seed(CellSeed)?.into_id(),
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
            let line = &mut *self.line;
            match key.as_str() {
                name if self.asked.targets.contains(&name) => {
                    line.named.push((key.clone(), map.next_value_seed(Table)?));
                }
                "id" => line.id = map.next_value_seed(CellSeed)?.into_id(),
                "num_nodes" => {
                    line.num_nodes = match map.next_value_seed(CellSeed)? {
                        Cell::Integer(value) => Some(
                            u64::try_from(value)
                                .map_err(|_| A::Error::custom(format!("{value}, which is negative")))?,
                        ),
                        _ => return Err(A::Error::custom("something that is not a non-negative integer")),
                    }
                }
                "edges" => line.edges = map.next_value_seed(Pairs)?,
                "edge_index" => {
                    line.edges = from_index(&map.next_value_seed(Table)?).map_err(A::Error::custom)?
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

impl Cell {
    fn into_id(self) -> Option<String> {
        match self {
            Self::Integer(value) => Some(value.to_string()),
            Self::Number(value) => Some(value.to_string()),
            Self::Text(text) => Some(text),
            Self::Null => None,
        }
    }
}

impl Target {
    pub(super) fn into_rows(self) -> Rows {
        match self {
            Self::Nested(rows) => rows,
            Self::Flat(cells) => Rows { rows: cells.len(), columns: 1, cells },
        }
    }
}

/// Edges from two rows of equal length: sources and targets.
fn from_index(table: &Target) -> Result<Vec<[u32; 2]>, String> {
    let Target::Nested(rows) = table else {
        return match table {
            Target::Flat(cells) if cells.is_empty() => Ok(Vec::new()),
            _ => Err("a flat list, expected two lists: sources and targets".to_owned()),
        };
    };
    if rows.rows != 2 {
        return Err(format!("{} lists, expected two: sources and targets", rows.rows));
    }
    let (sources, targets) = rows.cells.split_at(rows.cells.len() / 2);
    sources.iter().zip(targets).map(|(source, target)| Ok([node(source)?, node(target)?])).collect()
}

fn node(cell: &Cell) -> Result<u32, String> {
    match cell {
        Cell::Integer(value) => {
            u32::try_from(*value).map_err(|_| format!("node {value}, which is out of range"))
        }
        Cell::Number(value) => Err(format!("node {value}, which is not an integer")),
        Cell::Text(_) | Cell::Null => Err("a node that is not a number".to_owned()),
    }
}

/// A scalar.
struct CellSeed;

impl<'de> DeserializeSeed<'de> for CellSeed {
    type Value = Cell;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cell, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed {
    type Value = Cell;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a number, a text or null")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Integer(i64::from(value)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell, E> {
        i64::try_from(value)
            .map(Cell::Integer)
            .map_err(|_| E::custom(format!("{value}, which is out of range")))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Number(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Cell, E> {
        Ok(Cell::Text(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Cell, E> {
        Ok(Cell::Null)
    }
}

/// A scalar, a list of scalars or a list of lists of scalars, flattened as it is read.
struct Table;

impl<'de> DeserializeSeed<'de> for Table {
    type Value = Target;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Target, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Table {
    type Value = Target;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value, a list of values or a list of rows")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Target, E> {
        CellSeed.visit_bool(value).map(|cell| Target::Flat(vec![cell]))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Target, E> {
        CellSeed.visit_i64(value).map(|cell| Target::Flat(vec![cell]))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Target, E> {
        CellSeed.visit_u64(value).map(|cell| Target::Flat(vec![cell]))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Target, E> {
        CellSeed.visit_f64(value).map(|cell| Target::Flat(vec![cell]))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Target, E> {
        CellSeed.visit_str(value).map(|cell| Target::Flat(vec![cell]))
    }

    fn visit_unit<E: Error>(self) -> Result<Target, E> {
        Ok(Target::Flat(vec![Cell::Null]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Target, A::Error> {
        let mut rows = Rows::default();
        let mut is_nested = None;
        while let Some(width) = list.next_element_seed(RowSeed { cells: &mut rows.cells })? {
            let nested = width.is_some();
            if *is_nested.get_or_insert(nested) != nested {
                return Err(A::Error::custom("a mixture of values and lists"));
            }
            let width = width.unwrap_or(1);
            if rows.rows > 0 && rows.columns != width {
                return Err(A::Error::custom(format!(
                    "{width} values in row {}, {} in the rows before",
                    rows.rows, rows.columns
                )));
            }
            rows.columns = width;
            rows.rows += 1;
        }
        Ok(if is_nested == Some(true) { Target::Nested(rows) } else { Target::Flat(rows.cells) })
    }
}

/// One entry of a table; gives its width, or `None` for a scalar.
struct RowSeed<'a> {
    cells: &'a mut Vec<Cell>,
}

impl<'de> DeserializeSeed<'de> for RowSeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value or a list of values")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.cells.push(Cell::Integer(i64::from(value)));
        Ok(None)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.cells.push(Cell::Integer(value));
        Ok(None)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.cells.push(CellSeed.visit_u64(value)?);
        Ok(None)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.cells.push(Cell::Number(value));
        Ok(None)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        self.cells.push(Cell::Text(value.to_owned()));
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.cells.push(Cell::Null);
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let start = self.cells.len();
        while let Some(cell) = list.next_element_seed(CellSeed)? {
            self.cells.push(cell);
        }
        Ok(Some(self.cells.len() - start))
    }
}

/// A list of `[source, target]`.
struct Pairs;

impl<'de> DeserializeSeed<'de> for Pairs {
    type Value = Vec<[u32; 2]>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs {
    type Value = Vec<[u32; 2]>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of [source, target]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut edges = Vec::new();
        let mut cells = Vec::with_capacity(2);
        while let Some(width) = {
            cells.clear();
            list.next_element_seed(RowSeed { cells: &mut cells })?
        } {
            let [source, target] = cells.as_slice() else {
                return Err(A::Error::custom(format!(
                    "{} values for edge {}, expected 2",
                    cells.len(),
                    edges.len()
                )));
            };
            if width.is_none() {
                return Err(A::Error::custom(format!("a single value for edge {}", edges.len())));
            }
            let end = |cell| {
                node(cell).map_err(|reason| A::Error::custom(format!("edge {}: {reason}", edges.len())))
            };
            let pair = [end(source)?, end(target)?];
            edges.push(pair);
        }
        Ok(edges)
    }
}
