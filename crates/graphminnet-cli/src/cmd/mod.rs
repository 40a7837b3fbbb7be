//! One file per subcommand: arguments, library calls, output.

pub mod inspect;
