//! What of a run must not depend on what happened on the way.

use std::fs;
use std::path::Path;

/// Weights, predictions and all numbers but times.
#[derive(Debug, PartialEq)]
pub struct Bits {
    best: Vec<u8>,
    last: Vec<u8>,
    predictions: String,
    pub metrics: Vec<serde_json::Value>,
}

/// The bits of a run that is done.
pub fn bits(run: &Path) -> std::io::Result<Bits> {
    let seed = run.join("seed-0");
    let metrics = fs::read_to_string(seed.join("metrics.jsonl"))?;
    let without_times = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line)?;
        for time in ["seconds", "graphs_per_second"] {
            value.as_object_mut().and_then(|fields| fields.remove(time));
        }
        Ok(value)
    };
    Ok(Bits {
        best: fs::read(seed.join("best.gmn"))?,
        last: fs::read(seed.join("last.gmn"))?,
        predictions: fs::read_to_string(seed.join("test_predictions.csv"))?,
        metrics: metrics.lines().map(without_times).collect::<serde_json::Result<_>>()?,
    })
}
