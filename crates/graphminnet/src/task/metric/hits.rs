//! Hits@K as OGB defines it: the share of positives whose score is above that of the K-th best negative. All positives are
//! held against the same negatives; a tie is no hit, and with fewer than K negatives every positive is one.

/// Needs at least one positive label; sorts the scores.
pub(super) fn hits_at(k: usize, scored: &mut [(f64, bool)]) -> f64 {
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let threshold =
        scored.iter().filter(|(_, label)| !label).nth(k.saturating_sub(1)).map(|(score, _)| *score);
    let positives = || scored.iter().filter(|(_, label)| *label);
    let hits = positives().filter(|(score, _)| threshold.is_none_or(|threshold| *score > threshold)).count();
    hits as f64 / positives().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positives_must_be_above_the_kth_negative() {
        let scored = [(0.9, true), (0.8, false), (0.7, true), (0.6, false), (0.6, true), (0.1, true)];
        for (k, hits) in [(1, 1.0), (2, 2.0), (3, 4.0)] {
            assert_eq!(hits_at(k, &mut scored.clone()), hits / 4.0, "{k}");
        }
    }
}
