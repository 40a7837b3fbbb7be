//! A model over one part of the data: outputs, loss, metric and the worst single error.

mod in_parts;

use super::{Architecture, Settings, TargetScaler, TrainError, TrainingData};
use crate::bundle::read_outputs;
use crate::config::TrainConfig;
use crate::model::Model;
use crate::nn::Pass;
use crate::ops::values;
use crate::task::{Rows, Score, Undefined, loss, metric, worst_error};
use burn::tensor::Device;
use graphminnet_data::batch::{BatchLimit, Batches, Order, Targets, plan_batches};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::{Level, Split};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What came out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Evaluation {
    /// Predictions in the units of the data, `[rows, columns]`; rows in the order of the samples.
    pub outputs: Vec<f32>,
    /// Predictions per row.
    pub columns: usize,
    /// Targets as in the data.
    pub targets: Vec<f32>,
    /// Targets per row.
    pub target_columns: usize,
    /// Loss over all rows; `None` without labels.
    pub loss: Option<f64>,
    /// The metric.
    pub score: Result<Score, Undefined>,
    /// The largest error of a single label and the sample that it belongs to.
    pub worst: Option<(f64, usize)>,
}

impl Evaluation {
    /// Of outputs as the model gives them and the targets of the same rows; `sample` is that of a row.
    fn new(
        mut outputs: Vec<f32>,
        targets: Vec<f32>,
        columns: usize,
        data: &TrainingData,
        train: &TrainConfig,
        scaler: Option<&TargetScaler>,
        sample: impl Fn(usize) -> Option<usize>,
    ) -> Result<Self, TrainError> {
        let target_columns = data.target_columns();
        let loss = loss_of(&outputs, columns, &targets, target_columns, train, scaler)?;
        let spread = train.spread();
        read_outputs(&spread, scaler, &mut outputs, columns);
        let outputs = spread.points(outputs, columns);
        let columns = columns / spread.blocks();
        let rows = Rows { outputs: &outputs, columns, targets: &targets, target_columns };
        let score = metric::evaluate(train.metric, rows);
        let worst = worst_error(train.loss, rows).and_then(|worst| Some((worst.error, sample(worst.row)?)));
        Ok(Self { outputs, columns, targets, target_columns, loss, score, worst })
    }

    /// The metric's value, where it has one.
    pub(super) fn value(&self) -> Option<f64> {
        self.score.as_ref().ok().map(|score| score.value)
    }
}

/// Batches of a protocol.
pub(super) fn batch_limit(train: &TrainConfig) -> BatchLimit {
    BatchLimit { nodes: train.max_nodes.unwrap_or(usize::MAX), ..BatchLimit::graphs(train.batch_size) }
}

/// Runs a model without training it over some parts; `None` if interrupted. Graphs that are in all of the parts, because
/// their nodes are split, are passed through the model once. Ranks share the batches, and all get all results.
///
/// The model must be on a plain device, as [`burn::module::Module::valid`] leaves it.
///
/// # Errors
///
/// [`TrainError`] if the data does not fit the model or the loss.
pub(super) fn evaluate<const PARTS: usize>(
    model: &impl Model,
    data: &TrainingData,
    parts: [Split; PARTS],
    settings: &Settings<'_, impl Architecture>,
    scaler: Option<&TargetScaler>,
) -> Result<Option<[Evaluation; PARTS]>, TrainError> {
    if data.connection().is_some() {
        return in_parts::evaluate(model, data, parts, settings, scaler);
    }
    let train = settings.train;
    let mut passed: Option<(&[usize], Passed)> = None;
    let mut found = Vec::with_capacity(PARTS);
    for part in parts {
        let samples = data.splits.part(part);
        let Passed { outputs, mut targets } = match passed.take() {
            Some((same, passed)) if data.node_parts.is_some() && same == samples => passed,
            _ => {
                let plan = plan_batches(&data.dataset, samples, batch_limit(train), Order::Given);
                match pass_together(model, data, plan, settings)? {
                    Some(passed) => passed,
                    None => return Ok(None),
                }
            }
        };
        if data.node_parts.is_some() {
            passed = Some((samples, Passed { outputs: outputs.clone(), targets: targets.clone() }));
        }
        data.hide_others(part, samples, &mut targets);
        let row_of = |row| sample_of_row(model.level(), data, samples, row);
        found.push(Evaluation::new(outputs, targets, model.out_dim(), data, train, scaler, row_of)?);
    }
    Ok(found.try_into().ok())
}

/// Outputs as the model gives them, and targets as in the data.
pub(super) struct Passed {
    pub outputs: Vec<f32>,
    pub targets: Vec<f32>,
}

/// Passes batches through a model, a part of them on every rank.
fn pass_together(
    model: &impl Model,
    data: &TrainingData,
    plan: Vec<Vec<usize>>,
    settings: &Settings<'_, impl Architecture>,
) -> Result<Option<Passed>, TrainError> {
    let Settings { device, interrupt, exchange, .. } = settings;
    let own = plan[exchange.share(plan.len())].to_vec();
    let passed = pass_over(model, data, own, device, interrupt, |_| Pass::Eval)?;
    if exchange.is_alone() {
        return Ok(passed);
    }
    let stop = exchange.any(passed.is_none());
    let Some(Passed { outputs, targets }) = passed.filter(|_| !stop) else { return Ok(None) };
    Ok(Some(Passed { outputs: gather(*exchange, &outputs), targets: gather(*exchange, &targets) }))
}

/// The numbers of all ranks, one rank's after the other's.
pub(super) fn gather(exchange: &dyn Exchange, own: &[f32]) -> Vec<f32> {
    let all = exchange.collect(own.iter().flat_map(|value| value.to_le_bytes()).collect()).concat();
    all.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect()
}

/// Passes batches through a model that is not trained by them; `pass` is told the number of nodes of each.
pub(super) fn pass_over(
    model: &impl Model,
    data: &TrainingData,
    plan: Vec<Vec<usize>>,
    device: &Device,
    interrupt: &AtomicBool,
    mut pass: impl FnMut(usize) -> Pass,
) -> Result<Option<Passed>, TrainError> {
    let (mut outputs, mut targets) = (Vec::new(), Vec::new());
    for batch in Batches::start(Arc::clone(&data.dataset), plan, AHEAD)? {
        if interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut batch = batch?;
        let mut counted = batch.targets.take().map(Targets::into_counted).unwrap_or_default();
        let pass = pass(batch.layout.num_nodes());
        // Rows of edges stand in the order of the batch, parts in that of the graphs.
        let topology = (model.level() == Level::Edge).then(|| batch.layout.topology().clone());
        let input = model.input(batch, device)?;
        let said = values(model.forward(&input, pass));
        match topology {
            None => {
                // A part of a graph answers for its own nodes alone, which come first.
                counted.truncate(said.len() / model.out_dim().max(1) * data.target_columns());
                targets.extend(counted);
                outputs.extend(said);
            }
            Some(topology) => {
                targets.extend(topology.in_given_order(&counted, data.target_columns()));
                outputs.extend(topology.in_given_order(&said, model.out_dim()));
            }
        }
    }
    Ok(Some(Passed { outputs, targets }))
}

/// The loss of outputs as the model gives them; `None` without labels.
pub(super) fn loss_of(
    outputs: &[f32],
    columns: usize,
    targets: &[f32],
    target_columns: usize,
    train: &TrainConfig,
    scaler: Option<&TargetScaler>,
) -> Result<Option<f64>, TrainError> {
    let mut scaled = targets.to_vec();
    if let Some(scaler) = scaler {
        scaler.scale(&mut scaled);
    }
    let rows = Rows { outputs, columns, targets: &scaled, target_columns };
    Ok(loss::evaluate(train, rows)?.map(|loss| loss.value))
}

/// Batches assembled ahead of their use.
pub(super) const AHEAD: usize = 3;

/// The sample that a row of outputs belongs to.
fn sample_of_row(level: Level, data: &TrainingData, samples: &[usize], row: usize) -> Option<usize> {
    let mut end = 0;
    samples.iter().copied().find(|&at| {
        end += data.dataset.samples.get(at).map_or(0, |sample| level.rows(&sample.prepared.graph));
        row < end
    })
}
