//! How far something has come: a bar with rate and time left on a terminal, plain lines otherwise, on standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Graphs.
    Graphs,
    /// Bytes.
    #[cfg_attr(not(feature = "download"), allow(dead_code))]
    Bytes,
}

/// Follows one thing after the other; may be told from any thread.
pub struct Counter {
    unit: Unit,
    bar: Option<ProgressBar>,
    lines: Mutex<Lines>,
}

/// Plain lines come at most this often.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

struct Lines {
    name: String,
    start: Instant,
    last: Instant,
    first: u64,
}

impl Counter {
    /// A counter at nothing.
    pub fn new(unit: Unit) -> Self {
        let template = match unit {
            Unit::Graphs => "{msg} {wide_bar} {human_pos}/{human_len} graphs, {per_sec}, {eta} left",
            Unit::Bytes => "{msg} {wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
        };
        let bar = stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        let now = Instant::now();
        Self { unit, bar, lines: Mutex::new(Lines { name: String::new(), start: now, last: now, first: 0 }) }
    }

    /// `done` of `total` of what is called `name` are done.
    pub fn update(&self, name: &str, done: u64, total: Option<u64>) {
        // A poisoned lock only means that another thread panicked while printing.
        let mut lines = self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = Instant::now();
        let is_new = lines.name != name;
        if is_new {
            *lines = Lines { name: name.to_owned(), start: now, last: now, first: done };
        }
        if let Some(bar) = &self.bar {
            if is_new {
                bar.reset();
                bar.set_message(name.to_owned());
            }
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done.max(bar.position()));
        } else if now - lines.last >= BETWEEN_LINES {
            lines.last = now;
            let rate = (done - lines.first.min(done)) as f64 / (now - lines.start).as_secs_f64();
            eprintln!("{}", line(self.unit, name, done, total, rate));
        }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn line(unit: Unit, name: &str, done: u64, total: Option<u64>, rate: f64) -> String {
    let (what, per, scale) = match unit {
        Unit::Graphs => ("graphs", "graphs/s", 1.0),
        Unit::Bytes => ("MB", "MB/s", 1e-6),
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
