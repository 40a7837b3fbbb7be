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

use crate::failure::Failure;
use graphminnet_data::escape;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// Heading in the help of options that say how a file is read.
const READING: &str = "How the data is read";
/// Heading in the help of options that say where the work is done.
const MACHINE: &str = "Where it runs";

/// Fails if an output would replace an input, or a file in the folder of one.
fn keep_inputs<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
    // What is not there yet replaces nothing.
    let Ok(place) = output.canonicalize() else { return Ok(()) };
    let is_part = |input: &&Path| input.canonicalize().is_ok_and(|input| place.starts_with(input));
    match inputs.into_iter().find(is_part) {
        None => Ok(()),
        Some(input) => Err(Failure::usage(format!(
            "--output {}: this is the input, or a part of it ({}); choose another file",
            escape(&output.to_string_lossy()),
            escape(&input.to_string_lossy())
        ))),
    }
}

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
