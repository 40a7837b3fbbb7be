//! The lowest eigenpairs of the normalised Laplacian, which some systems read instead of the library's own.
//!
//! ```text
//! L = I − D^{-1/2} A D^{-1/2}        of the undirected simple graph; a node without edges has L_uu = 1
//! ```
//! Eigenvectors have unit length. Their sign is such that the sum of their cubes is not negative, so that it does not
//! depend on how nodes are numbered.

use crate::repro::ReproError;
use burn::tensor::{Device, Tensor, TensorData};
use graphminnet::model::InputError;
use graphminnet_data::spectral::{PreparedGraph, lowest_of_symmetric};
use graphminnet_data::{Batch, Features};

/// Name of the eigenvector entries among the encodings of nodes.
const VECTORS: &str = "eigenvectors of the normalised Laplacian";

/// Name of the eigenvalues among the encodings of graphs; behind them 1 for a pair that exists and 0 for one that does not.
const VALUES: &str = "eigenvalues of the normalised Laplacian";

/// Adds the lowest `pairs` eigenpairs to the encodings of a graph, zeros where it has fewer nodes.
pub(crate) fn add_eigenpairs(prepared: &mut PreparedGraph, pairs: usize) -> Result<(), ReproError> {
    let graph = &prepared.graph;
    let nodes = graph.num_nodes();
    let mut adjacency = vec![0.0; nodes * nodes];
    for &[from, to] in graph.edges().iter().filter(|[from, to]| from != to) {
        let (from, to) = (from as usize, to as usize);
        adjacency[from * nodes + to] = 1.0;
        adjacency[to * nodes + from] = 1.0;
    }
    let degrees: Vec<f64> =
        adjacency.chunks(nodes.max(1)).map(|row| row.iter().sum::<f64>().max(1.0)).collect();
    let mut matrix = adjacency;
    for (at, entry) in matrix.iter_mut().enumerate() {
        let (row, column) = (at / nodes, at % nodes);
        let own = if row == column { 1.0 } else { 0.0 };
        *entry = own - *entry / (degrees[row] * degrees[column]).sqrt();
    }
    let (values, vectors) = lowest_of_symmetric(nodes, &matrix, pairs)?;
    let found = values.len();
    let mut entries = vec![0f32; nodes * pairs];
    for column in 0..found {
        let of = |row: usize| vectors[row * found + column];
        let cubes: f64 = (0..nodes).map(|row| of(row).powi(3)).sum();
        let sign = if cubes < 0.0 { -1.0 } else { 1.0 };
        (0..nodes).for_each(|row| entries[row * pairs + column] = (sign * of(row)) as f32);
    }
    let padded = |at: usize| values.get(at).map_or(0.0, |value| value.max(0.0) as f32);
    let exists = |at: usize| if at < found { 1.0 } else { 0.0 };
    let spectrum = (0..pairs).map(padded).chain((0..pairs).map(exists)).collect();
    let encodings = &mut prepared.encodings;
    encodings.nodes.insert(VECTORS.to_owned(), Features::numbers(nodes, pairs, entries)?);
    encodings.graphs.insert(VALUES.to_owned(), Features::numbers(1, 2 * pairs, spectrum)?);
    Ok(())
}

/// The eigenvector entries of a batch, `[nodes, pairs]`.
pub(crate) fn eigenvectors(batch: &Batch, pairs: usize, device: &Device) -> Result<Tensor<2>, InputError> {
    let found = batch.encodings.nodes.get(VECTORS).ok_or_else(|| missing(VECTORS))?;
    matrix(found, pairs, device)
}

/// Eigenvalues and whether they exist, `[graphs, 2·pairs]`.
pub(crate) fn eigenvalues(batch: &Batch, pairs: usize, device: &Device) -> Result<Tensor<2>, InputError> {
    let found = batch.encodings.graphs.get(VALUES).ok_or_else(|| missing(VALUES))?;
    matrix(found, 2 * pairs, device)
}

fn matrix(found: &Features, columns: usize, device: &Device) -> Result<Tensor<2>, InputError> {
    if found.number_columns() != columns {
        let found = found.number_columns();
        return Err(InputError::ColumnCount { what: "spectral", expected: columns, found });
    }
    let data = TensorData::new(found.number_values().to_vec(), [found.rows(), columns]);
    Ok(Tensor::from_data(data, device))
}

/// The error of a batch whose graphs were not prepared for a system.
pub(crate) fn missing(what: &'static str) -> InputError {
    let reason = "the graphs must be prepared for this system (SystemConfig::prepare)".to_owned();
    InputError::Length { what, found: 0, expected: 1, reason }
}

/// Puts given entries in the place of eigenvectors, for tests.
#[cfg(test)]
pub(crate) fn give_eigenvectors(batch: &mut Batch, columns: usize, entries: Vec<f32>) {
    let features = Features::numbers(entries.len() / columns, columns, entries).unwrap();
    batch.encodings.nodes.insert(VECTORS.to_owned(), features);
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::Graph;
    use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
    use std::sync::Arc;

    #[test]
    fn eigenpairs_of_a_small_graph_are_the_known_ones() {
        let pairs = [[0, 1], [1, 2], [2, 3], [1, 3], [3, 4]];
        let edges = pairs.iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]]).collect();
        let graph = Arc::new(Graph::from_edges(5, edges).unwrap());
        let mut prepared = prepare_graph(&graph, &PrepareOptions::default()).unwrap();
        add_eigenpairs(&mut prepared, 6).unwrap();
        let values = prepared.encodings.graphs[VALUES].number_values();
        for (found, expected) in
            values.iter().zip([0.0f64, 0.565_741_454_1, 1.0, 1.666_666_666_7, 1.767_591_879_2])
        {
            assert!((f64::from(*found) - expected).abs() < 1e-6, "{values:?}");
        }
        assert_eq!(values[5..], [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        let entries = prepared.encodings.nodes[VECTORS].number_row(0);
        for (found, expected) in entries.iter().zip([0.316_227_766f64, 0.565_099_570_5, 0.5, 0.387_298_334_6])
        {
            assert!((f64::from(found.abs()) - expected).abs() < 1e-6, "{entries:?}");
        }
    }
}
