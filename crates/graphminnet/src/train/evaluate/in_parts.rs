//! The same on a graph in parts: every rank answers for its own nodes, and rank 0 judges.

use super::{Evaluation, Passed, pass_over};
use crate::model::Model;
use crate::nn::Pass;
use crate::task::{Score, Undefined};
use crate::train::{Architecture, Settings, TargetScaler, TrainError, TrainingData};
use graphminnet_data::Split;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};

/// What rank 0 found.
#[derive(Serialize, Deserialize)]
struct Told {
    loss: Option<f64>,
    value: Option<f64>,
    worst: Option<f64>,
}

/// As [`super::evaluate`]. Outputs and targets are on rank 0 alone, in the order of the parts.
pub(super) fn evaluate<const PARTS: usize>(
    model: &impl Model,
    data: &TrainingData,
    parts: [Split; PARTS],
    settings: &Settings<'_, impl Architecture>,
    scaler: Option<&TargetScaler>,
) -> Result<Option<[Evaluation; PARTS]>, TrainError> {
    let Settings { device, interrupt, exchange, train, .. } = settings;
    // A pass goes through all parts or none.
    if exchange.any(interrupt.load(Ordering::Relaxed)) {
        return Ok(None);
    }
    // Where nobody chooses and nobody reports there is nothing to pass.
    let plan =
        if parts.iter().all(|part| data.splits.part(*part).is_empty()) { vec![] } else { vec![vec![0]] };
    let never = AtomicBool::new(false);
    let Some(Passed { outputs, targets }) = pass_over(model, data, plan, device, &never, |_| Pass::Eval)?
    else {
        return Ok(None);
    };
    let outputs = exchange.gather_numbers(0, &outputs);
    let mut found = Vec::with_capacity(PARTS);
    for part in parts {
        let mut targets = targets.clone();
        data.hide_others(part, &[0], &mut targets);
        let targets = exchange.gather_numbers(0, &targets);
        let own = match exchange.rank() {
            0 => Evaluation::new(outputs.clone(), targets, model.out_dim(), data, train, scaler, |_| Some(0))
                .map(Some),
            _ => Ok(None),
        };
        let told = own.as_ref().ok().and_then(Option::as_ref).map(|own| Told {
            loss: own.loss,
            value: own.value(),
            worst: own.worst.map(|(error, _)| error),
        });
        let told = exchange.tell(0, serde_json::to_vec(&told).unwrap_or_default());
        let told: Option<Told> = serde_json::from_slice(&told).unwrap_or_default();
        let failed = || TrainError::OnRank { rank: 0, message: "the answers could not be judged".to_owned() };
        found.push(match own? {
            Some(own) => own,
            None => {
                let Told { loss, value, worst } = told.ok_or_else(failed)?;
                let score = value.map(|value| Score { value, skipped_tasks: 0 }).ok_or(Undefined::NoLabels);
                let (columns, target_columns) =
                    (model.out_dim() / train.spread().blocks(), data.target_columns());
                let worst = worst.map(|error| (error, 0));
                Evaluation {
                    outputs: Vec::new(),
                    columns,
                    targets: Vec::new(),
                    target_columns,
                    loss,
                    score,
                    worst,
                }
            }
        });
    }
    Ok(found.try_into().ok())
}
