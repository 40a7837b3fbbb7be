//! What the tests of the systems have in common: parameters filled by rule, plain 64-bit arithmetic, and comparison of
//! values and gradients with it.

use super::{System, SystemInput};
use burn::tensor::{Device, Gradients, Tensor, TensorData};
use graphminnet::model::Model;
use graphminnet::nn::Pass;
use graphminnet::weights::{NamedTensor, named_gradients, named_tensors, replace};
use graphminnet_data::{Batch, Features, Graph, rng};
use std::collections::BTreeMap;

/// Rows of numbers.
pub(crate) type Rows = Vec<Vec<f64>>;

/// A pass in training; without dropout its seed has no effect.
pub(crate) const TRAIN: Pass = Pass::Train { seed: 1 };

/// The device of the tests.
pub(crate) fn recorded() -> Device {
    Device::flex().autodiff()
}

/// The model with parameters filled in the order of the rule: number i, counted from `first`, becomes
/// `base + scale·sin(i)`.
pub(crate) fn filled(model: System, first: usize, rule: &[(String, f64, f64)]) -> System {
    let mut tensors: BTreeMap<String, NamedTensor> =
        named_tensors(&model).into_iter().map(|tensor| (tensor.name.clone(), tensor)).collect();
    let mut next = first;
    for (name, scale, base) in rule {
        // A name that ends in ᵀ is filled as its transposed.
        let (name, transposed) = name.strip_suffix('ᵀ').map_or((name.as_str(), false), |name| (name, true));
        let tensor = tensors.get_mut(name).unwrap_or_else(|| panic!("there is no {name}"));
        let columns = if transposed { tensor.shape[1] } else { 1 };
        let rows = tensor.values.len() / columns;
        for at in 0..tensor.values.len() {
            let place = at % rows * columns + at / rows;
            tensor.values[place] = (base + scale * (next as f64).sin()) as f32;
            next += 1;
        }
    }
    replace(model, tensors.into_values()).unwrap()
}

/// Fails unless numbers agree to single precision.
pub(crate) fn assert_near(what: &str, found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs();
        assert!(error <= 1e-4 * expected.abs().max(1.0), "{what}[{at}]: {found}, expected {expected}");
    }
}

/// The values of a tensor.
pub(crate) fn values<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.clone().into_data().try_into_vec().unwrap()
}

/// A constant matrix by formula.
pub(crate) fn table(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Tensor<2> {
    let values: Vec<f32> = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(r, c)| value(r, c) as f32)
        .collect();
    Tensor::from_data(TensorData::new(values, [rows, columns]), &recorded())
}

/// Compares gradients with published ones: name, flat position, entry, norm.
pub(crate) fn assert_gradients(model: &System, gradients: &Gradients, expected: &[(&str, usize, f64, f64)]) {
    let found: BTreeMap<String, Option<Vec<f32>>> = named_gradients(model, gradients).into_iter().collect();
    for (name, at, entry, norm) in expected {
        let gradient = found[*name].as_ref().unwrap_or_else(|| panic!("{name} has no gradient"));
        let length = gradient.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let tolerance = 3e-4 * norm.max(0.01);
        assert!(
            (f64::from(gradient[*at]) - entry).abs() < tolerance,
            "{name}[{at}]: {} for {entry}",
            gradient[*at]
        );
        assert!((length - norm).abs() < tolerance, "norm of {name}: {length} for {norm}");
    }
}

/// The parameters of a model by name in 64 bits.
#[derive(Clone)]
pub(crate) struct Parameters(BTreeMap<String, (Vec<usize>, Vec<f64>)>);

impl Parameters {
    pub(crate) fn of(model: &System) -> Self {
        let wide = |tensor: NamedTensor| {
            let values = tensor.values.iter().map(|value| f64::from(*value)).collect();
            (tensor.name, (tensor.shape, values))
        };
        Self(named_tensors(model).into_iter().map(wide).collect())
    }

    pub(crate) fn get(&self, name: &str) -> &[f64] {
        &self.0.get(name).unwrap_or_else(|| panic!("there is no {name}")).1
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The rows of a matrix.
    pub(crate) fn rows(&self, name: &str) -> Rows {
        let (shape, values) = &self.0[name];
        values.chunks(shape[1]).map(<[f64]>::to_vec).collect()
    }

    /// `W x + b` for every row.
    pub(crate) fn linear(&self, name: &str, x: &Rows) -> Rows {
        let weight = self.rows(&format!("{name}.weight"));
        let bias = format!("{name}.bias");
        let one = |row: &Vec<f64>| {
            let outputs = weight.iter().enumerate().map(|(at, weight)| {
                let product: f64 = weight.iter().zip(row).map(|(w, x)| w * x).sum();
                product + if self.has(&bias) { self.get(&bias)[at] } else { 0.0 }
            });
            outputs.collect()
        };
        x.iter().map(one).collect()
    }

    /// Batch normalisation with the statistics of the rows.
    pub(crate) fn batch_norm(&self, name: &str, x: &Rows) -> Rows {
        let (scale, shift) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let count = x.len() as f64;
        let mut result = x.clone();
        for column in 0..scale.len() {
            let mean = x.iter().map(|row| row[column]).sum::<f64>() / count;
            let variance = x.iter().map(|row| (row[column] - mean).powi(2)).sum::<f64>() / count;
            for row in &mut result {
                row[column] = (row[column] - mean) / (variance + 1e-5).sqrt() * scale[column] + shift[column];
            }
        }
        result
    }

    /// Normalisation of every row.
    pub(crate) fn layer_norm(&self, name: &str, x: &Rows, epsilon: f64) -> Rows {
        let (scale, shift) = (self.get(&format!("{name}.weight")), self.get(&format!("{name}.bias")));
        let one = |row: &Vec<f64>| {
            let count = row.len() as f64;
            let mean = row.iter().sum::<f64>() / count;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            let place = |(at, value): (usize, &f64)| {
                (value - mean) / (variance + epsilon).sqrt() * scale[at] + shift[at]
            };
            row.iter().enumerate().map(place).collect()
        };
        x.iter().map(one).collect()
    }

    /// The head `san` or `mlp` on rows.
    pub(crate) fn head(&self, mut x: Rows, unit_rows: bool) -> Rows {
        let count = (0..).take_while(|at| self.has(&format!("head.lins.{at}.weight"))).count();
        for at in 0..count {
            x = self.linear(&format!("head.lins.{at}"), &x);
            if at + 1 < count {
                x = relu(&x);
                if unit_rows {
                    x = x.iter().map(|row| scaled(row, 1.0 / norm(row).max(1e-12))).collect();
                }
            }
        }
        x
    }
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|value| value * value).sum::<f64>().sqrt()
}

pub(crate) fn scaled(row: &[f64], factor: f64) -> Vec<f64> {
    row.iter().map(|value| value * factor).collect()
}

pub(crate) fn relu(x: &Rows) -> Rows {
    x.iter().map(|row| row.iter().map(|value| value.max(0.0)).collect()).collect()
}

pub(crate) fn plus(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}

/// GatedGCN: new features of nodes and edges; `open` multiplies the gates.
pub(crate) fn gated_gcn(
    p: &Parameters,
    name: &str,
    x: &Rows,
    features: &Rows,
    edges: &[[u32; 2]],
    open: Option<&[f64]>,
) -> (Rows, Rows) {
    let map = |letter: &str, rows: &Rows| p.linear(&format!("{name}.{letter}"), rows);
    let (mut hat, b, c, d, e) = (map("A", x), map("B", x), map("C", features), map("D", x), map("E", x));
    let width = hat[0].len();
    let mut gates = c;
    let (mut sums, mut totals) = (vec![vec![0.0; width]; x.len()], vec![vec![0.0; width]; x.len()]);
    for (at, [j, i]) in edges.iter().map(|ends| ends.map(|node| node as usize)).enumerate() {
        for column in 0..width {
            gates[at][column] += d[i][column] + e[j][column];
            let gate = sigmoid(gates[at][column]) * open.map_or(1.0, |open| open[at]);
            sums[i][column] += gate * b[j][column];
            totals[i][column] += gate;
        }
    }
    for (row, (sums, totals)) in hat.iter_mut().zip(sums.iter().zip(&totals)) {
        (0..width).for_each(|column| row[column] += sums[column] / (totals[column] + 1e-6));
    }
    let nodes = plus(x, &relu(&p.batch_norm(&format!("{name}.bn_node"), &hat)));
    (nodes, plus(features, &relu(&p.batch_norm(&format!("{name}.bn_edge"), &gates))))
}

pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The tanh form of the gelu.
pub(crate) fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

/// Compares a model in training with a plain implementation: all outputs, and gradients of all parameters by central
/// differences.
pub(crate) fn assert_like_reference(model: &System, batch: &Batch, reference: impl Fn(&Parameters) -> Rows) {
    let input = model.input(batch.clone(), &recorded()).unwrap();
    let output = model.forward(&input, TRAIN);
    let [rows, columns] = output.dims();
    let wide = Parameters::of(model);
    let expected = reference(&wide);
    assert_near("outputs", &values(&output), &expected.concat());
    let weight = |row: usize, column: usize| (1.0 + row as f64 + 2.0 * column as f64).cos();
    let loss = |parameters: &Parameters| -> f64 {
        let outputs = reference(parameters);
        let all = outputs.iter().enumerate().flat_map(|(row, values)| {
            values.iter().enumerate().map(move |(column, value)| value * weight(row, column))
        });
        all.sum()
    };
    let gradients = (output * table(rows, columns, weight)).sum().backward();
    let mut random = rng::stream(3, "entries", &[]);
    let mut nonzero = 0;
    for (name, gradient) in named_gradients(model, &gradients) {
        let Some(gradient) = gradient else { continue };
        let largest = gradient.iter().fold(1e-2f64, |most, value| most.max(f64::from(value.abs())));
        for _ in 0..3 {
            let at = random.below(gradient.len());
            let moved = |step: f64| {
                let mut moved = wide.clone();
                moved.0.get_mut(&name).unwrap().1[at] += step;
                loss(&moved)
            };
            let expected = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            let error = (f64::from(gradient[at]) - expected).abs();
            assert!(
                error <= 2e-3 * largest,
                "gradient of {name}[{at}]: {}, expected {expected}",
                gradient[at]
            );
            nonzero += usize::from(expected != 0.0);
        }
    }
    assert!(nonzero > 20, "nearly all gradients are zero");
}

/// A graph with both directions of random edges and categories of nodes and edges.
pub(crate) fn random_graph(seed: u64, nodes: usize, undirected: usize, kinds: [usize; 2]) -> Graph {
    let mut random = rng::stream(seed, "graph", &[nodes as u64]);
    let mut edges: Vec<[u32; 2]> =
        (1..nodes as u32).map(|node| [random.below(node as usize) as u32, node]).collect();
    while edges.len() < undirected {
        let [a, b] = [random.below(nodes) as u32, random.below(nodes) as u32];
        if a != b && !edges.contains(&[a, b]) && !edges.contains(&[b, a]) {
            edges.push([a, b]);
        }
    }
    let both: Vec<[u32; 2]> = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
    let node_kinds = (0..nodes).map(|_| random.below(kinds[0]) as u32).collect();
    let edge_kinds: Vec<u32> = (0..edges.len()).map(|_| random.below(kinds[1]) as u32).collect();
    let edge_kinds = edge_kinds.iter().flat_map(|&kind| [kind, kind]).collect();
    let edge_features = Features::categories(both.len(), 1, edge_kinds).unwrap();
    Graph::new(nodes, both, Features::categories(nodes, 1, node_kinds).unwrap(), edge_features).unwrap()
}

/// The same graph with other numbers for its nodes: node `u` becomes `order[u]`.
pub(crate) fn renumbered(graph: &Graph, order: &[u32]) -> Graph {
    let edges = graph.edges().iter().map(|ends| ends.map(|node| order[node as usize])).collect();
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(node, &new)| place[new as usize] = node);
    let nodes = graph.node_features().select_rows(place.into_iter());
    Graph::new(graph.num_nodes(), edges, nodes, graph.edge_features().clone()).unwrap()
}

/// Fails unless the features of nodes move with their numbers.
pub(crate) fn assert_equivariant(model: &System, make: impl Fn(&Graph) -> Batch, graph: &Graph) {
    let count = graph.num_nodes();
    let mut order: Vec<u32> = (0..count as u32).collect();
    rng::stream(5, "order", &[]).shuffle(&mut order);
    let run = |graph: &Graph| -> Vec<Vec<f32>> {
        let input: SystemInput = model.input(make(graph), &recorded()).unwrap();
        let nodes = model.node_features(&input, Pass::Eval);
        let [_, width] = nodes.dims();
        values(&nodes).chunks(width).map(<[f32]>::to_vec).collect()
    };
    let (before, after) = (run(graph), run(&renumbered(graph, &order)));
    assert!(before.windows(2).any(|pair| pair[0] != pair[1]), "all nodes are alike");
    for (node, row) in before.iter().enumerate() {
        let expected: Vec<f64> = row.iter().map(|value| f64::from(*value)).collect();
        assert_near(&format!("node {node}"), &after[order[node] as usize], &expected);
    }
}
