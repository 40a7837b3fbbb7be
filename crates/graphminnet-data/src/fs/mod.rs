//! Bytes in and out: files opened with their compression undone, files written whole, hashes, memory.
//!
//! Nothing here knows what the bytes mean; [`crate::formats`] does.

mod atomic;
mod error;
mod hash;
mod memory;
mod open;
mod plain;
mod zstd;

pub use atomic::{AtomicFile, scratch_name, write_atomically, write_atomically_with};
pub use error::IoError;
pub use hash::{hash_file, sha256};
pub use memory::{machine_memory, peak_memory};
pub use open::decompress_stream;
pub(crate) use open::{decompress, open_decompressed, without_compression};
pub use plain::{create_dir, open, read, rename, sync_dir, write_new};
pub(crate) use zstd::unzstd;
