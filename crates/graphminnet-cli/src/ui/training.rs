//! A run as it happens: a live line on a terminal, one line per epoch elsewhere, nothing if asked for.
//!
//! Everything goes to standard error; results are for standard output.

use super::figure::figure;
use super::preparation::{say_loaded, say_preparation, transform_name};
use super::progress::{Progress, Unit};
use super::say::Verbosity;
use graphminnet::config::MetricKind;
use graphminnet::train::{EpochReport, Loaded, Observer, TrainEvent};
use graphminnet_data::preparation::{PreparationReport, Transform};
use graphminnet_data::text::{counted, duration};
use std::time::Instant;

/// Shows one run.
#[derive(Debug)]
pub struct Training {
    verbosity: Verbosity,
    metric: MetricKind,
    label: String,
    /// Of the preparation, while it lasts.
    preparation: Option<Progress>,
    progress: Progress,
    best: Option<(usize, f64)>,
    last: String,
    /// What was doubted before the training of an earlier seed.
    doubts: Vec<String>,
    /// Steps of all epochs.
    steps: usize,
    /// When the current epoch began here, and its graphs since.
    pace: (Instant, usize),
}

impl Training {
    /// For a run judged by `metric`; the label stands in front of every line.
    pub fn new(verbosity: Verbosity, metric: MetricKind, label: &str) -> Self {
        Self {
            verbosity,
            metric,
            label: if label.is_empty() { String::new() } else { format!("{label}  ") },
            preparation: None,
            progress: Progress::new(verbosity, Unit::Steps),
            best: None,
            last: String::new(),
            doubts: Vec::new(),
            steps: 0,
            pace: (Instant::now(), 0),
        }
    }

    fn say(&self, text: &str) {
        self.progress.say(text);
    }

    fn update(&self, done: usize) {
        self.progress.update(&self.label, done as u64, Some(self.steps as u64));
    }

    fn epoch(&mut self, report: &EpochReport) {
        if let (true, Some(valid)) = (report.improved, report.valid) {
            self.best = Some((report.epoch, valid));
        }
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), figure);
        let metric = self.metric;
        self.last = format!(
            "epoch {}: loss {:.4}  valid {metric} {}  test {}",
            report.epoch + 1,
            report.train_loss,
            number(report.valid),
            number(report.test)
        );
        if let Some((epoch, value)) = self.best {
            self.last.push_str(&format!("  best {} in epoch {}", figure(value), epoch + 1));
        }
        if self.progress.is_shown() && self.verbosity != Verbosity::Verbose {
            return;
        }
        let line = format!(
            "{}epoch {:>4}/{}  lr {:.1e}  loss {:.4}  valid {metric} {} (worst error {})  test {metric} {}  {}  {:.0} graphs/s{}{}",
            self.label,
            report.epoch + 1,
            report.epochs,
            report.learning_rate,
            report.train_loss,
            number(report.valid),
            report.worst_valid.map_or_else(|| "–".to_owned(), |error| format!("{error:.3}")),
            number(report.test),
            duration(report.seconds),
            report.graphs_per_second,
            if report.skipped_batches > 0 {
                format!("  {} batches without labels skipped", report.skipped_batches)
            } else {
                String::new()
            },
            if report.improved { "  *" } else { "" },
        );
        self.say(&line);
    }
}

impl Observer for Training {
    fn loaded(&mut self, data: &Loaded) {
        say_loaded(self.verbosity, data);
    }

    fn preparing(&mut self, transform: Transform, done: usize, total: usize) {
        let progress = self.preparation.get_or_insert_with(|| Progress::new(self.verbosity, Unit::Graphs));
        progress.update(transform_name(transform), done as u64, Some(total as u64));
    }

    fn prepared(&mut self, report: &PreparationReport) {
        self.preparation = None;
        say_preparation(self.verbosity, report);
    }

    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::SeedStarted { seed, parameters, epochs, steps_per_epoch, resumed_at } => {
                let place = resumed_at.map_or_else(String::new, |at| {
                    format!(", resuming at epoch {}, step {}", at.epoch + 1, at.step)
                });
                self.say(&format!(
                    "{}seed {seed}: {parameters} parameters, {} of {}{place}",
                    self.label,
                    counted(*epochs, "epoch"),
                    counted(*steps_per_epoch, "step")
                ));
                (self.best, self.last, self.steps) = (None, String::new(), epochs * steps_per_epoch);
                self.progress = Progress::new(self.verbosity, Unit::Steps);
                self.update(resumed_at.map_or(0, |at| at.epoch * steps_per_epoch + at.step));
            }
            TrainEvent::TakenOver(taken) => self.say(&taken.to_string()),
            TrainEvent::InParts { parts, edges, cut } => {
                let share = 100.0 * cut.edges as f64 / (*edges).max(1) as f64;
                let border = cut.border.iter().max().copied().unwrap_or_default();
                self.say(&format!(
                    "{parts} parts: {} of {} between them ({share:.1} %), {} at the border of a part at most",
                    cut.edges,
                    counted(*edges, "edge"),
                    counted(border, "node")
                ));
            }
            // Once for all seeds.
            TrainEvent::Doubt(doubt) if !self.doubts.contains(doubt) => {
                self.say(&format!("warning: {doubt}"));
                self.doubts.push(doubt.clone());
            }
            TrainEvent::StateDamaged(problem) => {
                self.say(&format!("warning: a saved state cannot be used, an earlier one is: {problem}"));
            }
            TrainEvent::Step { epoch, steps, step, loss, graphs } => {
                if *step == 1 {
                    self.pace = (Instant::now(), 0);
                }
                self.pace.1 += graphs;
                self.update(epoch * steps + step);
                if self.progress.is_shown() {
                    let rate = self.pace.1 as f64 / self.pace.0.elapsed().as_secs_f64().max(1e-3);
                    let loss = loss.map_or_else(String::new, |loss| format!("  batch loss {loss:.3}"));
                    let text = format!("epoch {}{loss}  {rate:.0} graphs/s  {}", epoch + 1, self.last);
                    self.progress.detail(text);
                }
            }
            TrainEvent::Epoch(report) => self.epoch(report),
            TrainEvent::Undefined { epoch, split, reason } => {
                self.say(&format!(
                    "epoch {}: {} of the {split} part has no value: {reason}",
                    epoch + 1,
                    self.metric
                ));
            }
            TrainEvent::StateSaved { path } if self.verbosity == Verbosity::Verbose => {
                self.say(&format!("saved {}", path.display()));
            }
            TrainEvent::EarlyStop { epoch, best } => {
                self.say(&format!(
                    "stopped early after epoch {}: no better validation metric since epoch {}",
                    epoch + 1,
                    best + 1
                ));
            }
            _ => {}
        }
    }
}
