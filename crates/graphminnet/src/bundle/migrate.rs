//! Old model files in new programs: one step per version, each a function from a description to the next one.
//!
//! A change of the description's form raises [`FORMAT_VERSION`](super::FORMAT_VERSION), adds a step here and a frozen
//! file of the version before under `tests/fixtures/bundles/`. A step that exists is never changed.

use serde_json::Value;

/// Turns a description of one version into one of the next, or says why it cannot.
type Step = fn(Value) -> Result<Value, String>;

/// The step at position `i` leads from version `i + 1` to version `i + 2`.
const STEPS: &[Step] = &[names_what_it_reads];

/// Version 2: the schema may name the positive class and the column of the molecules. Older files say neither.
fn names_what_it_reads(description: Value) -> Result<Value, String> {
    Ok(description)
}

/// Brings a description of any known version to the current one.
pub(super) fn to_current(version: u32, description: Value) -> Result<Value, String> {
    along(STEPS, version, description)
}

fn along(steps: &[Step], version: u32, mut description: Value) -> Result<Value, String> {
    let Some(missing) = (version as usize).checked_sub(1).and_then(|done| steps.get(done..)) else {
        return Err(format!("version {version} never existed"));
    };
    for (at, step) in missing.iter().enumerate() {
        let from = version as usize + at;
        description = step(description).map_err(|reason| {
            format!("it cannot be brought from version {from} to {}: {reason}", from + 1)
        })?;
    }
    Ok(description)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn there_is_a_step_for_every_version_but_the_current_one() {
        assert_eq!(STEPS.len() + 1, super::super::FORMAT_VERSION as usize);
    }

    #[test]
    fn descriptions_take_the_steps_that_they_miss() {
        let steps: &[Step] = &[
            |mut old| {
                old["second"] = json!(true);
                Ok(old)
            },
            |old| old.get("second").map(|_| json!({"third": true})).ok_or_else(|| "no `second`".to_owned()),
        ];
        assert_eq!(along(steps, 1, json!({})), Ok(json!({"third": true})));
        assert_eq!(along(steps, 3, json!({"new": 1})), Ok(json!({"new": 1})));
        assert!(along(steps, 2, json!({})).unwrap_err().contains("from version 2 to 3: no `second`"));
        assert!(along(steps, 0, json!({})).is_err());
        assert!(along(steps, 4, json!({})).is_err());
    }
}
