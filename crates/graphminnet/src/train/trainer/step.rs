//! One batch: forward, loss, backward; one step: clip, move; and what to do when a number is not finite.

use super::Training;
use crate::model::Model;
use crate::ops::values;
use crate::optim::{NamedGradients, Share, clip_factor};
use crate::task::loss::Weighing;
use crate::task::{Rows, loss};
use crate::train::run::write_json;
use crate::train::{Architecture, TrainError};
use graphminnet_data::batch::Batch;
use graphminnet_data::rng;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// What the batches of one step add up to, before the parameters move. Running statistics of norms are not in it: a pass
/// moves them at once.
#[derive(Debug, Default)]
pub(super) struct Accumulated {
    /// Sum of the gradients.
    pub gradients: NamedGradients,
    /// Batches in the sum: those with a usable label.
    pub used: usize,
    /// Batches without one.
    pub skipped: usize,
    /// Sum of the losses of all labels.
    pub loss: f64,
    /// Labels.
    pub labels: usize,
    /// Graphs of all batches.
    pub graphs: usize,
    /// Whether a rank was asked to save and stop; one that is alone looks itself.
    pub stop: bool,
}

impl<C: Architecture> Training<'_, C> {
    /// The sum of some batches of the epoch.
    pub(super) fn accumulate_alone(
        &mut self,
        numbers: Range<usize>,
        next: &mut dyn FnMut(usize) -> Result<Batch, TrainError>,
    ) -> Result<Accumulated, TrainError> {
        let mut sum = Accumulated::default();
        for number in numbers {
            self.accumulate(next(number)?, number, &mut sum)?;
        }
        Ok(sum)
    }

    /// Adds loss and gradients of one batch; one without a usable label only counts.
    pub(super) fn accumulate(
        &mut self,
        mut batch: Batch,
        number: usize,
        sum: &mut Accumulated,
    ) -> Result<(), TrainError> {
        sum.graphs += batch.layout.num_graphs();
        let mut targets = self.trained_on().training_targets(&mut batch);
        let exact = self.seen.is_some().then(|| targets.clone());
        let bounds = self.trained_on().with_bounds(&batch.samples, &mut targets);
        if targets.iter().all(|target| target.is_nan()) {
            sum.skipped += 1;
            return Ok(());
        }
        let train = self.settings.train;
        let epoch = self.state.position.epoch;
        let samples = batch.samples.clone();
        let row_weights = self.trained_on().row_weights(&batch);
        let mut input = self.model.input(batch, &self.settings.device.clone().autodiff())?;
        let beyond = self.pieces.as_ref().zip(samples.first());
        if let Some(sums) = beyond.and_then(|(pieces, piece)| pieces.beyond(*piece)) {
            self.settings.model.carry(&mut input, sums)?;
        }
        let seed = rng::stream(self.settings.seed, "dropout", &[epoch as u64, number as u64]).next_u64();
        let pass = self.settings.model.gradient_pass(&self.model, &input, seed, train)?;
        let outputs = values(pass.output().clone());
        if let (Some(seen), Some(exact)) = (&mut self.seen, exact) {
            seen.add(&outputs, &exact);
        }
        if let Some(scaler) = &self.scaler {
            scaler.scale(&mut targets);
        }
        let rows = Rows {
            outputs: &outputs,
            columns: self.model.out_dim(),
            targets: &targets,
            target_columns: self.data.target_columns(),
        };
        let weighing = Weighing { rows: &row_weights, columns: &self.task_weights, bounds: &bounds };
        let Some(value) = loss::evaluate_weighing(train, rows, weighing)? else {
            if let Some(model) = pass.abandon() {
                self.model = model;
            }
            sum.skipped += 1;
            return Ok(());
        };
        if !value.value.is_finite() {
            let place = pass.first_nonfinite();
            drop(pass);
            return Err(self.not_finite("loss", place, &samples, number)?);
        }
        let mut gradients = pass.gradients(&value);
        if let Some(taken) = &self.taken {
            gradients.retain(|parameter| taken.rate(parameter) > 0.0);
        }
        if !gradients.norm().is_finite() {
            let place = gradients.first_nonfinite().map(|name| format!("parameter {name}"));
            return Err(self.not_finite("gradient", place, &samples, number)?);
        }
        sum.loss += value.value * value.labels as f64;
        sum.labels += value.labels;
        sum.gradients.add(gradients);
        sum.used += 1;
        Ok(())
    }

    /// Moves the parameters by the mean of the accumulated gradients.
    ///
    /// All that a step depends on is in the sum: processes that share the batches of a step exchange them before they
    /// come here, and nowhere else.
    pub(super) fn step(&mut self, sum: Accumulated, learning_rate: f64) -> Result<(), TrainError> {
        let sums = &mut self.state.sums;
        sums.loss += sum.loss;
        sums.labels += sum.labels;
        sums.graphs += sum.graphs;
        sums.skipped_batches += sum.skipped;
        if sum.used == 0 {
            return Ok(());
        }
        let mean = 1.0 / sum.used as f64;
        let norm = sum.gradients.norm() * mean;
        let clip = clip_factor(norm, self.settings.train.clip_norm);
        sums.gradient_norm += norm;
        sums.largest_gradient_norm = sums.largest_gradient_norm.max(norm);
        sums.clipped_steps += usize::from(clip < 1.0);
        let taken = self.taken.as_ref();
        let share = |parameter: &str| Share {
            rate: taken.map_or(1.0, |taken| taken.rate(parameter)),
            decays: self.settings.model.decays(parameter),
        };
        let (model, gradients) = (self.model.clone(), &sum.gradients);
        self.model = self.optimizer.step_where(model, gradients, learning_rate, clip * mean, &share)?;
        if let Some(average) = &mut self.average {
            average.add(&self.model, self.state.global_step + 1);
        }
        Ok(())
    }

    /// Describes a batch that broke training in a file, and the error in words.
    pub(super) fn not_finite(
        &mut self,
        what: &'static str,
        place: Option<String>,
        samples: &[usize],
        number: usize,
    ) -> Result<TrainError, TrainError> {
        let epoch = self.state.position.epoch;
        let graphs: Vec<_> = samples
            .iter()
            .filter_map(|&at| Some((at, self.trained_on().dataset.samples.get(at)?)))
            .map(|(at, sample)| {
                serde_json::json!({
                    "position": at,
                    "id": sample.id,
                    "nodes": sample.prepared.graph.num_nodes(),
                    "edges": sample.prepared.graph.num_edges(),
                })
            })
            .collect();
        let report = BatchReport {
            file: format!("nonfinite-epoch-{}-batch-{}.json", epoch + 1, number + 1),
            content: serde_json::json!({
                "what": what, "first_at": place, "seed": self.settings.seed, "epoch": epoch + 1,
                "batch": number + 1, "graphs": graphs,
            }),
        };
        let saved = self.write_report(&report)?;
        // The rank that has a directory writes it.
        self.unwritten = saved.is_none().then_some(report);
        Ok(TrainError::NonFinite { what, epoch, batch: number, place, saved })
    }

    /// Writes the description of a batch, where there is a directory.
    pub(super) fn write_report(&self, report: &BatchReport) -> Result<Option<PathBuf>, TrainError> {
        let Some(directory) = self.directory else { return Ok(None) };
        let path = directory.file(&report.file);
        write_json(&path, &report.content)?;
        Ok(Some(path))
    }
}

/// A batch that broke training.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BatchReport {
    /// Name of its file in the seed's folder.
    file: String,
    content: serde_json::Value,
}
