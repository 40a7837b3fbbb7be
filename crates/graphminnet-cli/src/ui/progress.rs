//! A run as it happens: a live line on a terminal, one line per epoch elsewhere, nothing if asked for.
//!
//! Everything goes to standard error; results are for standard output.

use super::clock::duration;
use graphminnet::config::MetricKind;
use graphminnet::train::{EpochReport, Observer, TrainEvent};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::time::Instant;

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only errors.
    Quiet,
    /// What happens.
    Normal,
    /// More of it.
    Verbose,
}

impl Verbosity {
    /// From the flags `-q` and `-v`.
    pub fn from_flags(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }

    /// Says something, unless quiet.
    pub fn say(self, text: impl std::fmt::Display) {
        if self >= Self::Normal {
            eprintln!("{text}");
        }
    }
}

/// Shows one run.
#[derive(Debug)]
pub struct Progress {
    verbosity: Verbosity,
    metric: MetricKind,
    label: String,
    bar: Option<ProgressBar>,
    best: Option<(usize, f64)>,
    last: String,
    /// When the current epoch began here, and its graphs since.
    pace: (Instant, usize),
}

impl Progress {
    /// For a run judged by `metric`; the label stands in front of every line.
    pub fn new(verbosity: Verbosity, metric: MetricKind, label: &str) -> Self {
        let label = if label.is_empty() { String::new() } else { format!("{label}  ") };
        Self {
            verbosity,
            metric,
            label,
            bar: None,
            best: None,
            last: String::new(),
            pace: (Instant::now(), 0),
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => self.verbosity.say(text),
        }
    }

    fn start(&mut self, epochs: usize, steps_per_epoch: usize, done: usize) {
        self.best = None;
        self.last.clear();
        if self.verbosity == Verbosity::Quiet || !stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::with_draw_target(
            Some((epochs * steps_per_epoch) as u64),
            ProgressDrawTarget::stderr_with_hz(8),
        );
        let template = "{prefix}{bar:20} {percent}%  {msg}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(self.label.clone());
        bar.set_position(done as u64);
        bar.reset_eta();
        self.bar = Some(bar);
    }

    fn epoch(&mut self, report: &EpochReport) {
        if let (true, Some(valid)) = (report.improved, report.valid) {
            self.best = Some((report.epoch, valid));
        }
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
        let metric = self.metric;
        self.last = format!(
            "epoch {}: loss {:.4}  valid {metric} {}  test {}",
            report.epoch + 1,
            report.train_loss,
            number(report.valid),
            number(report.test)
        );
        if let Some((epoch, value)) = self.best {
            self.last.push_str(&format!("  best {value:.4} in epoch {}", epoch + 1));
        }
        if self.bar.is_some() && self.verbosity != Verbosity::Verbose {
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

impl Observer for Progress {
    fn event(&mut self, event: &TrainEvent) {
        match event {
            TrainEvent::SeedStarted { seed, parameters, epochs, steps_per_epoch, resumed_at } => {
                let place = resumed_at.map_or_else(String::new, |at| {
                    format!(", going on at epoch {} after {} steps", at.epoch + 1, at.step)
                });
                self.say(&format!(
                    "{}seed {seed}: {parameters} parameters, {epochs} epochs of {steps_per_epoch} steps{place}",
                    self.label
                ));
                let done = resumed_at.map_or(0, |at| at.epoch * steps_per_epoch + at.step);
                self.start(*epochs, *steps_per_epoch, done);
            }
            TrainEvent::StateDamaged(problem) => {
                self.say(&format!("warning: a saved state cannot be used, an earlier one is: {problem}"));
            }
            TrainEvent::Step { epoch, steps, step, loss, graphs } => {
                if let Some(bar) = &self.bar {
                    if *step == 1 {
                        self.pace = (Instant::now(), 0);
                    }
                    self.pace.1 += graphs;
                    let rate = self.pace.1 as f64 / self.pace.0.elapsed().as_secs_f64().max(1e-3);
                    let loss = loss.map_or_else(String::new, |loss| format!("  batch loss {loss:.3}"));
                    bar.set_position((epoch * steps + step) as u64);
                    bar.set_message(format!("epoch {}{loss}  {rate:.0} graphs/s  {}", epoch + 1, self.last));
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
            TrainEvent::SeedFinished(_) => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
