//! Splits that look at what is to be learnt.

use super::{Ratios, SplitError, Splits};
use crate::{Dataset, Level, Task};

/// Groups of equal size into which real-valued targets are sorted.
const GROUPS: usize = 10;

impl Splits {
    /// Random parts in which the targets have nearly the same share: classes, combinations of binary targets, or ten
    /// equally large ranges of the first real-valued one. Missing targets are a class of their own.
    ///
    /// # Errors
    ///
    /// [`SplitError::NoGraphTargets`] if there is not one row of targets per graph; [`SplitError::Ratios`].
    pub fn stratified_by_target(dataset: &Dataset, ratios: Ratios, seed: u64) -> Result<Self, SplitError> {
        Self::stratified(&labels(dataset)?, ratios, seed)
    }

    /// A round of cross-validation whose folds have nearly the same share of the targets.
    ///
    /// # Errors
    ///
    /// [`SplitError::NoGraphTargets`] if there is not one row of targets per graph; [`SplitError::Fold`].
    pub fn fold_by_target(
        dataset: &Dataset,
        folds: usize,
        fold: usize,
        seed: u64,
    ) -> Result<Self, SplitError> {
        Self::stratified_fold(&labels(dataset)?, folds, fold, seed)
    }
}

/// The group of every sample's targets.
fn labels(dataset: &Dataset) -> Result<Vec<Vec<i64>>, SplitError> {
    let schema = &dataset.schema;
    if schema.level != Level::Graph || schema.num_targets() == 0 {
        return Err(SplitError::NoGraphTargets { level: schema.level });
    }
    Ok(match schema.task {
        Task::Regression => {
            let first = |at: &usize| dataset.samples[*at].targets.first().copied().unwrap_or(f32::NAN);
            let mut order: Vec<usize> = (0..dataset.samples.len()).collect();
            order.sort_by(|a, b| first(a).total_cmp(&first(b)));
            let known = order.iter().filter(|at| !first(at).is_nan()).count().max(1);
            let mut labels = vec![vec![-1]; order.len()];
            for (rank, at) in order.into_iter().enumerate().filter(|(_, at)| !first(at).is_nan()) {
                labels[at] = vec![(rank * GROUPS / known) as i64];
            }
            labels
        }
        Task::Binary | Task::MultiClass { .. } => {
            let label = |value: &f32| if value.is_nan() { -1 } else { *value as i64 };
            dataset.samples.iter().map(|sample| sample.targets.iter().map(label).collect()).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::CircularSkipLinks;

    #[test]
    fn every_class_has_its_share_in_every_part() {
        let dataset = CircularSkipLinks { copies: 10, ..CircularSkipLinks::default() }.generate(0).unwrap();
        let splits = Splits::stratified_by_target(&dataset, Ratios::default(), 0).unwrap();
        for class in 0..10 {
            let share = |part: &[usize]| {
                part.iter().filter(|at| dataset.samples[**at].targets[0] == class as f32).count()
            };
            assert_eq!([share(&splits.train), share(&splits.valid), share(&splits.test)], [8, 1, 1]);
        }
    }

    #[test]
    fn node_level_targets_cannot_be_stratified_and_are_named_as_the_reason() {
        let mut dataset = crate::generate::Cluster::with_graphs(3).generate(0).unwrap();
        let error = Splits::stratified_by_target(&dataset, Ratios::default(), 0).unwrap_err();
        assert_eq!(error, SplitError::NoGraphTargets { level: Level::Node });
        assert!(error.to_string().contains("as a whole, and with targets of nodes"), "{error}");
        (dataset.schema.level, dataset.schema.targets) = (Level::Graph, Vec::new());
        let error = Splits::stratified_by_target(&dataset, Ratios::default(), 0).unwrap_err();
        assert!(error.to_string().contains("no targets to stratify by"), "{error}");
    }
}
