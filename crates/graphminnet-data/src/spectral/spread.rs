//! A matrix whose rows are spread over the ranks of an exchange: what every rank must know of the others.

use crate::exchange::Exchange;
use crate::partition::Halo;
use std::sync::Arc;

/// Where the other rows are.
#[derive(Debug)]
pub(crate) struct Spread {
    pub(super) exchange: Arc<dyn Exchange>,
    /// Rows of other ranks that products with this rank's rows of a sparse matrix need.
    pub(super) halo: Halo,
    /// Rows of the ranks before this one.
    pub(super) before: u64,
    /// Rows of all ranks.
    pub(super) total: u64,
    /// The connected components, where there are several.
    pub(super) groups: Option<Groups>,
}

/// The connected components of a graph that is spread over ranks, or the first of them.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The component of every row here.
    pub(super) of_row: Vec<Option<u32>>,
    /// Rows of each component, here and elsewhere.
    pub(super) sizes: Vec<f64>,
}

impl Spread {
    /// Adds up sums over the rows of each rank, in the order of the ranks.
    pub(super) fn join(&self, sums: &mut [f64]) {
        let own = sums.to_vec();
        sums.fill(0.0);
        self.exchange.chain(sums, |from, piece| {
            piece.iter_mut().zip(&own[from..]).for_each(|(sum, own)| *sum += own);
        });
    }

    /// The largest value of all ranks.
    pub(super) fn largest(&self, value: f64) -> f64 {
        let mut largest = [0.0f64];
        self.exchange.chain(&mut largest, |_, largest| largest[0] = largest[0].max(value));
        largest[0]
    }
}
