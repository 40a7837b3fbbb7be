#![no_main]

use graphminnet_data::fuzzing::run;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| run("xlsx", bytes));
