//! Split files: `{"train": "0-9,12", "valid": [10, 11], "test": "13"}`, perhaps with `calibration`.
//!
//! Positions are lists of numbers or texts with ranges that include both ends, as chemprop writes them; `val` is read
//! as `valid`, and a list holding one such object is read as that object.

use super::{SplitError, Splits};
use serde_json::Value;

impl Splits {
    /// Writes the parts as ranges of positions.
    pub fn to_json(&self) -> String {
        let part = |name: &str, indices: &[usize]| format!("  \"{name}\": \"{}\"", ranges(indices));
        let parts = self.named_parts().into_iter();
        // Only those who calibrate have a fourth part.
        let parts = parts.filter(|(name, indices)| *name != "calibration" || !indices.is_empty());
        let parts: Vec<String> = parts.map(|(name, indices)| part(name, indices)).collect();
        format!("{{\n{}\n}}\n", parts.join(",\n"))
    }

    /// Reads parts of a data set with `samples` samples.
    ///
    /// # Errors
    ///
    /// [`SplitError`] if the text is not such a file, or names a sample twice or one that does not exist.
    pub fn from_json(text: &str, samples: usize) -> Result<Self, SplitError> {
        let refuse = |reason: String| SplitError::Json { reason };
        let mut value: Value = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
        if let Value::Array(list) = &mut value {
            if list.len() != 1 {
                return Err(refuse(format!("a list of {} splits, expected one", list.len())));
            }
            value = list.swap_remove(0);
        }
        let Value::Object(object) = value else {
            return Err(refuse("expected an object with train, valid and test".to_owned()));
        };
        let mut parts: [Option<Vec<usize>>; 4] = [const { None }; 4];
        for (key, value) in &object {
            let (place, part) = match key.as_str() {
                "train" => (0, "train"),
                "valid" | "val" => (1, "valid"),
                "test" => (2, "test"),
                "calibration" => (3, "calibration"),
                other => {
                    let known = "the parts are train, valid, test, calibration";
                    return Err(refuse(format!("unknown part {other:?}; {known}")));
                }
            };
            if parts[place].replace(positions(part, value, samples)?).is_some() {
                return Err(refuse(format!("the {part} part is given twice")));
            }
        }
        let [train, valid, test, calibration] = parts.map(Option::unwrap_or_default);
        Self { train, valid, test, calibration }.checked(samples)
    }
}

fn ranges(indices: &[usize]) -> String {
    let runs = indices.chunk_by(|a, b| a + 1 == *b);
    let text = |run: &[usize]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    runs.map(text).collect::<Vec<_>>().join(",")
}

fn positions(part: &'static str, value: &Value, samples: usize) -> Result<Vec<usize>, SplitError> {
    let refuse = |found: &dyn std::fmt::Display| SplitError::Json {
        reason: format!("the {part} part holds {found}; expected positions such as [0, 1] or \"0-9,12\""),
    };
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => {
            let number = |item: &Value| item.as_u64().and_then(|at| usize::try_from(at).ok());
            items.iter().map(|item| number(item).ok_or_else(|| refuse(item))).collect()
        }
        Value::String(text) => {
            let mut indices = Vec::new();
            for piece in text.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
                let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
                let bound =
                    |text: &str| text.trim().parse::<usize>().map_err(|_| refuse(&format!("{piece:?}")));
                let (first, last) = (bound(first)?, bound(last)?);
                if first > last {
                    return Err(refuse(&format!("{piece:?}, which runs backwards")));
                }
                // Checked before the range is written out, so that a huge one costs nothing.
                if last >= samples {
                    return Err(SplitError::OutOfRange { part, index: last, samples });
                }
                indices.extend(first..=last);
                if indices.len() > samples {
                    return Err(refuse(&format!("more than {samples} positions")));
                }
            }
            Ok(indices)
        }
        other => Err(refuse(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ratios;
    use super::*;

    #[test]
    fn a_range_that_runs_backwards_is_refused() {
        let error = Splits::from_json(r#"{"train": "0-4", "valid": "8-5", "test": []}"#, 10).unwrap_err();
        assert!(error.to_string().contains("runs backwards"), "{error}");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for samples in [0, 1, 10, 100] {
            let splits = Splits::random(samples, Ratios::default(), 3).unwrap();
            assert_eq!(Splits::from_json(&splits.to_json(), samples).unwrap(), splits);
            let splits = splits.hold_out(1);
            assert_eq!(Splits::from_json(&splits.to_json(), samples).unwrap(), splits);
        }
    }

    #[test]
    fn ranges_lists_and_the_names_of_chemprop_are_read() {
        let text = r#"[{"train": "0-2, 5", "val": [3], "test": "4"}]"#;
        let splits = Splits::from_json(text, 6).unwrap();
        assert_eq!(splits, Splits::new(vec![0, 1, 2, 5], vec![3], vec![4], 6).unwrap());
        assert_eq!(
            splits.to_json(),
            "{\n  \"train\": \"0-2,5\",\n  \"valid\": \"3\",\n  \"test\": \"4\"\n}\n"
        );
    }

    #[test]
    fn damaged_files_are_refused_without_expanding_them() {
        for text in [
            "",
            "[]",
            "3",
            r#"{"trian": []}"#,
            r#"{"train": [-1]}"#,
            r#"{"train": [1.5]}"#,
            r#"{"train": "0-18446744073709551615"}"#,
            r#"{"train": "a-b"}"#,
            r#"{"train": "0-5,0-5"}"#,
            r#"{"train": [0], "test": [0]}"#,
            r#"{"valid": [0], "val": [1]}"#,
        ] {
            assert!(Splits::from_json(text, 6).is_err(), "{text}");
        }
    }
}
