//! What is computed once per graph before training: Laplacian eigenpairs, random-walk return probabilities,
//! degrees, local degree profiles.
//!
//! ```
//! use graphminnet_data::Graph;
//! use graphminnet_data::spectral::{PrepareOptions, prepare_graph};
//! use std::sync::Arc;
//!
//! let path = Arc::new(Graph::from_edges(3, vec![[0, 1], [1, 0], [1, 2], [2, 1]])?);
//! let prepared = prepare_graph(&path, &PrepareOptions { eigenpairs: 4, ..Default::default() })?;
//! assert_eq!(prepared.num_eigenpairs, 3); // three nodes, three pairs, and one place left empty
//! assert!((prepared.eigenvalues[1] - 1.0).abs() < 1e-6);
//! assert!((prepared.eigenvalues[2] - 3.0).abs() < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The definitions (section and equation numbers are the paper's where it has them):
//!
//! * **Laplacian** `L = Deg − A` of the undirected simple graph underneath (directions, self-loops and repeated
//!   edges are ignored here and nowhere else). The lowest `K` eigenvalues, ascending, clamped to ≥ 0, with unit
//!   eigenvectors in canonical sign.
//! * **Random-walk return probabilities** `(P^k)_uu`, `k = 1…steps`, `P = Deg_out⁻¹ A` of the edges as given.
//! * **Log-degree** `ln(1 + deg)` of the undirected simple graph.
//! * **Local degree profile**: out-degree, and minimum, maximum, mean and unbiased standard deviation of the
//!   out-neighbours' out-degrees.
//!
//! Every returned eigenpair has been checked: its residual is small, and it is orthogonal to the others. Where no solver
//! reaches the accuracy, the answer is a [`SpectralError`], never a wrong number. Results depend on the graph alone, not
//! on the number of threads. For a repeated eigenvalue any orthonormal basis is as good as any other. Which one comes out
//! is deterministic, but it changes when the nodes are renumbered.
//!
//! | file | idea |
//! |---|---|
//! | `laplacian` | the matrix |
//! | `components` | the zero eigenspace |
//! | `dense`, `tridiagonal` | small components, by library solvers |
//! | `krylov`, `operator`, `chebyshev`, `shift_invert`, `tall` | large components |
//! | `solution`, `verify`, `canonical` | the choice between them, the check, the sign |
//! | `eigenpairs` | components put together |
//! | `spread`, `in_parts` | the same for a graph that several ranks hold parts of |
//! | `file` | eigenpairs that another program computed |
//! | `random_walk`, `degree` | what is not an eigenpair |
//! | `prepared` | all of it for one graph or many |

mod canonical;
mod chebyshev;
mod components;
mod degree;
mod dense;
mod eigenpairs;
mod error;
mod file;
mod in_parts;
mod krylov;
mod laplacian;
mod operator;
mod prepared;
mod random_walk;
mod shift_invert;
mod solution;
mod spread;
mod tall;
mod tridiagonal;
mod verify;

pub use degree::degree_profile;
pub(crate) use degree::log_degree;
// For the laboratory, whose systems use other matrices than the Laplacian of this preparation.
#[doc(hidden)]
pub use dense::lowest_of_symmetric;
pub use eigenpairs::{Eigenpairs, lowest_eigenpairs};
pub use error::SpectralError;
pub(crate) use in_parts::eigenpairs_of_part;
pub use in_parts::{Eigensolver, prepare_part};
pub(crate) use prepared::StoredEigenpairs;
pub(crate) use prepared::for_each_graph;
pub use prepared::{PreparationCounts, prepare_all, prepare_graph, prepare_graph_unless};
pub(crate) use random_walk::return_probabilities_unless;

use crate::graph::{Encodings, Graph, Part};
use std::sync::Arc;

/// Whether work is to stop; asked between its pieces, from any thread.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

/// Work that nobody stops.
pub const NEVER: Stop<'static> = &|| false;

/// The work was told to stop before it had a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("stopped before there was a result")]
pub struct Stopped;

/// Goes on, unless the work is to stop.
///
/// # Errors
///
/// [`Stopped`] if `stop` says so.
pub fn unless_stopped(stop: Stop<'_>) -> Result<(), Stopped> {
    if stop() { Err(Stopped) } else { Ok(()) }
}

/// What to compute for every graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PrepareOptions {
    /// Number of stored eigenpairs `K` (the trivial first one included); 0 computes none.
    pub eigenpairs: usize,
    /// Do not let the block use the last eigenspace when the cut at `K` splits it.
    pub whole_eigenspaces: bool,
    /// Number of random-walk steps; 0 computes none.
    pub random_walk_steps: usize,
    /// Replace the node features by the local degree profile (5 numbers).
    pub degree_profile: bool,
}

impl PrepareOptions {
    /// Fails for what is computed on a whole graph alone.
    ///
    /// # Errors
    ///
    /// [`SpectralError::NotInParts`] with what it is.
    pub fn check_parts(&self) -> Result<(), SpectralError> {
        let on_whole = [
            (self.random_walk_steps > 0, "random-walk return probabilities"),
            (self.degree_profile, "degree profiles"),
        ];
        match on_whole.into_iter().find(|(asked, _)| *asked) {
            Some((_, what)) => Err(SpectralError::NotInParts { what }),
            None => Ok(()),
        }
    }
}

/// A graph with everything that [`PrepareOptions`] asked for.
///
/// `K` is the number of stored eigenpairs; a graph with fewer than `K` nodes has zeros in the missing places.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedGraph {
    /// The graph (with replaced node features if the degree profile was asked for).
    pub graph: Arc<Graph>,
    /// Eigenvalues, ascending, `[K]`.
    pub eigenvalues: Vec<f32>,
    /// Eigenvectors, `[nodes, K]` row-major: row `u` holds the entries of node `u`.
    pub eigenvectors: Vec<f32>,
    /// How many of the `K` pairs exist: `min(K, nodes)`.
    pub num_eigenpairs: usize,
    /// How many leading pairs the block may use; smaller than `num_eigenpairs` only where
    /// `whole_eigenspaces` masked an eigenspace that the cut at `K` splits.
    pub usable_eigenpairs: usize,
    /// Whether the cut at `K` splits an eigenspace (recorded whatever `whole_eigenspaces` says).
    pub splits_eigenspace: bool,
    /// Number of connected components; 0 if no eigenpairs were asked for.
    pub num_components: usize,
    /// Return probabilities, `[nodes, steps]` row-major.
    pub random_walk: Vec<f32>,
    /// `ln(1 + degree)` of every node.
    pub log_degree: Vec<f32>,
    /// Whatever else was computed, by name; the preparation of this crate adds nothing.
    pub encodings: Encodings,
    /// Which part of a larger graph this is; `None` for a whole graph.
    pub part: Option<Part>,
}
