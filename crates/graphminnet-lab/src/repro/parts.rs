//! A trained model over one part of its data, batch by batch.

use super::{Lab, ReproError};
use burn::tensor::Tensor;
use graphminnet::config::TrainConfig;
use graphminnet::model::{GraphMinNet, ModelInput};
use graphminnet::task::{Rows, metric};
use graphminnet::train::{TrainError, TrainingData};
use graphminnet_data::batch::{BatchLimit, Batches, Order, Targets, plan_batches};
use std::sync::Arc;

/// Hands every batch of a part to `look`, as the model reads it, with its targets.
pub(super) fn each(
    lab: &Lab<'_>,
    model: &GraphMinNet,
    data: &TrainingData,
    part: &[usize],
    train: &TrainConfig,
    mut look: impl FnMut(&ModelInput, Vec<f32>),
) -> Result<(), ReproError> {
    let plan = plan_batches(&data.dataset, part, BatchLimit::graphs(train.batch_size), Order::Given);
    for batch in Batches::start(Arc::clone(&data.dataset), plan, 2).map_err(TrainError::from)? {
        lab.check_interrupt()?;
        let mut batch = batch.map_err(TrainError::from)?;
        let targets = batch.targets.take().map(Targets::into_counted).unwrap_or_default();
        look(&ModelInput::new(model.config(), batch, &lab.device)?, targets);
    }
    Ok(())
}

/// The metric of the outputs that `forward` gives for a part; `None` where it has no value.
pub(super) fn score(
    lab: &Lab<'_>,
    model: &GraphMinNet,
    data: &TrainingData,
    part: &[usize],
    train: &TrainConfig,
    mut forward: impl FnMut(&ModelInput) -> Tensor<2>,
) -> Result<Option<f64>, ReproError> {
    let (mut outputs, mut targets) = (Vec::new(), Vec::new());
    each(lab, model, data, part, train, |input, known| {
        targets.extend(known);
        outputs.extend(forward(input).into_data().try_to_vec::<f32>().unwrap_or_default());
    })?;
    let (columns, target_columns) = (model.config().out_dim, data.target_columns());
    let rows = Rows { outputs: &outputs, columns, targets: &targets, target_columns };
    Ok(metric::evaluate(train.metric, rows).ok().map(|score| score.value))
}
