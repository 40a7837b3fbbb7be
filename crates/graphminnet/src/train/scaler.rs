//! Fits the scaler of regression targets to the training part.

use super::TrainingData;
use crate::bundle::TargetScaler;
use crate::config::TargetScaling;
use graphminnet_data::Split;

/// The scaler that the configuration asks for, over the training part; `None` for targets as they are.
pub(super) fn fit_scaler(scaling: TargetScaling, data: &TrainingData) -> Option<TargetScaler> {
    if scaling == TargetScaling::None {
        return None;
    }
    let columns = data.target_columns();
    let (mut mean, mut deviation) = (Vec::new(), Vec::new());
    for at in 0..columns {
        let known = || {
            let known = data.known_targets(Split::Train).filter(move |(place, _)| place % columns == at);
            known.map(|(_, value)| f64::from(value))
        };
        let count = known().count().max(1) as f64;
        let centre = known().sum::<f64>() / count;
        let spread = (known().map(|value| (value - centre).powi(2)).sum::<f64>() / count).sqrt();
        mean.push(centre);
        deviation.push(if spread > 0.0 && spread.is_finite() { spread } else { 1.0 });
    }
    Some(TargetScaler { mean, deviation })
}
