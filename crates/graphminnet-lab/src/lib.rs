//! The laboratory of GraphMinNet: the paper checked, the program timed.
//!
//! A leaf above the library, which knows nothing of it.
//!
//! * [`paper`]: the numbers that the paper prints;
//! * [`repro`]: its tables and figures, computed again;
//! * [`systems`]: systems that it compares with and that are models of their own;
//! * [`bench`](mod@bench): workloads for timing.
//!
//! ```
//! use graphminnet_lab::paper;
//!
//! assert_eq!(paper::result("graphminnet", "cluster").map(|printed| printed.mean), Some(79.284));
//! assert_eq!(paper::as_printed(415_283), "415.28");
//! ```

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod bench;
pub mod paper;
pub mod repro;
pub mod systems;
