//! What a loss makes a model say about numbers besides the numbers themselves: how many outputs a target column has, and
//! what they are.
//!
//! The outputs of a row stand in blocks with an output per target column each. The first block is the prediction itself,
//! whatever follows it, so that whoever wants no more takes the first outputs of a row.

use super::choices::Loss;

/// The level of the quantile that predictions are.
pub(crate) const MEDIAN: f64 = 0.5;

/// Unless others are asked for: the median, and an interval that holds nine of ten labels.
pub(crate) const DEFAULT_QUANTILES: [f64; 3] = [0.05, MEDIAN, 0.95];

pub(super) const EXPECTED: &str = "must be ascending numbers between 0 and 1, both excluded, with 0.5 among them: predictions are the median";

/// Whether these are levels that a model can be asked for.
pub(crate) fn are_quantiles(levels: &[f64]) -> bool {
    levels.iter().all(|level| *level > 0.0 && *level < 1.0)
        && levels.is_sorted_by(|a, b| a < b)
        && levels.contains(&MEDIAN)
}

/// What a model says about each target column.
///
/// | spread | blocks of outputs |
/// |---|---|
/// | none | the number, or what classes have in its place |
/// | normal | the mean; the logarithm of the variance, before it is bounded |
/// | quantiles | the median; the other quantiles, ascending |
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// A number, or what classes have in its place.
    None,
    /// Mean and standard deviation of a normal distribution.
    Normal,
    /// Quantiles at these levels, ascending; 0.5 is among them.
    Quantiles(Vec<f64>),
}

impl Spread {
    /// What a model says that was trained by a loss; `quantiles` are those of the quantile loss.
    pub fn of(loss: Loss, quantiles: &[f64]) -> Self {
        match loss {
            Loss::MeanVariance => Self::Normal,
            Loss::Quantile => Self::Quantiles(quantiles.to_vec()),
            _ => Self::None,
        }
    }

    /// Outputs per target column.
    pub fn blocks(&self) -> usize {
        match self {
            Self::None => 1,
            Self::Normal => 2,
            Self::Quantiles(levels) => levels.len().max(1),
        }
    }

    /// Levels of the quantiles besides the median, ascending: those of the second block on.
    pub fn other_levels(&self) -> Vec<f64> {
        match self {
            Self::Quantiles(levels) => levels.iter().copied().filter(|level| *level != MEDIAN).collect(),
            Self::None | Self::Normal => Vec::new(),
        }
    }

    /// Whether a block moves with the targets; deviations only grow with them.
    pub(crate) fn is_shifted(&self, block: usize) -> bool {
        *self != Self::Normal || block == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::TrainConfig;

    #[test]
    fn levels_ascend_between_0_and_1_and_have_a_median() {
        for right in [&[0.5][..], &DEFAULT_QUANTILES, &[0.001, 0.5, 0.6, 0.999]] {
            assert!(are_quantiles(right), "{right:?}");
        }
        let nan = f64::NAN;
        for wrong in [
            &[][..],
            &[0.1, 0.9],
            &[0.5, 0.1],
            &[0.5, 0.5],
            &[0.0, 0.5],
            &[0.5, 1.0],
            &[nan, 0.5],
            &[0.5, nan],
        ] {
            let train =
                TrainConfig { loss: Loss::Quantile, quantiles: wrong.to_vec(), ..TrainConfig::default() };
            let error = train.check().unwrap_err().to_string();
            assert!(error.contains("train.quantiles") && error.contains(EXPECTED), "{error}");
        }
    }
}
