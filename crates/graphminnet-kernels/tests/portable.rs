//! All kernels again, on the portable path: [`common::setup`] forces it in this test binary.

mod common;
mod ops;
