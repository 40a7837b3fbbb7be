//! Area under the ROC curve: the chance that a positive is scored above a negative, ties counting one half.

/// Needs at least one label of each class; sorts the scores.
pub(super) fn roc_auc(scored: &mut [(f64, bool)]) -> f64 {
    scored.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut negatives_below, mut positives, mut wins) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let positive = tied.iter().filter(|(_, label)| *label).count() as f64;
        let negative = tied.len() as f64 - positive;
        wins += positive * (negatives_below + negative / 2.0);
        negatives_below += negative;
        positives += positive;
    }
    wins / (positives * negatives_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_and_ties_count_half() {
        // Positives 0.8 and 0.5, negatives 0.5 and 0.1: wins 1 + 1 + ½ + 1 of 4 pairs.
        let mut scored = [(0.8, true), (0.5, true), (0.5, false), (0.1, false)];
        assert_eq!(roc_auc(&mut scored), 3.5 / 4.0);
        assert_eq!(roc_auc(&mut [(0.0, true), (0.0, false), (0.0, true)]), 0.5);
        // The classic example of scikit-learn's documentation.
        assert_eq!(roc_auc(&mut [(0.1, false), (0.4, false), (0.35, true), (0.8, true)]), 0.75);
    }

    #[test]
    fn zero_and_negative_zero_are_tied() {
        assert_eq!(roc_auc(&mut [(0.0, true), (-0.0, false)]), 0.5);
    }
}
