//! One pass through a model: training or not, and where its random numbers come from.

use crate::ops::{Across, Dropout, Statistics};
use graphminnet_data::rng;
use std::sync::Arc;

/// A place in the model where randomness is used; every place has a mask of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Number of the layer.
    pub layer: usize,
    /// Name of the place within the layer.
    pub place: &'static str,
}

/// A local branch's view of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalPass {
    /// Its dropout rate.
    pub drop: f64,
    /// Number of the layer.
    pub layer: usize,
    /// The pass.
    pub pass: Pass,
}

/// How a pass treats batch statistics and dropout.
///
/// Randomness is a pure function of the seed and the place, so a pass has no state: the same seed gives the same
/// masks and signs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pass {
    /// Running statistics, no dropout, no sign flips.
    Eval,
    /// Batch statistics, dropout, sign flips.
    Train {
        /// Names the random numbers of this pass; different for every step.
        seed: u64,
    },
    /// Running statistics and dropout, no sign flips: one sample of what the model might say.
    Sample {
        /// Names the random numbers of this pass; different for every sample and batch.
        seed: u64,
    },
    /// Batch statistics, which take their place in the running ones; no dropout, no sign flips.
    ///
    /// Passes over several batches make the running statistics the mean over those batches: `share` is the weight of a
    /// batch among it and all before it, 1 for the first.
    Measure {
        /// Weight of the batch, in `(0, 1]`.
        share: f64,
    },
}

/// A pass, and the other parts of the graph where a batch holds a part of one.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub pass: Pass,
    pub across: Option<&'a Arc<Across>>,
}

impl From<Pass> for Around<'_> {
    fn from(pass: Pass) -> Self {
        Self { pass, across: None }
    }
}

impl Around<'_> {
    /// The statistics of the rows of a pass in training.
    pub(super) fn statistics(self) -> Statistics {
        self.across.map_or(Statistics::Batch, |across| Statistics::Parts(across.clone()))
    }

    /// Rows of nodes of the whole graph, given those of the batch.
    pub(super) fn nodes(self, here: usize) -> usize {
        self.across.map_or(here, |across| across.nodes())
    }

    /// Rows of edges of the whole graph, given those of the batch.
    pub(super) fn edges(self, here: usize) -> usize {
        self.across.map_or(here, |across| across.edges())
    }

    /// Dropout of rows of nodes at a place.
    pub(crate) fn dropout(self, probability: f64, site: Site, columns: usize) -> Option<Dropout> {
        let rate = self.pass.dropout(probability, site);
        self.across.map_or(rate, |across| across.of_nodes(rate, columns))
    }

    /// Dropout of rows of edges at a place.
    pub(super) fn edge_dropout(self, probability: f64, site: Site, columns: usize) -> Option<Dropout> {
        let rate = self.pass.dropout(probability, site);
        self.across.map_or(rate, |across| across.of_edges(rate, columns))
    }
}

impl Pass {
    /// Whether statistics of the batch are used, and the running ones updated.
    pub fn uses_batch_statistics(self) -> bool {
        !matches!(self, Self::Eval | Self::Sample { .. })
    }

    /// Dropout at a place; `None` where nothing would be dropped.
    pub fn dropout(self, probability: f64, site: Site) -> Option<Dropout> {
        match self {
            Self::Train { seed } | Self::Sample { seed } if probability > 0.0 => {
                let seed = rng::stream(seed, site.place, &[site.layer as u64]).next_u64();
                Some(Dropout { probability: probability as f32, seed, first: 0 })
            }
            _ => None,
        }
    }

    /// One random sign for each of `count` eigenvectors; `None` outside training.
    pub fn signs(self, count: usize) -> Option<Vec<f32>> {
        match self {
            Self::Eval | Self::Measure { .. } | Self::Sample { .. } => None,
            Self::Train { seed } => {
                let mut stream = rng::stream(seed, "eigenvector signs", &[]);
                Some((0..count).map(|_| if stream.next_u64() >> 63 == 0 { 1.0 } else { -1.0 }).collect())
            }
        }
    }
}
