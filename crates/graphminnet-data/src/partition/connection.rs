//! A part of a graph together with the others.

use super::Halo;
use crate::exchange::{Exchange, Number};
use crate::spectral::PreparedGraph;
use std::sync::Arc;

/// How a part of a graph reaches the others: one rank for each part.
#[derive(Debug)]
pub struct Connection {
    exchange: Arc<dyn Exchange>,
    halo: Halo,
    /// Where the nodes of each part begin; length parts + 1.
    pub(crate) offsets: Vec<u64>,
    /// Nodes of the parts before this one.
    pub nodes_before: u64,
    /// Edges of the parts before this one.
    pub edges_before: u64,
    /// Nodes of all parts.
    pub nodes: u64,
    /// Edges of all parts.
    pub edges: u64,
}

impl Connection {
    /// Connects a part of a graph with the others. All ranks call this together, each with its own part.
    ///
    /// # Panics
    ///
    /// If the graph is not a part.
    pub fn establish(exchange: Arc<dyn Exchange>, mut graph: PreparedGraph) -> PreparedGraph {
        let Some(part) = &mut graph.part else { panic!("a whole graph has no others to be connected with") };
        let (own, border) = part.whole_numbers.split_at(part.own_nodes);
        let sizes = [own.len() as u64, graph.graph.num_edges() as u64];
        let all = u64::of_bytes(&exchange.collect(u64::to_bytes(&sizes)).concat());
        let all = all.as_chunks::<2>().0;
        let sum = |parts: &[[u64; 2]], at: usize| parts.iter().map(|sizes| sizes[at]).sum();
        let offsets: Vec<u64> = (0..=all.len()).map(|part| sum(&all[..part], 0)).collect();
        let halo = Halo::agree(&*exchange, &offsets, border);
        let before = &all[..exchange.rank()];
        part.others = Some(Arc::new(Self {
            halo,
            nodes_before: sum(before, 0),
            edges_before: sum(before, 1),
            nodes: sum(all, 0),
            edges: sum(all, 1),
            offsets,
            exchange,
        }));
        graph
    }

    /// The others.
    pub fn exchange(&self) -> &Arc<dyn Exchange> {
        &self.exchange
    }

    /// What crosses the border.
    // For the library, whose layers fetch rows across it.
    #[doc(hidden)]
    pub fn halo(&self) -> &Halo {
        &self.halo
    }
}

/// Of the same part of the same graph.
impl PartialEq for Connection {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |this: &Self| {
            (this.exchange.rank(), this.nodes_before, this.edges_before, this.nodes, this.edges)
        };
        self.halo == other.halo && numbers(self) == numbers(other)
    }
}
