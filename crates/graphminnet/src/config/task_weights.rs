//! How much each target column counts in the training loss.

#[cfg(feature = "train")]
use super::{ConfigError, TrainConfig};

pub(super) const EXPECTED: &str = "must be finite numbers that are not negative, and not all 0";

pub(super) fn are_weights(weights: &[f64]) -> bool {
    let valid = |weight: &f64| weight.is_finite() && *weight >= 0.0;
    weights.iter().all(valid) && weights.iter().any(|weight| *weight > 0.0)
}

pub(super) fn in_words(weights: &[f64]) -> String {
    let words: Vec<String> = weights.iter().map(f64::to_string).collect();
    format!("[{}]", words.join(", "))
}

#[cfg(feature = "train")]
impl TrainConfig {
    /// Fails if there is not a weight for each of the target columns.
    pub(crate) fn check_task_weights(&self, targets: &[String]) -> Result<(), ConfigError> {
        match &self.task_weights {
            Some(weights) if weights.len() != targets.len() => Err(ConfigError::Invalid {
                key: "train.task_weights".to_owned(),
                value: in_words(weights),
                expected: format!(
                    "needs a weight for each target column, and there {}: {}",
                    if targets.len() == 1 { "is 1".to_owned() } else { format!("are {}", targets.len()) },
                    graphminnet_data::text::escape(&targets.join(", "))
                ),
            }),
            _ => Ok(()),
        }
    }

    /// The weights of target columns, 1 in the mean; empty where all count alike.
    pub(crate) fn scaled_task_weights(&self) -> Vec<f64> {
        let weights = self.task_weights.as_deref().unwrap_or_default();
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        weights.iter().map(|weight| weight / mean).collect()
    }
}

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;

    fn with(weights: &[f64]) -> TrainConfig {
        TrainConfig { task_weights: Some(weights.to_vec()), ..TrainConfig::default() }
    }

    #[test]
    fn weights_are_scaled_and_their_number_is_that_of_the_columns() {
        assert_eq!(with(&[1.0, 3.0]).scaled_task_weights(), [0.5, 1.5]);
        assert!(TrainConfig::default().scaled_task_weights().is_empty());
        let names = ["a".to_owned(), "b".to_owned()];
        assert!(with(&[1.0, 3.0]).check_task_weights(&names).is_ok());
        let error = with(&[1.0]).check_task_weights(&names).unwrap_err().to_string();
        assert!(error.contains("a, b") && error.contains("there are 2"), "{error}");
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for wrong in [&[][..], &[0.0, 0.0], &[1.0, -1.0], &[f64::NAN, 1.0], &[f64::INFINITY]] {
            let error = with(wrong).check().unwrap_err().to_string();
            assert!(error.contains("train.task_weights") && error.contains(EXPECTED), "{error}");
        }
    }
}
