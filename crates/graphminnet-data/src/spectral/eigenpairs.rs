//! The lowest eigenpairs of a whole graph, put together from its connected components.

use super::components::Components;
use super::error::SpectralError;
use super::laplacian::Laplacian;
use super::solution::{Solution, lowest_above_zero};
use super::{NEVER, Stop};
use crate::graph::Graph;

/// Two eigenvalues this close, relative to the larger one, count as one eigenvalue.
const SAME_RELATIVE: f64 = 1e-6;
/// Two eigenvalues this close, relative to the bound on the spectrum, count as one eigenvalue.
const SAME_OF_BOUND: f64 = 1e-11;

/// The lowest eigenpairs of a graph's Laplacian in double precision.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenpairs {
    /// Eigenvalues, ascending and at least 0; `min(asked for, nodes)` of them.
    pub values: Vec<f64>,
    /// Unit eigenvectors with canonical signs, row-major: row `u` holds the entries of node `u`.
    pub vectors: Vec<f64>,
    /// The eigenvalue after the last of `values`, if the graph has one.
    pub next_value: Option<f64>,
    /// Number of connected components, that is of zero eigenvalues.
    pub num_components: usize,
    /// An upper bound of the largest eigenvalue.
    pub spectral_bound: f64,
}

impl Eigenpairs {
    /// Whether the cut after the last pair runs through an eigenspace.
    pub fn splits_eigenspace(&self) -> bool {
        match (self.values.last(), self.next_value) {
            (Some(&last), Some(next)) => self.same(last, next),
            _ => false,
        }
    }

    /// Number of leading pairs whose eigenspaces are complete.
    pub fn num_in_whole_eigenspaces(&self) -> usize {
        let mut kept = self.values.len();
        let mut above = self.next_value;
        while let (Some(&last), Some(next)) = (self.values[..kept].last(), above) {
            if !self.same(last, next) {
                break;
            }
            above = Some(last);
            kept -= 1;
        }
        kept
    }

    fn same(&self, a: f64, b: f64) -> bool {
        (a - b).abs() <= (SAME_RELATIVE * a.max(b)).max(SAME_OF_BOUND * self.spectral_bound)
    }
}

/// The `count` lowest eigenpairs of `L = Deg − A` of the undirected simple graph underneath.
///
/// Each connected component is solved on its own. Its constant vector is an exact eigenvector for 0; these come
/// first, ordered by the lowest node of their component. The other pairs follow ascending, equal ones in the order
/// of their components. Fewer than `count` pairs come back if the graph has fewer nodes.
///
/// # Errors
///
/// [`SpectralError`] if a component could not be solved to the accuracy that is verified for every pair.
pub fn lowest_eigenpairs(graph: &Graph, count: usize) -> Result<Eigenpairs, SpectralError> {
    lowest_eigenpairs_unless(graph, count, NEVER)
}

/// The same, unless it is to stop.
pub(crate) fn lowest_eigenpairs_unless(
    graph: &Graph,
    count: usize,
    stop: Stop<'_>,
) -> Result<Eigenpairs, SpectralError> {
    let nodes = graph.num_nodes();
    let count = count.min(nodes);
    let size = nodes
        .checked_mul(count)
        .filter(|&size| size <= isize::MAX as usize / 16)
        .ok_or(SpectralError::TooLarge { nodes, columns: count })?;
    let whole = Laplacian::of(graph);
    let spectral_bound = whole.spectral_bound();
    let components = Components::of(&whole);
    // One pair more than asked for tells whether the cut splits an eigenspace.
    let above_zero = if count == 0 { 0 } else { (count + 1).saturating_sub(components.len()) };
    let solutions: Vec<Solution> = match (above_zero, components.len()) {
        (0, _) => Vec::new(),
        (_, 1) => vec![lowest_above_zero(&whole, above_zero, stop)?],
        (_, parts) => (0..parts)
            .map(|part| lowest_above_zero(&components.laplacian(&whole, part), above_zero, stop))
            .collect::<Result<_, _>>()?,
    };

    let mut merged: Vec<(f64, usize, usize)> = solutions
        .iter()
        .enumerate()
        .flat_map(|(component, solution)| {
            solution.values.iter().enumerate().map(move |(pair, &value)| (value, component, pair))
        })
        .collect();
    merged.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));

    let mut values = Vec::with_capacity(count);
    let mut vectors = vec![0.0; size];
    for nodes in (0..components.len().min(count)).map(|component| components.nodes(component)) {
        let entry = 1.0 / (nodes.len() as f64).sqrt();
        for &node in nodes {
            vectors[node as usize * count + values.len()] = entry;
        }
        values.push(0.0);
    }
    let zeros = values.len();
    for &(value, component, pair) in merged.iter().take(count - zeros) {
        let table = &solutions[component].vectors;
        for (&node, row) in components.nodes(component).iter().zip(table.data().chunks_exact(table.stride()))
        {
            vectors[node as usize * count + values.len()] = row[pair];
        }
        values.push(value);
    }
    let next_value = match count < nodes && count > 0 {
        true if components.len() > count => Some(0.0),
        true => merged.get(count - zeros).map(|&(value, _, _)| value),
        false => None,
    };
    Ok(Eigenpairs { values, vectors, next_value, num_components: components.len(), spectral_bound })
}
