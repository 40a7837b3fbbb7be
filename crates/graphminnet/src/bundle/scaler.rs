//! Standardised regression targets: the loss sees numbers of the size of one, people see their own units.

use serde::{Deserialize, Serialize};

/// Mean and standard deviation of every target column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetScaler {
    /// Means.
    #[serde(with = "exact")]
    pub mean: Vec<f64>,
    /// Population standard deviations; 1 for a constant column.
    #[serde(with = "exact")]
    pub deviation: Vec<f64>,
}

impl TargetScaler {
    /// Brings targets `[rows, columns]` to mean 0 and standard deviation 1; missing ones stay missing.
    pub fn scale(&self, targets: &mut [f32]) {
        for row in targets.chunks_mut(self.mean.len().max(1)) {
            for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *value = ((f64::from(*value) - mean) / deviation) as f32;
            }
        }
    }

    /// Brings outputs `[rows, columns]` back to the units of the data.
    pub fn restore(&self, outputs: &mut [f32]) {
        for row in outputs.chunks_mut(self.mean.len().max(1)) {
            for ((value, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *value = (f64::from(*value) * deviation + mean) as f32;
            }
        }
    }
}

/// Numbers as text. The JSON parser may be off by the last bit, and predictions must not be.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(f64::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
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

    #[test]
    fn a_scaler_comes_back_to_the_last_bit() {
        let mut random = graphminnet_data::rng::stream(0, "scaler", &[]);
        for _ in 0..1000 {
            let scaler =
                TargetScaler { mean: vec![random.normal() * 1e3], deviation: vec![random.uniform()] };
            let text = serde_json::to_string(&scaler).unwrap();
            assert_eq!(serde_json::from_str::<TargetScaler>(&text).unwrap(), scaler);
        }
    }
}
