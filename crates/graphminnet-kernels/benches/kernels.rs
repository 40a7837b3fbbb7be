//! Times the kernels at the shapes of the paper's data sets: `cargo bench -p graphminnet-kernels [-- filter]`.
//!
//! All threads of the machine work. Items are useful floating-point operations, so `Gitem/s` reads GFLOP/s; `peak` is what
//! matrix products reach on the machine.

#[path = "../tests/common/sorted_edges.rs"]
mod sorted_edges;

use divan::Bencher;
use divan::counter::ItemsCount;
use graphminnet_kernels::batch_norm::{AffineGradients, NormGradients, Statistics, UsedStatistics};
use graphminnet_kernels::spectral_product::Order;
use sorted_edges::SortedEdges;
use std::fmt::{Display, Formatter, Result};

fn main() {
    divan::main();
}

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

#[divan::bench(max_time = 1)]
fn peak(bencher: Bencher) {
    let size = 768;
    let (a, b) = (values(size * size, 1), values(size * size, 2));
    let mut c = a.clone();
    bencher
        .counter(ItemsCount::new(2 * size * size * size))
        .bench_local(|| graphminnet_kernels::gemm::matmul(size, size, size, &a, &b, &mut c));
}

#[divan::bench_group(max_time = 0.4)]
mod linear {
    use super::*;
    use graphminnet_kernels::linear::{Activation, LinearGradients, LinearShape, linear, linear_backward};

    const SHAPES: [[usize; 3]; 13] = [
        [740, 64, 64],
        [740, 64, 128],
        [740, 128, 64],
        [1872, 36, 72],
        [19328, 100, 100],
        [19328, 100, 200],
        [39296, 100, 100],
        [39296, 100, 200],
        [68800, 36, 36],
        [7664, 96, 192],
        [7664, 192, 96],
        [7664, 96, 384],
        [86712, 96, 96],
    ];

    fn products([rows, inputs, outputs]: [usize; 3], count: usize) -> ItemsCount {
        ItemsCount::new(2 * count * rows * inputs * outputs)
    }

    #[divan::bench(args = SHAPES)]
    fn forward(bencher: Bencher, [rows, inputs, outputs]: [usize; 3]) {
        let (x, weight, bias) = (values(rows * inputs, 1), values(inputs * outputs, 2), values(outputs, 3));
        let mut y = vec![0.0; rows * outputs];
        let shape = LinearShape { rows, inputs, outputs };
        bencher
            .counter(products([rows, inputs, outputs], 1))
            .bench_local(|| linear(shape, &x, &weight, Some(&bias), Activation::None, &mut y));
    }

    /// The gradients of the input, the weight or both.
    fn backward(bencher: Bencher, [rows, inputs, outputs]: [usize; 3], of_input: bool, of_weight: bool) {
        let (x, weight) = (values(rows * inputs, 1), values(inputs * outputs, 2));
        let dy = values(rows * outputs, 4);
        let (mut dx, mut dw) = (x.clone(), weight.clone());
        let shape = LinearShape { rows, inputs, outputs };
        let count = usize::from(of_input) + usize::from(of_weight);
        bencher.counter(products([rows, inputs, outputs], count)).bench_local(|| {
            let gradients = LinearGradients {
                input: of_input.then_some(&mut dx[..]),
                weight: of_weight.then_some(&mut dw[..]),
                ..Default::default()
            };
            linear_backward(shape, &x, &weight, Activation::None, None, &dy, gradients);
        });
    }

    #[divan::bench(args = SHAPES)]
    fn input_gradient(bencher: Bencher, shape: [usize; 3]) {
        backward(bencher, shape, true, false);
    }

    #[divan::bench(args = SHAPES)]
    fn weight_gradient(bencher: Bencher, shape: [usize; 3]) {
        backward(bencher, shape, false, true);
    }

    #[divan::bench(args = SHAPES)]
    fn both_gradients(bencher: Bencher, shape: [usize; 3]) {
        backward(bencher, shape, true, true);
    }
}

/// A batch of graphs as a kernel sees it.
#[derive(Clone, Copy)]
struct Batch {
    name: &'static str,
    graphs: usize,
    /// Mean number of nodes.
    nodes: usize,
    /// Directed edges of a graph.
    edges: usize,
    eigenpairs: usize,
    hidden: usize,
}

impl Display for Batch {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name)
    }
}

const ZINC: Batch = Batch { name: "ZINC", graphs: 32, nodes: 23, edges: 50, eigenpairs: 16, hidden: 64 };
const PEPTIDES: Batch =
    Batch { name: "Peptides", graphs: 128, nodes: 151, edges: 307, eigenpairs: 31, hidden: 100 };
const CLUSTER: Batch =
    Batch { name: "CLUSTER", graphs: 16, nodes: 117, edges: 4300, eigenpairs: 32, hidden: 36 };
const VOC: Batch = Batch { name: "VOC", graphs: 16, nodes: 479, edges: 5420, eigenpairs: 63, hidden: 96 };
const LARGE: Batch =
    Batch { name: "one graph", graphs: 1, nodes: 50_000, edges: 250_000, eigenpairs: 16, hidden: 64 };

impl Batch {
    /// Graph sizes spread by up to a third around the mean.
    fn offsets(&self) -> Vec<u32> {
        let mut offsets = vec![0u32];
        for value in values(self.graphs, 9) {
            let size = (self.nodes as f32 * (1.0 + 0.35 * value)).round() as u32;
            offsets.push(offsets[offsets.len() - 1] + size);
        }
        offsets
    }

    /// Random edges inside graphs of equal size.
    fn edges(&self) -> SortedEdges {
        let Self { graphs, nodes, edges, .. } = *self;
        let random = values(2 * graphs * edges, 6);
        let node =
            |i: usize| ((i / 2 / edges) * nodes + ((random[i] + 1.0) * 0.499 * nodes as f32) as usize) as u32;
        let source: Vec<u32> = (0..graphs * edges).map(|i| node(2 * i)).collect();
        let target: Vec<u32> = (0..graphs * edges).map(|i| node(2 * i + 1)).collect();
        SortedEdges::new(graphs * nodes, &source, &target)
    }
}

#[divan::bench_group(max_time = 0.4)]
mod spectral_product {
    use super::*;
    use graphminnet_kernels::spectral_product::{
        SpectralGradients, SpectralInputs, spectral_product_backward_with, spectral_product_with,
    };

    const BATCHES: [Batch; 5] = [ZINC, CLUSTER, PEPTIDES, VOC, LARGE];
    const CHANNELS: usize = 32;

    struct Arrays {
        offsets: Vec<u32>,
        w: Vec<f32>,
        p: Vec<f32>,
        f: Vec<f32>,
        b: Vec<f32>,
        of: Batch,
    }

    impl Arrays {
        fn new(of: Batch) -> Self {
            let offsets = of.offsets();
            let nodes = offsets[of.graphs] as usize;
            Self {
                w: values(nodes * CHANNELS, 1),
                p: values(nodes * of.eigenpairs, 2),
                f: values(of.graphs * of.eigenpairs * CHANNELS, 3),
                b: values(of.hidden * CHANNELS, 4),
                offsets,
                of,
            }
        }

        fn nodes(&self) -> usize {
            self.offsets[self.of.graphs] as usize
        }

        fn inputs(&self) -> SpectralInputs<'_> {
            let Self { offsets, w, p, f, b, of } = self;
            let Batch { eigenpairs, hidden, .. } = *of;
            SpectralInputs { offsets, channels: CHANNELS, eigenpairs, hidden, w, p, f, b, others: None }
        }

        /// Operations of a forward pass through Q.
        fn operations(&self) -> usize {
            2 * self.nodes() * self.of.eigenpairs * CHANNELS * self.of.hidden
        }
    }

    fn forward(bencher: Bencher, batch: Batch, order: Order) {
        let arrays = Arrays::new(batch);
        let mut s = vec![0.0; arrays.nodes() * batch.hidden];
        bencher
            .counter(ItemsCount::new(arrays.operations()))
            .bench_local(|| spectral_product_with(arrays.inputs(), order, &mut s));
    }

    #[divan::bench(args = BATCHES)]
    fn forward_through_q(bencher: Bencher, batch: Batch) {
        forward(bencher, batch, Order::ThroughQ);
    }

    #[divan::bench(args = BATCHES)]
    fn forward_direct(bencher: Bencher, batch: Batch) {
        forward(bencher, batch, Order::Direct);
    }

    #[divan::bench(args = BATCHES)]
    fn forward_through_pairs(bencher: Bencher, batch: Batch) {
        forward(bencher, batch, Order::ThroughPairs);
    }

    fn backward(bencher: Bencher, batch: Batch, order: Order, with_eigenvectors: bool) {
        let arrays = Arrays::new(batch);
        let ds = values(arrays.nodes() * batch.hidden, 5);
        let [mut dw, mut dp, mut df, mut db] = [&arrays.w, &arrays.p, &arrays.f, &arrays.b].map(Clone::clone);
        bencher.counter(ItemsCount::new(2 * arrays.operations())).bench_local(|| {
            let gradients = SpectralGradients {
                w: Some(&mut dw),
                p: with_eigenvectors.then_some(&mut dp[..]),
                f: Some(&mut df),
                b: Some(&mut db),
            };
            spectral_product_backward_with(arrays.inputs(), order, &ds, gradients);
        });
    }

    #[divan::bench(args = BATCHES)]
    fn backward_through_q(bencher: Bencher, batch: Batch) {
        backward(bencher, batch, Order::ThroughQ, false);
    }

    #[divan::bench(args = BATCHES)]
    fn backward_through_q_with_eigenvectors(bencher: Bencher, batch: Batch) {
        backward(bencher, batch, Order::ThroughQ, true);
    }

    #[divan::bench(args = BATCHES)]
    fn backward_through_pairs(bencher: Bencher, batch: Batch) {
        backward(bencher, batch, Order::ThroughPairs, false);
    }
}

#[divan::bench_group(max_time = 0.4)]
mod gated_convolution {
    use super::*;
    use graphminnet_kernels::gated_convolution::{
        ConvolutionGradients, ConvolutionSaved, EdgeFeatures, EdgeNorm, GatedConvolution, Kept, UpdatedEdges,
        gated_convolution, gated_convolution_alone, gated_convolution_backward,
    };

    const BATCHES: [Batch; 3] = [PEPTIDES, CLUSTER, VOC];

    struct Arrays {
        edges: SortedEdges,
        features: Vec<f32>,
        gates: Vec<f32>,
        weight: Vec<f32>,
        bias: Vec<f32>,
        variance: Vec<f32>,
        nodes: Vec<f32>,
        width: usize,
    }

    impl Arrays {
        fn new(batch: Batch) -> Self {
            let (edges, width) = (batch.edges(), batch.hidden);
            let (n, e) = (edges.as_edges().num_nodes, edges.as_edges().num_edges());
            Self {
                edges,
                features: values(e * width, 1),
                gates: values(e * width, 5),
                weight: values(width * width, 2),
                bias: values(width, 3),
                variance: vec![1.0; width],
                nodes: values(n * 4 * width, 4),
                width,
            }
        }

        fn convolution(&self) -> GatedConvolution<'_> {
            let Self { edges, width, weight, bias, nodes, .. } = self;
            GatedConvolution { edges: edges.as_edges(), width: *width, weight, bias, nodes }
        }

        /// One array of values per node.
        fn per_node(&self) -> Vec<f32> {
            values(self.nodes.len() / 4, 8)
        }

        /// Operations of so many products, and so many more per channel of an edge (20 of them for a sigmoid).
        fn operations(&self, products: usize, others: usize) -> ItemsCount {
            ItemsCount::new(self.features.len() * (2 * products * self.width + others))
        }
    }

    #[divan::bench(args = BATCHES)]
    fn forward_without_gradients(bencher: Bencher, batch: Batch) {
        let arrays = Arrays::new(batch);
        let Arrays { bias, variance, .. } = &arrays;
        let (mut features, mut mixed) = (arrays.features.clone(), arrays.per_node());
        bencher.counter(arrays.operations(1, 26)).bench_local(|| {
            let norm = EdgeNorm { gamma: bias, beta: bias, mean: bias, variance };
            // Features grow from run to run; the time does not depend on their values.
            let features = EdgeFeatures::Updated(&mut features, norm);
            gated_convolution_alone(arrays.convolution(), features, &mut mixed);
        });
    }

    #[divan::bench(args = BATCHES)]
    fn forward(bencher: Bencher, batch: Batch) {
        let arrays = Arrays::new(batch);
        let (mut gate, mut mixed, mut inverse) = (arrays.gates.clone(), arrays.per_node(), arrays.per_node());
        let (mut mean, mut variance) = (arrays.bias.clone(), arrays.variance.clone());
        bencher.counter(arrays.operations(1, 26)).bench_local(|| {
            let statistics = Some([&mut mean[..], &mut variance[..]]);
            let kept = Kept { gate: &mut gate, inverse: &mut inverse, statistics, others: None };
            gated_convolution(arrays.convolution(), &arrays.features, &mut mixed, kept);
        });
    }

    #[divan::bench(args = BATCHES)]
    fn backward(bencher: Bencher, batch: Batch) {
        let arrays = Arrays::new(batch);
        let Arrays { bias, variance, features, .. } = &arrays;
        let [mixed, inverse, d_mixed] = [(); 3].map(|()| arrays.per_node());
        let (mut gate, mut d_features, mut d_nodes) =
            (arrays.gates.clone(), features.clone(), arrays.nodes.clone());
        let (mut d_weight, mut d_bias) = (arrays.weight.clone(), bias.clone());
        bencher.counter(arrays.operations(2, 60)).bench_local(|| {
            // The pass works in place.
            gate.copy_from_slice(&arrays.gates);
            d_features.copy_from_slice(features);
            let saved = ConvolutionSaved { features, mixed: &mixed, inverse: &inverse };
            let used = UsedStatistics { mean: bias, variance, from_batch: true, others: None };
            let updated = UpdatedEdges { gamma: bias, beta: bias, used, dropout: None };
            let gradients = ConvolutionGradients {
                features: Some(&mut d_features),
                wants_features: true,
                weight: Some(&mut d_weight),
                bias: Some(&mut d_bias),
                nodes: Some(&mut d_nodes),
            };
            let updated = Some((updated, AffineGradients::default()));
            let convolution = arrays.convolution();
            gated_convolution_backward(convolution, &mut gate, saved, Some(&d_mixed), updated, gradients);
        });
    }
}

#[divan::bench_group(max_time = 0.4)]
mod norm_relu_residual {
    use super::*;
    use graphminnet_kernels::norm_relu_residual::{norm_relu_residual, norm_relu_residual_backward};

    /// On all edges of a batch.
    const BATCHES: [Batch; 3] = [PEPTIDES, CLUSTER, VOC];

    #[divan::bench(args = BATCHES)]
    fn forward(bencher: Bencher, batch: Batch) {
        let (count, width) = (batch.graphs * batch.edges * batch.hidden, batch.hidden);
        let (input, residual, gamma) = (values(count, 1), values(count, 2), values(width, 3));
        let (mut mean, mut variance, mut y) = (gamma.clone(), vec![1.0; width], input.clone());
        bencher.counter(ItemsCount::new(8 * count)).bench_local(|| {
            let statistics = Statistics::Batch { mean: &mut mean, variance: &mut variance, others: None };
            norm_relu_residual(&input, Some(&residual), &gamma, &gamma, statistics, None, &mut y);
        });
    }

    #[divan::bench(args = BATCHES)]
    fn backward(bencher: Bencher, batch: Batch) {
        let (count, width) = (batch.graphs * batch.edges * batch.hidden, batch.hidden);
        let (input, dy, gamma) = (values(count, 1), values(count, 2), values(width, 3));
        let (variance, mut dx) = (vec![1.0; width], input.clone());
        bencher.counter(ItemsCount::new(16 * count)).bench_local(|| {
            let used = UsedStatistics { mean: &gamma, variance: &variance, from_batch: true, others: None };
            let wanted = NormGradients { input: Some(&mut dx), ..Default::default() };
            norm_relu_residual_backward(&input, &gamma, &gamma, used, None, &dy, wanted);
        });
    }
}

#[divan::bench_group(max_time = 0.4)]
mod lap_pe {
    use super::*;
    use graphminnet_kernels::lap_pe::{LapPe, LapPeGradients, lap_pe, lap_pe_backward};

    const BATCHES: [Batch; 2] = [PEPTIDES, VOC];
    const HIDDEN: usize = 32;
    const WIDTH: usize = 16;

    struct Arrays {
        offsets: Vec<u32>,
        eigvecs: Vec<f32>,
        eigvals: Vec<f32>,
        ones: Vec<f32>,
        w1: Vec<f32>,
        b1: Vec<f32>,
        w2: Vec<f32>,
        b2: Vec<f32>,
        pairs: usize,
        nodes: usize,
    }

    impl Arrays {
        fn new(batch: Batch) -> Self {
            // The encoder also reads the first pair, which the block leaves out.
            let (offsets, pairs) = (batch.offsets(), batch.eigenpairs + 1);
            let nodes = offsets[batch.graphs] as usize;
            Self {
                eigvecs: values(nodes * pairs, 1),
                eigvals: values(batch.graphs * pairs, 2),
                ones: vec![1.0; batch.graphs * pairs],
                w1: values(2 * HIDDEN, 3),
                b1: values(HIDDEN, 4),
                w2: values(HIDDEN * WIDTH, 5),
                b2: values(WIDTH, 6),
                offsets,
                pairs,
                nodes,
            }
        }

        fn encoder(&self) -> LapPe<'_> {
            let Self { offsets, eigvecs, eigvals, ones, w1, b1, w2, b2, pairs, .. } = self;
            LapPe { offsets, eigvecs, eigvals, exist: ones, signs: &ones[..*pairs], w1, b1, w2, b2 }
        }

        fn operations(&self) -> usize {
            2 * self.nodes * self.pairs * HIDDEN * (WIDTH + 1)
        }
    }

    #[divan::bench(args = BATCHES)]
    fn forward(bencher: Bencher, batch: Batch) {
        let arrays = Arrays::new(batch);
        let mut out = vec![0.0; arrays.nodes * WIDTH];
        bencher
            .counter(ItemsCount::new(arrays.operations()))
            .bench_local(|| lap_pe(arrays.encoder(), &mut out));
    }

    #[divan::bench(args = BATCHES)]
    fn backward(bencher: Bencher, batch: Batch) {
        let arrays = Arrays::new(batch);
        let d_out = values(arrays.nodes * WIDTH, 7);
        let [mut d_w1, mut d_b1, mut d_w2, mut d_b2] =
            [&arrays.w1, &arrays.b1, &arrays.w2, &arrays.b2].map(Clone::clone);
        bencher.counter(ItemsCount::new(3 * arrays.operations())).bench_local(|| {
            let gradients = LapPeGradients {
                w1: Some(&mut d_w1),
                b1: Some(&mut d_b1),
                w2: Some(&mut d_w2),
                b2: Some(&mut d_b2),
                ..Default::default()
            };
            lap_pe_backward(arrays.encoder(), &d_out, gradients);
        });
    }
}
