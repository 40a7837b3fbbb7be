//! `--memory` and `--read-limit`: how much a file may ask for.

use crate::ui::bytes::parse_bytes;
use clap::Args;
use graphminnet_data::{LimitChange, ReadOptions};

/// How much a file may ask for before it is refused.
#[derive(Args, Default)]
pub struct LimitArguments {
    /// Maximum memory for reading, such as 4GiB (default: a quarter of the machine's).
    #[arg(help_heading = super::READING, long, value_name = "SIZE", value_parser = memory)]
    memory: Option<LimitChange>,
    /// Another limit on what a file may ask for, as in --read-limit nodes_per_graph=100000000; may be repeated. An
    /// error about a limit names it.
    #[arg(help_heading = super::READING, long = "read-limit", value_name = "NAME=NUMBER")]
    limits: Vec<LimitChange>,
}

impl LimitArguments {
    /// What is to be different.
    pub fn changes(&self) -> Vec<LimitChange> {
        self.limits.iter().chain(&self.memory).cloned().collect()
    }

    /// The same way to read, within these limits.
    pub fn on(&self, mut options: ReadOptions) -> ReadOptions {
        options.limits.apply(&self.changes());
        options
    }
}

fn memory(text: &str) -> Result<LimitChange, String> {
    format!("memory_bytes={}", parse_bytes(text)?).parse()
}
