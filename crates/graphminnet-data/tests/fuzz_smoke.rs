//! A short deterministic run of the fuzz targets; a panic fails the test.

use graphminnet_data::fuzzing::{TARGETS, smoke};
use std::path::Path;

#[test]
fn no_mutation_of_a_seed_makes_a_reader_panic() {
    smoke(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus"), &TARGETS).unwrap();
}
