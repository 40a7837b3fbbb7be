//! Standardised regression targets: the loss sees numbers of the size of one, people see their own units.

use super::TrainingData;
use crate::config::TargetScaling;
use serde::{Deserialize, Serialize};

/// Mean and standard deviation of every target column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetScaler {
    /// Means.
    pub mean: Vec<f64>,
    /// Population standard deviations; 1 for a constant column.
    pub deviation: Vec<f64>,
}

impl TargetScaler {
    /// The scaler that the configuration asks for, over the training part; `None` for targets as they are.
    pub fn fit(scaling: TargetScaling, data: &TrainingData) -> Option<Self> {
        if scaling == TargetScaling::None {
            return None;
        }
        let columns = data.target_columns();
        let rows = || data.splits.train.iter().filter_map(|&at| data.dataset.samples.get(at));
        let column = |column: usize| {
            rows().flat_map(move |sample| sample.targets.iter().skip(column).step_by(columns.max(1)))
        };
        let (mut mean, mut deviation) = (Vec::new(), Vec::new());
        for at in 0..columns {
            let known = || column(at).filter(|value| !value.is_nan()).map(|value| f64::from(*value));
            let count = known().count().max(1) as f64;
            let centre = known().sum::<f64>() / count;
            let spread = (known().map(|value| (value - centre).powi(2)).sum::<f64>() / count).sqrt();
            mean.push(centre);
            deviation.push(if spread > 0.0 && spread.is_finite() { spread } else { 1.0 });
        }
        Some(Self { mean, deviation })
    }

    /// Brings targets `[rows, columns]` to mean 0 and deviation 1; missing ones stay missing.
    pub fn scale(&self, targets: &mut [f32]) {
        for (at, value) in targets.iter_mut().enumerate() {
            let column = at % self.mean.len();
            *value = ((f64::from(*value) - self.mean[column]) / self.deviation[column]) as f32;
        }
    }

    /// Brings outputs `[rows, columns]` back to the units of the data.
    pub fn restore(&self, outputs: &mut [f32]) {
        for (at, value) in outputs.iter_mut().enumerate() {
            let column = at % self.mean.len();
            *value = (f64::from(*value) * self.deviation[column] + self.mean[column]) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restoring_undoes_scaling_and_missing_stays_missing() {
        let scaler = TargetScaler { mean: vec![10.0, -1.0], deviation: vec![2.0, 1.0] };
        let mut values = vec![14.0, 0.0, 8.0, f32::NAN];
        scaler.scale(&mut values);
        assert_eq!(&values[..3], &[2.0, 1.0, -1.0]);
        assert!(values[3].is_nan());
        scaler.restore(&mut values);
        assert_eq!(&values[..3], &[14.0, 0.0, 8.0]);
    }
}
