//! What the outputs of a model of numbers stand for, where it also says how unsure it is.
//!
//! Only losses look at outputs as the network gives them. [`Spread::decode`] makes them what they are said to be: deviations in
//! place of logarithms, and quantiles in their order.

use crate::config::{MEDIAN, Spread};

/// The range of the logarithm of a variance, in units of the standardised targets: deviations from about 0.001 to 20 times
/// that of the targets.
const LOG_VARIANCES: (f64, f64) = (-14.0, 6.0);

impl Spread {
    /// Makes outputs of the network, `[rows, columns]`, what they stand for, in the same units and blocks: a deviation in the
    /// place of the logarithm of a variance, and quantiles that cross in their order.
    pub(crate) fn decode(&self, outputs: &mut [f32], columns: usize) {
        let targets = columns / self.blocks();
        match self {
            Self::None => {}
            Self::Normal => {
                for row in outputs.chunks_exact_mut(columns.max(1)) {
                    for raw in row.iter_mut().skip(targets) {
                        *raw = (0.5 * log_variance(f64::from(*raw)).0).exp() as f32;
                    }
                }
            }
            Self::Quantiles(levels) => {
                // Blocks in the order of their levels.
                let median = levels.iter().position(|level| *level == MEDIAN).unwrap_or(0);
                let blocks: Vec<usize> = (0..levels.len())
                    .map(|at| match at.cmp(&median) {
                        std::cmp::Ordering::Less => at + 1,
                        std::cmp::Ordering::Equal => 0,
                        std::cmp::Ordering::Greater => at,
                    })
                    .collect();
                for row in outputs.chunks_exact_mut(columns.max(1)) {
                    for target in 0..targets {
                        let mut values: Vec<f32> =
                            blocks.iter().map(|block| row[block * targets + target]).collect();
                        values.sort_by(f32::total_cmp);
                        for (block, value) in blocks.iter().zip(values) {
                            row[block * targets + target] = value;
                        }
                    }
                }
            }
        }
    }

    /// The predictions themselves, `[rows, target columns]`, of outputs `[rows, columns]`.
    #[cfg(any(feature = "train", test))]
    pub(crate) fn points(&self, outputs: Vec<f32>, columns: usize) -> Vec<f32> {
        let blocks = self.blocks();
        if blocks == 1 {
            return outputs;
        }
        outputs
            .chunks_exact(columns.max(1))
            .flat_map(|row| row.iter().copied().take(columns / blocks))
            .collect()
    }
}

/// The logarithm of a variance that an output stands for, and its slope.
///
/// The logarithm, because the loss then pulls at it alike whether errors are small or large; `softplus` for the variance
/// itself would hardly move where it is small. It is bounded, because the likelihood of labels that a model knows by heart
/// has no bound. Well within the range the output is the logarithm; near the ends it bends smoothly, so that no output is
/// without a slope.
pub(crate) fn log_variance(output: f64) -> (f64, f64) {
    let (least, most) = LOG_VARIANCES;
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let value = least + softplus(output - least) - softplus(output - most);
    (value, sigmoid(output - least) - sigmoid(output - most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_variances_are_the_outputs_within_their_range_and_end_where_it_ends() {
        for (output, expected) in [(0.0, 0.0), (-4.0, -4.0), (1e6, 6.0), (-1e6, -14.0)] {
            assert!((log_variance(output).0 - expected).abs() < 0.01, "{output}");
        }
        for output in [-20.0, -14.0, -3.0, 0.0, 5.0, 6.0, 9.0] {
            let slope = (log_variance(output + 1e-5).0 - log_variance(output - 1e-5).0) / 2e-5;
            assert!((log_variance(output).1 - slope).abs() < 1e-8, "{output}");
            assert!(log_variance(output).1 > 0.0);
        }
    }

    #[test]
    fn deviations_take_the_place_of_logarithms_and_means_stay() {
        let mut outputs = [1.0, -2.0, 0.0, -2.0, 5.0, 6.0, f32::NAN, 1e9];
        Spread::Normal.decode(&mut outputs, 4);
        assert_eq!((outputs[0], outputs[1], outputs[4], outputs[5]), (1.0, -2.0, 5.0, 6.0));
        assert!((outputs[2] - 1.0).abs() < 2e-3 && (outputs[3] - (-1f32).exp()).abs() < 1e-4, "{outputs:?}");
        assert!(outputs[6].is_nan(), "what is no number is not hidden");
        assert!((outputs[7] - 3f32.exp()).abs() < 1e-4);
    }

    #[test]
    fn quantiles_that_cross_are_put_in_their_order() {
        // Two columns; blocks 0.5, 0.1, 0.9, 0.95.
        let spread = Spread::Quantiles(vec![0.1, 0.5, 0.9, 0.95]);
        let mut outputs = [5.0, 0.0, 7.0, -1.0, 6.0, 1.0, 8.0, 2.0];
        spread.decode(&mut outputs, 8);
        assert_eq!(outputs, [6.0, 0.0, 5.0, -1.0, 7.0, 1.0, 8.0, 2.0]);
        assert_eq!(spread.points(outputs.to_vec(), 8), [6.0, 0.0]);
        assert_eq!(spread.other_levels(), [0.1, 0.9, 0.95]);
        let mut first = [3.0, 2.0];
        Spread::Quantiles(vec![0.5, 0.9]).decode(&mut first, 2);
        assert_eq!(first, [2.0, 3.0]);
    }
}
