//! What can go wrong while a graph is prepared. Every variant carries the numbers, none is swallowed.

use super::Stopped;
use crate::graph::GraphError;

/// Why a graph could not be prepared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpectralError {
    /// The iteration stopped before all wanted pairs were accurate, and the component is too large to solve densely.
    #[error(
        "only {converged} of {wanted} eigenpairs of a component with {nodes} nodes converged in {iterations} iterations"
    )]
    NotConverged {
        /// Nodes of the connected component.
        nodes: usize,
        /// Pairs asked for.
        wanted: usize,
        /// Pairs that reached the tolerance.
        converged: usize,
        /// Iterations spent.
        iterations: usize,
    },
    /// The dense solver gave up.
    #[error("the dense eigensolver did not converge on a matrix of order {nodes}")]
    Dense {
        /// Order of the matrix.
        nodes: usize,
    },
    /// A computed pair does not satisfy `L v = λ v`.
    #[error("eigenpair {pair} (eigenvalue {eigenvalue:e}) has residual {residual:e}, more than {limit:e}")]
    Residual {
        /// Position of the pair in its connected component.
        pair: usize,
        /// Its eigenvalue.
        eigenvalue: f64,
        /// `‖L v − λ v‖`.
        residual: f64,
        /// The largest accepted residual.
        limit: f64,
    },
    /// Two computed eigenvectors are not orthogonal, or one is not a unit vector.
    #[error(
        "eigenvectors {first} and {second} have inner product off by {difference:e}, more than {limit:e}"
    )]
    Orthogonality {
        /// Position of the first vector in its connected component.
        first: usize,
        /// Position of the second (equal to the first for a wrong norm).
        second: usize,
        /// How far the inner product is from 0 (or from 1 for a norm).
        difference: f64,
        /// The largest accepted difference.
        limit: f64,
    },
    /// The result would not fit into memory addresses.
    #[error("{columns} values for each of {nodes} nodes are more than can be stored")]
    TooLarge {
        /// Number of nodes.
        nodes: usize,
        /// Values asked for per node.
        columns: usize,
    },
    /// The degree profile could not be attached to the graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Something that is not computed for a graph in parts.
    #[error("{what} are of a whole graph, not of one in parts; choose a model that does without")]
    NotInParts {
        /// What was asked for.
        what: &'static str,
    },
    /// The work was told to stop.
    #[error("interrupted before all graphs were prepared")]
    Interrupted,
    /// One graph of many failed.
    #[error("graph {graph}: {source}")]
    InGraph {
        /// Position of the graph.
        graph: usize,
        /// What went wrong there.
        source: Box<SpectralError>,
    },
    /// What was prepared is to stay in the cache, and that does not work.
    #[error("{message}")]
    OnDisk {
        /// Why.
        message: String,
    },
    /// A graph failed on another rank, or that rank has other graphs.
    #[error("rank {rank}: {message}")]
    OnRank {
        /// The rank.
        rank: usize,
        /// What it said.
        message: String,
    },
}

impl SpectralError {
    /// The same error where the graphs come after so many others.
    pub(crate) fn after(self, graphs: usize) -> Self {
        match self {
            Self::InGraph { graph, source } => Self::InGraph { graph: graphs + graph, source },
            error => error,
        }
    }
}

impl From<Stopped> for SpectralError {
    fn from(Stopped: Stopped) -> Self {
        Self::Interrupted
    }
}
