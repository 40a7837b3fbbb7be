//! The native part of the Python package `graphminnet`: conversions and calls, no logic of its own.
//!
//! Python sees one function, `call(method, request, arrays, handle, callback)`. The request is JSON, numbers come and go
//! as arrays of bytes, and a handle is a loaded model. The reply is JSON, arrays and a handle again; a failure is a reply
//! too, which the package raises as an exception of its class.
//!
//! ```text
//! python/graphminnet/*.py ─ call ─→ ffi (the only unsafe code) ─→ calls ─→ source, model, pairs, training, validation, command
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod calls;
mod conformal;
mod ffi;
mod model;
mod pairs;
mod pool;
mod source;
mod training;
mod validation;
mod watched;
