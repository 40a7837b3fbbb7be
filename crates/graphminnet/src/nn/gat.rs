//! GAT, a local branch in which a node weighs its neighbours by attention.
//!
//! Per head `h`, with `y = W x` cut into heads and the edge `i → i` of every node included:
//!
//! ```text
//! t_ij = LeakyReLU_0.2( s_h·y_j + t_h·y_i + e_h·(V ε_ij) )        edge j → i
//! α_ij = exp(t_ij) / Σ_j' exp(t_ij')
//! y'_i = Σ_j α_ij y_j + b
//! ```
//! (Veličković et al., 2018.) The edge term exists where the model has edge features; the edge `i → i` has the mean of
//! the features of the edges that end in `i`, or zeros where there are none. The residual and its dropout are the layer's.

use super::{Init, Linear};
use crate::ops::{Structure, gather_rows, sum_rows};
use burn::module::{Module, Param};
use burn::tensor::{Tensor, TensorData, activation};

/// Slope of the leaky ReLU below zero.
const SLOPE: f64 = 0.2;

/// The maps of nodes and edges and the attention vectors.
#[derive(Module, Debug)]
pub struct Gat {
    /// `W`.
    pub lin: Linear,
    /// `V`, where there are edge features.
    pub lin_edge: Option<Linear>,
    /// `s`: attention to the source, `[heads, hidden / heads]`.
    pub att_source: Param<Tensor<2>>,
    /// `t`: attention of the target, `[heads, hidden / heads]`.
    pub att_target: Param<Tensor<2>>,
    /// `e`: attention to the edge, `[heads, hidden / heads]`.
    pub att_edge: Option<Param<Tensor<2>>>,
    /// `b`.
    pub bias: Param<Tensor<1>>,
}

impl Gat {
    /// Fresh parameters; attention vectors are Xavier-uniform.
    pub fn new(hidden: usize, heads: usize, with_edges: bool, init: &mut Init) -> Self {
        let width = hidden / heads;
        let bound = (6.0 / (heads + width) as f64).sqrt();
        Self {
            lin: Linear::new(hidden, hidden, false, init),
            lin_edge: with_edges.then(|| Linear::new(hidden, hidden, false, init)),
            att_source: init.uniform([heads, width], bound),
            att_target: init.uniform([heads, width], bound),
            att_edge: with_edges.then(|| init.uniform([heads, width], bound)),
            bias: init.constant([hidden], 0.0),
        }
    }

    /// `[nodes, hidden]`, `[edges, hidden]` → `[nodes, hidden]`.
    pub fn forward(&self, nodes: Tensor<2>, edges: Option<Tensor<2>>, structure: &Structure) -> Tensor<2> {
        let [count, hidden] = nodes.dims();
        let device = nodes.device();
        if count == 0 {
            return nodes;
        }
        let [heads, width] = self.att_source.dims();
        // Every node is also its own neighbour: its edge is listed after the given ones.
        let (source, target) = (structure.sources_and_own(), structure.targets_and_own());
        let values = self.lin.forward(nodes);
        let mut scores = gather_rows(per_head(values.clone(), &self.att_source), source)
            + gather_rows(per_head(values.clone(), &self.att_target), target);
        if let (Some(map), Some(attention), Some(edges)) = (&self.lin_edge, &self.att_edge, edges) {
            let of_edges = per_head(map.forward(edges), attention);
            let sums = sum_rows(of_edges.clone(), structure.targets());
            let incoming = structure.topology().incoming.windows(2);
            let counts: Vec<f32> = incoming.map(|range| (range[1] - range[0]).max(1) as f32).collect();
            let counts = Tensor::<2>::from_data(TensorData::new(counts, [count, 1]), &device);
            scores = scores + Tensor::cat(vec![of_edges, sums / counts], 0);
        }
        let scores = activation::leaky_relu(scores, SLOPE);
        let weights = edge_softmax(scores, structure);
        let [rows, _] = weights.dims();
        let messages =
            gather_rows(values, source).reshape([rows, heads, width]) * weights.reshape([rows, heads, 1]);
        sum_rows(messages.reshape([rows, hidden]), target) + self.bias.val().unsqueeze()
    }
}

/// `a_h·y_h` for every head: `[rows, hidden] → [rows, heads]`.
fn per_head(rows: Tensor<2>, attention: &Param<Tensor<2>>) -> Tensor<2> {
    let [count, _] = rows.dims();
    let [heads, width] = attention.dims();
    let cube = rows.reshape([count, heads, width]) * attention.val().unsqueeze::<3>();
    cube.sum_dim(2).reshape([count, heads])
}

/// Softmax over the edges that end in the same node, the edges `i → i` listed last.
///
/// The largest score of each node is subtracted first. It is a constant: a softmax does not change when all of its
/// scores do, so no gradient flows through it.
fn edge_softmax(scores: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let [rows, heads] = scores.dims();
    let count = structure.num_nodes();
    let incoming = &structure.topology().incoming;
    let plain: Vec<f32> = scores.clone().detach().into_data().try_to_vec().unwrap_or_default();
    let own = rows - count;
    let mut largest = vec![0.0; rows * heads];
    for (node, range) in incoming.windows(2).enumerate() {
        let (begin, end) = (range[0] as usize, range[1] as usize);
        for head in 0..heads {
            let mut top = plain[(own + node) * heads + head];
            for edge in begin..end {
                top = top.max(plain[edge * heads + head]);
            }
            for edge in (begin..end).chain([own + node]) {
                largest[edge * heads + head] = top;
            }
        }
    }
    let largest = Tensor::from_data(TensorData::new(largest, [rows, heads]), &scores.device());
    let raised = (scores - largest).exp();
    let sums = sum_rows(raised.clone(), structure.targets_and_own());
    raised / gather_rows(sums, structure.targets_and_own())
}
