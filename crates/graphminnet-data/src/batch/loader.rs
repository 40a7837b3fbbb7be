//! Batches put together on another thread while the previous one is being used.

use super::{Batch, TargetRows};
use crate::cache::CacheError;
use crate::graph::GraphError;
use crate::preparation::PreparedDataset;
use crate::spectral::PreparedGraph;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

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
    /// What was prepared is on disk, and cannot be read.
    #[error(transparent)]
    OnDisk(#[from] CacheError),
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

impl Batch {
    /// The listed samples side by side, with their targets.
    ///
    /// # Errors
    ///
    /// [`LoaderError`] if a sample does not exist or the graphs do not go together.
    pub fn of_samples(dataset: &PreparedDataset, samples: Vec<usize>) -> Result<Self, LoaderError> {
        let graphs = samples.iter().map(|&at| dataset.complete(at)).collect::<Result<Vec<_>, _>>()?;
        let graphs: Vec<&PreparedGraph> = graphs.iter().map(|graph| &**graph).collect();
        let targets = |&at: &usize| TargetRows { values: &dataset.samples[at].targets, mask: None };
        let targets: Vec<_> = samples.iter().map(targets).collect();
        let schema = &dataset.schema;
        let batch = Self::collate(&graphs)?.with_targets(schema.level, schema.num_targets(), &targets)?;
        Ok(Self { samples, ..batch })
    }
}

/// The batches of one epoch, in order, assembled ahead of their use on another thread.
///
/// An error comes at the place of its batch and ends the sequence. Dropping the iterator early stops the thread.
#[derive(Debug)]
pub struct Batches {
    receiver: Option<Receiver<Result<Batch, LoaderError>>>,
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
                let batch = Batch::of_samples(&dataset, samples);
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
    type Item = Result<Batch, LoaderError>;

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
