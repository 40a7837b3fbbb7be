//! Counters for `GET /metrics`, in the text format of Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the ranges of answer times, in milliseconds.
const MILLISECONDS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 5_000];

/// Counters since the start.
#[derive(Default)]
pub struct Metrics {
    /// Answers by the first digit of their status, 1 to 5.
    answers: [AtomicU64; 5],
    graphs: AtomicU64,
    stopped: AtomicU64,
    in_progress: AtomicU64,
    /// Answers to requests for work within each range of time; the last has no upper end.
    times: [AtomicU64; MILLISECONDS.len() + 1],
    microseconds: AtomicU64,
}

impl Metrics {
    /// Counts an answer.
    pub fn answered(&self, status: u16) {
        if let Some(counter) =
            (status / 100).checked_sub(1).and_then(|class| self.answers.get(usize::from(class)))
        {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts work that was done.
    pub fn worked(&self, graphs: usize, time: Duration) {
        self.graphs.fetch_add(graphs as u64, Ordering::Relaxed);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Ordering::Relaxed);
        let range =
            MILLISECONDS.iter().position(|end| microseconds <= end * 1000).unwrap_or(MILLISECONDS.len());
        self.times[range].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request as in progress until the result is dropped.
    pub fn in_progress(&self) -> InProgress<'_> {
        self.in_progress.fetch_add(1, Ordering::Relaxed);
        InProgress(self)
    }

    /// Counts work that was given up.
    pub fn stopped(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }

    /// The page.
    pub fn text(&self) -> String {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut text = String::from(
            "# HELP graphminnet_answers_total Answers by class of status.\n# TYPE graphminnet_answers_total counter\n",
        );
        for (class, counter) in (1..).zip(&self.answers) {
            let _ = writeln!(text, "graphminnet_answers_total{{status=\"{class}xx\"}} {}", load(counter));
        }
        let graphs = load(&self.graphs);
        let _ = writeln!(
            text,
            "# HELP graphminnet_graphs_total Graphs that were predicted.\n# TYPE graphminnet_graphs_total counter\ngraphminnet_graphs_total {graphs}"
        );
        let stopped = load(&self.stopped);
        let _ = writeln!(
            text,
            "# HELP graphminnet_stopped_total Requests that were given up because nobody waited any more.\n# TYPE graphminnet_stopped_total counter\ngraphminnet_stopped_total {stopped}"
        );
        let in_progress = load(&self.in_progress);
        let _ = writeln!(
            text,
            "# HELP graphminnet_requests_in_progress Requests that are worked on or wait for it.\n# TYPE graphminnet_requests_in_progress gauge\ngraphminnet_requests_in_progress {in_progress}"
        );
        text.push_str("# HELP graphminnet_work_seconds Time from a complete request to its answer.\n# TYPE graphminnet_work_seconds histogram\n");
        let mut count = 0;
        for (end, counter) in MILLISECONDS.iter().zip(&self.times) {
            count += load(counter);
            let _ = writeln!(text, "graphminnet_work_seconds_bucket{{le=\"{}\"}} {count}", *end as f64 / 1e3);
        }
        count += self.times.last().map_or(0, load);
        let sum = load(&self.microseconds) as f64 / 1e6;
        let _ = writeln!(
            text,
            "graphminnet_work_seconds_bucket{{le=\"+Inf\"}} {count}\ngraphminnet_work_seconds_sum {sum}\ngraphminnet_work_seconds_count {count}"
        );
        text
    }
}

/// A request that is worked on or waits for it.
pub struct InProgress<'a>(&'a Metrics);

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_in_ranges_that_add_up() {
        let metrics = Metrics::default();
        for milliseconds in [0, 3, 7_000] {
            metrics.worked(2, Duration::from_millis(milliseconds));
        }
        metrics.answered(200);
        metrics.answered(413);
        metrics.stopped();
        drop(metrics.in_progress());
        let _working = metrics.in_progress();
        let text = metrics.text();
        for line in [
            "graphminnet_answers_total{status=\"2xx\"} 1",
            "graphminnet_answers_total{status=\"4xx\"} 1",
            "graphminnet_graphs_total 6",
            "graphminnet_stopped_total 1",
            "graphminnet_requests_in_progress 1",
            "graphminnet_work_seconds_bucket{le=\"0.001\"} 1",
            "graphminnet_work_seconds_bucket{le=\"5\"} 2",
            "graphminnet_work_seconds_bucket{le=\"+Inf\"} 3",
        ] {
            assert!(text.lines().any(|said| said == line), "{line}\n{text}");
        }
    }
}
