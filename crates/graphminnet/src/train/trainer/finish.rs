//! The end of a seed: selected and last weights, predictions, result.

use super::{Outcome, Training};
use crate::bundle::{Answers, Bundle, Description, Selection};
use crate::train::event::TrainEvent;
use crate::train::files::{describe, write_model};
use crate::train::predictions::write_predictions;
use crate::train::summary::SeedResult;
use crate::train::{Architecture, Best, TrainError};
use crate::weights;
use graphminnet_data::fs::{self, sha256};
use graphminnet_data::spectral::PreparedGraph;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl<C: Architecture> Training<'_, C> {
    /// Writes what remains of a run: weights, predictions, result.
    pub(super) fn finish(mut self) -> Result<Outcome, TrainError> {
        let epochs = self.state.position.epoch;
        let stopped_early = epochs < self.settings.train.epochs;
        if let (true, Some(best)) = (stopped_early, &self.state.best) {
            self.observer.event(&TrainEvent::EarlyStop { epoch: epochs.saturating_sub(1), best: best.epoch });
        }
        self.clock = Instant::now();
        self.save()?;
        let last = weights::to_bytes(&self.model)?;
        let (best, selected_by) = match self.state.best.take() {
            Some(best) => (best, self.chosen_by()),
            None => {
                let epoch = epochs.saturating_sub(1);
                let nothing =
                    Best { epoch, valid: None, test: None, worst_valid: None, worst_valid_id: None };
                (nothing, "last epoch: the validation metric never had a value")
            }
        };
        let best_weights = self.best_weights.take().unwrap_or_else(|| last.clone());
        let described = self.describe(selection(&best, selected_by));
        let mut test = None;
        if let Some(description) = &described {
            let selected = Bundle::new(description.clone(), &best_weights, &self.settings.device)?;
            let Some(answers) = self.predict_test(&selected) else {
                return Ok(Outcome::Interrupted(self.state.position));
            };
            test = Some((description, answers));
        }
        let result = SeedResult {
            seed: self.settings.seed,
            best,
            selected_by: selected_by.to_owned(),
            epochs,
            stopped_early,
            steps: self.state.global_step,
            parameters: weights::count_parameters(&self.model),
            undefined_evaluations: self.state.undefined_evaluations,
            seconds: self.state.seconds,
            best_weights_sha256: sha256(&best_weights),
            last_weights_sha256: sha256(&last),
        };
        if let Some(directory) = self.directory {
            write_model(directory, "best", described.as_ref(), &best_weights)?;
            let epoch = epochs.saturating_sub(1);
            // Its metrics may have been computed by a process that was killed since.
            let last_epoch = Selection { epoch, chosen_by: "last epoch".to_owned(), valid: None, test: None };
            write_model(directory, "last", self.describe(last_epoch).as_ref(), &last)?;
            if let Some((description, test)) = &test {
                fs::write_atomically_with(&directory.file("test_predictions.csv"), |out| {
                    write_predictions(self.data, description, test, out)
                })?;
            }
            directory.write_result(&result)?;
        }
        self.observer.event(&TrainEvent::SeedFinished(result.clone()));
        Ok(Outcome::Finished(result))
    }

    /// Writes the model of the best epoch so far.
    pub(super) fn write_best(&self, weights: &[u8]) -> Result<(), TrainError> {
        let (Some(directory), Some(best)) = (self.directory, &self.state.best) else { return Ok(()) };
        let described = self.describe(selection(best, self.chosen_by()));
        write_model(directory, "best", described.as_ref(), weights)
    }

    /// Why the best epoch is the best.
    fn chosen_by(&self) -> &'static str {
        match self.data.splits.valid.is_empty() {
            false => "best validation metric",
            true => "last epoch: there is no validation part",
        }
    }

    fn describe(&self, selection: Selection) -> Option<Description> {
        describe(self.settings, self.data, self.scaler.as_ref(), selection)
    }

    /// What a user of the model file would get for the test part; `None` if interrupted.
    fn predict_test(&self, model: &Bundle) -> Option<Answers> {
        let samples = self.data.splits.test.iter().filter_map(|&at| self.data.dataset.samples.get(at));
        let graphs: Vec<&PreparedGraph> = samples.map(|sample| &sample.prepared).collect();
        let is_interrupted = || self.settings.interrupt.load(Ordering::Relaxed);
        model.predict_prepared(&graphs, &is_interrupted).ok()
    }
}

fn selection(best: &Best, chosen_by: &str) -> Selection {
    Selection { epoch: best.epoch, chosen_by: chosen_by.to_owned(), valid: best.valid, test: best.test }
}
