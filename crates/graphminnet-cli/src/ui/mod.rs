//! What people see: tables.

pub mod table;
