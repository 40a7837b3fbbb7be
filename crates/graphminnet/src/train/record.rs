//! The numbers of every epoch, as JSON lines and as TensorBoard events.

use super::event::EpochReport;
use super::log::GrowingFile;
use super::state::EpochSums;
use super::{Evaluation, TrainError, tensorboard};
use crate::config::MetricKind;
use graphminnet_data::fs::IoError;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the records of one seed.
#[derive(Debug)]
pub(super) struct Recorder {
    metrics: GrowingFile,
    events: GrowingFile,
}

impl Recorder {
    /// Goes on with two files; a new event file starts with a header.
    pub(super) fn open(metrics: GrowingFile, mut events: GrowingFile, new: bool) -> Result<Self, TrainError> {
        if new {
            events.append(&tensorboard::header(now()))?;
        }
        Ok(Self { metrics, events })
    }

    /// The training part of an epoch of `steps` steps.
    pub(super) fn train(
        &mut self,
        report: &EpochReport,
        sums: &EpochSums,
        steps: usize,
    ) -> Result<(), TrainError> {
        self.line(&json!({
            "epoch": report.epoch,
            "split": "train",
            "loss": report.train_loss,
            "learning_rate": report.learning_rate,
            "mean_gradient_norm": sums.gradient_norm / steps.max(1) as f64,
            "largest_gradient_norm": sums.largest_gradient_norm,
            "clipped_steps": sums.clipped_steps,
            "steps": steps,
            "skipped_batches": sums.skipped_batches,
            "seconds": report.seconds,
            "graphs_per_second": report.graphs_per_second,
        }))?;
        self.scalar(report.epoch, "train/loss", Some(report.train_loss))?;
        self.scalar(report.epoch, "train/learning_rate", Some(report.learning_rate))
    }

    /// An evaluation of a part after an epoch.
    pub(super) fn evaluation(
        &mut self,
        report: &EpochReport,
        split: &str,
        metric: MetricKind,
        evaluation: &Evaluation,
        worst_id: Option<&str>,
    ) -> Result<(), TrainError> {
        if evaluation.outputs.is_empty() {
            return Ok(());
        }
        let mut line = json!({ "epoch": report.epoch, "split": split, "loss": evaluation.loss });
        if let Value::Object(fields) = &mut line {
            fields.insert(metric.to_string(), json!(evaluation.value()));
            match &evaluation.score {
                Ok(score) if score.skipped_tasks > 0 => {
                    fields.insert("skipped_tasks".into(), json!(score.skipped_tasks));
                }
                Ok(_) => {}
                Err(reason) => {
                    fields.insert("undefined".into(), json!(reason.to_string()));
                }
            }
            fields.insert("worst_error".into(), json!(evaluation.worst.map(|(error, _)| error)));
            fields.insert("worst_id".into(), json!(worst_id));
        }
        self.line(&line)?;
        self.scalar(report.epoch, &format!("{split}/loss"), evaluation.loss)?;
        self.scalar(report.epoch, &format!("{split}/{metric}"), evaluation.value())
    }

    /// Flushes both files to the disk; returns their lengths.
    pub(super) fn sync(&mut self) -> Result<(u64, u64), IoError> {
        Ok((self.metrics.sync()?, self.events.sync()?))
    }

    fn line(&mut self, value: &Value) -> Result<(), TrainError> {
        Ok(self.metrics.append(format!("{value}\n").as_bytes())?)
    }

    fn scalar(&mut self, epoch: usize, tag: &str, value: Option<f64>) -> Result<(), TrainError> {
        match value {
            None => Ok(()),
            Some(value) => {
                Ok(self.events.append(&tensorboard::scalar(now(), epoch as u64, tag, value as f32))?)
            }
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
