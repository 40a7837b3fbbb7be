//! Batches of prepared samples: which samples go together, and their arrays side by side.
//!
//! The order is a pure function of the seed and the epoch ([`plan_batches`]); the arrays are put together on another
//! thread while the previous batch is being used ([`Batches`]).

use super::prepare::{PreparedDataset, PreparedSample};
use crate::graph::{GraphBatch, GraphError};
use crate::rng::stream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// How much one batch may hold. A single graph that exceeds a limit forms a batch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchLimit {
    /// Most graphs.
    pub graphs: usize,
    /// Most nodes.
    pub nodes: usize,
    /// Most directed edges.
    pub edges: usize,
}

impl BatchLimit {
    /// A number of graphs, whatever their sizes.
    pub fn graphs(graphs: usize) -> Self {
        Self { graphs, nodes: usize::MAX, edges: usize::MAX }
    }

    /// A budget of nodes and edges, whatever the number of graphs.
    pub fn budget(nodes: usize, edges: usize) -> Self {
        Self { graphs: usize::MAX, nodes, edges }
    }
}

/// In which order samples are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As listed.
    Given,
    /// Shuffled, differently in every epoch.
    Shuffled {
        /// Seed of the run.
        seed: u64,
        /// Number of the epoch.
        epoch: u64,
    },
}

/// Cuts the samples of one epoch into batches: every listed sample exactly once, none of the batches empty.
pub fn plan_batches(
    dataset: &PreparedDataset,
    samples: &[usize],
    limit: BatchLimit,
    order: Order,
) -> Vec<Vec<usize>> {
    let mut visited = samples.to_vec();
    if let Order::Shuffled { seed, epoch } = order {
        stream(seed, "shuffle", &[epoch]).shuffle(&mut visited);
    }
    let mut batches = Vec::new();
    let mut batch: Vec<usize> = Vec::new();
    let (mut nodes, mut edges) = (0usize, 0usize);
    for at in visited {
        let size = dataset
            .samples
            .get(at)
            .map_or((0, 0), |sample| (sample.prepared.graph.num_nodes(), sample.prepared.graph.num_edges()));
        let full = batch.len() >= limit.graphs.max(1)
            || nodes.saturating_add(size.0) > limit.nodes
            || edges.saturating_add(size.1) > limit.edges;
        if full && !batch.is_empty() {
            batches.push(std::mem::take(&mut batch));
            (nodes, edges) = (0, 0);
        }
        batch.push(at);
        nodes += size.0;
        edges += size.1;
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// Why a batch could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// A position beyond the last sample.
    #[error("sample {index} was asked for, but there are only {samples}")]
    NoSuchSample {
        /// The position.
        index: usize,
        /// Number of samples.
        samples: usize,
    },
    /// The graphs do not go together.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The thread that assembles batches could not be started.
    #[error("the loader's thread could not be started: {0}")]
    Start(#[from] std::io::Error),
    /// The thread that assembles batches ended too early.
    #[error("the loader's thread stopped with {missing} batches missing")]
    Stopped {
        /// Batches that never came.
        missing: usize,
    },
}

/// Everything a model needs to know about a batch of graphs.
///
/// `G` graphs, `n` nodes, `K` stored eigenpairs; all arrays row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedBatch {
    /// The graphs.
    pub batch: GraphBatch,
    /// Number of stored eigenpairs `K`.
    pub num_eigenpairs: usize,
    /// Eigenvalues `[G, K]`, 0 where missing.
    pub eigenvalues: Vec<f32>,
    /// Eigenvectors `[n, K]`, 0 where missing.
    pub eigenvectors: Vec<f32>,
    /// Whether the graph has that eigenpair, `[G, K]`.
    pub exist: Vec<bool>,
    /// Whether the block may use that eigenpair as far as its existence and its eigenspace go, `[G, K]`. (Whether it
    /// is the trivial one or has a zero eigenvalue is for the model to see.)
    pub usable: Vec<bool>,
    /// Number of random-walk steps.
    pub random_walk_steps: usize,
    /// Return probabilities `[n, steps]`.
    pub random_walk: Vec<f32>,
    /// `ln(1 + degree)`, `[n]`.
    pub log_degree: Vec<f32>,
    /// Targets `[G or n, columns]`; NaN where missing.
    pub targets: Vec<f32>,
    /// Positions of the samples in the data set, `[G]`.
    pub samples: Vec<usize>,
}

impl PreparedBatch {
    /// Puts the listed samples side by side.
    ///
    /// # Errors
    ///
    /// [`LoaderError`] if a sample does not exist or the graphs do not have the same columns.
    pub fn new(dataset: &PreparedDataset, samples: Vec<usize>) -> Result<Self, LoaderError> {
        let all = &dataset.samples;
        let chosen: Vec<&PreparedSample> = samples
            .iter()
            .map(|&index| all.get(index).ok_or(LoaderError::NoSuchSample { index, samples: all.len() }))
            .collect::<Result<_, _>>()?;
        let graphs: Vec<_> = chosen.iter().map(|sample| sample.prepared.graph.as_ref()).collect();
        let batch = GraphBatch::new(&graphs)?;
        let stored = dataset.options.eigenpairs;
        let leading = |count: fn(&PreparedSample) -> usize| {
            chosen.iter().flat_map(|sample| (0..stored).map(|pair| pair < count(sample))).collect()
        };
        Ok(Self {
            batch,
            num_eigenpairs: stored,
            eigenvalues: concatenate(&chosen, |sample| &sample.prepared.eigenvalues),
            eigenvectors: concatenate(&chosen, |sample| &sample.prepared.eigenvectors),
            exist: leading(|sample| sample.prepared.num_eigenpairs),
            usable: leading(|sample| sample.prepared.usable_eigenpairs),
            random_walk_steps: dataset.options.random_walk_steps,
            random_walk: concatenate(&chosen, |sample| &sample.prepared.random_walk),
            log_degree: concatenate(&chosen, |sample| &sample.prepared.log_degree),
            targets: concatenate(&chosen, |sample| &sample.targets),
            samples,
        })
    }
}

fn concatenate(samples: &[&PreparedSample], part: fn(&PreparedSample) -> &Vec<f32>) -> Vec<f32> {
    let mut all = Vec::with_capacity(samples.iter().map(|sample| part(sample).len()).sum());
    samples.iter().for_each(|sample| all.extend_from_slice(part(sample)));
    all
}

/// The batches of one epoch, in order, assembled ahead of their use on another thread.
///
/// An error comes at the place of its batch and ends the sequence. Dropping the iterator early stops the thread.
#[derive(Debug)]
pub struct Batches {
    receiver: Option<Receiver<Result<PreparedBatch, LoaderError>>>,
    worker: Option<JoinHandle<()>>,
    missing: usize,
}

impl Batches {
    /// Starts to assemble the planned batches, at most `ahead` of them before they are asked for.
    ///
    /// # Errors
    ///
    /// [`LoaderError::Start`] if no thread can be started.
    pub fn start(
        dataset: Arc<PreparedDataset>,
        plan: Vec<Vec<usize>>,
        ahead: usize,
    ) -> Result<Self, LoaderError> {
        let missing = plan.len();
        let (sender, receiver) = sync_channel(ahead);
        let worker = std::thread::Builder::new().name("loader".to_owned()).spawn(move || {
            for samples in plan {
                let batch = PreparedBatch::new(&dataset, samples);
                let failed = batch.is_err();
                // Nobody listens any more once the iterator is dropped.
                if sender.send(batch).is_err() || failed {
                    break;
                }
            }
        })?;
        Ok(Self { receiver: Some(receiver), worker: Some(worker), missing })
    }
}

impl Iterator for Batches {
    type Item = Result<PreparedBatch, LoaderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let receiver = self.receiver.as_ref().filter(|_| self.missing > 0)?;
        let item = receiver.recv().unwrap_or(Err(LoaderError::Stopped { missing: self.missing }));
        self.missing = if item.is_ok() { self.missing - 1 } else { 0 };
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.missing.min(1), Some(self.missing))
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // The receiver goes first: a worker that waits to send then wakes up and ends.
        drop(self.receiver.take());
        if let Some(worker) = self.worker.take() {
            // A panic of the worker has already been reported as `LoaderError::Stopped`.
            let _ = worker.join();
        }
    }
}
