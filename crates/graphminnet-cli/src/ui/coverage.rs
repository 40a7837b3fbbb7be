//! How often calibrated intervals held, in words.

use graphminnet::bundle::Coverage;
use graphminnet_data::escape;

/// What was promised, what came out, and what it means if that is too little.
pub fn coverage_text(coverage: &Coverage) -> String {
    let Coverage { target, level, calibrated, labels, width, .. } = coverage;
    let share = coverage.share().unwrap_or(f64::NAN);
    let meaning = match coverage.is_low() {
        true => "; too few for chance: these graphs are not like those of the calibration, do not rely on it",
        false => "",
    };
    format!(
        "{}: intervals or sets at level {level} held {:.1} % of {labels} labels (mean width or size {width:.3}, \
         calibrated on {calibrated}){meaning}",
        escape(target),
        100.0 * share
    )
}
