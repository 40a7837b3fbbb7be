//! One pass through a model: training or not, and where its random numbers come from.

use crate::ops::Dropout;
use graphminnet_data::rng;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// Running statistics, no dropout, no sign flips.
    Eval,
    /// Batch statistics, dropout, sign flips.
    Train {
        /// Names the random numbers of this pass; different for every step.
        seed: u64,
    },
}

impl Pass {
    /// Whether batch statistics are used and updated.
    pub fn is_training(self) -> bool {
        matches!(self, Self::Train { .. })
    }

    /// Dropout at a place; `None` where nothing would be dropped.
    pub fn dropout(self, probability: f64, site: Site) -> Option<Dropout> {
        match self {
            Self::Train { seed } if probability > 0.0 => {
                let seed = rng::stream(seed, site.place, &[site.layer as u64]).next_u64();
                Some(Dropout { probability: probability as f32, seed })
            }
            _ => None,
        }
    }

    /// One random sign for each of `count` eigenvectors; `None` outside training.
    pub fn signs(self, count: usize) -> Option<Vec<f32>> {
        match self {
            Self::Eval => None,
            Self::Train { seed } => {
                let mut stream = rng::stream(seed, "eigenvector signs", &[]);
                Some((0..count).map(|_| if stream.next_u64() >> 63 == 0 { 1.0 } else { -1.0 }).collect())
            }
        }
    }
}
