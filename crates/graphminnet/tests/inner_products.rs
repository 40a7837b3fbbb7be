//! The block against its definition: every option of the block, in eval mode, compared with plain loops in 64-bit
//! floats that store every matrix of the formulas.
//!
//! The oracle below is written from the equations alone and shares nothing with the library but the configuration
//! and the parameter values.

mod common;

use burn::tensor::Tensor;
use common::{base, forms, lively_model, prepared, values};
use graphminnet::config::{
    Activation, Aggregate, Beta, BetaRange, InnerProduct, InputNorm, Layout, PairKind, Phi,
};
use graphminnet::nn::Pass;
use graphminnet::{GraphMinNet, ModelConfig, weights};
use graphminnet_data::Graph;
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::spectral::PreparedGraph;
use std::collections::BTreeMap;

/// Largest difference relative to the scale of the output that rounding may cause.
const TOLERANCE: f64 = 2e-5;

#[test]
fn every_form_of_the_block_equals_its_definition_under_every_single_option() {
    let mut report = Report::default();
    for form in forms() {
        for (name, change) in variations() {
            let mut config = base(form);
            change(&mut config);
            report.check(&config, name, 1);
        }
    }
    report.finish(0.8);
}

#[test]
fn every_form_of_the_block_equals_its_definition_under_random_options() {
    let mut report = Report::default();
    for (number, form) in forms().into_iter().enumerate() {
        for draw in 0..12 {
            let random = &mut rng::stream(number as u64, "options", &[draw]);
            let mut config = base(form);
            for _ in 0..5 {
                let options = variations();
                let (_, change) = &options[random.below(options.len())];
                change(&mut config);
            }
            report.check(&config, "random options", draw);
        }
    }
    report.finish(0.8);
}

#[test]
fn the_block_without_eigenpairs_equals_its_definition() {
    let mut report = Report::default();
    for kind in [InnerProduct::Type1, InnerProduct::Type3, InnerProduct::Type4a, InnerProduct::Type4b] {
        for (name, change) in variations() {
            let mut config = base((Layout::Channel, Aggregate::Add, kind, PairKind::Type1, PairKind::Type3));
            change(&mut config);
            (config.lap_dim, config.phi_a, config.phi_c) = (0, Phi::Power(0), Phi::Zero);
            report.check(&config, name, 2);
        }
    }
    // Type 4 multiplies by ⟨C_u, C_v⟩, which is zero here.
    report.finish(0.4);
}

/// β outside `[0, 2]` is where the three ranges differ.
#[test]
fn beta_is_clamped_taken_raw_or_squashed_as_the_range_says() {
    for (range, raw, effective) in [
        (BetaRange::Clamp, 2.75, 2.0),
        (BetaRange::Clamp, -0.75, 0.0),
        (BetaRange::Clamp, 0.75, 0.75),
        (BetaRange::Raw, 2.75, 2.75),
        (BetaRange::Raw, -0.75, -0.75),
        (BetaRange::Sigmoid, 0.0, 1.0),
        (BetaRange::Sigmoid, -1.0, 2.0 / (1.0 + 1f64.exp())),
    ] {
        let mut config =
            base((Layout::Channel, Aggregate::Mul, InnerProduct::Type1, PairKind::Type1, PairKind::Type3));
        (config.self_term, config.beta_range) = (true, range);
        let model = GraphMinNet::new(&config, 3, &common::plain()).unwrap();
        let tensors = weights::named_tensors(&model).into_iter().map(|mut tensor| {
            if tensor.name.ends_with("gmn.beta") {
                tensor.values = vec![raw];
            }
            tensor
        });
        let model = weights::replace(model, tensors.collect::<Vec<_>>()).unwrap();
        let oracle = Oracle { beta: Some(effective), ..Oracle::new(&config, &model) };
        let (error, size) = compare(&config, &model, &oracle, 3);
        assert!(error <= TOLERANCE && size > 1e-3, "{range} of {raw}: off by {error:.1e} of {size:.1e}");
    }
}

type Change = fn(&mut ModelConfig);

/// Every option of the block, one at a time.
fn variations() -> Vec<(&'static str, Change)> {
    vec![
        ("defaults", |_| {}),
        ("phi_a power:0", |c| c.phi_a = Phi::Power(0)),
        ("phi_c power:0", |c| c.phi_c = Phi::Power(0)),
        ("phi_a power:1", |c| c.phi_a = Phi::Power(1)),
        ("phi_c power:1", |c| c.phi_c = Phi::Power(1)),
        ("phi power:2", |c| (c.phi_a, c.phi_c) = (Phi::Power(2), Phi::Power(2))),
        ("phi_c zero", |c| c.phi_c = Phi::Zero),
        ("phi_a zero", |c| c.phi_a = Phi::Zero),
        ("self term", |c| c.self_term = true),
        ("self term raw", |c| (c.self_term, c.beta_range) = (true, BetaRange::Raw)),
        ("self term sigmoid", |c| (c.self_term, c.beta_range) = (true, BetaRange::Sigmoid)),
        ("self term fixed", |c| (c.self_term, c.beta) = (true, Beta::Fixed(0.4))),
        ("self term only", |c| (c.self_term, c.beta) = (true, Beta::Fixed(0.0))),
        ("W and B relu", |c| c.nonlinear_wb = Activation::Relu),
        ("W and B gelu", |c| c.nonlinear_wb = Activation::Gelu),
        ("W and B silu", |c| c.nonlinear_wb = Activation::Silu),
        ("z and h relu", |c| c.nonlinear_zh = Activation::Relu),
        ("z and h gelu", |c| c.nonlinear_zh = Activation::Gelu),
        ("z and h silu", |c| c.nonlinear_zh = Activation::Silu),
        ("no bias", |c| c.zh_bias = false),
        ("no bias, z and h silu", |c| (c.zh_bias, c.nonlinear_zh) = (false, Activation::Silu)),
        ("degree scaling", |c| c.degree_scaling = true),
        ("input norm rms", |c| c.input_norm = InputNorm::Rms),
        ("input norm ball", |c| c.input_norm = InputNorm::Ball),
        ("degree scaling and ball", |c| (c.degree_scaling, c.input_norm) = (true, InputNorm::Ball)),
    ]
}

/// Compares many configurations and remembers the worst.
#[derive(Default)]
struct Report {
    checked: usize,
    nonzero: usize,
    worst: f64,
    failures: Vec<String>,
}

impl Report {
    fn check(&mut self, config: &ModelConfig, name: &str, seed: u64) {
        config.check().unwrap();
        let model = lively_model(config, seed, &common::plain());
        let (error, size) = compare(config, &model, &Oracle::new(config, &model), seed);
        self.checked += 1;
        self.nonzero += usize::from(size > 1e-6);
        self.worst = self.worst.max(error);
        if error > TOLERANCE {
            let ModelConfig { layout, aggregate, inner_product, type4_first, type4_second, .. } = config;
            self.failures.push(format!(
                "{layout} {aggregate} {inner_product} ({type4_first}, {type4_second}), {name}: off by {error:.1e}"
            ));
        }
    }

    /// Fails if a configuration differs, or if fewer than the given share of the outputs are not all zero.
    fn finish(self, least_nonzero: f64) {
        println!("{} configurations ({} not zero), worst {:.1e}", self.checked, self.nonzero, self.worst);
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
        let share = self.nonzero as f64 / self.checked as f64;
        assert!(share >= least_nonzero, "too many outputs are zero: nothing was compared");
    }
}

/// Largest difference between model and oracle relative to the oracle's largest value, and that value.
fn compare(config: &ModelConfig, model: &GraphMinNet, oracle: &Oracle, seed: u64) -> (f64, f64) {
    let random = &mut rng::stream(seed, "inner products", &[]);
    let graphs: Vec<PreparedGraph> =
        graphs(random).iter().map(|graph| prepared(common::dressed(graph, config, random), config)).collect();
    let input = common::input_of(config, &graphs, &common::plain());
    let nodes = input.structure.num_nodes();
    // Rows on both sides of root mean square 1.
    let mut x = common::normals(nodes * config.hidden, random);
    for (at, value) in x.iter_mut().enumerate() {
        *value *= if (at / config.hidden).is_multiple_of(3) { 1.8 } else { 0.6 };
    }
    let spectrum = model.spectrum(&input);
    let tensor: Tensor<2> = common::tensor(&x, [nodes, config.hidden], &common::plain());
    let found =
        values(model.layers()[0].block().unwrap().forward(tensor, &input, &spectrum, config, 0, Pass::Eval));

    let mut expected = Vec::new();
    let mut rows = x.chunks(config.hidden);
    for graph in &graphs {
        let x: Vec<Vec<f64>> = rows
            .by_ref()
            .take(graph.graph.num_nodes())
            .map(|row| row.iter().copied().map(f64::from).collect())
            .collect();
        expected.extend(oracle.block(&x, graph).concat());
    }
    assert_eq!(found.len(), expected.len());
    let size = expected.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let error = found.iter().zip(&expected).fold(0.0f64, |worst, (found, expected)| {
        let error = (f64::from(*found) - expected).abs();
        if error.is_nan() { f64::INFINITY } else { worst.max(error) }
    });
    (error / size.max(1e-3), size)
}

/// Connected, disconnected, tiny and empty ones.
fn graphs(random: &mut Stream) -> Vec<Graph> {
    vec![
        common::random_graph(8, 0.5, random),
        common::path(1),
        common::side_by_side(&common::path(4), &common::random_graph(5, 0.6, random)),
        common::path(2),
        Graph::from_edges(0, vec![]).unwrap(),
        common::cycle(7),
        Graph::from_edges(3, vec![]).unwrap(),
    ]
}

type Matrix = Vec<Vec<f64>>;

/// The equations of the block, one graph at a time.
struct Oracle {
    config: ModelConfig,
    parameters: BTreeMap<String, (Vec<usize>, Vec<f64>)>,
    /// Effective β, where a test gives it.
    beta: Option<f64>,
}

impl Oracle {
    fn new(config: &ModelConfig, model: &GraphMinNet) -> Self {
        let parameters = weights::named_tensors(model)
            .into_iter()
            .map(|tensor| {
                (tensor.name, (tensor.shape, tensor.values.into_iter().map(f64::from).collect::<Vec<f64>>()))
            })
            .collect();
        Self { config: config.clone(), parameters, beta: None }
    }

    fn vector(&self, name: &str) -> &[f64] {
        &self.parameters[name].1
    }

    /// `Linear` with weight `[out, in]`, and a bias if there is one.
    fn linear(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (shape, weight) = &self.parameters[&format!("{name}.weight")];
        let bias = self.parameters.get(&format!("{name}.bias"));
        (0..shape[0])
            .map(|out| {
                let product: f64 = (0..shape[1]).map(|at| weight[out * shape[1] + at] * x[at]).sum();
                product + bias.map_or(0.0, |(_, bias)| bias[out])
            })
            .collect()
    }

    /// `Linear`, or `Linear → act → Linear`.
    fn map(&self, name: &str, kind: Activation, x: &[f64]) -> Vec<f64> {
        if kind == Activation::None {
            return self.linear(name, x);
        }
        let inner: Vec<f64> =
            self.linear(&format!("{name}.0"), x).into_iter().map(|value| activate(kind, value)).collect();
        self.linear(&format!("{name}.2"), &inner)
    }

    /// `SiLU(LayerNorm(x))`.
    fn norm_silu(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let count = x.len() as f64;
        let mean = x.iter().sum::<f64>() / count;
        let variance = x.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        let (scale, shift) = (self.vector(&format!("{name}.weight")), self.vector(&format!("{name}.bias")));
        (0..x.len())
            .map(|at| {
                let normalised = (x[at] - mean) / (variance + 1e-5).sqrt() * scale[at] + shift[at];
                activate(Activation::Silu, normalised)
            })
            .collect()
    }

    fn set_mlp(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let inner = self.norm_silu(&format!("{name}.ln1"), &self.linear(&format!("{name}.lin1"), x));
        self.norm_silu(&format!("{name}.ln2"), &self.linear(&format!("{name}.lin2"), &inner))
    }

    /// `E`: one row of `D` channels per eigenpair, zero where it is not valid.
    fn phi(&self, phi: Phi, eigenvalues: &[f64], valid: &[bool]) -> Matrix {
        let channels = self.config.pe_width;
        let zero = vec![0.0; channels];
        let rows: Matrix = match phi {
            Phi::Zero => vec![zero.clone(); valid.len()],
            Phi::Power(exponent) => {
                eigenvalues.iter().map(|value| vec![value.powi(exponent as i32); channels]).collect()
            }
            Phi::Deepset => self.deepset(eigenvalues, valid),
        };
        rows.into_iter().zip(valid).map(|(row, valid)| if *valid { row } else { zero.clone() }).collect()
    }

    fn deepset(&self, eigenvalues: &[f64], valid: &[bool]) -> Matrix {
        let mut rows: Matrix = eigenvalues
            .iter()
            .zip(valid)
            .map(|(value, valid)| {
                let root = if *valid { value.sqrt() } else { 0.0 };
                self.norm_silu("set_encoder.input_ln", &self.linear("set_encoder.input", &[root]))
            })
            .collect();
        let count = valid.iter().filter(|valid| **valid).count().max(1) as f64;
        for layer in 0..3 {
            let name = format!("set_encoder.layers.{layer}");
            let mut mean = vec![0.0; self.config.pe_width];
            for (row, _) in rows.iter().zip(valid).filter(|(_, valid)| **valid) {
                for (sum, value) in mean.iter_mut().zip(self.set_mlp(&format!("{name}.f"), row)) {
                    *sum += value / count;
                }
            }
            for row in &mut rows {
                let factor = self.set_mlp(&format!("{name}.g"), row);
                for at in 0..row.len() {
                    row[at] += mean[at] * factor[at];
                }
            }
        }
        rows
    }

    /// The block's output for the nodes of one graph.
    fn block(&self, x: &Matrix, graph: &PreparedGraph) -> Matrix {
        let config = &self.config;
        let (pairs, stored) = (config.lap_dim, config.lap_dim + 1);
        let eigenvalues: Vec<f64> = graph.eigenvalues[1..].iter().copied().map(f64::from).collect();
        let valid: Vec<bool> =
            (0..pairs).map(|i| i + 1 < graph.num_eigenpairs && eigenvalues[i].abs() >= 1e-4).collect();
        let (coefficients_a, coefficients_c) = match pairs {
            // No eigenpairs: one column, E^A = 1, C = 0.
            0 => (vec![vec![1.0; config.pe_width]], vec![vec![0.0; config.pe_width]]),
            _ => (self.phi(config.phi_a, &eigenvalues, &valid), self.phi(config.phi_c, &eigenvalues, &valid)),
        };
        let x: Matrix =
            x.iter().enumerate().map(|(u, x)| self.block_input(x, graph.log_degree[u].into())).collect();

        // Rows and columns as in the paper: matrices are [row][column].
        let (rows, columns) = (config.rows(), config.columns());
        let matrix = |entry: &dyn Fn(usize, usize) -> f64| -> Matrix {
            (0..rows).map(|row| (0..columns).map(|column| entry(row, column)).collect()).collect()
        };
        let mut a_matrices = Vec::new();
        let mut c_matrices = Vec::new();
        for (u, x) in x.iter().enumerate() {
            let w = self.map("layers.0.gmn.W", config.nonlinear_wb, x);
            let position = |i: usize| match pairs {
                0 => 0.0,
                _ if valid[i] => f64::from(graph.eigenvectors[u * stored + i + 1]),
                _ => 0.0,
            };
            match config.layout {
                Layout::Channel => {
                    a_matrices.push(matrix(&|j, i| coefficients_a[i][j] * w[j]));
                    c_matrices.push(matrix(&|j, i| coefficients_c[i][j] * position(i)));
                }
                Layout::Eigen => {
                    a_matrices.push(matrix(&|i, j| coefficients_a[i][j] * w[i]));
                    c_matrices.push(matrix(&|i, j| coefficients_c[i][j] * position(i)));
                }
            }
        }
        let similarities = self.similarities(&a_matrices, &c_matrices);
        (0..x.len())
            .map(|u| {
                let z = self.map("layers.0.gmn.z", config.nonlinear_zh, &x[u]);
                let h = self.map("layers.0.gmn.h", config.nonlinear_zh, &x[u]);
                let (own, beta) = (self.own(&c_matrices[u]), self.beta());
                (0..config.hidden)
                    .map(|k| {
                        let s = similarities[u][k];
                        let weighed = if config.self_term { beta * s + (2.0 - beta) * own } else { s };
                        1.0 / (1.0 + (-z[k]).exp()) * h[k] * weighed
                    })
                    .collect()
            })
            .collect()
    }

    /// Degree scaling, then the bound.
    fn block_input(&self, x: &[f64], log_degree: f64) -> Vec<f64> {
        let mut x = x.to_vec();
        if self.config.degree_scaling {
            let coefficients = self.vector("layers.0.gmn.deg_coef");
            for (k, value) in x.iter_mut().enumerate() {
                *value *= coefficients[2 * k] + coefficients[2 * k + 1] * log_degree;
            }
        }
        let r = (x.iter().map(|value| value * value).sum::<f64>() / x.len() as f64 + 1e-6).sqrt();
        let divisor = match self.config.input_norm {
            InputNorm::None => 1.0,
            InputNorm::Rms => r,
            InputNorm::Ball => r.max(1.0),
        };
        x.into_iter().map(|value| value / divisor).collect()
    }

    /// `B` applied to every column of a matrix.
    fn embed(&self, matrix: &Matrix) -> Matrix {
        let columns: Matrix = (0..self.config.columns())
            .map(|column| {
                let column: Vec<f64> = matrix.iter().map(|row| row[column]).collect();
                self.map("layers.0.gmn.B", self.config.nonlinear_wb, &column)
            })
            .collect();
        (0..self.config.hidden).map(|k| columns.iter().map(|column| column[k]).collect()).collect()
    }

    /// `s_u` of every node.
    fn similarities(&self, a_matrices: &[Matrix], c_matrices: &[Matrix]) -> Matrix {
        let config = &self.config;
        let hidden = config.hidden;
        let kind = match config.inner_product {
            InnerProduct::Type1 => PairKind::Type1,
            InnerProduct::Type2 => PairKind::Type2,
            InnerProduct::Type3 => PairKind::Type3,
            InnerProduct::Type4a | InnerProduct::Type4b => {
                let (outer, inner) = match config.inner_product {
                    InnerProduct::Type4a => (c_matrices, a_matrices),
                    _ => (a_matrices, c_matrices),
                };
                let embedded: Vec<Matrix> = outer.iter().map(|matrix| self.embed(matrix)).collect();
                return (0..inner.len())
                    .map(|u| {
                        let mut sum = vec![0.0; hidden];
                        for v in 0..inner.len() {
                            let first = product(config.type4_first, &embedded[u], &embedded[v], hidden);
                            let second = product(config.type4_second, &inner[u], &inner[v], hidden);
                            for k in 0..hidden {
                                sum[k] += first[k] * second[k];
                            }
                        }
                        sum
                    })
                    .collect();
            }
        };
        let embedded: Vec<Matrix> = a_matrices
            .iter()
            .zip(c_matrices)
            .map(|(a, c)| {
                let combined: Matrix = a
                    .iter()
                    .zip(c)
                    .map(|(a, c)| {
                        let pairs = a.iter().zip(c);
                        match config.aggregate {
                            Aggregate::Mul => pairs.map(|(a, c)| a * c).collect(),
                            Aggregate::Add => pairs.map(|(a, c)| a + c).collect(),
                        }
                    })
                    .collect();
                self.embed(&combined)
            })
            .collect();
        let mut total = vec![vec![0.0; config.columns()]; hidden];
        for matrix in &embedded {
            for (total, row) in total.iter_mut().zip(matrix) {
                for (total, value) in total.iter_mut().zip(row) {
                    *total += value;
                }
            }
        }
        embedded.iter().map(|matrix| product(kind, matrix, &total, hidden)).collect()
    }

    /// `q_u = Σ_{r,i} (W_s1 C_u)[r,i]·(W_s2 C_u)[r,i]`.
    fn own(&self, c_matrix: &Matrix) -> f64 {
        if !self.config.self_term {
            return 0.0;
        }
        (0..self.config.columns())
            .map(|column| {
                let column: Vec<f64> = c_matrix.iter().map(|row| row[column]).collect();
                let first = self.linear("layers.0.gmn.Ws1", &column);
                let second = self.linear("layers.0.gmn.Ws2", &column);
                first.iter().zip(&second).map(|(a, b)| a * b).sum::<f64>()
            })
            .sum()
    }

    fn beta(&self) -> f64 {
        if let Some(beta) = self.beta {
            return beta;
        }
        match self.config.beta {
            Beta::Fixed(beta) => beta,
            Beta::Learn if !self.config.self_term => 0.0,
            Beta::Learn => {
                let raw = self.vector("layers.0.gmn.beta")[0];
                match self.config.beta_range {
                    BetaRange::Raw => raw,
                    BetaRange::Clamp => raw.clamp(0.0, 2.0),
                    BetaRange::Sigmoid => 2.0 / (1.0 + (-raw).exp()),
                }
            }
        }
    }
}

/// `⟨X, Y⟩` as an l-vector: per row, per column, or one number for all.
fn product(kind: PairKind, x: &Matrix, y: &Matrix, hidden: usize) -> Vec<f64> {
    let (rows, columns) = (x.len(), x[0].len());
    match kind {
        PairKind::Type1 => {
            (0..rows).map(|row| (0..columns).map(|column| x[row][column] * y[row][column]).sum()).collect()
        }
        PairKind::Type2 => {
            (0..columns).map(|column| (0..rows).map(|row| x[row][column] * y[row][column]).sum()).collect()
        }
        PairKind::Type3 => {
            let sum: f64 = x.iter().flatten().zip(y.iter().flatten()).map(|(x, y)| x * y).sum();
            vec![sum; hidden]
        }
    }
}

fn activate(kind: Activation, x: f64) -> f64 {
    match kind {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)),
    }
}

/// The error function by its power series, which is good to ten digits up to 4; beyond, the tail is below 10⁻⁷.
fn erf(x: f64) -> f64 {
    if x.abs() > 4.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-17 {
        n += 1.0;
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}
