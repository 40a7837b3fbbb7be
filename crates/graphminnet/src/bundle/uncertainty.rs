//! Whether models are as unsure as they say: on labelled graphs, how often the truth is where they put it.

use super::{Answer, Answers, Description};
use crate::config::{MEDIAN, Spread};
use crate::task::LOG_ROOT_TWO_PI;
use crate::task::loss::pinball;
use serde::Serialize;

/// The intervals of a normal distribution that are looked at: their probability, and half their width in deviations.
const INTERVALS: [(f64, f64); 4] = [
    (0.5, 0.674_489_750_196_081_7),
    (0.8, 1.281_551_565_544_600_4),
    (0.9, 1.644_853_626_951_472_2),
    (0.95, 1.959_963_984_540_054),
];

/// How good the deviations of a target are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearntDeviation {
    /// The target.
    pub target: String,
    /// Its labels.
    pub labels: usize,
    /// The mean over labels of the negative logarithm of their density, in nats and the units of the data.
    pub negative_log_likelihood: f64,
    /// What the intervals around the mean hold.
    pub intervals: Vec<HeldInterval>,
}

/// An interval that should hold a share of the labels.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldInterval {
    /// The share that is promised.
    pub level: f64,
    /// The share that it held.
    pub held: f64,
    /// Its mean width.
    pub width: f64,
}

/// How good the quantiles of a target are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearntQuantiles {
    /// The target.
    pub target: String,
    /// Its labels.
    pub labels: usize,
    /// Its quantiles, ascending, with the median.
    pub quantiles: Vec<HeldQuantile>,
}

/// A quantile that should have a share of the labels below it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldQuantile {
    /// The share that is promised.
    pub level: f64,
    /// The share of the labels that are not above it.
    pub below: f64,
    /// Its mean pinball loss.
    pub pinball: f64,
}

/// What is said about a target, and what is true.
struct Said {
    truth: f64,
    value: f64,
    deviation: f64,
    others: Vec<f64>,
}

/// Labels of each target with what is said about them.
fn labelled<'a>(
    targets: usize,
    levels: usize,
    known: impl Iterator<Item = (Answer<'a>, &'a [f32])>,
) -> Vec<Vec<Said>> {
    let mut found: Vec<Vec<Said>> = (0..targets).map(|_| Vec::new()).collect();
    for (answer, truths) in known {
        for (row, truths) in answer.rows().zip(truths.chunks(targets.max(1))) {
            let (values, deviations, quantiles) = (row.values(), row.deviations(), row.quantiles());
            for (target, truth) in truths.iter().enumerate().filter(|(_, truth)| !truth.is_nan()) {
                let number = |values: &[f64]| values.get(target).copied().unwrap_or(f64::NAN);
                let others = quantiles.get(target * levels..(target + 1) * levels).unwrap_or_default();
                found[target].push(Said {
                    truth: f64::from(*truth),
                    value: number(&values),
                    deviation: number(&deviations),
                    others: others.to_vec(),
                });
            }
        }
    }
    found
}

fn mean(said: &[Said], of: impl Fn(&Said) -> f64) -> f64 {
    said.iter().map(of).sum::<f64>() / said.len() as f64
}

/// Judges what models say about how unsure they are, by target; nothing of targets without labels, or models that say
/// nothing of the kind.
pub(super) fn judge<'a>(
    about: &Description,
    answers: &Answers,
    known: impl Iterator<Item = (Answer<'a>, &'a [f32])>,
) -> (Vec<LearntDeviation>, Vec<LearntQuantiles>) {
    let levels = answers.spread().other_levels();
    let (mut deviations, mut quantiles) = (Vec::new(), Vec::new());
    if *answers.spread() == Spread::None {
        return (deviations, quantiles);
    }
    let targets = &about.schema.targets;
    for (target, said) in targets.iter().zip(labelled(targets.len(), levels.len(), known)) {
        let (target, labels) = (target.clone(), said.len());
        match answers.spread() {
            _ if said.is_empty() => {}
            Spread::Normal => deviations.push(LearntDeviation {
                target,
                labels,
                negative_log_likelihood: mean(&said, |said| {
                    let z = (said.truth - said.value) / said.deviation;
                    LOG_ROOT_TWO_PI + said.deviation.ln() + 0.5 * z * z
                }),
                intervals: INTERVALS
                    .iter()
                    .map(|&(level, half)| HeldInterval {
                        level,
                        held: mean(&said, |said| {
                            f64::from(u8::from((said.truth - said.value).abs() <= half * said.deviation))
                        }),
                        width: mean(&said, |said| 2.0 * half * said.deviation),
                    })
                    .collect(),
            }),
            _ => {
                let held = |level: f64, of: &dyn Fn(&Said) -> f64| HeldQuantile {
                    level,
                    below: mean(&said, |said| f64::from(u8::from(said.truth <= of(said)))),
                    pinball: mean(&said, |said| pinball(level, of(said) - said.truth)),
                };
                let other = |(at, level): (usize, &f64)| {
                    held(*level, &|said| said.others.get(at).copied().unwrap_or(f64::NAN))
                };
                let mut all: Vec<HeldQuantile> = levels.iter().enumerate().map(other).collect();
                all.push(held(MEDIAN, &|said| said.value));
                all.sort_by(|a, b| a.level.total_cmp(&b.level));
                quantiles.push(LearntQuantiles { target, labels, quantiles: all });
            }
        }
    }
    (deviations, quantiles)
}
