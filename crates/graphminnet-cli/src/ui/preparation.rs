//! What was read, and progress of its preparation.

use super::progress::{Progress, Unit};
use super::report::report_lines;
use super::say::Verbosity;
use super::signals::Interrupt;
use graphminnet::train::Loaded;
use graphminnet_data::preparation::{self, Origin, PreparationReport, Transform};
use graphminnet_data::spectral::Eigensolver;
use std::sync::atomic::{AtomicBool, Ordering};

/// Says what was read.
pub fn say_loaded(verbosity: Verbosity, loaded: &Loaded) {
    verbosity.say(loaded.in_words());
    for line in report_lines(&loaded.report) {
        verbosity.say(line);
    }
}

/// Shows how far a preparation has come, and stops it when the user wants to.
pub struct Preparation<'a> {
    progress: Progress,
    interrupt: &'a AtomicBool,
}

impl<'a> Preparation<'a> {
    /// At the beginning.
    pub fn new(verbosity: Verbosity, interrupt: &'a Interrupt) -> Self {
        Self { progress: Progress::new(verbosity, Unit::Graphs), interrupt: interrupt.heed() }
    }
}

impl preparation::Progress for Preparation<'_> {
    fn update(&self, transform: Transform, done: usize, total: usize) {
        self.progress.update(transform_name(transform), done as u64, Some(total as u64));
    }

    fn should_stop(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}

/// A transform in words.
pub fn transform_name(transform: Transform) -> &'static str {
    match transform {
        Transform::Eigenpairs => "eigenpairs",
        Transform::RandomWalk => "random walks",
    }
}

/// How eigenpairs are computed, in words.
fn solver(solver: Eigensolver) -> &'static str {
    match solver {
        Eigensolver::Dense => "densely: the graph is small",
        Eigensolver::InParts => "by iteration, each rank on its parts",
    }
}

/// Says what a preparation did.
pub fn say_preparation(verbosity: Verbosity, report: &PreparationReport) {
    for (transform, origin, time) in &report.parts {
        let mut name = transform_name(*transform).to_owned();
        if let (Transform::Eigenpairs, Some(found)) = (transform, report.eigensolver) {
            name.push_str(&format!(" ({})", solver(found)));
        }
        let seconds = time.as_secs_f64();
        match origin {
            Origin::Cached => verbosity.say(format_args!("{name}: from the cache ({seconds:.1} s)")),
            Origin::Computed => verbosity.say(format_args!("{name}: computed ({seconds:.1} s)")),
            Origin::Rebuilt { problem } => {
                verbosity.say(format_args!("{name}: computed again ({seconds:.1} s), because: {problem}"));
            }
            Origin::NotStored { problem } => {
                verbosity.say(format_args!("{name}: computed ({seconds:.1} s), but not kept: {problem}"));
            }
        }
    }
}
