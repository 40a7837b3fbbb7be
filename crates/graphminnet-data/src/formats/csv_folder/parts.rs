//! Columns of `nodes.csv`, `edges.csv` or `pairs.csv` that say which part of the data a row belongs to.

use super::columns::is_feature;
use crate::formats::csv::CsvReader;
use crate::formats::{Masks, parse_split};
use crate::{Column, DataError, Place, ReadOptions, Split};

/// The columns, and how they are read.
pub(super) struct PartColumns {
    /// Names of all columns that hold parts, used or not: none of them is a feature.
    pub(super) names: Vec<String>,
    rule: Rule,
}

enum Rule {
    /// There is none.
    Unused,
    /// One column with the names of the parts.
    Names(usize, String),
    /// A column of yes and no for each part.
    Masks([Option<usize>; 3]),
}

impl PartColumns {
    /// Looks for `split`, or for the column that the options name, then for masks; what a schema knows as a feature is one.
    pub(super) fn find(
        table: &CsvReader,
        known: &[Column],
        options: &ReadOptions,
    ) -> Result<Self, DataError> {
        let chosen = options.split_column.as_deref();
        let mut names = Vec::new();
        for name in table.header() {
            let holds_parts =
                chosen == Some(name) || is_numbered(name, "split") || Masks::part_of(name).is_some();
            if options.rules >= 3 && holds_parts && !is_feature(name, known, options) {
                names.push(name.clone());
            }
        }
        let column = |name: &str| {
            table
                .header()
                .iter()
                .position(|found| found == name)
                .filter(|_| names.iter().any(|known| known == name))
        };
        let rule = match column(chosen.unwrap_or("split")) {
            // Parts are those of targets, and those that nobody asks for may be called what they like.
            _ if options.ignore_targets || options.ignore_split => Rule::Unused,
            Some(at) => Rule::Names(at, chosen.unwrap_or("split").to_owned()),
            None => {
                let mut masks = [None; 3];
                for name in &names {
                    if let Some(part) = Masks::part_of(name) {
                        masks[part as usize] = column(name);
                    }
                }
                if masks.iter().any(Option::is_some) { Rule::Masks(masks) } else { Rule::Unused }
            }
        };
        Ok(Self { names, rule })
    }

    /// Whether rows have parts.
    pub(super) fn are_used(&self) -> bool {
        !matches!(self.rule, Rule::Unused)
    }

    /// The part of the current row.
    pub(super) fn part(&self, table: &CsvReader, place: &Place) -> Result<Option<Split>, DataError> {
        match &self.rule {
            Rule::Unused => Ok(None),
            Rule::Names(column, name) => parse_split(Some(table.field(*column)), name, place),
            Rule::Masks(columns) => {
                let mut flags = [false; 3];
                for (flag, column) in flags.iter_mut().zip(columns) {
                    if let Some(column) = column {
                        let text = table.field(*column).trim();
                        *flag = match text.to_ascii_lowercase().as_str() {
                            "1" | "true" | "yes" => true,
                            "" | "0" | "false" | "no" => false,
                            _ => {
                                let place = place.clone().in_column(&table.header()[*column]);
                                return Err(DataError::value(place, text, "1 or 0, or true or false"));
                            }
                        };
                    }
                }
                Masks::part(flags, place)
            }
        }
    }
}

/// Whether a name is a word, or the word with a number as in `split_3`.
fn is_numbered(name: &str, word: &str) -> bool {
    let rest = name.strip_prefix(word).map(|rest| rest.trim_start_matches('_'));
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}
