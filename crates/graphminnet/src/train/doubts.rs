//! What makes a result worth little, said before the time is spent: one class, no validation part, a metric without a
//! value.

use super::{TrainError, TrainingData};
use crate::config::TrainConfig;
use graphminnet_data::Split;
use std::collections::BTreeSet;

/// The labels of one part.
struct Labels {
    count: usize,
    /// Distinct values of every target column, at most two of each.
    values: Vec<BTreeSet<u32>>,
}

impl Labels {
    fn of(data: &TrainingData, part: Split) -> Self {
        let columns = data.target_columns().max(1);
        let mut labels = Self { count: 0, values: vec![BTreeSet::new(); columns] };
        for (at, value) in data.known_targets(part) {
            labels.count += 1;
            let values = &mut labels.values[at % columns];
            if values.len() < 2 {
                // Zero and negative zero are the same label.
                values.insert((value + 0.0).to_bits());
            }
        }
        labels
    }

    fn vary(&self) -> bool {
        self.values.iter().any(|values| values.len() > 1)
    }
}

/// What a person should know before training.
///
/// # Errors
///
/// [`TrainError::OneClass`] if there is nothing to tell apart.
pub(super) fn doubts(data: &TrainingData, train: &TrainConfig) -> Result<Vec<String>, TrainError> {
    let mut found = Vec::new();
    let labels = Labels::of(data, Split::Train);
    if labels.count > 0 && !labels.vary() && train.negatives == 0 {
        if !train.loss.is_regression() {
            return Err(TrainError::OneClass { labels: labels.count });
        }
        found.push(format!(
            "the {} targets of the training part do not vary: a model can learn that one number only",
            labels.count
        ));
    }
    let ranks = train.metric.is_ranking();
    for (part, name, then) in [
        (Split::Valid, "validation", "the last epoch is taken, whether it is the best or not"),
        (Split::Test, "test", "the result has no test score"),
    ] {
        let labels = Labels::of(data, part);
        if data.splits.part(part).is_empty() {
            found.push(format!("there is no {name} part: {then}"));
        } else if labels.count == 0 {
            found.push(format!("the {name} part has no labels: {then}"));
        } else if ranks && !labels.vary() {
            found.push(format!(
                "the labels of the {name} part are all of one class, so {} has no value there: {then}; a split in \
                 equal shares of the classes (stratified) has both",
                train.metric
            ));
        }
    }
    Ok(found)
}
