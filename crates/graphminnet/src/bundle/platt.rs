//! Probabilities as large as what happens: Platt's scaling, `1 / (1 + exp(−(slope·log-odds + shift)))`.
//!
//! A network is often too sure of itself. Two numbers, fitted to labelled graphs that were not trained on, correct that and
//! leave the order of the answers as it is.

/// Newton steps; the fit is convex, and a dozen are enough.
const STEPS: usize = 50;
/// A probability of exactly 0 or 1 has no odds.
const LEAST: f64 = 1e-9;

/// The two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Platt {
    slope: f64,
    shift: f64,
}

impl Platt {
    /// Fits to probabilities and whether they came true; `None` without answers of both kinds. The truth counts as a
    /// little less than certain, as Platt has it, so that few labels do not make a model sure.
    pub(super) fn fit(said: &[(f64, bool)]) -> Option<Self> {
        let yes = said.iter().filter(|(_, truth)| *truth).count() as f64;
        let no = said.len() as f64 - yes;
        if yes == 0.0 || no == 0.0 {
            return None;
        }
        let aims = |truth: bool| if truth { (yes + 1.0) / (yes + 2.0) } else { 1.0 / (no + 2.0) };
        let points: Vec<(f64, f64)> = said.iter().map(|(said, truth)| (odds(*said), aims(*truth))).collect();
        let share = points.iter().map(|(_, aim)| aim).sum::<f64>() / points.len() as f64;
        let constant = Self { slope: 0.0, shift: odds(share) };
        let mut found = Self { slope: 1.0, shift: 0.0 };
        // Answers that are far too sure bend the loss too little to lead a step anywhere.
        if constant.loss(&points) < found.loss(&points) {
            found = constant;
        }
        let mut loss = found.loss(&points);
        for _ in 0..STEPS {
            let (mut gradient, mut curve) = ([0.0; 2], [1e-9, 0.0, 1e-9]);
            for &(odds, aim) in &points {
                let p = found.of_odds(odds);
                let (error, weight) = (p - aim, p * (1.0 - p));
                gradient = [gradient[0] + error * odds, gradient[1] + error];
                curve = [curve[0] + weight * odds * odds, curve[1] + weight * odds, curve[2] + weight];
            }
            let determinant = curve[0] * curve[2] - curve[1] * curve[1];
            if determinant <= 0.0 {
                break;
            }
            let step = [
                (curve[2] * gradient[0] - curve[1] * gradient[1]) / determinant,
                (curve[0] * gradient[1] - curve[1] * gradient[0]) / determinant,
            ];
            // Half of a step that goes too far, and half of that.
            let tried = (0..20).map(|halvings| 0.5f64.powi(halvings)).find_map(|part| {
                let next = Self { slope: found.slope - part * step[0], shift: found.shift - part * step[1] };
                let new = next.loss(&points);
                (new < loss).then_some((next, new))
            });
            let Some((next, new)) = tried else { break };
            let small = loss - new < 1e-12 * loss.abs();
            (found, loss) = (next, new);
            if small {
                break;
            }
        }
        // A model that ranks the wrong way round is not turned round: its answers then say nothing.
        Some(if found.slope <= 0.0 { constant } else { found })
    }

    /// The corrected probability.
    pub(super) fn correct(&self, probability: f64) -> f64 {
        self.of_odds(odds(probability))
    }

    fn of_odds(&self, odds: f64) -> f64 {
        1.0 / (1.0 + (-(self.slope * odds + self.shift)).exp())
    }

    fn loss(&self, points: &[(f64, f64)]) -> f64 {
        let one = |&(odds, aim): &(f64, f64)| {
            let x = self.slope * odds + self.shift;
            x.max(0.0) - x * aim + (-x.abs()).exp().ln_1p()
        };
        points.iter().map(one).sum()
    }
}

fn odds(probability: f64) -> f64 {
    let probability = probability.clamp(LEAST, 1.0 - LEAST);
    (probability / (1.0 - probability)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::rng::stream;

    #[test]
    fn a_model_that_is_too_sure_is_corrected_and_keeps_its_order() {
        // What is said has three times the odds of the truth.
        let mut random = stream(1, "platt", &[]);
        let said: Vec<(f64, bool)> = (0..4000)
            .map(|_| {
                let truth = random.normal();
                (1.0 / (1.0 + (-3.0 * truth).exp()), random.uniform() < 1.0 / (1.0 + (-truth).exp()))
            })
            .collect();
        let found = Platt::fit(&said).unwrap();
        assert!((found.slope - 1.0 / 3.0).abs() < 0.03 && found.shift.abs() < 0.1, "{found:?}");
        let corrected: Vec<f64> = [0.01, 0.2, 0.5, 0.8, 0.99].map(|p| found.correct(p)).to_vec();
        assert!(corrected.is_sorted() && corrected[0] > 0.1 && corrected[4] < 0.9, "{corrected:?}");
    }

    #[test]
    fn certainty_one_class_and_a_wrong_order_make_no_nonsense() {
        assert_eq!(Platt::fit(&[(0.3, true), (0.9, true)]), None);
        assert_eq!(Platt::fit(&[]), None);
        let sure = Platt::fit(&[(0.0, false), (1.0, true), (1.0, true), (0.0, false)]).unwrap();
        assert!(sure.correct(0.0) > 0.0 && sure.correct(1.0) < 1.0 && sure.correct(f64::MIN_POSITIVE) < 0.5);
        let turned = Platt::fit(&[(0.9, false), (0.8, false), (0.1, true), (0.2, true)]).unwrap();
        assert_eq!(turned.correct(0.9), turned.correct(0.1));
    }
}
