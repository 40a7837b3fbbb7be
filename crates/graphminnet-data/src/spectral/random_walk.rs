//! Random-walk return probabilities `(P^k)_uu`, exactly.
//!
//! `P` is the row-stochastic matrix of the directed edges as given (a repeated edge counts as often as it occurs; a
//! node without outgoing edges has a zero row). Only half of the powers are formed:
//! `(P^(a+b))_uu = Σ_w (P^a)_uw (P^b)_wu` with `a − b` equal to 0 or 1.
//!
//! Small graphs keep whole powers and multiply them with `P`, sparse or dense. Large ones walk from every node on its own, forwards for the row of `P^a`
//! and backwards for the column of `P^b`, touching only the nodes within `steps / 2` edges: the cost is the number of
//! nodes times the size of such a neighbourhood, and the memory of a walk is linear in the graph.

use crate::graph::Graph;
use crate::stop::Stop;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Up to this many nodes whole powers are faster than single walks.
const DENSE_NODES: usize = 192;
/// Nodes whose walks are done by one task on a large graph.
const NODES_PER_TASK: usize = 64;

/// Return probabilities after 1…`steps` steps, row-major `[nodes, steps]`.
pub fn return_probabilities(graph: &Graph, steps: usize) -> Vec<f32> {
    return_probabilities_until(graph, steps, Stop::NEVER)
}

/// [`return_probabilities`], as long as somebody waits for them; what was not computed when it stopped is zero.
pub(super) fn return_probabilities_until(graph: &Graph, steps: usize, stop: Stop<'_>) -> Vec<f32> {
    if steps == 0 || graph.num_nodes() == 0 {
        return Vec::new();
    }
    if graph.num_nodes() <= DENSE_NODES { by_powers(graph, steps) } else { by_walking(graph, steps, stop) }
}

/// A square matrix by columns.
struct Columns {
    nodes: usize,
    values: Vec<f64>,
}

impl Columns {
    fn zeros(nodes: usize) -> Self {
        Self { nodes, values: vec![0.0; nodes * nodes] }
    }

    fn identity(nodes: usize) -> Self {
        let mut identity = Self::zeros(nodes);
        identity.values.iter_mut().step_by(nodes + 1).for_each(|entry| *entry = 1.0);
        identity
    }

    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.nodes.max(1))
    }

    fn as_matrix(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.values, self.nodes, self.nodes)
    }

    /// The product with a sparse matrix whose entries (row, column, value) are given.
    fn times_sparse(&self, entries: impl Iterator<Item = (u32, u32, f64)>) -> Self {
        let mut result = Self::zeros(self.nodes);
        for (row, column, value) in entries {
            let from = &self.values[row as usize * self.nodes..][..self.nodes];
            let to = &mut result.values[column as usize * self.nodes..][..self.nodes];
            for (to, from) in to.iter_mut().zip(from) {
                *to += value * from;
            }
        }
        result
    }

    fn times(&self, other: MatRef<'_, f64>) -> Self {
        let mut result = Self::zeros(self.nodes);
        let to = MatMut::from_column_major_slice_mut(&mut result.values, self.nodes, self.nodes);
        matmul(to, Accum::Replace, self.as_matrix(), other, 1.0, Par::Seq);
        result
    }
}

fn by_powers(graph: &Graph, steps: usize) -> Vec<f32> {
    let nodes = graph.num_nodes();
    let mut degrees = vec![0u32; nodes];
    for [source, _] in graph.edges() {
        degrees[*source as usize] += 1;
    }
    let entries =
        || graph.edges().iter().map(|&[from, to]| (from, to, 1.0 / f64::from(degrees[from as usize])));
    // A dense product does several multiplications in the time of one of a sparse product.
    let dense =
        (graph.num_edges() * 6 > nodes * nodes).then(|| Columns::identity(nodes).times_sparse(entries()));
    // P^a by columns and P^b by rows, so that the diagonal of their product is summed over whole columns.
    let mut powers = Columns::identity(nodes);
    let mut transposed = Columns::identity(nodes);
    let mut result = vec![0f32; nodes * steps];
    let mut diagonal = vec![0f64; nodes];
    for step in 1..=steps {
        let odd = step % 2 == 1;
        match &dense {
            Some(walk) if odd => powers = powers.times(walk.as_matrix()),
            Some(walk) => transposed = transposed.times(walk.as_matrix().transpose()),
            None if odd => powers = powers.times_sparse(entries()),
            None => {
                transposed = transposed.times_sparse(entries().map(|(from, to, value)| (to, from, value)))
            }
        }
        diagonal.fill(0.0);
        for (power, transposed) in powers.iter().zip(transposed.iter()) {
            for ((sum, power), transposed) in diagonal.iter_mut().zip(power).zip(transposed) {
                *sum += power * transposed;
            }
        }
        for (result, sum) in result.iter_mut().skip(step - 1).step_by(steps).zip(&diagonal) {
            *result = *sum as f32;
        }
    }
    result
}

/// Neighbour lists with the probability of each step.
struct Steps {
    offsets: Vec<u32>,
    targets: Vec<u32>,
    weights: Vec<f64>,
}

impl Steps {
    fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32, f64)> + Clone) -> Self {
        let mut offsets = vec![0u32; nodes + 1];
        for (from, _, _) in edges.clone() {
            offsets[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            offsets[node + 1] += offsets[node];
        }
        let mut place = offsets.clone();
        let count = offsets[nodes] as usize;
        let (mut targets, mut weights) = (vec![0u32; count], vec![0f64; count]);
        for (from, to, weight) in edges {
            let at = &mut place[from as usize];
            targets[*at as usize] = to;
            weights[*at as usize] = weight;
            *at += 1;
        }
        Self { offsets, targets, weights }
    }
}

/// A sparse vector over the nodes: values, and the list of nodes that may be non-zero.
struct Sparse {
    values: Vec<f64>,
    listed: Vec<bool>,
    nodes: Vec<u32>,
}

impl Sparse {
    fn zeros(nodes: usize) -> Self {
        Self { values: vec![0.0; nodes], listed: vec![false; nodes], nodes: Vec::new() }
    }

    fn clear(&mut self) {
        for &node in &self.nodes {
            self.values[node as usize] = 0.0;
            self.listed[node as usize] = false;
        }
        self.nodes.clear();
    }

    fn add(&mut self, node: u32, value: f64) {
        if !std::mem::replace(&mut self.listed[node as usize], true) {
            self.nodes.push(node);
        }
        self.values[node as usize] += value;
    }

    /// `self ← from` moved one step.
    fn set_moved(&mut self, from: &Self, steps: &Steps) {
        self.clear();
        for &node in &from.nodes {
            let value = from.values[node as usize];
            let range = steps.offsets[node as usize] as usize..steps.offsets[node as usize + 1] as usize;
            for (&to, &weight) in steps.targets[range.clone()].iter().zip(&steps.weights[range]) {
                self.add(to, value * weight);
            }
        }
    }

    fn dot(&self, other: &Self) -> f64 {
        let (few, many) = if self.nodes.len() <= other.nodes.len() { (self, other) } else { (other, self) };
        few.nodes.iter().map(|&node| few.values[node as usize] * many.values[node as usize]).sum()
    }
}

fn by_walking(graph: &Graph, steps: usize, stop: Stop<'_>) -> Vec<f32> {
    let nodes = graph.num_nodes();
    let mut degrees = vec![0u32; nodes];
    for [source, _] in graph.edges() {
        degrees[*source as usize] += 1;
    }
    let weighted = graph.edges().iter().map(|&[a, b]| (a, b, 1.0 / f64::from(degrees[a as usize])));
    let forwards = Steps::new(nodes, weighted.clone());
    let backwards = Steps::new(nodes, weighted.map(|(a, b, weight)| (b, a, weight)));
    let mut result = vec![0f32; nodes * steps];
    result.par_chunks_mut(NODES_PER_TASK * steps).enumerate().for_each_init(
        || [(); 4].map(|()| Sparse::zeros(nodes)),
        |[row, next_row, column, next_column], (task, chunk)| {
            if stop.check().is_err() {
                return;
            }
            for (at, probabilities) in chunk.chunks_exact_mut(steps).enumerate() {
                let start = (task * NODES_PER_TASK + at) as u32;
                for vector in [&mut *row, &mut *column] {
                    vector.clear();
                    vector.add(start, 1.0);
                }
                for (step, probability) in probabilities.iter_mut().enumerate() {
                    if step % 2 == 0 {
                        next_row.set_moved(row, &forwards);
                        std::mem::swap(row, next_row);
                    } else {
                        next_column.set_moved(column, &backwards);
                        std::mem::swap(column, next_column);
                    }
                    *probability = row.dot(column) as f32;
                }
            }
        },
    );
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: &[f32], b: &[f32]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
    }

    #[test]
    fn a_walk_on_a_triangle_returns_as_computed_by_hand() {
        let triangle = Graph::from_edges(3, vec![[0, 1], [1, 0], [1, 2], [2, 1], [2, 0], [0, 2]]).unwrap();
        let expected: Vec<f32> = [0.0, 0.5, 0.25, 0.375].repeat(3);
        assert!(close(&return_probabilities(&triangle, 4), &expected));
        assert!(close(&by_walking(&triangle, 4, Stop::NEVER), &expected));
    }

    #[test]
    fn a_node_without_outgoing_edges_absorbs_and_repeated_edges_weigh_twice() {
        // 0 → 1 twice, 0 → 0 once, 1 has nowhere to go.
        let graph = Graph::from_edges(2, vec![[0, 1], [0, 1], [0, 0]]).unwrap();
        let expected = [1.0 / 3.0, 1.0 / 9.0, 1.0 / 27.0, 0.0, 0.0, 0.0];
        assert!(close(&return_probabilities(&graph, 3), &expected));
        assert!(close(&by_walking(&graph, 3, Stop::NEVER), &expected));
    }

    #[test]
    fn nothing_is_computed_for_no_steps_or_no_nodes() {
        assert!(return_probabilities(&Graph::from_edges(2, vec![[0, 1]]).unwrap(), 0).is_empty());
        assert!(return_probabilities(&Graph::from_edges(0, vec![]).unwrap(), 5).is_empty());
    }

    proptest! {
        #[test]
        fn walking_and_powers_agree(edges in prop::collection::vec((0u32..9, 0u32..9), 0..40), steps in 1usize..9) {
            let graph = Graph::from_edges(9, edges.into_iter().map(|(a, b)| [a, b]).collect()).unwrap();
            prop_assert!(close(&by_powers(&graph, steps), &by_walking(&graph, steps, Stop::NEVER)));
        }
    }
}
