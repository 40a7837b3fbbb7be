//! Bytes in and out: files opened with their compression undone, lines with their numbers, files written whole.
//!
//! Nothing here knows what the bytes mean; that is the business of [`crate::formats`].

mod atomic;
mod hash;
mod lines;
mod open;
mod tree;

pub use atomic::write_atomically;
pub use hash::{hash_file, hash_reader};
pub(crate) use lines::Lines;
pub(crate) use open::{decompress, without_compression};
pub(crate) use tree::{Folder, Tree, lines_of};
