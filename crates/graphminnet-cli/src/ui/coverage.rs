//! How often calibrated intervals held, in words.

use graphminnet::bundle::{Conformal, Coverage};
use graphminnet_data::escape;

/// What was promised, what came out, and what it means if that is too little.
pub fn coverage_text(coverage: &Coverage) -> String {
    let Coverage { target, level, calibrated, labels, width, .. } = coverage;
    let share = coverage.share().unwrap_or(f64::NAN);
    let meaning = match coverage.is_low() {
        true => "; too few for chance: these graphs are not like those of the calibration, do not rely on it",
        false => "",
    };
    let width = match width {
        Some(width) => format!("mean width or size {width:.3}"),
        None => "without an end, there are too few labels for the level".to_owned(),
    };
    format!(
        "{}: intervals or sets at level {level} held {:.1} % of {labels} labels ({width}, calibrated on \
         {calibrated}){meaning}",
        escape(target),
        100.0 * share
    )
}

/// What is to be said of every target whose calibration had too few labels.
pub fn without_end(conformal: &Conformal) -> impl Iterator<Item = String> {
    let level = conformal.level();
    conformal.without_end().map(move |(target, found, needed)| {
        format!(
            "{}: {found} labels are too few to calibrate at level {level}, which takes {needed}: its intervals have no end, \
             its sets hold every class",
            escape(target)
        )
    })
}
