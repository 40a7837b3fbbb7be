//! Everything that [`PrepareOptions`] asks for, for one graph or for many in parallel.

use super::degree::{degree_profile, log_degrees};
use super::eigenpairs::{Eigenpairs, lowest_eigenpairs_unless};
use super::error::SpectralError;
use super::random_walk::return_probabilities_unless;
use super::{NEVER, PrepareOptions, PreparedGraph, Stop, unless_stopped};
use crate::graph::{Encodings, Graph, Part};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The eigenpairs of one graph as they are stored: single precision, zeros where the graph has fewer than `K` nodes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StoredEigenpairs {
    /// Eigenvalues, ascending, `[K]`.
    pub values: Vec<f32>,
    /// Eigenvectors, `[nodes, K]` row-major.
    pub vectors: Vec<f32>,
    /// How many of the `K` pairs exist.
    pub count: usize,
    /// How many leading pairs belong to eigenspaces that lie whole among the `K`.
    pub count_in_whole_eigenspaces: usize,
    /// Number of connected components.
    pub num_components: usize,
}

impl StoredEigenpairs {
    /// Computes the lowest `stored` eigenpairs of a graph.
    ///
    /// # Errors
    ///
    /// [`SpectralError`] if a pair could not be computed to the accuracy that is verified.
    pub(crate) fn compute_unless(
        graph: &Graph,
        stored: usize,
        stop: Stop<'_>,
    ) -> Result<Self, SpectralError> {
        if stored == 0 {
            return Ok(Self::default());
        }
        let nodes = graph.num_nodes();
        let size = nodes
            .checked_mul(stored)
            .filter(|&size| size <= isize::MAX as usize / 16)
            .ok_or(SpectralError::TooLarge { nodes, columns: stored })?;
        let pairs = lowest_eigenpairs_unless(graph, stored, stop)?;
        debug_assert_eq!(size, nodes * stored);
        Ok(Self::of(&pairs, nodes, stored))
    }

    /// As they are stored for so many nodes, of which the pairs have the first.
    pub(super) fn of(pairs: &Eigenpairs, nodes: usize, stored: usize) -> Self {
        let count = pairs.values.len();
        let mut values = vec![0f32; stored];
        let mut vectors = vec![0f32; nodes * stored];
        for (to, from) in values.iter_mut().zip(&pairs.values) {
            *to = *from as f32;
        }
        if count > 0 {
            for (to, from) in vectors.chunks_exact_mut(stored).zip(pairs.vectors.chunks_exact(count)) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from as f32;
                }
            }
        }
        Self {
            values,
            vectors,
            count,
            count_in_whole_eigenspaces: pairs.num_in_whole_eigenspaces(),
            num_components: pairs.num_components,
        }
    }
}

impl PreparedGraph {
    /// A graph, or a part of one, of which nothing was computed.
    fn bare(graph: Arc<Graph>, part: Option<Part>) -> Self {
        Self {
            graph,
            eigenvalues: Vec::new(),
            eigenvectors: Vec::new(),
            num_eigenpairs: 0,
            usable_eigenpairs: 0,
            splits_eigenspace: false,
            num_components: 0,
            random_walk: Vec::new(),
            log_degree: Vec::new(),
            encodings: Encodings::default(),
            part,
        }
    }

    /// A part of a graph of which nothing was computed.
    pub(crate) fn of_part(graph: Arc<Graph>, part: Part) -> Self {
        Self::bare(graph, Some(part))
    }

    /// Puts a prepared graph together from parts that were computed (or read from a cache) one by one.
    ///
    /// # Errors
    ///
    /// [`SpectralError::Graph`] if the degree profile cannot be attached.
    pub(crate) fn from_parts(
        graph: &Arc<Graph>,
        options: &PrepareOptions,
        eigenpairs: StoredEigenpairs,
        random_walk: Vec<f32>,
    ) -> Result<Self, SpectralError> {
        let log_degree = log_degrees(graph);
        let graph = match options.degree_profile {
            true => Arc::new(Graph::clone(graph).with_node_features(degree_profile(graph)?)?),
            false => Arc::clone(graph),
        };
        let bare = Self { random_walk, log_degree, ..Self::bare(graph, None) };
        Ok(bare.with_eigenpairs(eigenpairs, options))
    }

    /// The same graph with these eigenpairs.
    pub(crate) fn with_eigenpairs(self, found: StoredEigenpairs, options: &PrepareOptions) -> Self {
        let whole = found.count_in_whole_eigenspaces;
        Self {
            usable_eigenpairs: if options.whole_eigenspaces { whole } else { found.count },
            splits_eigenspace: whole < found.count,
            eigenvalues: found.values,
            eigenvectors: found.vectors,
            num_eigenpairs: found.count,
            num_components: found.num_components,
            ..self
        }
    }
}

/// Computes everything that the options ask for.
///
/// # Errors
///
/// [`SpectralError`] if an eigenpair could not be computed to the accuracy that is verified for each.
pub fn prepare_graph(graph: &Arc<Graph>, options: &PrepareOptions) -> Result<PreparedGraph, SpectralError> {
    prepare_graph_unless(graph, options, NEVER)
}

/// Computes everything that the options ask for, unless it is to stop.
///
/// # Errors
///
/// As [`prepare_graph`]; [`SpectralError::Interrupted`] soon after `stop` says so.
pub fn prepare_graph_unless(
    graph: &Arc<Graph>,
    options: &PrepareOptions,
    stop: Stop<'_>,
) -> Result<PreparedGraph, SpectralError> {
    let eigenpairs = StoredEigenpairs::compute_unless(graph, options.eigenpairs, stop)?;
    let random_walk = return_probabilities_unless(graph, options.random_walk_steps, stop)?;
    PreparedGraph::from_parts(graph, options, eigenpairs, random_walk)
}

/// What a preparation found; counts are of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PreparationCounts {
    /// All graphs.
    pub graphs: usize,
    /// Graphs in which the cut at `K` splits an eigenspace.
    pub split_eigenspaces: usize,
    /// Graphs with more than one connected component (counted only if eigenpairs were asked for).
    pub disconnected: usize,
    /// Graphs with fewer nodes than `K`.
    pub fewer_nodes_than_eigenpairs: usize,
    /// Time spent.
    pub elapsed: Duration,
}

impl PreparationCounts {
    /// Counts over prepared graphs.
    pub(crate) fn new(prepared: &[PreparedGraph], options: &PrepareOptions, elapsed: Duration) -> Self {
        let count =
            |test: &dyn Fn(&PreparedGraph) -> bool| prepared.iter().filter(|graph| test(graph)).count();
        Self {
            graphs: prepared.len(),
            split_eigenspaces: count(&|graph| graph.splits_eigenspace),
            disconnected: count(&|graph| graph.num_components > 1),
            fewer_nodes_than_eigenpairs: count(&|graph| graph.num_eigenpairs < options.eigenpairs),
            elapsed,
        }
    }
}

/// Prepares many graphs in parallel, keeping their order; `progress` is told how many are done, from any thread.
///
/// # Errors
///
/// [`SpectralError::InGraph`] for the first graph (in order) that fails.
pub fn prepare_all(
    graphs: &[Arc<Graph>],
    options: &PrepareOptions,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<(Vec<PreparedGraph>, PreparationCounts), SpectralError> {
    let start = Instant::now();
    let prepared = for_each_graph(graphs, progress, NEVER, |graph| prepare_graph(graph, options))?;
    let report = PreparationCounts::new(&prepared, options, start.elapsed());
    Ok((prepared, report))
}

/// Runs `work` on every graph in parallel, keeping the order of the results, unless it is to stop.
pub(crate) fn for_each_graph<T: Send>(
    graphs: &[Arc<Graph>],
    progress: &(dyn Fn(usize) + Sync),
    stop: Stop<'_>,
    work: impl Fn(&Arc<Graph>) -> Result<T, SpectralError> + Sync,
) -> Result<Vec<T>, SpectralError> {
    let done = AtomicUsize::new(0);
    let results: Vec<Result<T, SpectralError>> = graphs
        .par_iter()
        .map(|graph| {
            unless_stopped(stop)?;
            let result = work(graph);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            result
        })
        .collect();
    results
        .into_iter()
        .enumerate()
        .map(|(graph, result)| {
            result.map_err(|source| match source {
                SpectralError::Interrupted => source,
                source => SpectralError::InGraph { graph, source: Box::new(source) },
            })
        })
        .collect()
}
