//! The `node_id`s of a graph while it is read, by which edges name its nodes.

use crate::budget::{Share, bytes_of};
use crate::limits::Exceeded;
use std::collections::HashMap;

/// The names of nodes, in the order of their rows. Numbers one after the other, as most files have them, take no memory.
#[derive(Debug)]
pub(super) enum NodeIds {
    /// `first`, `first + 1`, … in plain digits.
    Numbers { first: u64, count: u32 },
    /// Any text.
    Names(HashMap<String, u32>),
}

impl Default for NodeIds {
    fn default() -> Self {
        Self::Numbers { first: 0, count: 0 }
    }
}

impl NodeIds {
    /// How many there are.
    pub(super) fn len(&self) -> u32 {
        match self {
            Self::Numbers { count, .. } => *count,
            Self::Names(numbers) => numbers.len() as u32,
        }
    }

    /// Adds the next node; false if there is one of this name.
    pub(super) fn add(&mut self, name: &str, held: &mut Share) -> Result<bool, Exceeded> {
        match self {
            Self::Numbers { first, count } => match plain_number(name) {
                Some(number) if *count == 0 => {
                    (*first, *count) = (number, 1);
                    Ok(true)
                }
                Some(number) if first.checked_add(u64::from(*count)) == Some(number) => {
                    *count += 1;
                    Ok(true)
                }
                _ => {
                    let mut numbers = HashMap::new();
                    for node in 0..*count {
                        // No number here is beyond the one that came last.
                        let name = (*first + u64::from(node)).to_string();
                        held.grow(bytes_of_name(&name))?;
                        numbers.insert(name, node);
                    }
                    *self = Self::Names(numbers);
                    self.add(name, held)
                }
            },
            Self::Names(numbers) => {
                if numbers.contains_key(name) {
                    return Ok(false);
                }
                held.grow(bytes_of_name(name))?;
                numbers.insert(name.to_owned(), numbers.len() as u32);
                Ok(true)
            }
        }
    }

    /// The node of a name.
    pub(super) fn get(&self, name: &str) -> Option<u32> {
        match self {
            Self::Names(numbers) => numbers.get(name).copied(),
            Self::Numbers { first, count } => {
                let place = plain_number(name)?.checked_sub(*first)?;
                u32::try_from(place).ok().filter(|place| place < count)
            }
        }
    }
}

fn bytes_of_name(name: &str) -> u64 {
    bytes_of::<(String, u32)>(2) + name.len() as u64
}

/// The number that a text is, if it is written as this program would write it: `07` and `7` are two names.
fn plain_number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::budget::Budget;

    fn ids(names: &[&str]) -> (NodeIds, Vec<bool>) {
        let mut held = Budget::new(&Limits::default()).share();
        let mut ids = NodeIds::default();
        let added = names.iter().map(|name| ids.add(name, &mut held).unwrap()).collect();
        (ids, added)
    }

    #[test]
    fn numbers_in_a_row_are_not_kept_and_any_other_name_is() {
        let (numbers, _) = ids(&["7", "8", "9"]);
        assert!(matches!(numbers, NodeIds::Numbers { first: 7, count: 3 }));
        assert_eq!(
            ["7", "9", "10", "6", "08", "+8", "", "x"].map(|name| numbers.get(name)),
            [Some(0), Some(2), None, None, None, None, None, None]
        );
        for odd in ["9", "08", "+8", "a", "", "18446744073709551616"] {
            let (names, added) = ids(&["7", odd, "8"]);
            assert_eq!(added, [true; 3], "{odd}");
            assert_eq!(
                [names.get("7"), names.get(odd), names.get("8")],
                [Some(0), Some(1), Some(2)],
                "{odd}"
            );
        }
        assert_eq!(ids(&["18446744073709551615", "0"]).1, [true, true]);
    }

    #[test]
    fn a_name_that_is_there_already_is_noticed() {
        for names in [["3", "4", "3"], ["a", "4", "4"], ["3", "4", "4"]] {
            let (ids, added) = ids(&names);
            assert_eq!((added, ids.len()), (vec![true, true, false], 2));
        }
    }

    #[test]
    fn names_are_counted_as_memory_and_numbers_are_not() {
        let limits = Limits { memory_bytes: Some(1_000), ..Limits::default() };
        let mut held = Budget::new(&limits).share();
        let mut ids = NodeIds::default();
        for node in 0..1_000 {
            assert!(ids.add(&node.to_string(), &mut held).unwrap());
        }
        assert!(ids.add("a", &mut held).is_err());
    }
}
