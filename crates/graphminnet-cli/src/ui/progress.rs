//! How far something has come: a bar with rate and time left on a terminal, plain lines otherwise, on standard error.

use super::say::{Verbosity, say_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Graphs.
    Graphs,
    /// Bytes.
    #[cfg_attr(not(feature = "download"), allow(dead_code))]
    Bytes,
    /// Steps of a training, which says a line per epoch where there is no terminal.
    Steps,
}

impl Unit {
    fn template(self) -> &'static str {
        match self {
            Self::Graphs => "{prefix} {wide_bar} {human_pos}/{human_len} graphs, {per_sec}, {eta} left",
            Self::Bytes => "{prefix} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
            Self::Steps => "{prefix}{bar:20} {percent}%  {msg}  {eta} left",
        }
    }
}

/// Follows one thing after the other; may be told from any thread.
#[derive(Debug)]
pub struct Progress {
    unit: Unit,
    verbosity: Verbosity,
    bar: Option<ProgressBar>,
    course: Mutex<Option<Course>>,
}

/// Plain lines come at most this often.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Drawings of the bar per second.
const DRAWINGS: u8 = 8;

/// What is being followed.
#[derive(Debug)]
struct Course {
    name: String,
    start: Instant,
    last_line: Instant,
    first: u64,
}

impl Progress {
    /// At nothing.
    pub fn new(verbosity: Verbosity, unit: Unit) -> Self {
        let is_shown = verbosity != Verbosity::Quiet && stderr().is_terminal();
        let bar = is_shown.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(DRAWINGS));
            match ProgressStyle::with_template(unit.template()) {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { unit, verbosity, bar, course: Mutex::new(None) }
    }

    /// `done` of `total` of what is called `name` are done.
    pub fn update(&self, name: &str, done: u64, total: Option<u64>) {
        let mut course = self.course();
        let now = Instant::now();
        let is_new = course.as_ref().is_none_or(|course| course.name != name);
        let course = match &mut *course {
            Some(course) if !is_new => course,
            slot => slot.insert(Course { name: name.to_owned(), start: now, last_line: now, first: done }),
        };
        if let Some(bar) = &self.bar {
            if is_new {
                bar.reset();
                bar.set_prefix(name.to_owned());
            }
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done.max(bar.position()));
            if is_new {
                // What was done before does not count for the rate.
                bar.reset_eta();
            }
        } else if self.unit != Unit::Steps && now - course.last_line >= BETWEEN_LINES {
            course.last_line = now;
            let rate = (done - course.first.min(done)) as f64 / (now - course.start).as_secs_f64();
            self.verbosity.say(line(self.unit, name, done, total, rate));
        }
    }

    /// Whether there is a bar to look at.
    pub fn is_shown(&self) -> bool {
        self.bar.is_some()
    }

    /// What stands beside the bar.
    pub fn detail(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text);
        }
    }

    /// Says something above the bar, unless quiet.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say_line(text)),
            None => self.verbosity.say(text),
        }
    }

    fn course(&self) -> MutexGuard<'_, Option<Course>> {
        // A poisoned lock only means that another thread panicked while counting.
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bar goes with what it followed.
impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(unit: Unit, name: &str, done: u64, total: Option<u64>, rate: f64) -> String {
    let (what, per, scale) = match unit {
        Unit::Graphs => ("graphs", "graphs/s", 1.0),
        Unit::Bytes => ("MB", "MB/s", 1e-6),
        Unit::Steps => ("steps", "steps/s", 1.0),
    };
    let shown = |count: f64| format!("{:.0}", count * scale);
    match total {
        Some(total) => {
            let left = total.saturating_sub(done) as f64 / rate.max(1e-9);
            format!(
                "{name}: {} of {} {what}, {} {per}, {left:.0} s left",
                shown(done as f64),
                shown(total as f64),
                shown(rate)
            )
        }
        None => format!("{name}: {} {what}, {} {per}", shown(done as f64), shown(rate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_rate_and_time_left() {
        let text = line(Unit::Graphs, "eigenpairs", 500, Some(2_000), 100.0);
        assert_eq!(text, "eigenpairs: 500 of 2000 graphs, 100 graphs/s, 15 s left");
        let text = line(Unit::Bytes, "hiv.zip", 3_000_000, None, 1_500_000.0);
        assert_eq!(text, "hiv.zip: 3 MB, 2 MB/s");
    }
}
