#![no_main]

use graphminnet_data::fuzzing::TARGETS;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for (_, run) in TARGETS.iter().filter(|(name, _)| *name == "xlsx") {
        run(bytes);
    }
});
