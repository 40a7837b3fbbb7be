//! Average precision: `Σ (R_k − R_{k−1})·P_k` over the distinct scores from the largest on. Equal scores share one
//! threshold; there is no interpolation.

/// Needs at least one positive label; sorts the scores.
pub(super) fn average_precision(scored: &mut [(f64, bool)]) -> f64 {
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = scored.iter().filter(|(_, label)| *label).count() as f64;
    let (mut hits, mut seen, mut sum) = (0.0, 0.0, 0.0);
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let new_hits = tied.iter().filter(|(_, label)| *label).count() as f64;
        hits += new_hits;
        seen += tied.len() as f64;
        sum += new_hits / positives * (hits / seen);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_summed_at_every_step_of_recall() {
        // The example of scikit-learn's documentation: precision 1 at recall ½, 2/3 at recall 1.
        let mut scored = [(0.1, false), (0.4, false), (0.35, true), (0.8, true)];
        assert!((average_precision(&mut scored) - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
    }

    #[test]
    fn ties_share_one_threshold_in_any_order() {
        // At 0.5 two positives and one negative come at once: precision 2/3 for all of the recall.
        for mut scored in [
            [(0.5, true), (0.5, false), (0.5, true), (0.1, false)],
            [(0.1, false), (0.5, false), (0.5, true), (0.5, true)],
        ] {
            assert!((average_precision(&mut scored) - 2.0 / 3.0).abs() < 1e-12);
        }
    }
}
