//! Fits the scaler of regression targets to the training part.

use super::TrainingData;
use crate::bundle::TargetScaler;
use crate::config::TargetScaling;
use graphminnet_data::Split;
use graphminnet_data::exchange::Exchange;

/// The scaler that the configuration asks for, over the training part; `None` for targets as they are.
///
/// Where every rank of the exchange has a part of the only graph, the training part is that of all of them.
pub(super) fn fit_scaler(
    scaling: TargetScaling,
    data: &TrainingData,
    exchange: &dyn Exchange,
) -> Option<TargetScaler> {
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
        let sum = |of: &dyn Fn(f64) -> f64| match data.connection() {
            None => known().map(of).sum::<f64>(),
            Some(_) => {
                let mut sum = [0.0];
                exchange.chain(&mut sum, |_, sum| known().for_each(|value| sum[0] += of(value)));
                sum[0]
            }
        };
        let count = sum(&|_| 1.0).max(1.0);
        let centre = sum(&|value| value) / count;
        let spread = (sum(&|value| (value - centre).powi(2)) / count).sqrt();
        mean.push(centre);
        deviation.push(if spread > 0.0 && spread.is_finite() { spread } else { 1.0 });
    }
    Some(TargetScaler { mean, deviation })
}
