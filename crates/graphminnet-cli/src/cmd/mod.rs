//! One file per subcommand: arguments, library calls, output.

#[cfg(feature = "lab")]
pub mod bench;
pub mod cache;
pub mod data;
pub mod doctor;
pub mod embed;
pub mod evaluate;
pub mod explain;
pub mod inspect;
pub mod limit_args;
pub mod model_args;
pub mod predict;
pub mod prepare;
pub mod read_args;
pub mod recipe;
pub mod report;
#[cfg(feature = "lab")]
pub mod repro;
#[cfg(feature = "serve")]
pub mod serve;
pub mod threads;
pub mod train;
pub mod tune;

/// Heading in the help of options that say how a file is read.
const READING: &str = "How the data is read";
/// Heading in the help of options that say where the work is done.
const MACHINE: &str = "Where it runs";
