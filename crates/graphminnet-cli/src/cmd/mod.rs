//! One file per subcommand: arguments, library calls, output.

pub mod bench;
pub mod inspect;
