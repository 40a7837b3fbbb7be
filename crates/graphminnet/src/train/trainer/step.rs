//! One batch: forward, loss, backward; one step: clip, move; and what to do when a number is not finite.

use super::Training;
use crate::model::ModelInput;
use crate::optim::{NamedGradients, clip_factor};
use crate::task::{Rows, loss};
use crate::train::evaluate::values;
use crate::train::run::write_json;
use crate::train::{GradientPass, TrainError};
use graphminnet_data::batch::{Batch, Targets};
use graphminnet_data::rng;

/// What one batch contributes to a step.
pub(super) struct Contribution {
    pub loss: f64,
    pub labels: usize,
    pub gradients: NamedGradients,
}

impl Training<'_> {
    /// Loss and gradients of one batch; `None` if it has no usable label.
    pub(super) fn contribution(
        &mut self,
        mut batch: Batch,
        number: usize,
    ) -> Result<Option<Contribution>, TrainError> {
        let mut targets = batch.targets.take().map(Targets::into_counted).unwrap_or_default();
        if targets.iter().all(|target| target.is_nan()) {
            return Ok(None);
        }
        let (config, train) = (self.settings.model, self.settings.train);
        let epoch = self.state.position.epoch;
        let samples = batch.samples.clone();
        let input = ModelInput::new(config, batch, &self.settings.device.clone().autodiff())?;
        let seed = rng::stream(self.settings.seed, "dropout", &[epoch as u64, number as u64]).next_u64();
        let pass = GradientPass::forward(&self.model, &input, seed, train.recompute_layers);
        let outputs = values(pass.output().clone());
        if let Some(scaler) = &self.scaler {
            scaler.scale(&mut targets);
        }
        let rows = Rows {
            outputs: &outputs,
            columns: config.out_dim,
            targets: &targets,
            target_columns: self.data.target_columns(),
        };
        let Some(value) = loss::evaluate(train.loss, rows)? else {
            if let Some(model) = pass.abandon() {
                self.model = model;
            }
            return Ok(None);
        };
        if !value.value.is_finite() {
            let layer = pass
                .traced()
                .nodes
                .into_iter()
                .position(|nodes| values(nodes).iter().any(|value| !value.is_finite()))
                .map(
                    |layer| {
                        if layer == 0 { "the encoder".to_owned() } else { format!("layer {}", layer - 1) }
                    },
                );
            return Err(self.not_finite("loss", layer.or(Some("the head".to_owned())), &samples, number)?);
        }
        let gradients = pass.gradients(&value);
        if !gradients.norm().is_finite() {
            let place = gradients.first_nonfinite().map(|name| format!("parameter {name}"));
            return Err(self.not_finite("gradient", place, &samples, number)?);
        }
        Ok(Some(Contribution { loss: value.value, labels: value.labels, gradients }))
    }

    /// Moves the parameters by the mean of the gradients of `used` batches.
    pub(super) fn step(
        &mut self,
        gradients: NamedGradients,
        used: usize,
        learning_rate: f64,
    ) -> Result<(), TrainError> {
        let mean = 1.0 / used as f64;
        let norm = gradients.norm() * mean;
        let clip = clip_factor(norm, self.settings.train.clip_norm);
        self.model = self.optimizer.step(self.model.clone(), &gradients, learning_rate, clip * mean)?;
        let sums = &mut self.state.sums;
        sums.gradient_norm += norm;
        sums.largest_gradient_norm = sums.largest_gradient_norm.max(norm);
        sums.clipped_steps += usize::from(clip < 1.0);
        Ok(())
    }

    /// Describes a batch that broke training in a file, and the error in words.
    fn not_finite(
        &self,
        what: &'static str,
        place: Option<String>,
        samples: &[usize],
        number: usize,
    ) -> Result<TrainError, TrainError> {
        let epoch = self.state.position.epoch;
        let saved = match self.directory {
            None => None,
            Some(directory) => {
                let path = directory.file(&format!("nonfinite-epoch-{epoch}-batch-{number}.json"));
                let graphs: Vec<_> = samples
                    .iter()
                    .filter_map(|&at| Some((at, self.data.dataset.samples.get(at)?)))
                    .map(|(at, sample)| {
                        serde_json::json!({
                            "position": at,
                            "id": sample.id,
                            "nodes": sample.prepared.graph.num_nodes(),
                            "edges": sample.prepared.graph.num_edges(),
                        })
                    })
                    .collect();
                let report = serde_json::json!({
                    "what": what, "first_at": place, "seed": self.settings.seed, "epoch": epoch,
                    "batch": number, "graphs": graphs,
                });
                write_json(&path, &report)?;
                Some(path)
            }
        };
        Ok(TrainError::NonFinite { what, epoch, batch: number, place, saved })
    }
}
