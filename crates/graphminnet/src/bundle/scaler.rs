//! Standardised regression targets: the loss sees numbers of the size of one, people see their own units.

use crate::config::Spread;
use serde::{Deserialize, Serialize};

/// Makes outputs of the network, `[rows, columns]`, what they stand for in the units of the data. Whoever reads outputs, but
/// the loss, reads them through this.
pub(crate) fn read_outputs(
    spread: &Spread,
    scaler: Option<&TargetScaler>,
    outputs: &mut [f32],
    columns: usize,
) {
    spread.decode(outputs, columns);
    if let Some(scaler) = scaler {
        scaler.restore(spread, outputs);
    }
}

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

    /// Brings what outputs stand for, `[rows, columns]`, back to the units of the data.
    fn restore(&self, spread: &Spread, outputs: &mut [f32]) {
        for (at, block) in outputs.chunks_mut(self.mean.len().max(1)).enumerate() {
            let is_shifted = spread.is_shifted(at % spread.blocks());
            for ((value, mean), deviation) in block.iter_mut().zip(&self.mean).zip(&self.deviation) {
                let shift = if is_shifted { *mean } else { 0.0 };
                *value = (f64::from(*value) * deviation + shift) as f32;
            }
        }
    }
}

/// Numbers as text, as models were always written: no digit depends on who reads it.
pub(super) mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in crate::bundle) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(f64::to_string))
    }

    pub(in crate::bundle) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
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
        scaler.restore(&Spread::None, &mut values);
        assert_eq!(&values[..3], &[14.0, 0.0, 8.0]);
    }

    #[test]
    fn deviations_grow_with_the_targets_and_do_not_move_with_them() {
        let scaler = TargetScaler { mean: vec![10.0, -1.0], deviation: vec![2.0, 0.5] };
        let mut values = vec![1.0, 0.0, 0.0, 0.0, -1.0, 2.0, 0.0, 0.0];
        read_outputs(&Spread::Normal, Some(&scaler), &mut values, 4);
        assert_eq!((values[0], values[1], values[4], values[5]), (12.0, -1.0, 8.0, 0.0));
        assert!((values[2] - 2.0).abs() < 0.01 && (values[7] - 0.5).abs() < 0.01, "{values:?}");
        let mut quantiles = vec![0.0, 2.0, -1.0];
        let one = TargetScaler { mean: vec![10.0], deviation: vec![2.0] };
        let spread = Spread::Quantiles(vec![0.1, 0.5, 0.9]);
        read_outputs(&spread, Some(&one), &mut quantiles, 3);
        assert_eq!(quantiles, [10.0, 8.0, 14.0], "the blocks are 0.5, 0.1 and 0.9");
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
