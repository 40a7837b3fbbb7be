//! How often calibrated intervals held, in words.

use graphminnet::bundle::{Conformal, Coverage, Ensemble};
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

/// Why intervals or sets from graphs that were set aside in training are not to be relied on: targets with too few labels, and
/// those whose intervals held too little of the test part.
pub fn doubts(ensemble: &Ensemble, conformal: &Conformal) -> Vec<String> {
    let level = conformal.level();
    let without_end = conformal.without_end().map(|(target, found, needed)| {
        format!(
            "{}: {found} labels are too few to calibrate at level {level}, which takes {needed}: its intervals have no end, \
             its sets hold every class",
            escape(target)
        )
    });
    let kept = ensemble.members().filter_map(|member| member.description().calibration.as_ref());
    let low = kept.flat_map(|kept| &kept.tested).filter(|tested| tested.is_low()).map(coverage_text);
    without_end.chain(low).collect()
}
