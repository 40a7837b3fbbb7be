//! The end of a seed: selected and last weights, predictions, result.

use super::{Outcome, Settings, Training};
use crate::bundle::{Answers, Bundle, Calibration, DEFAULT_LEVEL, Description, Selection};
use crate::train::event::TrainEvent;
use crate::train::files::{describe, write_model};
use crate::train::norms::{self, Compared, TrainingLoss};
use crate::train::predictions::write_predictions;
use crate::train::summary::SeedResult;
use crate::train::{Architecture, Best, Start, TrainError, TrainingData};
use crate::weights;
use burn::module::Module;
use graphminnet_data::fs::{self, sha256};
use graphminnet_data::spectral::PreparedGraph;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl<C: Architecture> Training<'_, C> {
    /// Writes what remains of a run: weights, predictions, result.
    pub(super) fn finish(mut self) -> Result<Outcome, TrainError> {
        // Estimates of norms are measured by all parts of a graph together, and so are its answers.
        let in_parts = self.data.connection().is_some();
        let measured = if in_parts { self.settled()? } else { None };
        let outputs = match &measured {
            None => None,
            Some(last) => self.selected_outputs(last)?,
        };
        if self.settings.exchange.rank() > 0 {
            return Ok(Outcome::Assisted);
        }
        let epochs = self.state.position.epoch;
        let stopped_early = epochs < self.settings.train.epochs;
        if let (true, Some(best)) = (stopped_early, &self.state.best) {
            self.observer.event(&TrainEvent::EarlyStop { epoch: epochs.saturating_sub(1), best: best.epoch });
        }
        self.clock = Instant::now();
        self.save()?;
        let last = if measured.is_some() { measured } else { self.settled()? };
        let Some(last) = last else { return Ok(Outcome::Interrupted(self.state.position)) };
        let last = weights::to_bytes(&last)?;
        let (best, selected_by) = match self.state.best.take() {
            Some(best) => (best, self.chosen_by()),
            None => {
                let epoch = epochs.saturating_sub(1);
                let nothing = Best {
                    epoch,
                    valid: None,
                    valid_loss: None,
                    test: None,
                    worst_valid: None,
                    worst_valid_id: None,
                };
                (nothing, "last epoch: the validation metric never had a value")
            }
        };
        let best_weights = self.best_weights.take().unwrap_or_else(|| last.clone());
        // Only all parts of a graph together could tell.
        let training_loss = if in_parts { None } else { self.compare(&best_weights, &last)? };
        let mut described = self.describe(selection(&best, selected_by));
        let (mut test, mut calibration) = (None, None);
        if let Some(description) = described.as_ref().filter(|_| in_parts) {
            test = outputs.map(|outputs| self.answers(description, outputs));
        } else if let Some(description) = &described {
            let selected = Bundle::new(description.clone(), &best_weights, &self.settings.device)?;
            let splits = &self.all().splits;
            let (Some(answers), Some(kept)) =
                (self.predict(&selected, &splits.test)?, self.predict(&selected, &splits.calibration)?)
            else {
                return Ok(Outcome::Interrupted(self.state.position));
            };
            calibration = self.calibration(description, &kept, &answers);
            test = Some(answers);
        }
        let coverage = calibration.as_ref().map_or_else(Vec::new, |kept| kept.tested.clone());
        if let Some(description) = &mut described {
            description.calibration = calibration;
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
            training_loss,
            seconds: self.state.seconds,
            best_weights_sha256: sha256(&best_weights),
            last_weights_sha256: sha256(&last),
            coverage,
        };
        if let Some(directory) = self.directory {
            write_model(directory, "best", described.as_ref(), &best_weights)?;
            let epoch = epochs.saturating_sub(1);
            // Its metrics may have been computed by a process that was killed since.
            let last_epoch = Selection { epoch, chosen_by: "last epoch".to_owned(), valid: None, test: None };
            write_model(directory, "last", self.describe(last_epoch).as_ref(), &last)?;
            if let (Some(description), Some(test)) = (&described, &test) {
                fs::write_atomically_with(&directory.file("test_predictions.csv"), |out| {
                    write_predictions(self.all(), description, test, out)
                })?;
            }
            directory.write_result(&result)?;
        }
        self.observer.event(&TrainEvent::SeedFinished(result.clone()));
        Ok(Outcome::Finished(result))
    }

    /// How well evaluation agrees with training, where it can be told. A model that does not agree is seldom selected, so
    /// the last weights are looked at too.
    fn compare(&mut self, best: &[u8], last: &[u8]) -> Result<Option<TrainingLoss>, TrainError> {
        let Settings { train, seed, device, interrupt, .. } = self.settings;
        let compare = |weights: &[u8], of| {
            let model = weights::from_bytes(self.model.valid(), weights)?;
            norms::compare(&model, of, self.data, train, self.scaler.as_ref(), *seed, device, interrupt)
        };
        let selected = compare(best, Compared::Selected)?;
        let disagrees = |loss: &TrainingLoss| loss.disagree;
        let worse = if selected.as_ref().is_some_and(disagrees) || best == last {
            None
        } else {
            compare(last, Compared::Last)?.filter(disagrees)
        };
        let compared = worse.or(selected);
        if let Some(loss) = compared.filter(disagrees) {
            self.observer.event(&TrainEvent::Disagreement(loss));
        }
        Ok(compared)
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

    /// The whole of the data, where it is known.
    fn all(&self) -> &TrainingData {
        self.outline.map_or(self.data, |outline| &outline.data)
    }

    fn describe(&self, selection: Selection) -> Option<Description> {
        let from = self.start.map(Start::origin);
        describe(self.settings, self.all(), self.scaler.as_ref(), selection, from)
    }

    /// What the model keeps about the graphs that were set aside; `None` if there are none.
    fn calibration<'a>(
        &'a self,
        about: &Description,
        kept: &'a Answers,
        test: &'a Answers,
    ) -> Option<Calibration> {
        let splits = &self.all().splits;
        if splits.calibration.is_empty() {
            return None;
        }
        // A graph without an answer is none that an interval could hold.
        let labelled = |answers: &'a Answers, part: &[usize]| -> Vec<_> {
            let samples = part.iter().filter_map(|&at| self.all().dataset.samples.get(at));
            let pairs = answers.iter().zip(samples.map(|sample| sample.targets.as_slice()));
            pairs.filter_map(|(answer, targets)| Some((answer.ok()?, targets))).collect()
        };
        let (kept, test) = (labelled(kept, &splits.calibration), labelled(test, &splits.test));
        Calibration::new(about, &kept, &test, DEFAULT_LEVEL).ok()
    }

    /// What a user of the model file would get for a part; `None` if interrupted.
    fn predict(&self, model: &Bundle, part: &[usize]) -> Result<Option<Answers>, TrainError> {
        let dataset = &self.all().dataset;
        let graphs = part.iter().map(|&at| dataset.complete(at)).collect::<Result<Vec<_>, _>>()?;
        let graphs: Vec<&PreparedGraph> = graphs.iter().map(|graph| &**graph).collect();
        let is_interrupted = || self.settings.interrupt.load(Ordering::Relaxed);
        Ok(model.predict_prepared(&graphs, &is_interrupted).ok())
    }
}

fn selection(best: &Best, chosen_by: &str) -> Selection {
    Selection { epoch: best.epoch, chosen_by: chosen_by.to_owned(), valid: best.valid, test: best.test }
}
