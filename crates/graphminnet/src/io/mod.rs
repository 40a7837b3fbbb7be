//! Bytes to disk so that a name always refers to something complete, and hashes to prove it.

mod atomic;
mod hash;
mod npy;
mod parquet;

pub use atomic::{IoError, create_dir, read, rename, sync_dir, write_atomically, write_new};
pub use hash::sha256;
pub use npy::NpyWriter;
pub use parquet::{ParquetColumn, ParquetWriter};
