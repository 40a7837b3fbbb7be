//! Workloads for timing: synthetic batches shaped like the benchmarks' real ones, and a count of their arithmetic.
//!
//! Times depend on shapes, not on values, so a batch of random graphs with the right numbers of graphs, nodes and
//! edges stands for the real data and needs no files.

mod flops;
mod in_parts;
mod measure;
mod peak;
mod timed;
mod workload;

pub use flops::{executed_training_flops, forward_flops, training_flops};
pub use in_parts::{LargeGraph, PartsMeasured, measure_in_parts};
pub use measure::{BenchError, Measurement, Times, measure, time_training};
pub use peak::measure_matmul_peak;
pub use workload::{Shape, Workload, random_graph};
