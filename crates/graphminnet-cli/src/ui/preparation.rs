//! Progress of the preparation of a data set.

use super::progress::Verbosity;
use graphminnet::data::prepare::{Origin, PreparationReport, Transform};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// A bar that follows a preparation, on a terminal.
pub fn preparation_bar(verbosity: Verbosity) -> Option<ProgressBar> {
    if verbosity == Verbosity::Quiet || !stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) =
        ProgressStyle::with_template("preparing: {msg} {wide_bar} {pos}/{len} graphs, {eta} left")
    {
        bar.set_style(style);
    }
    Some(bar)
}

/// A transform in words.
pub fn transform_name(transform: Transform) -> &'static str {
    match transform {
        Transform::Eigenpairs => "eigenpairs",
        Transform::RandomWalk => "random walks",
    }
}

/// Says what a preparation did.
pub fn say_preparation(verbosity: Verbosity, report: &PreparationReport) {
    for (transform, origin, time) in &report.parts {
        let name = transform_name(*transform);
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
