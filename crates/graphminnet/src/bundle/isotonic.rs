//! Probabilities as large as what happens, without a formula: the rising steps that are closest to the labels (isotonic
//! regression, by pooling adjacent violators).
//!
//! Beside Platt's two numbers it can follow any rising curve, and needs more labels for it: a few hundred or more. What is
//! said between two steps is on the line between them; beyond the first and the last nothing changes any more.

/// The curve: corners with rising coordinates.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Isotonic {
    corners: Vec<(f64, f64)>,
}

/// Answers that are equally likely by now.
#[derive(Debug, Clone, Copy)]
struct Pool {
    first: f64,
    last: f64,
    yes: f64,
    count: f64,
}

impl Pool {
    fn share(&self) -> f64 {
        self.yes / self.count
    }
}

impl Isotonic {
    /// Fits to probabilities and whether they came true; `None` without answers of both kinds.
    pub(super) fn fit(said: &[(f64, bool)]) -> Option<Self> {
        if said.iter().all(|(_, truth)| *truth) || said.iter().all(|(_, truth)| !*truth) {
            return None;
        }
        let mut said = said.to_vec();
        said.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The same answer has one correction: equal ones are pooled first, whatever came true of each.
        let mut answers: Vec<Pool> = Vec::new();
        for (probability, truth) in said {
            let yes = f64::from(u8::from(truth));
            match answers.last_mut().filter(|pool| pool.last >= probability) {
                Some(pool) => (pool.yes, pool.count) = (pool.yes + yes, pool.count + 1.0),
                None => answers.push(Pool { first: probability, last: probability, yes, count: 1.0 }),
            }
        }
        // An answer that is larger has no correction that is smaller.
        let mut pools: Vec<Pool> = Vec::new();
        for mut pool in answers {
            while let Some(before) = pools.last()
                && before.share() >= pool.share()
            {
                let (yes, count) = (before.yes + pool.yes, before.count + pool.count);
                pool = Pool { first: before.first, yes, count, ..pool };
                pools.pop();
            }
            pools.push(pool);
        }
        let ends = |pool: &Pool| [(pool.first, pool.share()), (pool.last, pool.share())];
        let mut corners: Vec<(f64, f64)> = pools.iter().flat_map(ends).collect();
        corners.dedup();
        Some(Self { corners })
    }

    /// The corrected probability.
    pub(super) fn correct(&self, probability: f64) -> f64 {
        let next = self.corners.partition_point(|(said, _)| *said < probability);
        match (next.checked_sub(1).and_then(|at| self.corners.get(at)), self.corners.get(next)) {
            (None, Some((_, share))) | (Some((_, share)), None) => *share,
            (Some((left, low)), Some((right, high))) => {
                low + (high - low) * ((probability - left) / (right - left))
            }
            (None, None) => probability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::rng::stream;

    /// The answer by its definition: the largest of all smallest means of neighbours, over distinct answers.
    fn reference(said: &[(f64, bool)]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64, f64)> = Vec::new();
        let mut sorted = said.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (probability, truth) in sorted {
            let yes = f64::from(u8::from(truth));
            match points.last_mut().filter(|point| point.0 == probability) {
                Some(point) => (point.1, point.2) = (point.1 + yes, point.2 + 1.0),
                None => points.push((probability, yes, 1.0)),
            }
        }
        let mean = |from: usize, to: usize| {
            let part = &points[from..=to];
            part.iter().map(|point| point.1).sum::<f64>() / part.iter().map(|point| point.2).sum::<f64>()
        };
        let of = |at: usize| {
            let smallest =
                |from: usize| (at..points.len()).map(|to| mean(from, to)).fold(f64::INFINITY, f64::min);
            (0..=at).map(smallest).fold(f64::NEG_INFINITY, f64::max)
        };
        (0..points.len()).map(|at| (points[at].0, of(at))).collect()
    }

    #[test]
    fn it_is_the_closest_rising_answer() {
        let mut random = stream(4, "isotonic", &[]);
        for labels in [2, 3, 7, 40, 150] {
            let said: Vec<(f64, bool)> = (0..labels)
                .map(|at| {
                    // Many answers are the same, and the first two make both kinds sure.
                    let probability = random.below(30) as f64 / 29.0;
                    (probability, if at < 2 { at == 1 } else { random.uniform() < probability * probability })
                })
                .collect();
            let found = Isotonic::fit(&said).unwrap();
            for (probability, expected) in reference(&said) {
                let corrected = found.correct(probability);
                assert!(
                    (corrected - expected).abs() < 1e-12,
                    "{labels}: {probability} {corrected} {expected}"
                );
            }
            let corrected: Vec<f64> = (0..=1000).map(|at| found.correct(f64::from(at) / 1000.0)).collect();
            assert!(corrected.is_sorted() && corrected.iter().all(|p| (0.0..=1.0).contains(p)));
        }
    }

    #[test]
    fn between_two_steps_is_the_line_and_beyond_them_the_step() {
        let found = Isotonic::fit(&[(0.2, false), (0.4, false), (0.6, true), (0.9, true)]).unwrap();
        assert_eq!([0.0, 0.2, 0.4, 0.6, 1.0].map(|p| found.correct(p)), [0.0, 0.0, 0.0, 1.0, 1.0]);
        assert!((found.correct(0.45) - 0.25).abs() < 1e-12);
        assert!(found.correct(f64::NAN).is_nan() || (0.0..=1.0).contains(&found.correct(f64::NAN)));
    }

    #[test]
    fn one_kind_of_labels_and_a_wrong_order_make_no_nonsense() {
        assert_eq!(Isotonic::fit(&[]), None);
        assert_eq!(Isotonic::fit(&[(0.3, true), (0.9, true)]), None);
        let turned = Isotonic::fit(&[(0.9, false), (0.8, false), (0.1, true), (0.2, true)]).unwrap();
        assert_eq!([0.0, 0.5, 1.0].map(|p| turned.correct(p)), [0.5; 3]);
    }
}
