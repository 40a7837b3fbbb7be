//! Whether new graphs are of another kind than those of a calibration, judged by what the models say about them.
//!
//! Intervals keep their promise for graphs from the same source. The truth about new graphs is not known, but answers
//! are: where they are distributed otherwise than on the calibration, the graphs are. The test is that of Kolmogorov and
//! Smirnov; answers that look alike do not prove that graphs are.

use super::{AnswerRow, Conformal};

/// Answers that are looked at per column.
const MAX_SEEN: usize = 20_000;
/// Fewer answers than these decide nothing.
const MIN_SEEN: usize = 20;
/// √(−½·ln(α/2)) for α = 0.001.
const CRITICAL: f64 = 1.9495;

/// Looks at answers as they come.
#[derive(Debug, Clone)]
pub struct Shift<'a> {
    conformal: &'a Conformal,
    seen: Vec<Vec<f64>>,
}

impl<'a> Shift<'a> {
    /// Nothing seen yet.
    pub fn new(conformal: &'a Conformal) -> Self {
        Self { conformal, seen: vec![Vec::new(); conformal.reference().len()] }
    }

    /// Takes a row into account.
    pub fn look(&mut self, row: &AnswerRow<'_>) {
        for (seen, value) in self.seen.iter_mut().zip(row.values()) {
            if seen.len() < MAX_SEEN {
                seen.push(value);
            }
        }
    }

    /// The largest distance between the distributions of a column, if chance does not explain it.
    pub fn distance(&self) -> Option<f64> {
        let columns = self.seen.iter().zip(self.conformal.reference());
        let significant = columns.filter_map(|(seen, reference)| {
            let (new, old) = (seen.len() as f64, reference.len() as f64);
            if seen.len() < MIN_SEEN || reference.len() < MIN_SEEN {
                return None;
            }
            let distance = distance(seen, reference);
            (distance > CRITICAL * ((new + old) / (new * old)).sqrt()).then_some(distance)
        });
        significant.reduce(f64::max)
    }
}

/// The largest difference of two empirical distribution functions; `sorted` is sorted.
fn distance(values: &[f64], sorted: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let share = |sorted: &[f64], value: f64| {
        sorted.partition_point(|other| *other <= value) as f64 / sorted.len().max(1) as f64
    };
    let differences = values.iter().chain(sorted).map(|&at| (share(&values, at) - share(sorted, at)).abs());
    differences.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_largest_gap_between_the_distributions() {
        assert_eq!(distance(&[3.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), 0.0);
        assert_eq!(distance(&[5.0, 6.0], &[1.0, 2.0, 3.0]), 1.0);
        assert_eq!(distance(&[1.0, 9.0], &[1.0, 2.0, 3.0, 4.0]), 0.5);
    }
}
