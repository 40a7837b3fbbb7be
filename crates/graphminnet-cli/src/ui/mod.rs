//! What people see: tables, pages, progress, memory.

pub mod bytes;
pub mod card;
pub mod counter;
pub mod disk;
pub mod memory;
pub mod report;
pub mod table;
