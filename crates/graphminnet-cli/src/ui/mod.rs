//! What people see: progress, tables, times, memory.

pub mod clock;
pub mod memory;
pub mod preparation;
pub mod progress;
pub mod signals;
pub mod table;
