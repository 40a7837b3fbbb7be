//! Batch norms outside training: their estimates measured again, and whether evaluation agrees with training.
//!
//! Running estimates follow the weights with a delay. Where a column hardly varies, on regular graphs for example, the
//! norm divides by a deviation of almost 0 and the delay by the same: a model that is right in training answers in
//! evaluation with a huge number that is the same for every graph.

use super::evaluate::{Passed, batch_limit, loss_of, pass_over};
use super::{TargetScaler, TrainError, TrainingData};
use crate::config::{Loss, TrainConfig};
use crate::model::Model;
use crate::nn::Pass;
use burn::tensor::Device;
use graphminnet_data::Split;
use graphminnet_data::batch::{Order, plan_batches};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// Most batches over which estimates are measured.
const MEASURED: usize = 64;
/// Most batches on which training and evaluation are compared.
const COMPARED: usize = 16;
/// How much larger than in training a loss may be in evaluation.
const RATIO: f64 = 2.0;
/// How much larger at least, in parts of a loss that says nothing, to be worth a warning.
const SHARE: f64 = 0.1;
/// How much larger the negative logarithm of a likelihood may be, in nats: errors twice as large as expected cost 1.5 more.
const NATS: f64 = 1.0;

/// Which weights of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// Those of the selected epoch.
    Selected,
    /// Those of the last epoch.
    Last,
}

/// The loss of some weights on training graphs, with the statistics of each batch as in training (but without
/// dropout) and with the stored estimates as in evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingLoss {
    /// Whose loss it is: that of the selected weights, or of the last ones if only those disagree.
    pub of: Compared,
    /// With the statistics of each batch.
    #[serde(with = "or_null")]
    pub in_training: f64,
    /// With the stored estimates.
    #[serde(with = "or_null")]
    pub in_evaluation: f64,
    /// Whether the second is so much larger that the model answers otherwise than it was trained.
    pub disagree: bool,
}

/// JSON has no word for a loss that is not finite.
mod or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(loss: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        loss.is_finite().then_some(*loss).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
    }
}

/// The same batches at every time and in every process. One without edges is not the first: the first measured batch replaces the
/// estimates of before, and those of edges would outlive it.
fn sample(data: &TrainingData, train: &TrainConfig, seed: u64, most: usize) -> Vec<Vec<usize>> {
    let order = Order::Shuffled { seed, epoch: u64::MAX };
    let mut plan = plan_batches(&data.dataset, &data.splits.train, batch_limit(train), order);
    plan.truncate(most);
    let edges =
        |at: &usize| data.dataset.samples.get(*at).map_or(0, |sample| sample.prepared.graph.num_edges());
    plan.sort_by_key(|batch| batch.iter().map(edges).sum::<usize>() < 2);
    plan
}

/// Each batch counts in proportion to its nodes.
fn shares() -> impl FnMut(usize) -> Pass {
    let mut sum = 0;
    move |nodes| {
        sum += nodes;
        Pass::Measure { share: if sum == 0 { 1.0 } else { nodes as f64 / sum as f64 } }
    }
}

/// Makes the estimates of a model's norms the mean over a sample of the training part; false if interrupted.
///
/// # Errors
///
/// [`TrainError`] if the data does not fit the model.
pub fn recompute(
    model: &impl Model,
    data: &TrainingData,
    train: &TrainConfig,
    seed: u64,
    device: &Device,
    interrupt: &AtomicBool,
) -> Result<bool, TrainError> {
    let plan = sample(data, train, seed, MEASURED);
    // A pass goes through all parts of a graph or none.
    let never = AtomicBool::new(false);
    let interrupt = if data.connection().is_some() { &never } else { interrupt };
    Ok(pass_over(model, data, plan, device, interrupt, shares())?.is_some())
}

/// Compares the losses in training and evaluation, `None` if interrupted or without labels. The model's estimates are
/// not its own afterwards.
#[allow(clippy::too_many_arguments)]
pub(super) fn compare(
    model: &impl Model,
    of: Compared,
    data: &TrainingData,
    train: &TrainConfig,
    scaler: Option<&TargetScaler>,
    seed: u64,
    device: &Device,
    interrupt: &AtomicBool,
) -> Result<Option<TrainingLoss>, TrainError> {
    let (columns, target_columns) = (model.out_dim(), data.target_columns());
    let plan = sample(data, train, seed, COMPARED);
    let samples: Vec<usize> = plan.iter().flatten().copied().collect();
    let loss = |passed: Option<Passed>| match passed {
        None => Ok(None),
        Some(Passed { outputs, mut targets }) => {
            data.hide_others(Split::Train, &samples, &mut targets);
            loss_of(&outputs, columns, &targets, target_columns, train, scaler)
        }
    };
    let evaluated = pass_over(model, data, plan.clone(), device, interrupt, |_| Pass::Eval)?;
    let uninformed =
        evaluated.as_ref().map_or(1.0, |passed| uninformed(passed, target_columns, train, scaler));
    let in_evaluation = loss(evaluated)?;
    let in_training = loss(pass_over(model, data, plan, device, interrupt, shares())?)?;
    Ok(in_training.zip(in_evaluation).map(|(in_training, in_evaluation)| {
        let more = in_evaluation - in_training;
        let close = match train.loss {
            // A logarithm has no ratios, and may be negative.
            Loss::MeanVariance => more <= NATS,
            _ => in_evaluation <= RATIO * in_training || more <= SHARE * uninformed,
        };
        TrainingLoss { of, in_training, in_evaluation, disagree: !close }
    }))
}

/// About what the loss is of an answer that says nothing: the spread of numbers, or 1 for classes.
fn uninformed(passed: &Passed, columns: usize, train: &TrainConfig, scaler: Option<&TargetScaler>) -> f64 {
    if !train.loss.is_regression() {
        return 1.0;
    }
    let mut targets = passed.targets.clone();
    if let Some(scaler) = scaler {
        scaler.scale(&mut targets);
    }
    let (mut sum, mut count) = (0.0, 0.0);
    for column in 0..columns {
        let known = targets.iter().skip(column).step_by(columns).filter(|target| !target.is_nan());
        let values: Vec<f64> = known.map(|target| f64::from(*target)).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        sum += values.iter().map(|value| (value - mean).abs()).sum::<f64>();
        count += values.len() as f64;
    }
    if count > 0.0 { sum / count } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_is_not_finite_can_be_written_and_read() {
        for in_evaluation in [0.1 + 0.2, f64::NAN, f64::INFINITY] {
            let loss = TrainingLoss { of: Compared::Last, in_training: 1.5, in_evaluation, disagree: true };
            let read: TrainingLoss = serde_json::from_str(&serde_json::to_string(&loss).unwrap()).unwrap();
            assert_eq!(read.in_training, 1.5);
            assert_eq!(read.in_evaluation == in_evaluation, in_evaluation.is_finite());
            assert_eq!(read.in_evaluation.is_nan(), !in_evaluation.is_finite());
        }
    }
}
