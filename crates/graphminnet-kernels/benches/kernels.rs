//! Times the kernels at the shapes of the paper's datasets: `cargo bench -p graphminnet-kernels [-- filter]`.
//!
//! Each line is the least time of many runs, on all threads of the global pool.

use graphminnet_kernels::batch_norm::{Statistics, UsedStatistics};
use graphminnet_kernels::edges::SortedEdges;
use graphminnet_kernels::gated_convolution::{
    ConvolutionGradients, ConvolutionSaved, EdgeFeatures, EdgeNorm, EdgeNormGradients, GatedConvolution,
    Kept, UpdatedEdges, gated_convolution, gated_convolution_alone, gated_convolution_backward,
};
use graphminnet_kernels::lap_pe::{LapPe, LapPeGradients, lap_pe, lap_pe_backward};
use graphminnet_kernels::linear::{Activation, LinearGradients, LinearShape, linear, linear_backward};
use graphminnet_kernels::norm_relu_residual::{
    NormGradients, norm_relu_residual, norm_relu_residual_backward,
};
use graphminnet_kernels::spectral_product::{
    Order, SpectralGradients, SpectralInputs, spectral_product_backward, spectral_product_backward_with,
    spectral_product_with,
};
use std::time::{Duration, Instant};

/// Repeatable values in (-1, 1).
fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as f32 / 2_147_483_648.0 - 1.0
        })
        .collect()
}

struct Bench {
    filter: Option<String>,
}

impl Bench {
    fn run(&self, name: &str, flop: f64, mut work: impl FnMut() + Send) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            return;
        }
        work();
        let (mut best, mut runs, start) = (Duration::MAX, 0, Instant::now());
        while runs < 5 || (start.elapsed() < Duration::from_millis(400) && runs < 5000) {
            let begin = Instant::now();
            work();
            best = best.min(begin.elapsed());
            runs += 1;
        }
        let seconds = best.as_secs_f64();
        println!("{name:<44} {:>9.1} us {:>7.1} GFLOP/s", seconds * 1e6, flop / seconds / 1e9);
    }
}

fn linear_shapes(bench: &Bench) {
    for (rows, inputs, outputs) in [
        (740, 64, 64),
        (740, 64, 128),
        (740, 128, 64),
        (1872, 36, 72),
        (19328, 100, 100),
        (19328, 100, 200),
        (39296, 100, 100),
        (39296, 100, 200),
        (68800, 36, 36),
        (7664, 96, 192),
        (7664, 192, 96),
        (7664, 96, 384),
        (86712, 96, 96),
    ] {
        let shape = LinearShape { rows, inputs, outputs };
        let (x, weight, bias) = (values(rows * inputs, 1), values(inputs * outputs, 2), values(outputs, 3));
        let dy = values(rows * outputs, 4);
        let mut y = vec![0.0; rows * outputs];
        let (mut dx, mut dw, mut db) = (x.clone(), weight.clone(), bias.clone());
        let flop = 2.0 * (rows * inputs * outputs) as f64;
        let name = format!("{rows}x{inputs}x{outputs}");
        bench.run(&format!("linear fwd {name}"), flop, || {
            linear(shape, &x, &weight, Some(&bias), Activation::None, &mut y);
        });
        bench.run(&format!("linear dx {name}"), flop, || {
            let gradients = LinearGradients { input: Some(&mut dx), ..Default::default() };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
        bench.run(&format!("linear dx+dw {name}"), 2.0 * flop, || {
            let gradients =
                LinearGradients { input: Some(&mut dx), weight: Some(&mut dw), ..Default::default() };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
        bench.run(&format!("linear dw {name}"), flop, || {
            let gradients =
                LinearGradients { weight: Some(&mut dw), bias: Some(&mut db), ..Default::default() };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
    }
}

/// Graph sizes spread by about a fifth around the mean.
fn graph_offsets(graphs: usize, mean: usize) -> Vec<u32> {
    let spread = values(graphs, 9);
    let mut offsets = vec![0u32];
    for value in spread {
        let size = (mean as f32 * (1.0 + 0.35 * value)).round() as u32;
        offsets.push(offsets[offsets.len() - 1] + size);
    }
    offsets
}

fn spectral_shapes(bench: &Bench) {
    for (name, graphs, mean, eigenpairs, hidden) in [
        ("ZINC", 32, 23, 16, 64),
        ("CLUSTER", 16, 117, 32, 36),
        ("Peptides", 128, 151, 31, 100),
        ("VOC", 16, 479, 63, 96),
        ("one graph", 1, 50_000, 16, 64),
    ] {
        let channels = 32;
        let offsets = graph_offsets(graphs, mean);
        let nodes = offsets[graphs] as usize;
        let (w, p) = (values(nodes * channels, 1), values(nodes * eigenpairs, 2));
        let (f, b) = (values(graphs * eigenpairs * channels, 3), values(hidden * channels, 4));
        let ds = values(nodes * hidden, 5);
        let mut s = vec![0.0; nodes * hidden];
        let (mut dw, mut dp, mut df, mut db) = (w.clone(), p.clone(), f.clone(), b.clone());
        let inputs =
            SpectralInputs { offsets: &offsets, channels, eigenpairs, hidden, w: &w, p: &p, f: &f, b: &b };
        let flop = 2.0 * (nodes * eigenpairs * channels * hidden) as f64;
        for order in [Order::ThroughQ, Order::Direct, Order::ThroughPairs] {
            bench.run(&format!("spectral fwd {name} {order:?}"), flop, || {
                spectral_product_with(inputs, order, &mut s);
            });
        }
        for order in [Order::ThroughQ, Order::ThroughPairs] {
            bench.run(&format!("spectral bwd {name} {order:?}"), 2.0 * flop, || {
                let gradients =
                    SpectralGradients { w: Some(&mut dw), p: None, f: Some(&mut df), b: Some(&mut db) };
                spectral_product_backward_with(inputs, order, &ds, gradients);
            });
        }
        bench.run(&format!("spectral bwd {name} with dp"), 2.0 * flop, || {
            let gradients =
                SpectralGradients { w: Some(&mut dw), p: Some(&mut dp), f: Some(&mut df), b: Some(&mut db) };
            spectral_product_backward(inputs, &ds, gradients);
        });
    }
}

/// Random edges inside graphs of equal size.
fn edges(graphs: usize, nodes: usize, edges: usize) -> SortedEdges {
    let random = values(2 * graphs * edges, 6);
    let node =
        |i: usize| ((i / 2 / edges) * nodes + ((random[i] + 1.0) * 0.499 * nodes as f32) as usize) as u32;
    let source: Vec<u32> = (0..graphs * edges).map(|i| node(2 * i)).collect();
    let target: Vec<u32> = (0..graphs * edges).map(|i| node(2 * i + 1)).collect();
    SortedEdges::new(graphs * nodes, &source, &target)
}

fn gated_shapes(bench: &Bench) {
    for (name, graphs, nodes, per_graph, width) in
        [("Peptides", 128, 151, 307, 100), ("CLUSTER", 16, 117, 4300, 36), ("VOC", 16, 479, 5420, 96)]
    {
        let sorted = edges(graphs, nodes, per_graph);
        let edges = sorted.as_edges();
        let (n, e) = (edges.num_nodes, edges.num_edges());
        let (features, weight, bias) = (values(e * width, 1), values(width * width, 2), values(width, 3));
        let (nodes, gates) = (values(n * 4 * width, 4), values(e * width, 5));
        let (mut mean, mut variance) = (bias.clone(), vec![1.0; width]);
        let (mut gate, mut y) = (gates.clone(), features.clone());
        let (mut mixed, mut inverse) = (vec![0.0; n * width], vec![0.0; n * width]);
        let convolution = GatedConvolution { edges, width, weight: &weight, bias: &bias, nodes: &nodes };
        // Counting 20 operations per sigmoid and channel.
        let (product, rest) = (2.0 * (e * width * width) as f64, (e * width) as f64);
        bench.run(&format!("gated_convolution alone {name}"), product + 26.0 * rest, || {
            let norm = EdgeNorm { gamma: &bias, beta: &bias, mean: &mean, variance: &variance };
            // Features grow from run to run; the time does not depend on their values.
            gated_convolution_alone(convolution, EdgeFeatures::Updated(&mut y, norm), &mut mixed);
        });
        bench.run(&format!("gated_convolution fwd {name}"), product + 26.0 * rest, || {
            let statistics = Some([&mut mean[..], &mut variance[..]]);
            let kept = Kept { gate: &mut gate, inverse: &mut inverse, statistics };
            gated_convolution(convolution, &features, &mut mixed, kept);
        });
        let d_mixed = values(n * width, 8);
        let (mut d_features, mut d_nodes) = (features.clone(), nodes.clone());
        let (mut d_weight, mut d_bias) = (weight.clone(), bias.clone());
        bench.run(&format!("gated_convolution bwd {name}"), 2.0 * product + 60.0 * rest, || {
            // The pass works in place.
            gate.copy_from_slice(&gates);
            d_features.copy_from_slice(&features);
            let saved = ConvolutionSaved { features: &features, mixed: &mixed, inverse: &inverse };
            let used = UsedStatistics { mean: &mean, variance: &variance, from_batch: true };
            let updated = UpdatedEdges { gamma: &bias, beta: &bias, used, dropout: None };
            let updated = Some((updated, EdgeNormGradients::default()));
            let gradients = ConvolutionGradients {
                features: Some(&mut d_features),
                wants_features: true,
                weight: Some(&mut d_weight),
                bias: Some(&mut d_bias),
                nodes: Some(&mut d_nodes),
            };
            gated_convolution_backward(convolution, &mut gate, saved, Some(&d_mixed), updated, gradients);
        });
        let flop = 8.0 * rest;
        bench.run(&format!("norm_relu_residual fwd {name} edges"), flop, || {
            let statistics = Statistics::Batch { mean: &mut mean, variance: &mut variance };
            norm_relu_residual(&gates, Some(&features), &bias, &bias, statistics, None, &mut y);
        });
        bench.run(&format!("norm_relu_residual bwd {name} edges"), 2.0 * flop, || {
            let used = UsedStatistics { mean: &mean, variance: &variance, from_batch: true };
            let wanted = NormGradients { input: Some(&mut y), ..Default::default() };
            norm_relu_residual_backward(&gates, &bias, &bias, used, None, &features, wanted);
        });
    }
}

fn lap_pe_shapes(bench: &Bench) {
    for (name, graphs, mean, pairs) in [("Peptides", 128, 151, 32), ("VOC", 16, 479, 64)] {
        let offsets = graph_offsets(graphs, mean);
        let nodes = offsets[graphs] as usize;
        let (hidden, width) = (32, 16);
        let (eigvecs, eigvals) = (values(nodes * pairs, 1), values(graphs * pairs, 2));
        let (exist, signs) = (vec![1.0; graphs * pairs], vec![1.0; pairs]);
        let (w1, b1, w2, b2) =
            (values(2 * hidden, 3), values(hidden, 4), values(hidden * width, 5), values(width, 6));
        let d_out = values(nodes * width, 7);
        let mut out = vec![0.0; nodes * width];
        let pe = LapPe {
            offsets: &offsets,
            eigvecs: &eigvecs,
            eigvals: &eigvals,
            exist: &exist,
            signs: &signs,
            w1: &w1,
            b1: &b1,
            w2: &w2,
            b2: &b2,
        };
        let flop = 2.0 * (nodes * pairs * hidden * (width + 1)) as f64;
        bench.run(&format!("lap_pe fwd {name}"), flop, || lap_pe(pe, &mut out));
        let (mut d_w1, mut d_b1, mut d_w2, mut d_b2) = (w1.clone(), b1.clone(), w2.clone(), b2.clone());
        bench.run(&format!("lap_pe bwd {name}"), 3.0 * flop, || {
            let gradients = LapPeGradients {
                w1: Some(&mut d_w1),
                b1: Some(&mut d_b1),
                w2: Some(&mut d_w2),
                b2: Some(&mut d_b2),
                ..Default::default()
            };
            lap_pe_backward(pe, &d_out, gradients);
        });
    }
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let bench = Bench { filter };
    rayon::ThreadPoolBuilder::new().build().expect("a thread pool").install(|| {
        linear_shapes(&bench);
        spectral_shapes(&bench);
        gated_shapes(&bench);
        lap_pe_shapes(&bench);
        if bench.filter.is_none() {
            let peak = graphminnet_kernels::peak::measure_matmul_peak(Duration::from_secs(1));
            println!("matrix products reach {peak:.1} GFLOP/s");
        }
    });
}
