//! From outputs to what they say: the class that wins, and probabilities. Metrics, predictions and explanations must agree
//! about both, so they all come here.

/// The place of the largest value, of equal ones the first; `None` without values. A value that is not a number never wins
/// over the first one.
pub(crate) fn first_largest<T: PartialOrd + Copy>(values: &[T]) -> Option<usize> {
    (0..values.len()).reduce(|best, at| if values[at] > values[best] { at } else { best })
}

/// The probability of yes that log-odds stand for.
pub(crate) fn probability(log_odds: f32) -> f64 {
    1.0 / (1.0 + (-f64::from(log_odds)).exp())
}

/// Probabilities of the classes (softmax).
pub(crate) fn class_probabilities(outputs: &[f32]) -> Vec<f64> {
    let largest = outputs.iter().fold(f32::NEG_INFINITY, |max, value| max.max(*value));
    let powers: Vec<f64> = outputs.iter().map(|value| f64::from(value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_values_the_first_is_the_largest() {
        assert_eq!(first_largest(&[1.0, 3.0, 3.0, 2.0]), Some(1));
        assert_eq!(first_largest(&[1.0, f32::NAN, 2.0]), Some(2));
        assert_eq!(first_largest::<f32>(&[]), None);
    }

    #[test]
    fn probabilities_sum_to_one_even_of_scores_that_are_far_apart() {
        assert_eq!(class_probabilities(&[1000.0, 1000.0, -1000.0]), [0.5, 0.5, 0.0]);
    }
}
