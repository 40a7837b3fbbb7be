//! Columns while they are being read: cells become numbers, text becomes a code of its column.

use crate::budget::{Budget, Share, bytes_of};
use crate::limits::within;
use crate::{Column, ColumnKind, DataError, Limits, Place};
use std::collections::{BTreeSet, HashMap};

/// Words by which tables say that a cell has no value; case does not matter.
const MISSING_WORDS: [&str; 7] = ["nan", "na", "n/a", "#n/a", "null", "none", "-"];

/// Different integers of a target column that are remembered.
const MAX_INTEGERS: usize = 1_000;

/// Whether a cell of a target column is blank or holds a word for "no value".
pub(crate) fn is_missing(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || MISSING_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Cells of one graph's nodes, edges or targets, row-major; text as the code that its [`ColumnSet`] gave it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    pub(crate) rows: usize,
    pub(crate) values: Vec<f64>,
}

impl Table {
    /// Bytes of its cells.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of::<f64>(self.values.len())
    }
}

/// What has been seen of one column.
#[derive(Debug, Clone)]
pub(crate) struct ColumnTrace {
    pub(crate) name: String,
    /// `None` until the first value decides.
    pub(crate) is_text: Option<bool>,
    /// Code of every text, in order of appearance.
    pub(crate) codes: HashMap<String, u32>,
    /// Whether every value was written as an integer.
    pub(crate) all_integers: bool,
    /// Whether every number was whole, however it was written.
    pub(crate) all_whole: bool,
    /// Whether every number was 0 or 1, however it was written.
    pub(crate) all_yes_or_no: bool,
    pub(crate) smallest: f64,
    pub(crate) largest: f64,
    /// How many numbers there were.
    pub(crate) numbers: u64,
    /// The different whole numbers, in a target column; `None` where nobody asks, or if there are too many.
    pub(crate) integers: Option<BTreeSet<i64>>,
    /// The integers below [`ColumnSet::max_categories`] that came up, bit by bit, while all numbers were integers.
    seen: Vec<u64>,
    /// By how much 32 bits change a number at most.
    narrowed: f64,
    /// Where the first word for "no value" was read as text.
    pub(super) missing_at: Option<Place>,
    /// Whether a schema says that it holds numbers, whatever the first value looks like.
    wants_numbers: bool,
    /// Whether words such as `NA` are values like any other.
    keeps_words: bool,
    /// The first word that was read as a missing label.
    pub(crate) missing_word: Option<String>,
}

impl ColumnTrace {
    /// Whether it holds text.
    pub(super) fn holds_text(&self) -> bool {
        self.is_text == Some(true)
    }

    /// The integers that came up, where all numbers are small integers; ascending.
    pub(super) fn seen(&self) -> impl Iterator<Item = u32> + '_ {
        let bits = |word: u64| (0..u64::BITS).filter(move |bit| word >> bit & 1 == 1);
        (0..).zip(&self.seen).flat_map(move |(at, word)| bits(*word).map(move |bit| at * u64::BITS + bit))
    }

    /// Whether 32 bits change numbers by more than a thousandth of what lies between the smallest and the largest.
    pub(super) fn loses_digits(&self) -> bool {
        !self.holds_text()
            && self.largest > self.smallest
            && self.narrowed * 1_000.0 > self.largest - self.smallest
    }

    /// Whether all texts are numbers but for words such as `NA`.
    pub(super) fn is_numbers_with_gaps(&self) -> bool {
        let mut others = self.codes.keys().filter(|text| !is_missing(text)).peekable();
        self.missing_at.is_some()
            && others.peek().is_some()
            && others.all(|text| text.trim().parse::<f64>().is_ok())
    }

    /// The text that came first, in a column of text.
    pub(super) fn first_text(&self) -> Option<&str> {
        self.codes.iter().find(|(_, code)| **code == 0).map(|(text, _)| text.as_str())
    }

    /// A value as the file has it: the text that a code stands for, or a number.
    pub(super) fn written(&self, value: f64) -> String {
        let text =
            self.codes.iter().find(|(_, code)| f64::from(**code) == value).map(|(text, _)| text.clone());
        text.filter(|_| self.holds_text()).unwrap_or_else(|| value.to_string())
    }
}

/// The columns of all node tables, edge tables or target tables of a data set.
#[derive(Debug, Default)]
pub(crate) struct ColumnSet {
    columns: Vec<ColumnTrace>,
    max_categories: u64,
    /// Memory of the texts.
    held: Option<Share>,
}

impl ColumnSet {
    /// Columns with the given names; `text` lists those that hold text whatever it looks like.
    pub(crate) fn new(
        names: impl IntoIterator<Item = String>,
        text: &[String],
        limits: &Limits,
        budget: &Budget,
    ) -> Result<Self, crate::limits::Exceeded> {
        let columns: Vec<ColumnTrace> = names
            .into_iter()
            .map(|name| ColumnTrace {
                is_text: text.contains(&name).then_some(true),
                name,
                codes: HashMap::new(),
                all_integers: true,
                all_whole: true,
                all_yes_or_no: true,
                smallest: f64::INFINITY,
                largest: f64::NEG_INFINITY,
                numbers: 0,
                integers: None,
                seen: Vec::new(),
                narrowed: 0.0,
                missing_at: None,
                wants_numbers: false,
                keeps_words: false,
                missing_word: None,
            })
            .collect();
        within("features", columns.len() as u64, limits.features)?;
        Ok(Self { columns, max_categories: limits.categories, held: Some(budget.share()) })
    }

    /// Fixes columns that a schema knows as text, so that `12` in them is read as text.
    pub(crate) fn follow(&mut self, known: &[Column]) {
        for trace in &mut self.columns {
            if let Some(column) = known.iter().find(|column| column.name == trace.name) {
                let is_text = matches!(&column.kind, ColumnKind::Category { names, .. } if !names.is_empty());
                trace.is_text = Some(is_text);
            }
        }
    }

    /// Makes these target columns: their integers are remembered, and words such as `NA` are missing labels, except where
    /// they are among the `classes`, or in a column that holds text by request.
    pub(crate) fn are_targets(&mut self, classes: &[String], rules: u32) {
        let is_class = rules < 2 || classes.iter().any(|class| is_missing(class));
        for trace in &mut self.columns {
            trace.integers = Some(BTreeSet::new());
            trace.keeps_words = is_class || trace.is_text == Some(true);
        }
    }

    /// The same for a target column with class names.
    pub(crate) fn follow_text(&mut self) {
        for trace in &mut self.columns {
            trace.is_text = Some(true);
        }
    }

    /// Fixes target columns that a schema knows as numbers: a text among them must be one, and is never a code.
    pub(crate) fn follow_numbers(&mut self) {
        for trace in &mut self.columns {
            trace.is_text = Some(false);
            trace.wants_numbers = true;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn traces(&self) -> &[ColumnTrace] {
        &self.columns
    }

    /// Whether a column holds text and not numbers, where a value has said so.
    pub(crate) fn holds_text(&self, column: usize) -> Option<bool> {
        self.columns.get(column).and_then(|trace| trace.is_text)
    }

    pub(crate) fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |trace| trace.name.as_str())
    }

    /// A number; `is_integer` says whether it was written as one.
    pub(crate) fn number(
        &mut self,
        column: usize,
        value: f64,
        is_integer: bool,
        place: &Place,
    ) -> Result<f64, DataError> {
        self.number_written(column, (value, None), is_integer, place)
    }

    /// A number and, where it is known, how it is written: `1e400` is infinite only once it is read.
    fn number_written(
        &mut self,
        column: usize,
        (value, written): (f64, Option<&str>),
        is_integer: bool,
        place: &Place,
    ) -> Result<f64, DataError> {
        let Some(trace) = self.columns.get_mut(column) else {
            return Err(DataError::malformed(place.clone(), "an extra column", "one value per column"));
        };
        if trace.is_text == Some(true) {
            return self.text(column, &value.to_string(), place);
        }
        if !(value as f32).is_finite() {
            let place = place.clone().in_column(&trace.name);
            let written = written.map_or_else(|| value.to_string(), str::to_owned);
            return Err(DataError::value(place, written, "a finite 32-bit number"));
        }
        trace.is_text = Some(false);
        trace.all_integers &= is_integer;
        let is_whole = is_integer || value.fract() == 0.0;
        trace.all_whole &= is_whole;
        trace.all_yes_or_no &= value == 0.0 || value == 1.0;
        trace.smallest = trace.smallest.min(value);
        trace.largest = trace.largest.max(value);
        trace.numbers += 1;
        trace.narrowed = trace.narrowed.max((value - f64::from(value as f32)).abs());
        if trace.all_integers && value >= 0.0 && value < self.max_categories as f64 {
            let (word, bit) = (value as usize / 64, value as u64 % 64);
            if word >= trace.seen.len() {
                if let Some(held) = &mut self.held {
                    held.grow(bytes_of::<u64>(word + 1 - trace.seen.len())).map_err(|exceeded| {
                        DataError::limit(place.clone().in_column(&trace.name))(exceeded)
                    })?;
                }
                trace.seen.resize(word + 1, 0);
            }
            if let Some(bits) = trace.seen.get_mut(word) {
                *bits |= 1 << bit;
            }
        }
        if let Some(integers) = trace.integers.as_mut().filter(|_| is_whole) {
            integers.insert(value as i64);
            if integers.len() > MAX_INTEGERS {
                trace.integers = None;
            }
        }
        Ok(value)
    }

    /// A number that is a bound: whatever it looks like, it says that the column holds measurements.
    pub(crate) fn bound(
        &mut self,
        column: usize,
        (value, written): (f64, &str),
        place: &Place,
    ) -> Result<f64, DataError> {
        let value = self.number_written(column, (value, Some(written)), false, place)?;
        if let Some(trace) = self.columns.get_mut(column) {
            trace.all_yes_or_no = false;
        }
        Ok(value)
    }

    /// A piece of text.
    pub(crate) fn text(&mut self, column: usize, value: &str, place: &Place) -> Result<f64, DataError> {
        let max_categories = self.max_categories;
        let Some(trace) = self.columns.get_mut(column) else {
            return Err(DataError::malformed(place.clone(), "an extra column", "one value per column"));
        };
        if trace.wants_numbers {
            return match value.trim().parse::<f64>() {
                Ok(number) => self.number_written(column, (number, Some(value)), false, place),
                Err(_) => {
                    let place = place.clone().in_column(&trace.name);
                    Err(DataError::value(place, value, "a number, as the column's values in training were"))
                }
            };
        }
        if trace.is_text == Some(false) {
            let place = place.clone().in_column(&trace.name);
            return Err(DataError::value(
                place,
                value,
                "a number, as the column's other values are (`--text COLUMN`, the option `text`, reads them all as text)",
            ));
        }
        trace.is_text = Some(true);
        if let Some(code) = trace.codes.get(value) {
            return Ok(f64::from(*code));
        }
        let code = trace.codes.len() as u32;
        within("categories", u64::from(code) + 1, max_categories)
            .map_err(DataError::limit(place.clone().in_column(&trace.name)))?;
        if let Some(held) = &mut self.held {
            held.grow(bytes_of::<(String, u32)>(2) + value.len() as u64)
                .map_err(DataError::limit(place.clone().in_column(&trace.name)))?;
        }
        if is_missing(value) && trace.missing_at.is_none() {
            trace.missing_at = Some(place.clone().in_column(&trace.name));
        }
        trace.codes.insert(value.to_owned(), code);
        Ok(f64::from(code))
    }

    /// A cell of a text table: a number if it looks like one, else text.
    pub(crate) fn cell(&mut self, column: usize, text: &str, place: &Place) -> Result<f64, DataError> {
        let text = text.trim();
        let wants_text = self.columns.get(column).is_some_and(|trace| trace.is_text == Some(true));
        match text.parse::<f64>() {
            _ if wants_text => self.text(column, text, place),
            Ok(value) => {
                let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
                let is_integer = digits.bytes().all(|byte| byte.is_ascii_digit());
                self.number_written(column, (value, Some(text)), is_integer, place)
            }
            Err(_) => self.text(column, text, place),
        }
    }

    /// A cell of a target column in a text table: NaN where there is no label.
    pub(crate) fn label(&mut self, column: usize, text: &str, place: &Place) -> Result<f64, DataError> {
        let text = text.trim();
        let trace = self.columns.get_mut(column);
        match trace {
            _ if text.is_empty() => Ok(f64::NAN),
            Some(trace) if is_missing(text) && !trace.keeps_words => {
                trace.missing_word.get_or_insert_with(|| text.to_owned());
                Ok(f64::NAN)
            }
            _ if text.eq_ignore_ascii_case("nan") => Ok(f64::NAN),
            _ => self.cell(column, text, place),
        }
    }
}
