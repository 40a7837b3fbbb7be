//! The numbers of every epoch, as JSON lines and as TensorBoard events.

use super::event::EpochReport;
use super::log::GrowingFile;
use super::metrics::{EpochRecord, EvaluationRecord, ScoreRecord, TrainingRecord};
use super::state::EpochSums;
use super::{Evaluation, TrainError, tensorboard};
use crate::config::MetricKind;
use graphminnet_data::Split;
use graphminnet_data::fs::IoError;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes the records of one seed.
#[derive(Debug)]
pub(super) struct Recorder {
    metrics: GrowingFile,
    events: GrowingFile,
    /// What the first epoch is called.
    first_epoch: usize,
}

impl Recorder {
    /// Reopens two files; a new event file starts with a header.
    pub(super) fn open(
        metrics: GrowingFile,
        mut events: GrowingFile,
        new: bool,
        first_epoch: usize,
    ) -> Result<Self, TrainError> {
        if new {
            events.append(&tensorboard::header(now()))?;
        }
        Ok(Self { metrics, events, first_epoch })
    }

    /// The training part of an epoch of `steps` steps.
    pub(super) fn train(
        &mut self,
        report: &EpochReport,
        sums: &EpochSums,
        steps: usize,
        metric: MetricKind,
    ) -> Result<(), TrainError> {
        self.line(&EpochRecord::Train(TrainingRecord {
            clipped_steps: sums.clipped_steps,
            epoch: report.epoch + self.first_epoch,
            graphs_per_second: report.graphs_per_second,
            largest_gradient_norm: sums.largest_gradient_norm,
            learning_rate: report.learning_rate,
            loss: report.train_loss,
            mean_gradient_norm: sums.gradient_norm / steps.max(1) as f64,
            score: report.train.map(|value| ScoreRecord { metric, value: Some(value) }),
            seconds: report.seconds,
            skipped_batches: sums.skipped_batches,
            steps,
        }))?;
        self.scalar(report.epoch, "train/loss", Some(report.train_loss))?;
        self.scalar(report.epoch, &format!("train/{metric}"), report.train)?;
        self.scalar(report.epoch, "train/learning_rate", Some(report.learning_rate))
    }

    /// An evaluation of a part after an epoch.
    pub(super) fn evaluation(
        &mut self,
        report: &EpochReport,
        split: Split,
        metric: MetricKind,
        evaluation: &Evaluation,
        worst_id: Option<&str>,
    ) -> Result<(), TrainError> {
        if evaluation.outputs.is_empty() {
            return Ok(());
        }
        let record = EvaluationRecord {
            epoch: report.epoch + self.first_epoch,
            loss: evaluation.loss,
            score: ScoreRecord { metric, value: evaluation.value() },
            skipped_tasks: evaluation.score.as_ref().map_or(0, |score| score.skipped_tasks),
            undefined: evaluation.score.as_ref().err().map(ToString::to_string),
            worst_error: evaluation.worst.map(|(error, _)| error),
            worst_id: worst_id.map(str::to_owned),
        };
        self.line(&match split {
            Split::Test => EpochRecord::Test(record),
            _ => EpochRecord::Valid(record),
        })?;
        self.scalar(report.epoch, &format!("{split}/loss"), evaluation.loss)?;
        self.scalar(report.epoch, &format!("{split}/{metric}"), evaluation.value())
    }

    /// Flushes both files to the disk; returns their lengths.
    pub(super) fn sync(&mut self) -> Result<(u64, u64), IoError> {
        Ok((self.metrics.sync()?, self.events.sync()?))
    }

    fn line(&mut self, record: &EpochRecord) -> Result<(), TrainError> {
        let damaged = |error: serde_json::Error| TrainError::Damaged {
            path: self.metrics.path().to_owned(),
            reason: error.to_string(),
        };
        let line = record.to_line().map_err(damaged)?;
        Ok(self.metrics.append(line.as_bytes())?)
    }

    fn scalar(&mut self, epoch: usize, tag: &str, value: Option<f64>) -> Result<(), TrainError> {
        match value {
            None => Ok(()),
            Some(value) => Ok(self.events.append(&tensorboard::scalar(
                now(),
                (epoch + self.first_epoch) as u64,
                tag,
                value as f32,
            ))?),
        }
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
