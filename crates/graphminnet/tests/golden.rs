//! The model against an independent float64 implementation: values, running statistics and every gradient.
//!
//! Runs every `*.safetensors` + `*.json` pair in `tests/fixtures/golden`, or in the folder that the environment
//! variable `GRAPHMINNET_GOLDEN` names.

mod common;

use common::golden::fixtures;
use common::tracked;

/// Largest difference, relative to the scale of the tensor, that counts as equal (see the fixtures' README).
const TOLERANCE: f64 = 5e-4;

#[test]
fn every_fixture_agrees_in_values_statistics_and_gradients() {
    let mut failures = Vec::new();
    for fixture in fixtures() {
        let measured = fixture.measure(&tracked());
        let (mut worst, mut at) = (0.0, "");
        for tensor in &measured {
            let error = tensor.error(&fixture.reference(&tensor.name));
            if error > worst {
                (worst, at) = (error, &tensor.name);
            }
            if error > TOLERANCE {
                failures.push(format!("{}: {} off by {error:.2e}", fixture.name, tensor.name));
            }
        }
        println!("{:32} {:4} tensors, worst {worst:.1e} ({at})", fixture.name, measured.len());
        assert!(measured.len() > 50, "{}: only {} tensors were compared", fixture.name, measured.len());
    }
    assert!(failures.is_empty(), "{} tensors differ:\n{}", failures.len(), failures.join("\n"));
}
