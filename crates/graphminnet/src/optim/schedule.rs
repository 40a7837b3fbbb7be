//! The learning rate over the epochs: linear warm-up, then half a cosine.

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

#[cfg(test)]
mod tests {
    use super::*;

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
