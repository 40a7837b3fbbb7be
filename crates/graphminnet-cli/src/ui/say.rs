//! Words for people, on standard error.
//!
//! What cannot be written is dropped: nobody is there to read it, and no work may be lost for that reason.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Says something, as `eprintln!` does, but never fails.
macro_rules! say {
    ($($text:tt)*) => { $crate::ui::say::say_line(format_args!($($text)*)) };
}

pub(crate) use say;

/// Says one line in one piece.
pub fn say_line(text: impl Display) {
    let line = format!("{text}\n");
    let _ = stderr().lock().write_all(line.as_bytes());
}

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only errors.
    Quiet,
    /// What happens.
    Normal,
    /// More of it.
    Verbose,
}

impl Verbosity {
    /// From the flags `-q` and `-v`.
    pub fn from_flags(quiet: bool, verbose: bool) -> Self {
        match (quiet, verbose) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Verbose,
            (false, false) => Self::Normal,
        }
    }

    /// Says something, unless quiet.
    pub fn say(self, text: impl Display) {
        if self >= Self::Normal {
            say_line(text);
        }
    }
}
