//! A short deterministic run of the fuzz targets of stored formats; a panic fails the test.
#![cfg(feature = "benchmarks")]

use graphminnet::fuzzing::TARGETS;
use graphminnet_data::fuzzing::smoke;
use std::path::Path;

#[test]
fn no_mutation_of_a_seed_makes_a_loader_panic() {
    smoke(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"), &TARGETS).unwrap();
}
