//! The `graphminnet` command.

use graphminnet_cli::{ALLOCATOR, KeepLargeBlocks, run};
use graphminnet_data::fs::machine_memory;
use std::process::ExitCode;

#[global_allocator]
static GLOBAL: &KeepLargeBlocks = &ALLOCATOR;

fn main() -> ExitCode {
    if let Some(bytes) = machine_memory() {
        ALLOCATOR.set_machine_memory(bytes);
    }
    run(std::env::args_os()).into()
}
