//! One file per subcommand: arguments, library calls, output.

pub mod bench;
pub mod cache;
pub mod data;
pub mod doctor;
pub mod embed;
pub mod evaluate;
pub mod inspect;
pub mod predict;
pub mod prepare;
pub mod reading;
pub mod repro;
pub mod train;
pub mod tune;
pub mod using;
