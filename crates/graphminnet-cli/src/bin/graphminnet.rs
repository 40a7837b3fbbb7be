//! The `graphminnet` command.

use graphminnet_cli::{ALLOCATOR, KeepLargeBlocks, run};
use std::process::ExitCode;

#[global_allocator]
static GLOBAL: &KeepLargeBlocks = &ALLOCATOR;

fn main() -> ExitCode {
    run(std::env::args_os()).into()
}
