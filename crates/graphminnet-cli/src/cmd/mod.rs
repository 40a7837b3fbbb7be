//! One file per subcommand: arguments, library calls, output.

pub mod bench;
pub mod cache;
pub mod data;
pub mod doctor;
pub mod inspect;
pub mod prepare;
pub mod reading;
pub mod repro;
pub mod train;
pub mod tune;
