//! Everything besides weights and moments that a run needs to resume where it stopped.

use crate::config::MetricKind;
use crate::task::metric;
use serde::{Deserialize, Serialize};

/// Version of the layout of [`TrainState`].
pub(super) const STATE_VERSION: u32 = 1;

/// A place in the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Epochs that are done and evaluated; also the number of the current epoch.
    pub epoch: usize,
    /// Optimizer steps done in the current epoch.
    pub step: usize,
}

/// The selected epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "in_files::Best", into = "in_files::Best")]
pub struct Best {
    /// The epoch, from 0; in files from 1, as on the screen.
    pub epoch: usize,
    /// Validation metric.
    pub valid: Option<f64>,
    /// Validation loss, which decides between epochs of the same metric; earlier versions did not keep it.
    pub valid_loss: Option<f64>,
    /// Test metric of the same weights.
    pub test: Option<f64>,
    /// Largest error of a single validation label.
    pub worst_valid: Option<f64>,
    /// Name of the graph with that error.
    pub worst_valid_id: Option<String>,
}

impl Best {
    /// Whether another epoch is selected in the place of this one: its metric is better, or the same and its loss no
    /// larger. Between equals the later one is taken, which has learned for longer.
    pub(super) fn gives_way_to(&self, metric: MetricKind, valid: Option<f64>, loss: Option<f64>) -> bool {
        match (valid, self.valid) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(new), Some(old)) if new == old => match (loss, self.valid_loss) {
                (Some(new), Some(old)) => new <= old,
                _ => true,
            },
            (Some(new), Some(old)) => metric::is_better(metric, new, old),
        }
    }
}

/// What a schedule that waits for plateaus remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plateau {
    /// How often the learning rate was reduced.
    pub reductions: u32,
    /// Epochs that were done when it was last reduced.
    pub since: usize,
}

/// Sums over the current epoch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EpochSums {
    #[serde(with = "exact")]
    pub loss: f64,
    pub labels: usize,
    pub graphs: usize,
    pub skipped_batches: usize,
    #[serde(with = "exact")]
    pub gradient_norm: f64,
    #[serde(with = "exact")]
    pub largest_gradient_norm: f64,
    pub clipped_steps: usize,
    pub seconds: f64,
}

/// The state of a run after some step, without weights and moments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainState {
    pub(super) version: u32,
    /// The seed.
    pub seed: u64,
    /// Hash of the model's and the protocol's configuration, see [`crate::config::Identity`].
    pub config_hash: String,
    /// Hash of the data.
    pub data_fingerprint: String,
    /// Where in the schedule.
    pub position: Position,
    /// Optimizer steps since the start.
    pub global_step: u64,
    pub(super) sums: EpochSums,
    /// The best epoch so far.
    #[serde(with = "exact_best")]
    pub best: Option<Best>,
    /// The epoch in which the best metric was first reached, where that is not the selected one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reached: Option<usize>,
    /// Reductions of the learning rate at plateaus, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plateau: Option<Plateau>,
    /// Evaluations of the validation or test part without a value.
    pub undefined_evaluations: usize,
    /// Wall-clock seconds of all epochs that are done.
    pub seconds: f64,
    /// What the first epoch is called in the files of the run: 0 in those of earlier versions.
    #[serde(default)]
    pub(super) first_epoch: usize,
    /// Valid length of the metrics file.
    pub metrics_length: u64,
    /// Valid length of the event file.
    pub events_length: u64,
}

impl TrainState {
    /// The state before the first step.
    pub(super) fn new(seed: u64, config_hash: String, data_fingerprint: String) -> Self {
        Self {
            version: STATE_VERSION,
            seed,
            config_hash,
            data_fingerprint,
            position: Position::default(),
            global_step: 0,
            sums: EpochSums::default(),
            best: None,
            reached: None,
            plateau: None,
            undefined_evaluations: 0,
            seconds: 0.0,
            first_epoch: 1,
            metrics_length: 0,
            events_length: 0,
        }
    }

    /// Epochs since the validation metric last improved; none while it never had a value, which says nothing about the rate.
    pub(super) fn epochs_without_improvement(&self) -> usize {
        let since = |best: &Best| self.position.epoch.saturating_sub(self.reached.unwrap_or(best.epoch) + 1);
        self.best.as_ref().map_or(0, since)
    }

    /// Steps taken plus epochs evaluated: grows with everything that changes the state.
    pub fn progress(&self) -> u64 {
        self.global_step + self.position.epoch as u64
    }
}

/// [`super::Best`] as it is written. Earlier versions counted epochs from 0 and did not say so.
mod in_files {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Best {
        epoch: usize,
        #[serde(default)]
        first_epoch: usize,
        valid: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_loss: Option<f64>,
        test: Option<f64>,
        worst_valid: Option<f64>,
        worst_valid_id: Option<String>,
    }

    impl From<super::Best> for Best {
        fn from(best: super::Best) -> Self {
            let super::Best { epoch, valid, valid_loss, test, worst_valid, worst_valid_id } = best;
            Self { epoch: epoch + 1, first_epoch: 1, valid, valid_loss, test, worst_valid, worst_valid_id }
        }
    }

    impl From<Best> for super::Best {
        fn from(best: Best) -> Self {
            let Best { epoch, first_epoch, valid, valid_loss, test, worst_valid, worst_valid_id } = best;
            let epoch = epoch.saturating_sub(first_epoch);
            Self { epoch, valid, valid_loss, test, worst_valid, worst_valid_id }
        }
    }
}

/// A number as text, as states were always written: no JSON number is NaN, and no digit depends on who reads it.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// [`Best`] with its numbers as text.
mod exact_best {
    use super::Best;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Saved {
        epoch: usize,
        numbers: [Option<String>; 3],
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_loss: Option<String>,
        worst_valid_id: Option<String>,
    }

    pub(super) fn serialize<S: Serializer>(best: &Option<Best>, serializer: S) -> Result<S::Ok, S::Error> {
        let text = |value: Option<f64>| value.map(|value| value.to_string());
        let saved = best.as_ref().map(|best| Saved {
            epoch: best.epoch,
            numbers: [best.valid, best.test, best.worst_valid].map(text),
            valid_loss: text(best.valid_loss),
            worst_valid_id: best.worst_valid_id.clone(),
        });
        saved.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Best>, D::Error> {
        let Some(saved) = Option::<Saved>::deserialize(deserializer)? else { return Ok(None) };
        let number =
            |text: Option<String>| text.map(|text| text.parse()).transpose().map_err(D::Error::custom);
        let [valid, test, worst_valid] = saved.numbers;
        Ok(Some(Best {
            epoch: saved.epoch,
            valid: number(valid)?,
            valid_loss: number(saved.valid_loss)?,
            test: number(test)?,
            worst_valid: number(worst_valid)?,
            worst_valid_id: saved.worst_valid_id,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_epochs_with_the_same_metric_the_one_with_the_smaller_loss_is_taken_then_the_later_one() {
        let best = |valid_loss| Best {
            epoch: 2,
            valid: Some(0.5),
            valid_loss,
            test: None,
            worst_valid: None,
            worst_valid_id: None,
        };
        let with = |loss, valid, new_loss| best(loss).gives_way_to(MetricKind::Accuracy, valid, new_loss);
        for (new_loss, expected) in [(0.2, true), (0.3, true), (0.4, false)] {
            assert_eq!(with(Some(0.3), Some(0.5), Some(new_loss)), expected, "{new_loss}");
        }
        assert!(with(Some(0.3), Some(0.6), Some(9.0)), "the metric goes first");
        assert!(!with(Some(0.3), Some(0.4), Some(0.0)) && !with(Some(0.3), None, Some(0.0)));
        // A state of an earlier version does not say its loss.
        assert!(with(None, Some(0.5), Some(1.0)));
    }

    #[test]
    fn epochs_are_written_from_1_and_those_of_earlier_versions_are_read_from_0() {
        let earlier = r#"{"epoch":6,"valid":0.5,"test":null,"worst_valid":null,"worst_valid_id":null}"#;
        let best: Best = serde_json::from_str(earlier).unwrap();
        assert_eq!(best.epoch, 6);
        let written = serde_json::to_value(&best).unwrap();
        assert_eq!((&written["epoch"], &written["first_epoch"]), (&7.into(), &1.into()));
        assert_eq!(serde_json::from_value::<Best>(written).unwrap(), best);
    }

    #[test]
    fn epochs_before_the_metric_has_a_value_are_no_plateau() {
        let mut state = TrainState::new(0, "config".into(), "data".into());
        state.position.epoch = 20;
        assert_eq!(state.epochs_without_improvement(), 0);
        state.best = Some(Best {
            epoch: 20,
            valid: Some(0.5),
            valid_loss: None,
            test: None,
            worst_valid: None,
            worst_valid_id: None,
        });
        for (epoch, reached, expected) in [(21, None, 0), (24, None, 3), (24, Some(18), 5)] {
            (state.position.epoch, state.reached) = (epoch, reached);
            assert_eq!(state.epochs_without_improvement(), expected);
        }
    }

    #[test]
    fn a_state_comes_back_to_the_last_bit() {
        let mut state = TrainState::new(3, "config".into(), "data".into());
        let mut random = graphminnet_data::rng::stream(0, "state", &[]);
        for _ in 0..1000 {
            state.sums.loss = random.normal() * 1e3;
            state.sums.gradient_norm = random.uniform() / 3.0;
            state.best = Some(Best {
                epoch: 7,
                valid: Some(random.uniform()),
                valid_loss: Some(random.uniform() / 7.0),
                test: None,
                worst_valid: Some(f64::INFINITY),
                worst_valid_id: Some("ring-1".into()),
            });
            let text = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<TrainState>(&text).unwrap(), state);
        }
    }
}
