//! The end of a seed: selected and last weights, predictions, result.

use super::{Outcome, Training};
use crate::io::{self, sha256};
use crate::model::GraphMinNet;
use crate::train::event::TrainEvent;
use crate::train::files::write_weights;
use crate::train::predictions::predictions_csv;
use crate::train::summary::SeedResult;
use crate::train::{Best, TrainError};
use crate::weights;
use std::time::Instant;

impl Training<'_> {
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
        let (best, selected_by) = match (self.state.best.take(), self.data.splits.valid.is_empty()) {
            (Some(best), false) => (best, "best validation metric"),
            (Some(best), true) => (best, "last epoch: there is no validation part"),
            (None, _) => {
                let epoch = epochs.saturating_sub(1);
                let nothing =
                    Best { epoch, valid: None, test: None, worst_valid: None, worst_valid_id: None };
                (nothing, "last epoch: the validation metric never had a value")
            }
        };
        let best_weights = self.best_weights.take().unwrap_or_else(|| last.clone());
        let selected = GraphMinNet::new(self.settings.model, self.settings.seed, &self.settings.device)?;
        let selected = weights::from_bytes(selected, &best_weights)?;
        let samples = &self.data.splits.test;
        let Some(test) = self.evaluate(&selected, samples)? else {
            return Ok(Outcome::Interrupted(self.state.position));
        };
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
            write_weights(directory, "best", &best_weights)?;
            write_weights(directory, "last", &last)?;
            let table = predictions_csv(self.data, samples, &test);
            io::write_atomically(&directory.file("test_predictions.csv"), table.as_bytes())?;
            directory.write_result(&result)?;
        }
        self.observer.event(&TrainEvent::SeedFinished(result.clone()));
        Ok(Outcome::Finished(result))
    }
}
