//! The values in a line of JSON, flattened as they are read: ragged rows and out-of-range numbers are noticed where they
//! stand.

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// A value of a feature table or a target.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Integer(i64),
    Number(f64),
    Text(String),
    Null,
}

impl Cell {
    pub(super) fn into_id(self) -> Option<String> {
        match self {
            Self::Integer(value) => Some(value.to_string()),
            Self::Number(value) => Some(value.to_string()),
            Self::Text(text) => Some(text),
            Self::Null => None,
        }
    }
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

impl Target {
    pub(super) fn into_rows(self) -> Rows {
        match self {
            Self::Nested(rows) => rows,
            Self::Flat(cells) => Rows { rows: cells.len(), columns: 1, cells },
        }
    }
}

/// Edges from two rows of equal length: sources and targets.
pub(super) fn from_index(table: &Target) -> Result<Vec<[u32; 2]>, String> {
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
        // With its point: `0.0` is what the line has.
        Cell::Number(value) => Err(format!("node {value:?}, which is not an integer")),
        Cell::Text(_) | Cell::Null => Err("a node that is not a number".to_owned()),
    }
}

/// A scalar.
pub(super) struct CellSeed;

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

/// The scalars of a visitor: what [`CellSeed`] makes of them, taken by its method `scalar`.
macro_rules! scalars {
    () => {
        scalars! { visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str) }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            CellSeed.visit_unit().map(|cell| self.scalar(cell))
        }
    };
    ($($visit:ident($value:ty)),*) => {$(
        fn $visit<E: Error>(self, value: $value) -> Result<Self::Value, E> {
            CellSeed.$visit(value).map(|cell| self.scalar(cell))
        }
    )*};
}

/// The name of a graph. Hashes are names, too: all numbers of 64 bits keep their digits.
pub(super) struct NameSeed;

impl NameSeed {
    fn scalar(self, cell: Cell) -> Option<String> {
        cell.into_id()
    }
}

impl<'de> DeserializeSeed<'de> for NameSeed {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NameSeed {
    type Value = Option<String>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        CellSeed.expecting(out)
    }

    scalars! { visit_bool(bool), visit_i64(i64), visit_f64(f64), visit_str(&str) }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Option<String>, E> {
        Ok(Some(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<String>, E> {
        Ok(None)
    }
}

/// A scalar, a list of scalars or a list of lists of scalars, flattened as it is read.
pub(super) struct Table;

impl Table {
    fn scalar(self, cell: Cell) -> Target {
        Target::Flat(vec![cell])
    }
}

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

    scalars!();

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

impl RowSeed<'_> {
    fn scalar(self, cell: Cell) -> Option<usize> {
        self.cells.push(cell);
        None
    }
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

    scalars!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let start = self.cells.len();
        while let Some(cell) = list.next_element_seed(CellSeed)? {
            self.cells.push(cell);
        }
        Ok(Some(self.cells.len() - start))
    }
}

/// A list of `[source, target]`.
pub(super) struct Pairs;

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
