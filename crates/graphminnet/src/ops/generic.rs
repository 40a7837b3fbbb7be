//! Moving rows between edges, nodes and graphs with ordinary tensor operations, for the generic bodies.
//!
//! Rows are moved with `gather` and `scatter` on an index that is repeated over the columns: on GPUs these run one
//! thread per value, where the engine's row-wise `select` and `select_assign` run nearly serially.

use super::Structure;
use burn::tensor::{IndexingUpdateOp, Int, Tensor};

/// `rows[index[i]]` for every `i`: `[rows, columns] → [index, columns]`.
pub(super) fn gather_rows(rows: Tensor<2>, index: Tensor<1, Int>) -> Tensor<2> {
    let [_, columns] = rows.dims();
    let [length] = index.dims();
    if length == 0 || columns == 0 {
        return Tensor::zeros([length, columns], &rows.device());
    }
    rows.gather(0, index.unsqueeze_dim::<2>(1).expand([length, columns]))
}

/// Sum of the values with equal index: `[index, columns] → [count, columns]`.
pub(super) fn sum_rows(values: Tensor<2>, index: Tensor<1, Int>, count: usize) -> Tensor<2> {
    let [length, columns] = values.dims();
    let zeros = Tensor::zeros([count, columns], &values.device());
    if length == 0 || columns == 0 || count == 0 {
        return zeros;
    }
    zeros.scatter(0, index.unsqueeze_dim::<2>(1).expand([length, columns]), values, IndexingUpdateOp::Add)
}

/// The row of each node's graph: `[graphs, columns] → [nodes, columns]`.
pub(super) fn gather_graphs(rows: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let index = structure.indices(&rows.device()).graph_of_node;
    gather_rows(rows, index)
}

/// Sum over the nodes of each graph: `[nodes, columns] → [graphs, columns]`.
pub(super) fn sum_per_graph(rows: Tensor<2>, structure: &Structure) -> Tensor<2> {
    let index = structure.indices(&rows.device()).graph_of_node;
    sum_rows(rows, index, structure.num_graphs())
}

/// Nodes laid out graph by graph, short graphs padded with zero rows: `[nodes, columns] → [graphs, longest, columns]`.
pub(super) fn pad(rows: Tensor<2>, structure: &Structure) -> Tensor<3> {
    let [_, columns] = rows.dims();
    let (graphs, longest) = (structure.num_graphs(), structure.longest());
    let index = structure.padded().tensor(&rows.device());
    sum_rows(rows, index, graphs * longest).reshape([graphs, longest, columns])
}

/// The inverse of [`pad`].
pub(super) fn unpad(padded: Tensor<3>, structure: &Structure) -> Tensor<2> {
    let [graphs, longest, columns] = padded.dims();
    let index = structure.padded().tensor(&padded.device());
    gather_rows(padded.reshape([graphs * longest, columns]), index)
}
