//! The other parts of a graph of which a batch holds one: the sums that a part has in common with them, and the rows
//! that cross its border.
//!
//! ```text
//! with_border:  [own, columns] → [own + border, columns]      border rows are copies of rows of other parts
//! own_rows:     [own + border, columns] → [own, columns]
//! ```
//!
//! Each part is a rank of an exchange and makes the same calls in the same order, in the forward and in the backward pass:
//! all parts record the same operations, whatever their numbers of nodes. Sums are left folds over the parts in their order,
//! so their bits do not depend on where the parts are.

use super::dropout::Dropout;
use super::engine::{self, Array, Kernel};
use super::{Structure, buffers};
use burn::tensor::Tensor;
use graphminnet_data::exchange::Exchange;
use graphminnet_data::partition::Connection;
use graphminnet_kernels::others::Others;
use std::sync::Arc;

/// The other parts, from the view of one.
#[derive(Debug)]
pub struct Across {
    connection: Arc<Connection>,
    /// The part's own nodes and its border, with the edges that end at own nodes.
    structure: Arc<Structure>,
}

impl Across {
    /// For a part with the given nodes and edges, own nodes first.
    pub(crate) fn new(connection: Arc<Connection>, structure: Arc<Structure>) -> Arc<Self> {
        Arc::new(Self { connection, structure })
    }

    /// The part's own nodes and its border, with the edges that end at own nodes.
    pub(crate) fn structure(&self) -> &Arc<Structure> {
        &self.structure
    }

    /// Nodes of all parts.
    pub(crate) fn nodes(&self) -> usize {
        self.connection.nodes as usize
    }

    /// Edges of all parts.
    pub(crate) fn edges(&self) -> usize {
        self.connection.edges as usize
    }

    /// Dropout of rows of nodes: the mask that the rows have in the whole graph.
    pub(crate) fn of_nodes(&self, rate: Option<Dropout>, columns: usize) -> Option<Dropout> {
        after(rate, self.connection.nodes_before, columns)
    }

    /// The same for rows of edges, sorted by target.
    pub(crate) fn of_edges(&self, rate: Option<Dropout>, columns: usize) -> Option<Dropout> {
        after(rate, self.connection.edges_before, columns)
    }

    /// Own rows, and after them those of the border.
    pub(crate) fn with_border(self: &Arc<Self>, own: Tensor<2>) -> Tensor<2> {
        engine::run(WithBorder(self.clone()), [own.into()])
    }

    /// Own rows alone.
    pub(crate) fn own_rows(self: &Arc<Self>, rows: Tensor<2>) -> Tensor<2> {
        engine::run(OwnRows(self.clone()), [rows.into()])
    }

    fn exchange(&self) -> &dyn Exchange {
        &**self.connection.exchange()
    }

    fn own(&self) -> usize {
        self.connection.halo().own()
    }

    fn border(&self) -> usize {
        self.connection.halo().border()
    }
}

fn after(rate: Option<Dropout>, rows: u64, columns: usize) -> Option<Dropout> {
    let first = |rate: Dropout| rate.first.wrapping_add((rows as u32).wrapping_mul(columns as u32));
    rate.map(|rate| Dropout { first: first(rate), ..rate })
}

impl Others for Across {
    /// Chan, Golub and LeVeque 1979, part by part.
    fn join_moments(&self, moments: &mut [f64]) {
        let own: Vec<f64> = moments.to_vec();
        let channels = own.len() / 2;
        // One entry per channel, so that entries can travel in any grouping.
        let mut joined = vec![[0.0f64; 3]; channels];
        self.exchange().chain(&mut joined, |from, piece| {
            for (channel, [count, mean, squares]) in (from..).zip(piece) {
                let (rows, total) = (own[0], *count + own[0]);
                if rows == 0.0 {
                    continue;
                }
                let difference = own[1 + channel] - *mean;
                *mean += difference * rows / total;
                *squares += own[1 + channels + channel] + difference * difference * *count * rows / total;
                *count = total;
            }
        });
        moments[0] = joined.first().map_or(0.0, |[count, ..]| *count);
        for (channel, [_, mean, squares]) in joined.into_iter().enumerate() {
            moments[1 + channel] = mean;
            moments[1 + channels + channel] = squares;
        }
    }

    fn join_sums(&self, sums: &mut [f64]) {
        let own = sums.to_vec();
        sums.fill(0.0);
        self.exchange().chain(sums, |from, piece| {
            piece.iter_mut().zip(&own[from..]).for_each(|(sum, own)| *sum += own);
        });
    }
}

#[derive(Debug, Clone)]
struct WithBorder(Arc<Across>);

impl Kernel<1> for WithBorder {
    type Saved = ();

    fn forward(&self, [own]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        let (across, width) = (&*self.0, own.dim(1));
        let rows = Array::written([across.own() + across.border(), width], |rows| {
            let (here, border) = rows.split_at_mut(across.own() * width);
            here.copy_from_slice(own.values());
            across.connection.halo().fetch(across.exchange(), width, own.values(), border);
        });
        (rows, keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let (across, width) = (&*self.0, gradient.dim(1));
        let own = Array::written([across.own(), width], |own| {
            let (here, border) = gradient.values().split_at(across.own() * width);
            own.copy_from_slice(here);
            across.connection.halo().give_back(across.exchange(), width, border, own);
        });
        [Some(own)]
    }
}

#[derive(Debug, Clone)]
struct OwnRows(Arc<Across>);

impl Kernel<1> for OwnRows {
    type Saved = ();

    fn forward(&self, [rows]: &[Array; 1], keep: bool) -> (Array, Option<()>) {
        let (own, width) = (self.0.own(), rows.dim(1));
        let own = Array::written([own, width], |out| out.copy_from_slice(&rows.values()[..own * width]));
        (own, keep.then_some(()))
    }

    fn backward(&self, (): (), gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let (across, width) = (&*self.0, gradient.dim(1));
        let mut rows = buffers::take((across.own() + across.border()) * width);
        let (own, border) = rows.split_at_mut(across.own() * width);
        own.copy_from_slice(gradient.values());
        border.fill(0.0);
        [Some(Array::new(rows, [across.own() + across.border(), width]))]
    }
}
