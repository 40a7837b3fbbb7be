//! The learning rate over epochs or steps: linear warm-up, then half a cosine, nothing, or reductions at plateaus.

use crate::config::{Schedule, ScheduleUnit, TrainConfig};
use std::f64::consts::PI;

/// Smallest factor during warm-up; the first epoch runs at it.
const LEAST: f64 = 1e-6;

/// Factor of the base learning rate in an epoch (from 0): `max(1e-6, t/w)` for `t < w`, then
/// `½(1 + cos(π(t − w)/(T − w)))` for the `T` epochs of the schedule and the `w` of warm-up.
///
/// Beyond the end of the schedule it is 0.
pub fn learning_rate_factor(epoch: usize, warmup: usize, epochs: usize) -> f64 {
    if epoch < warmup {
        return (epoch as f64 / warmup as f64).max(LEAST);
    }
    if epoch >= epochs {
        return 0.0;
    }
    0.5 * (1.0 + (PI * (epoch - warmup) as f64 / (epochs - warmup) as f64).cos())
}

/// The learning rate of a step (from 0) of an epoch that has `steps` of them, after so many reductions at plateaus.
///
/// It is a function of the place in the schedule and the reductions alone, so a resumed run has the same.
///
/// With `schedule_unit = step` the warm-up reaches the base rate in its last step, and no step is lost: step `s` of epoch
/// `t` has the factor `(t + (s + 1)/steps)/w` while `t < w`. With `epoch` it is that of [`learning_rate_factor`].
pub fn learning_rate(train: &TrainConfig, epoch: usize, step: usize, steps: usize, reductions: u32) -> f64 {
    let (warmup, epochs) = (train.warmup, train.epochs);
    let share = step as f64 / steps.max(1) as f64;
    let factor = match (train.schedule_unit, train.schedule) {
        (ScheduleUnit::Step, _) if epoch < warmup => {
            (epoch as f64 + (step + 1) as f64 / steps.max(1) as f64) / warmup as f64
        }
        (ScheduleUnit::Step, Schedule::Cosine) if epoch < epochs => {
            let done = (epoch - warmup) as f64 + share;
            0.5 * (1.0 + (PI * done / (epochs - warmup) as f64).cos())
        }
        (_, Schedule::Cosine) => learning_rate_factor(epoch, warmup, epochs),
        (ScheduleUnit::Epoch, _) if epoch < warmup => learning_rate_factor(epoch, warmup, epochs),
        (_, Schedule::Constant) => 1.0,
        (_, Schedule::Plateau) => train.plateau_factor.powi(reductions.try_into().unwrap_or(i32::MAX)),
    };
    train.learning_rate * factor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(schedule: Schedule, schedule_unit: ScheduleUnit) -> TrainConfig {
        let baseline = TrainConfig::baseline();
        TrainConfig { epochs: 12, warmup: 4, learning_rate: 2.0, schedule, schedule_unit, ..baseline }
    }

    #[test]
    fn by_epochs_the_steps_of_an_epoch_are_alike() {
        for schedule in [Schedule::Cosine, Schedule::Constant, Schedule::Plateau] {
            let train = protocol(schedule, ScheduleUnit::Epoch);
            for epoch in 0..12 {
                let rates = [0, 3, 9].map(|step| learning_rate(&train, epoch, step, 10, 1));
                let expected = match schedule {
                    Schedule::Cosine => 2.0 * learning_rate_factor(epoch, 4, 12),
                    _ if epoch < 4 => 2.0 * learning_rate_factor(epoch, 4, 12),
                    Schedule::Constant => 2.0,
                    Schedule::Plateau => 1.0,
                };
                assert_eq!(rates, [expected; 3], "{schedule} {epoch}");
            }
        }
    }

    #[test]
    fn by_steps_the_warm_up_loses_none_and_ends_at_the_base_rate() {
        let train = protocol(Schedule::Cosine, ScheduleUnit::Step);
        let rates: Vec<f64> = (0..12 * 5).map(|at| learning_rate(&train, at / 5, at % 5, 5, 0)).collect();
        assert_eq!((rates[0], rates[19], rates[20]), (0.1, 2.0, 2.0));
        assert!(rates[..20].is_sorted() && rates[20..].is_sorted_by(|a, b| a >= b));
        assert!(rates[59] > 0.0 && rates[59] < 0.01, "{}", rates[59]);
        // One graph is one step per epoch.
        assert_eq!(learning_rate(&train, 0, 0, 1, 0), 0.5);
    }

    #[test]
    fn warm_up_then_cosine() {
        assert_eq!(learning_rate_factor(0, 4, 12), 1e-6);
        assert_eq!(learning_rate_factor(2, 4, 12), 0.5);
        assert_eq!(learning_rate_factor(4, 4, 12), 1.0);
        assert!((learning_rate_factor(8, 4, 12) - 0.5).abs() < 1e-12);
        assert_eq!(learning_rate_factor(12, 4, 12), 0.0);
        assert_eq!(learning_rate_factor(0, 0, 3), 1.0);
    }
}
