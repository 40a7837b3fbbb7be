//! Words for people, on standard error.
//!
//! What cannot be written is dropped: nobody is there to read it, and no work may be lost for that reason.

use graphminnet_data::escape_up_to;
use std::fmt::Display;
use std::io::{Write, stderr};

/// Says something, as `eprintln!` does, but never fails.
macro_rules! say {
    ($($text:tt)*) => { $crate::ui::say::say_line(format_args!($($text)*)) };
}

pub(crate) use say;

/// Says one line in one piece.
pub fn say_line(text: impl Display) {
    let lines: Vec<String> = text.to_string().split('\n').map(printable).collect();
    let line = lines.join("\n") + "\n";
    let _ = stderr().lock().write_all(line.as_bytes());
}

/// A line of which nothing steers the terminal, however it came there: with a name in a model file, say, or that of the
/// file.
pub(crate) fn printable(line: &str) -> String {
    escape_up_to(line, line.chars().count())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_the_terminal_is_spelled_out() {
        assert_eq!(printable("a\u{1b}]0;b\u{7}\u{202e}\n"), "a\\u{1b}]0;b\\u{7}\\u{202e}\\u{a}");
        assert_eq!(printable("β → ü"), "β → ü");
    }
}
