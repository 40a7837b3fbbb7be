//! `--threads`: how many, and a pool of them.

use crate::failure::Failure;
use clap::Args;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// More threads than any machine of one memory has use for: a typing error.
const MOST: usize = 1024;

/// How many threads to work with.
#[derive(Args, Default)]
pub struct Threads {
    /// Number of threads (default: all cores). Results do not depend on it.
    #[arg(help_heading = super::MACHINE, long, value_parser = threads)]
    threads: Option<usize>,
}

impl Threads {
    /// What was given, to be handed on to a process of its own.
    #[cfg(feature = "lab")]
    pub fn given(&self) -> Option<usize> {
        self.threads
    }

    /// How many threads to work with.
    pub fn count(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The threads to work with.
    ///
    /// # Errors
    ///
    /// A usage error if there are none to be had.
    pub fn pool(&self) -> Result<ThreadPool, Failure> {
        ThreadPoolBuilder::new().num_threads(self.count()).build().map_err(Failure::usage)
    }
}

/// Reads a number of threads.
fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one thread is needed".to_owned()),
        Ok(threads) if threads > MOST => Err(format!("at most {MOST} threads")),
        Ok(threads) => Ok(threads),
        Err(_) => Err("expected a number of threads".to_owned()),
    }
}
