//! What people see: words, tables, pages, progress, times; and where results go.

pub mod bytes;
pub mod card;
pub mod coverage;
pub mod disk;
pub mod figure;
pub mod output;
// For the training queue.
#[cfg(feature = "lab")]
pub mod pause;
pub mod preparation;
pub mod priority;
pub mod progress;
pub mod report;
pub mod say;
pub mod signals;
pub mod table;
pub mod training;
