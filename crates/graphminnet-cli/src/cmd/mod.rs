//! One file per subcommand: arguments, library calls, output.

pub mod bench;
pub mod inspect;
pub mod train;
pub mod tune;
