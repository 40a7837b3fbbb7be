//! The attention graph of a batch.

use super::{EXPANDER, ExphormerConfig};
use crate::systems::spectrum::{self, missing};
use burn::tensor::{Device, Tensor};
use graphminnet::model::InputError;
use graphminnet::ops::{PairList, RowIndex};
use graphminnet_data::Batch;
use std::sync::Arc;

/// What Exphormer reads of a batch.
#[derive(Debug)]
pub(crate) struct ExphormerInput {
    /// Attention edges between nodes and virtual nodes; virtual node `m` of graph `g` is number `n + m·G + g`.
    pub(super) pairs: Arc<PairList>,
    /// Row of the features of every attention edge: those of the edges, one for the expander, `v` into virtual nodes and
    /// `v` out of them.
    pub(super) feature_of_pair: Arc<RowIndex>,
    /// Which of the `v` virtual nodes each one is.
    pub(super) kind_of_virtual: Arc<RowIndex>,
    /// Eigenvector entries, `[nodes, K]`, where the gates read them.
    pub(super) eigenvectors: Option<Tensor<2>>,
}

impl ExphormerInput {
    pub(crate) fn new(own: &ExphormerConfig, batch: &Batch, device: &Device) -> Result<Self, InputError> {
        let layout = &batch.layout;
        let (nodes, graphs, edges) = (layout.num_nodes(), layout.num_graphs(), layout.num_edges());
        let topology = layout.topology();
        let mut ends: Vec<[u32; 2]> =
            topology.source.iter().zip(&topology.target).map(|(&from, &to)| [from, to]).collect();
        let mut rows: Vec<u32> = (0..edges as u32).collect();
        if own.expander > 0 {
            let expander = batch.encodings.pairs.get(EXPANDER).ok_or_else(|| missing("expander edges"))?;
            ends.extend(expander.ends());
            rows.resize(ends.len(), edges as u32);
        }
        let count = own.virtual_nodes;
        for kind in 0..count {
            for (node, graph) in layout.graph_of_node().into_iter().enumerate() {
                let virtual_node = (nodes + kind * graphs) as u32 + graph;
                ends.extend([[node as u32, virtual_node], [virtual_node, node as u32]]);
                rows.extend([edges + 1 + kind, edges + 1 + count + kind].map(|row| row as u32));
            }
        }
        let (pairs, order) = PairList::new(nodes + count * graphs, &ends);
        let rows = order.iter().map(|&at| rows[at as usize]).collect();
        let kinds = (0..count as u32).flat_map(|kind| std::iter::repeat_n(kind, graphs)).collect();
        let eigenvectors = match own.gate_eigenvectors {
            0 => None,
            pairs => Some(spectrum::eigenvectors(batch, pairs, device)?),
        };
        Ok(Self {
            pairs,
            feature_of_pair: RowIndex::new(edges + 1 + 2 * count, rows),
            kind_of_virtual: RowIndex::new(count, kinds),
            eigenvectors,
        })
    }
}
