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

/// The corners of the ROC curve from `(0, 0)` to `(1, 1)`, and the area under it; `None` unless there are labels of both
/// classes. Sorts the scores.
#[cfg(feature = "train")]
pub(crate) fn roc_curve(scored: &mut [(f64, bool)]) -> Option<(Vec<(f64, f64)>, f64)> {
    let positives = scored.iter().filter(|(_, label)| *label).count();
    if positives == 0 || positives == scored.len() {
        return None;
    }
    let area = roc_auc(scored);
    let (all_yes, all_no) = (positives as f64, (scored.len() - positives) as f64);
    let (mut yes, mut no) = (0.0, 0.0);
    let mut points = vec![(0.0, 0.0)];
    for tied in scored.chunk_by(|a, b| a.0 == b.0).rev() {
        let found = tied.iter().filter(|(_, label)| *label).count() as f64;
        yes += found;
        no += tied.len() as f64 - found;
        points.push((no / all_no, yes / all_yes));
    }
    Some((points, area))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_that_under_the_curve() {
        let mut scored = [(0.8, true), (0.5, true), (0.5, false), (0.1, false)];
        let (points, area) = roc_curve(&mut scored).unwrap();
        assert_eq!(points, [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]);
        let trapezia = points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[1].1 + pair[0].1) / 2.0);
        assert_eq!(trapezia.sum::<f64>(), area);
        assert_eq!(roc_curve(&mut [(0.5, true)]), None);
        assert_eq!(roc_curve(&mut []), None);
    }

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
