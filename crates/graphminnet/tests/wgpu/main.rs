//! The same model on a graphics processor: the generic bodies of the operations, on whatever driver the machine has
//! (Mesa's software driver will do), against the kernels on the processor, in values and in every gradient.
//!
//! ```sh
//! cargo test --features graphminnet/wgpu --test wgpu
//! ```
//!
//! Without the feature there is nothing here to compile; without a driver every test says that it was skipped.

#[cfg(feature = "wgpu")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "wgpu")]
mod models;
#[cfg(feature = "wgpu")]
mod operations;

#[cfg(not(feature = "wgpu"))]
#[test]
#[ignore = "built without the feature `wgpu`; cargo test --features graphminnet/wgpu --test wgpu"]
fn the_graphics_processor_agrees_with_the_processor() {
    panic!("this build cannot use a graphics processor: build it with --features graphminnet/wgpu");
}

/// Largest difference, relative to the scale of the tensor, that counts as equal.
#[cfg(feature = "wgpu")]
const TOLERANCE: f64 = 1e-4;

/// The graphics processor; `None`, and a line on standard error, on a machine without one.
#[cfg(feature = "wgpu")]
fn adapter() -> Option<burn::tensor::Device> {
    use graphminnet::{DeviceError, DeviceKind};
    use std::io::Write;
    match DeviceKind::Wgpu.open() {
        Ok(device) => Some(device),
        Err(error @ DeviceError::NotFound { .. }) => {
            let test = std::thread::current().name().unwrap_or("test").to_owned();
            // Not with a macro: the test harness would keep it to itself.
            writeln!(std::io::stderr(), "SKIPPED {test}: {error}").unwrap();
            None
        }
        Err(error) => panic!("{error}"),
    }
}
