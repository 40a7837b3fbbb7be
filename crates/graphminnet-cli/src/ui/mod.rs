//! What people see: tables, memory.

pub mod memory;
pub mod table;
