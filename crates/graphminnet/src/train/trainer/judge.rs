//! The end of an epoch: what the weights are worth, whether they are the best so far, and the record of it.

use super::{Settings, Training};
use crate::config::NormEstimates;
use crate::model::Model;
use crate::train::evaluate::evaluate;
use crate::train::event::{EpochReport, TrainEvent};
use crate::train::norms;
use crate::train::state::{Best, EpochSums};
use crate::train::{Architecture, Evaluation, Position, TrainError};
use crate::weights;
use burn::module::Module;
use graphminnet_data::Split;

impl<C: Architecture> Training<'_, C> {
    /// Evaluates the weights, selects, records; false if interrupted.
    pub(super) fn finish_epoch(&mut self) -> Result<bool, TrainError> {
        let train = self.settings.train;
        let epoch = self.state.position.epoch;
        self.add_time();
        let training_seconds = self.state.sums.seconds;
        self.observer.event(&TrainEvent::Evaluating { epoch });
        let model = self.settled()?;
        // What is measured is measured by every rank, but a signal may reach only some in time.
        let stop = self.settings.exchange.any(model.is_none());
        let Some(model) = model.filter(|_| !stop) else { return Ok(false) };
        let Some([valid, test]) = self.evaluate(&model, [Split::Valid, Split::Test])? else {
            return Ok(false);
        };
        for (split, samples, evaluation) in
            [("valid", &self.data.splits.valid, &valid), ("test", &self.data.splits.test, &test)]
        {
            if let (false, Err(reason)) = (samples.is_empty(), &evaluation.score) {
                self.state.undefined_evaluations += 1;
                let reason = reason.to_string();
                self.observer.event(&TrainEvent::Undefined { epoch, split, reason });
            }
        }
        let improved = match &self.state.best {
            // Without a validation part the last epoch is as good as any.
            _ if self.data.splits.valid.is_empty() => true,
            None => valid.value().is_some(),
            Some(best) => best.gives_way_to(train.metric, valid.value(), valid.loss),
        };
        let worst_id = |evaluation: &Evaluation| {
            evaluation.worst.and_then(|(_, at)| Some(self.data.dataset.samples.get(at)?.id.clone()))
        };
        let (valid_id, test_id) = (worst_id(&valid), worst_id(&test));
        if improved {
            let tied =
                self.state.best.as_ref().filter(|best| best.valid.is_some() && best.valid == valid.value());
            self.state.reached = tied.map(|best| self.state.reached.unwrap_or(best.epoch));
            self.state.best = Some(Best {
                epoch,
                valid: valid.value(),
                valid_loss: valid.loss,
                test: test.value(),
                worst_valid: valid.worst.map(|(error, _)| error),
                worst_valid_id: valid_id.clone(),
            });
            let weights = weights::to_bytes(&model)?;
            self.write_best(&weights)?;
            self.best_weights = Some(weights);
        }
        self.add_time();
        let sums = std::mem::take(&mut self.state.sums);
        let (columns, target_columns) = (self.model.out_dim(), self.data.target_columns());
        let seen = self.seen.take();
        let report = EpochReport {
            epoch,
            epochs: train.epochs,
            learning_rate: self
                .learning_rate(self.state.position.step.saturating_sub(1), self.state.position.step),
            train_loss: sums.loss / sums.labels.max(1) as f64,
            train: seen.and_then(|seen| seen.score(train, columns, target_columns, self.scaler.as_ref())),
            valid: valid.value(),
            test: test.value(),
            worst_valid: valid.worst.map(|(error, _)| error),
            improved,
            skipped_batches: sums.skipped_batches,
            seconds: sums.seconds,
            graphs_per_second: sums.graphs as f64 / training_seconds.max(1e-9),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.train(&report, &sums, self.state.position.step, train.metric)?;
            recorder.evaluation(&report, Split::Valid, train.metric, &valid, valid_id.as_deref())?;
            recorder.evaluation(&report, Split::Test, train.metric, &test, test_id.as_deref())?;
        }
        self.state.seconds += sums.seconds;
        self.state.sums = EpochSums::default();
        self.state.position = Position { epoch: epoch + 1, step: 0 };
        self.note_plateau();
        self.observer.event(&TrainEvent::Epoch(report));
        Ok(true)
    }

    /// The model as it is evaluated and stored: a copy with the averaged weights, where they are averaged, and with the
    /// estimates of its norms that the protocol asks for; `None` if interrupted.
    pub(super) fn settled(&self) -> Result<Option<C::Model>, TrainError> {
        let Settings { train, seed, device, interrupt, .. } = self.settings;
        let model = match &self.average {
            None => self.model.valid(),
            Some(average) => average.apply(self.model.clone())?.valid(),
        };
        let done = match train.norm_estimates {
            NormEstimates::Running => true,
            NormEstimates::Recomputed => {
                norms::recompute(&model, self.data, train, *seed, device, interrupt)?
            }
        };
        Ok(done.then_some(model))
    }

    pub(super) fn evaluate<const PARTS: usize>(
        &self,
        model: &C::Model,
        parts: [Split; PARTS],
    ) -> Result<Option<[Evaluation; PARTS]>, TrainError> {
        evaluate(model, self.data, parts, self.settings, self.scaler.as_ref())
    }
}
