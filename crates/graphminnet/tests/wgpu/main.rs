//! The same model on a graphics processor: the generic bodies of the operations, on whatever driver the machine has
//! (Mesa's software driver will do), against the kernels on the processor, in values and in every gradient.
//!
//! ```sh
//! cargo test --features graphminnet/wgpu --test wgpu -- --ignored
//! ```
//!
//! Without the feature there is nothing here to compile; the tests are ignored unless asked for, because they need a driver.

#[cfg(feature = "wgpu")]
#[path = "../common/mod.rs"]
mod common;
#[cfg(feature = "wgpu")]
mod models;
#[cfg(feature = "wgpu")]
mod operations;

#[cfg(not(feature = "wgpu"))]
#[test]
#[ignore = "built without the feature `wgpu`; cargo test --features graphminnet/wgpu --test wgpu -- --ignored"]
fn the_graphics_processor_agrees_with_the_processor() {
    panic!("this build cannot use a graphics processor: build it with --features graphminnet/wgpu");
}

/// Largest difference, relative to the scale of the tensor, that counts as equal.
#[cfg(feature = "wgpu")]
const TOLERANCE: f64 = 1e-4;

/// The graphics processor. Tests that ask for it are ignored unless they are asked for, so its absence is a failure.
#[cfg(feature = "wgpu")]
fn adapter() -> burn::tensor::Device {
    graphminnet::DeviceKind::Wgpu.open().unwrap()
}
