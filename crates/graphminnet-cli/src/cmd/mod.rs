//! One file per subcommand: arguments, library calls, output.

#[cfg(feature = "lab")]
pub mod bench;
pub mod cache;
pub mod cross_validate;
pub mod data;
pub mod doctor;
pub mod embed;
pub mod evaluate;
pub mod explain;
pub mod inspect;
pub mod limit_args;
pub mod model_args;
mod parts_args;
pub mod predict;
mod predict_pairs;
mod prediction_writer;
pub mod prepare;
pub mod read_args;
pub mod recipe;
pub mod report;
#[cfg(feature = "lab")]
pub mod repro;
mod rows;
#[cfg(feature = "serve")]
pub mod serve;
pub mod shards;
pub mod threads;
pub mod train;
pub mod tune;

use std::ffi::OsString;
use std::sync::{PoisonError, RwLock};

/// Heading in the help of options that say how a file is read.
const READING: &str = "How the data is read";
/// Heading in the help of options that say where the work is done.
const MACHINE: &str = "Where it runs";

/// The command as it was given, for the record of a run.
static COMMAND_LINE: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Keeps the arguments of the command that runs now; the process may have others.
pub fn remember_command_line(arguments: &[OsString]) {
    let arguments = arguments.iter().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let words = std::iter::once("graphminnet".to_owned()).chain(arguments).collect();
    *COMMAND_LINE.write().unwrap_or_else(PoisonError::into_inner) = words;
}

/// The command as it was given, under the name by which the program is known.
pub fn command_line() -> Vec<String> {
    COMMAND_LINE.read().unwrap_or_else(PoisonError::into_inner).clone()
}
