//! What people see: tables, pages, progress, times, memory.

pub mod bytes;
pub mod card;
pub mod clock;
pub mod counter;
pub mod disk;
#[cfg(feature = "lab")]
pub mod memory;
pub mod preparation;
pub mod progress;
pub mod report;
pub mod signals;
pub mod table;
