//! The unnormalised Laplacian `L = Deg − A` of an undirected simple graph, stored as neighbour lists.
//!
//! No value is stored: off-diagonal entries are −1 and the diagonal is the length of the neighbour list. The rows may be those
//! of one part of a graph; neighbours in other parts are numbered after the part's own nodes.

use super::spread::{Groups, Spread};
use super::tall::{CHUNK_ROWS, Tall};
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::Arc;

/// Neighbour lists of an undirected simple graph, read as the matrix `Deg − A`.
#[derive(Debug, Clone)]
pub(crate) struct Laplacian {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    /// Where the other rows are.
    spread: Option<Arc<Spread>>,
}

impl Laplacian {
    /// The Laplacian of the undirected simple graph underneath `graph`.
    pub(super) fn of(graph: &Graph) -> Self {
        // Two rounds of counting sort, by neighbour and then by node, leave every list ascending in linear time.
        let nodes = graph.num_nodes();
        let edges = graph.edges().iter().filter(|[a, b]| a != b);
        let by_neighbour = group(nodes, edges.clone().flat_map(|&[a, b]| [[a, b], [b, a]]));
        let swapped = (0..nodes).flat_map(|node| {
            let range = by_neighbour.0[node] as usize..by_neighbour.0[node + 1] as usize;
            by_neighbour.1[range].iter().map(move |&other| [other, node as u32])
        });
        let (starts, sorted) = group(nodes, swapped);
        let mut offsets = vec![0u32; nodes + 1];
        let mut neighbours: Vec<u32> = Vec::with_capacity(sorted.len());
        for node in 0..nodes {
            let first = neighbours.len();
            for &other in &sorted[starts[node] as usize..starts[node + 1] as usize] {
                if neighbours[first..].last() != Some(&other) {
                    neighbours.push(other);
                }
            }
            offsets[node + 1] = neighbours.len() as u32;
        }
        Self { offsets, neighbours, spread: None }
    }

    /// The rows of a part, given as neighbour lists.
    pub(super) fn of_part(offsets: Vec<u32>, neighbours: Vec<u32>, spread: Spread) -> Self {
        Self { offsets, neighbours, spread: Some(Arc::new(spread)) }
    }

    /// Where the other rows are, if there are any.
    pub(super) fn spread(&self) -> Option<&Spread> {
        self.spread.as_deref()
    }

    /// The same with the connected components of the whole graph, of which there are several.
    pub(super) fn with_groups(self, groups: Groups) -> Self {
        let spread = self.spread.as_ref().map(|spread| Spread {
            exchange: Arc::clone(&spread.exchange),
            halo: spread.halo.clone(),
            groups: Some(groups),
            ..**spread
        });
        Self { spread: spread.map(Arc::new), ..self }
    }

    /// Number of eigenvalues above zero, here and elsewhere: all but one for each connected component.
    pub(super) fn nodes_above_zero(&self) -> usize {
        let groups = self.spread().and_then(|spread| spread.groups.as_ref());
        self.total_nodes() - groups.map_or(1, |groups| groups.sizes.len())
    }

    /// A matrix with as many rows.
    pub(super) fn tall(&self, columns: usize) -> Tall {
        Tall::zeros_over(self.num_nodes(), columns, self.spread.clone())
    }

    /// Number of rows here and elsewhere.
    pub(super) fn total_nodes(&self) -> usize {
        self.spread().map_or(self.num_nodes(), |spread| spread.total as usize)
    }

    /// Values of the neighbours in other parts, of `width` each.
    pub(super) fn border<T: bytemuck::Pod>(&self, width: usize, own: &[T]) -> Vec<T> {
        let Some(spread) = self.spread() else { return Vec::new() };
        let mut border = vec![T::zeroed(); spread.halo.border() * width];
        spread.halo.fetch(&*spread.exchange, width, own, &mut border);
        border
    }

    pub(super) fn num_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of off-diagonal entries (twice the number of undirected edges).
    pub(super) fn num_entries(&self) -> usize {
        self.neighbours.len()
    }

    pub(super) fn neighbours(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    pub(super) fn degree(&self, node: usize) -> usize {
        (self.offsets[node + 1] - self.offsets[node]) as usize
    }

    /// The Laplacian of a set of nodes that is closed under neighbourhood; `local` numbers the nodes inside it.
    pub(super) fn restricted_to(&self, nodes: &[u32], local: &[u32]) -> Self {
        let mut offsets = vec![0u32];
        let mut neighbours = Vec::new();
        for &node in nodes {
            neighbours.extend(self.neighbours(node as usize).iter().map(|&other| local[other as usize]));
            offsets.push(neighbours.len() as u32);
        }
        Self { offsets, neighbours, spread: None }
    }

    /// An upper bound of the largest eigenvalue: the largest sum of degrees over an edge (Anderson and Morley 1985).
    pub(super) fn spectral_bound(&self) -> f64 {
        let nodes = self.num_nodes();
        let border = match self.spread() {
            None => Vec::new(),
            Some(_) => self.border(1, &(0..nodes).map(|node| self.degree(node) as u32).collect::<Vec<_>>()),
        };
        let degree = |node: usize| match node < nodes {
            true => self.degree(node),
            false => border[node - nodes] as usize,
        };
        let largest = |node: usize| self.neighbours(node).iter().map(|&other| degree(other as usize)).max();
        let largest =
            (0..nodes).filter_map(|node| largest(node).map(|other| other + self.degree(node))).max();
        let largest = largest.unwrap_or(0) as f64;
        self.spread().map_or(largest, |spread| spread.largest(largest))
    }

    /// `‖L v − λ v‖` of one column of a row-major table with `stride` columns.
    pub(super) fn residual(&self, vectors: &[f64], stride: usize, column: usize, eigenvalue: f64) -> f64 {
        let nodes = self.num_nodes();
        let border = match self.spread() {
            None => Vec::new(),
            Some(_) => {
                self.border(1, &(0..nodes).map(|node| vectors[node * stride + column]).collect::<Vec<_>>())
            }
        };
        let entry = |node: usize| match node < nodes {
            true => vectors[node * stride + column],
            false => border[node - nodes],
        };
        let square: f64 = (0..nodes)
            .map(|node| {
                let sum: f64 = self.neighbours(node).iter().map(|&other| entry(other as usize)).sum();
                let difference = (self.degree(node) as f64 - eigenvalue) * entry(node) - sum;
                difference * difference
            })
            .sum();
        let mut square = [square];
        if let Some(spread) = self.spread() {
            spread.join(&mut square);
        }
        square[0].sqrt()
    }

    /// `out ← scale · (L − shift) · x − previous_scale · out` on blocks of `B` columns.
    ///
    /// Row `i` of `out` depends on row `i` of its old value only, so one pass suffices; rows are cut into fixed
    /// chunks, so the result does not depend on the number of threads.
    pub(super) fn apply<const B: usize>(
        &self,
        x: &Tall,
        out: &mut Tall,
        shift: f64,
        scale: f64,
        previous_scale: f64,
    ) {
        debug_assert!(x.stride() == B && out.stride() == B);
        let (rows, _) = x.data().as_chunks::<B>();
        let border = self.border(B, x.data());
        let (border, _) = border.as_chunks::<B>();
        out.data_mut().par_chunks_mut(CHUNK_ROWS * B).enumerate().for_each(|(chunk, out)| {
            let (out, _) = out.as_chunks_mut::<B>();
            for (row, out) in out.iter_mut().enumerate() {
                let node = chunk * CHUNK_ROWS + row;
                let diagonal = self.degree(node) as f64 - shift;
                let mut sum = rows[node].map(|value| diagonal * value);
                for &other in self.neighbours(node) {
                    let other = other as usize;
                    let other = if other < rows.len() { &rows[other] } else { &border[other - rows.len()] };
                    for column in 0..B {
                        sum[column] -= other[column];
                    }
                }
                for column in 0..B {
                    out[column] = scale * sum[column] - previous_scale * out[column];
                }
            }
        });
    }
}

/// Groups pairs by their first number, keeping their order within a group: offsets, and the second numbers.
fn group(nodes: usize, pairs: impl Iterator<Item = [u32; 2]> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; nodes + 1];
    for [first, _] in pairs.clone() {
        offsets[first as usize + 1] += 1;
    }
    for node in 0..nodes {
        offsets[node + 1] += offsets[node];
    }
    let mut place = offsets.clone();
    let mut seconds = vec![0u32; offsets[nodes] as usize];
    for [first, second] in pairs {
        seconds[place[first as usize] as usize] = second;
        place[first as usize] += 1;
    }
    (offsets, seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn neighbour_lists_are_those_of_the_graph(
            edges in proptest::collection::vec((0u32..9, 0u32..9), 0..40),
        ) {
            let graph = Graph::from_edges(9, edges.into_iter().map(|(a, b)| [a, b]).collect()).unwrap();
            let laplacian = Laplacian::of(&graph);
            proptest::prop_assert_eq!((laplacian.offsets, laplacian.neighbours), graph.undirected_neighbours());
        }
    }

    #[test]
    fn the_bound_holds_with_equality_for_a_star() {
        let star = Graph::from_edges(5, (1..5).map(|leaf| [0, leaf]).collect()).unwrap();
        assert_eq!(Laplacian::of(&star).spectral_bound(), 5.0);
        assert_eq!(Laplacian::of(&Graph::from_edges(2, vec![]).unwrap()).spectral_bound(), 0.0);
    }

    #[test]
    fn applying_the_laplacian_of_a_path_takes_second_differences() {
        let path = Laplacian::of(&Graph::from_edges(3, vec![[0, 1], [1, 2]]).unwrap());
        let mut x = Tall::zeros(3, 2);
        x.data_mut().copy_from_slice(&[1.0, 0.0, 4.0, 1.0, 9.0, 0.0]);
        let mut out = Tall::zeros(3, 2);
        path.apply::<2>(&x, &mut out, 0.0, 1.0, 0.0);
        assert_eq!(out.data(), &[-3.0, -1.0, -2.0, 2.0, 5.0, -1.0]);
    }
}
