//! All kernels, on the best instructions of this processor.

mod common;
mod ops;
