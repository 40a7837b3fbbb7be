//! Matrices and tables as files that other programs read.

mod npy;

pub use npy::NpyWriter;
