//! Matrices and tables as files that other programs read.

mod npy;
mod parquet;

pub use npy::NpyWriter;
pub use parquet::{ParquetColumn, ParquetWriter};
