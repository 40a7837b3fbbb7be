//! How a number of ours stands to the paper's.

use crate::paper::Printed;
use graphminnet::train::MeanStd;
use std::fmt;

/// A judgement that a table prints beside two numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same within the spread of the seeds.
    Matched,
    /// Worse than the paper.
    Below,
    /// Better than the paper.
    Above,
    /// Not the whole protocol, so no judgement.
    Shortened,
    /// There is no number of ours, for this reason.
    NotRun(String),
    /// There is no number in the paper.
    NotInThePaper,
    /// There is no number that anybody published.
    NoPublishedCount,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matched => formatter.write_str("matched"),
            Self::Below => formatter.write_str("below"),
            Self::Above => formatter.write_str("above"),
            Self::Shortened => formatter.write_str("shortened"),
            Self::NotRun(reason) => write!(formatter, "not run: {reason}"),
            Self::NotInThePaper => formatter.write_str("not in the paper"),
            Self::NoPublishedCount => formatter.write_str("no published count"),
        }
    }
}

/// What the words mean, to be printed under a table of trainings.
pub(super) const MEANING: &str = "Verdicts: matched — within two standard deviations (the larger of the paper's and \
ours, and never less than the last printed digit); below — worse than that, above — better; shortened — fewer \
epochs, training graphs or seeds than the protocol has, so no verdict.";

impl Verdict {
    /// Compares a mean over seeds with a printed one.
    pub fn of(printed: Option<Printed>, ours: MeanStd, larger_is_better: bool) -> Self {
        let Some(printed) = printed else { return Self::NotInThePaper };
        let digit = 10f64.powi(-(printed.decimals() as i32));
        let tolerance = (2.0 * printed.std.unwrap_or(0.0).max(ours.population_std)).max(digit);
        let gain = if larger_is_better { ours.mean - printed.mean } else { printed.mean - ours.mean };
        if gain.abs() <= tolerance {
            Self::Matched
        } else if gain < 0.0 {
            Self::Below
        } else {
            Self::Above
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn better_and_worse_follow_the_metric() {
        let printed = crate::paper::result("graphminnet", "zinc");
        let ours = |mean| MeanStd { mean, population_std: 0.0, count: 1 };
        assert_eq!(Verdict::of(printed, ours(0.0648), false), Verdict::Matched);
        assert_eq!(Verdict::of(printed, ours(0.07), false), Verdict::Below);
        assert_eq!(Verdict::of(printed, ours(0.05), false), Verdict::Above);
        assert_eq!(Verdict::of(printed, ours(0.07), true), Verdict::Above);
        assert_eq!(Verdict::of(None, ours(0.07), true), Verdict::NotInThePaper);
    }
}
