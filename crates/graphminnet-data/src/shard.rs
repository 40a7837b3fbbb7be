//! One of several parts of a file: how work is shared out without anybody who hands it out.
//!
//! ```
//! use graphminnet_data::Shard;
//!
//! let second: Shard = "2/3".parse()?;
//! assert_eq!(second.range(10), 3..6);
//! assert!("4/3".parse::<Shard>().is_err());
//! # Ok::<(), String>(())
//! ```
//!
//! Text is cut at bytes: a record belongs to the shard in which its first byte lies, so that every record belongs to
//! exactly one. Tables with row groups are cut between them.

use crate::DataError;
use crate::Place;
use crate::fs::without_compression;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// Shard `number` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Shard {
    /// Shards beyond this number are a mistake: every one of them is a process.
    pub const MOST: u32 = 1_000_000;

    /// Shard `number` of `count`, counted from 1.
    ///
    /// # Errors
    ///
    /// What is expected, for numbers that make no shard.
    pub fn new(number: u32, count: u32) -> Result<Self, String> {
        match number >= 1 && number <= count && count <= Self::MOST {
            true => Ok(Self { number, count }),
            false => Err(format!("expected i/n with i from 1 to n, and n at most {}", Self::MOST)),
        }
    }

    /// Which one it is, counted from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Whether it is the first.
    pub fn is_first(self) -> bool {
        self.number == 1
    }

    /// The shard's share of so many things in a row.
    pub fn range(self, total: u64) -> Range<u64> {
        // The product of 64 and 32 bits fits into 128, and the quotient is at most `total`.
        let cut = |number: u32| (u128::from(total) * u128::from(number) / u128::from(self.count)) as u64;
        cut(self.number - 1)..cut(self.number)
    }

    /// The bytes of a file in which records of this shard begin.
    pub(crate) fn bytes_of(self, path: &Path) -> Result<Range<u64>, DataError> {
        let refused =
            |reason: &str| DataError::Schema { place: Place::file(path), reason: reason.to_owned() };
        if without_compression(path) != path {
            return Err(refused(
                "a compressed file cannot be read in shards, because it can only be read from its beginning; \
                 decompress it first",
            ));
        }
        let metadata = std::fs::metadata(path).map_err(DataError::io(path, "open"))?;
        if !metadata.is_file() {
            return Err(refused("only regular files can be read in shards"));
        }
        Ok(self.range(metadata.len()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        // Numbers that cannot be read are no shard either.
        let (number, count) = numbers.unwrap_or((0, 0));
        Self::new(number, count)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_shard_is_refused_with_what_is_expected() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/2", "1/2/3", "a/b", "1/99999999999", "1/1000001"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains("i from 1 to n"), "{text}: {error}");
        }
        assert_eq!("3/7".parse::<Shard>().unwrap().to_string(), "3/7");
    }

    proptest! {
        #[test]
        fn the_shares_follow_each_other_without_gap_from_the_first_thing_to_the_last(
            total in any::<u64>(), count in 1u32..200,
        ) {
            let ranges: Vec<_> = (1..=count).map(|number| Shard::new(number, count).unwrap().range(total)).collect();
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert_eq!(ranges[ranges.len() - 1].end, total);
            for pair in ranges.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
            let sizes: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }
}
