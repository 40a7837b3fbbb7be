//! The border of a part: which rows it needs of whom, and who needs which of its own.
//!
//! Numbers of the whole graph have 64 bits; rows of a part have 32.

use super::owner;
use crate::exchange::{Exchange, Number};
use bytemuck::Pod;
use std::ops::{AddAssign, Range};

/// Who sends which rows to whom, from the view of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halo {
    own: usize,
    border: usize,
    /// Which border rows come from each part; they stand part by part.
    from: Vec<Range<usize>>,
    /// Which own rows go to each part.
    to: Vec<Vec<u32>>,
}

impl Halo {
    /// Agrees with the other parts, of which every rank of the exchange has one: this one has the nodes
    /// `offsets[rank]..offsets[rank + 1]` and needs the rows of `border`, ascending.
    ///
    /// All ranks call this together.
    pub fn agree(exchange: &dyn Exchange, offsets: &[u64], border: &[u64]) -> Self {
        let rank = exchange.rank();
        let ends = |part: usize| border.partition_point(|&number| number < offsets[part]);
        let from: Vec<Range<usize>> = (0..exchange.size()).map(|part| ends(part)..ends(part + 1)).collect();
        debug_assert!(border.iter().all(|&number| owner(offsets, number) != rank));
        let wishes = from.iter().map(|rows| u64::to_bytes(&border[rows.clone()])).collect();
        let wanted = exchange.swap(wishes);
        let row = |number: u64| (number - offsets[rank]) as u32;
        let to = wanted.iter().map(|wishes| u64::of_bytes(wishes).into_iter().map(row).collect()).collect();
        let own = (offsets[rank + 1] - offsets[rank]) as usize;
        Self { own, border: border.len(), from, to }
    }

    /// Rows of the part's own nodes.
    pub fn own(&self) -> usize {
        self.own
    }

    /// Rows of the border.
    pub fn border(&self) -> usize {
        self.border
    }

    /// Fills the rows of the border with those of the parts that own them, of `width` values each.
    ///
    /// All ranks call this together.
    pub fn fetch<T: Pod>(&self, exchange: &dyn Exchange, width: usize, own: &[T], border: &mut [T]) {
        for other in exchange.meetings() {
            let rows = self.to[other].iter().map(|&row| row as usize);
            let sent: Vec<T> = rows.flat_map(|row| &own[row * width..(row + 1) * width]).copied().collect();
            let Range { start, end } = self.from[other];
            exchange.meet(other, &sent, &mut border[start * width..end * width]);
        }
    }

    /// The transpose of [`Halo::fetch`]: adds the rows of every part's border to those that they are copies of, in the order of
    /// the parts.
    ///
    /// All ranks call this together.
    pub fn give_back<T: Pod + AddAssign>(
        &self,
        exchange: &dyn Exchange,
        width: usize,
        border: &[T],
        own: &mut [T],
    ) {
        let mut received: Vec<Vec<T>> = self.to.iter().map(|_| Vec::new()).collect();
        for other in exchange.meetings() {
            let Range { start, end } = self.from[other];
            received[other] = vec![T::zeroed(); self.to[other].len() * width];
            exchange.meet(other, &border[start * width..end * width], &mut received[other]);
        }
        for (rows, values) in self.to.iter().zip(received) {
            for (&row, values) in rows.iter().zip(values.chunks_exact(width.max(1))) {
                let own = &mut own[row as usize * width..][..width];
                own.iter_mut().zip(values).for_each(|(own, &value)| *own += value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::graph_in_parts;
    use super::*;
    use crate::exchange::Threads;
    use crate::spectral::{PrepareOptions, prepare_graph};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Against the plain computation on the whole graph: sums over incoming edges, and their gradient.
        #[test]
        fn rows_and_gradients_cross_the_border_as_in_the_whole_graph((graph, partition) in graph_in_parts()) {
            let (parts, width) = (partition.parts(), 2);
            let whole = prepare_graph(&Arc::new(graph), &PrepareOptions::default()).unwrap();
            // By number, not by node.
            let value = |number: u64, column: usize| (3 * number as usize + column * 7 + 1) as f64;
            let cuts: Vec<_> = (0..parts).map(|part| partition.part(&whole, part).unwrap()).collect();
            let found = Threads::run(parts, |exchange| {
                let cut = &cuts[exchange.rank()];
                let part = cut.part.as_ref().unwrap();
                let (own, border) = part.whole_numbers.split_at(part.own_nodes);
                let halo = Halo::agree(exchange, partition.offsets(), border);
                assert_eq!((halo.own(), halo.border()), (own.len(), border.len()));
                let row = |&number: &u64| [value(number, 0), value(number, 1)];
                let mut rows: Vec<f64> = own.iter().flat_map(row).collect();
                let mut fetched = vec![0.0; border.len() * width];
                halo.fetch(exchange, width, &rows, &mut fetched);
                rows.extend(fetched);
                let (mut sums, mut back) = (vec![0.0; own.len() * width], vec![0.0; rows.len()]);
                for &[source, target] in cut.graph.edges() {
                    for column in 0..width {
                        let (source, target) = (source as usize * width + column, target as usize * width + column);
                        sums[target] += rows[source];
                        // The gradient of a sum is the value of its target here.
                        back[source] += rows[target];
                    }
                }
                let (back_own, back_border) = back.split_at_mut(own.len() * width);
                halo.give_back(exchange, width, back_border, back_own);
                (sums, back_own.to_vec())
            });
            let nodes = partition.nodes();
            let number = |node: u32| (0..nodes as u64).find(|&at| partition.node(at) == node as usize).unwrap();
            let (mut sums, mut back) = (vec![0.0; nodes * width], vec![0.0; nodes * width]);
            for edge in whole.graph.edges() {
                let [source, target] = edge.map(number);
                for column in 0..width {
                    sums[target as usize * width + column] += value(source, column);
                    back[source as usize * width + column] += value(target, column);
                }
            }
            prop_assert_eq!(found.iter().flat_map(|(sums, _)| sums.clone()).collect::<Vec<_>>(), sums);
            prop_assert_eq!(found.iter().flat_map(|(_, back)| back.clone()).collect::<Vec<_>>(), back);
        }
    }
}
