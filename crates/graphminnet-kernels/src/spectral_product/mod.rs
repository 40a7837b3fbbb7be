//! The heart of the model: the inner product of every node's code with the sum of its graph's codes,
//! `s_u[k] = Σ_i a_u[k,i]·ā[k,i]`, with `a_u[k,i] = p_u[i]·Σ_j B[k,j]·F[i,j]·w_u[j]` and `ā = Σ_v a_v`.
//!
//! | symbol | shape | meaning |
//! |---|---|---|
//! | `w` | nodes × D | positional channels of the nodes |
//! | `p` | nodes × M | eigenvector entries |
//! | `F` | graphs × M × D | functions of the eigenvalues, `E^A ⊙ E^C` |
//! | `B` | l × D | linear map to the hidden channels |
//! | `s` | nodes × l | result |
//!
//! **Forward**, in time linear in the nodes and without any nodes × M × l array. Per graph:
//!
//! 1. `T[i,j] = Σ_v p_v[i]·w_v[j]`
//! 2. `ā[k,i] = Σ_j B[k,j]·F[i,j]·T[i,j]`
//! 3. `Q_i[k,j] = B[k,j]·F[i,j]·ā[k,i]`
//! 4. `s_u[k] = Σ_{i,j} p_u[i]·w_u[j]·Q_i[k,j]`, a product of the rows `p_u ⊗ w_u` with `Q`; the rows are formed a few
//!    at a time in the nearest cache.
//!
//! Graphs of few nodes do not repay the forming of `Q`; for them `s_u[k] = Σ_i ā[k,i]·(Σ_j p_u[i]·F[i,j]·w_u[j]·B[k,j])`
//! is computed as it stands. Where eigenpairs and hidden channels are many against D, a third order is the cheapest, through
//! pairs of channels; it has a module of its own (`pairs`), and so has its backward pass.
//!
//! **Backward**, through `Q`. Let `g_u = ds_u`. From step 4,
//!
//! * `dQ_i[k,j] = Σ_u p_u[i]·w_u[j]·g_u[k]`
//! * `d(p⊗w)_u[i,j] = Σ_k g_u[k]·Q_i[k,j]`
//!
//! then, for each eigenpair `i` on its own, through steps 3, 2 and 1:
//!
//! * `dā[k] = Σ_j B[k,j]·F[j]·dQ[k,j]`, `b̃[j] = Σ_k B[k,j]·dā[k]`
//! * `dB[k,j] += F[j]·(ā[k]·dQ[k,j] + T[j]·dā[k])`
//! * `dF[j] = Σ_k ā[k]·B[k,j]·dQ[k,j] + T[j]·b̃[j]`
//! * `dT[j] = F[j]·b̃[j]`
//! * `dw_u[j] = Σ_i p_u[i]·(d(p⊗w)_u[i,j] + dT_i[j])`, `dp_u[i] = Σ_j w_u[j]·(d(p⊗w)_u[i,j] + dT_i[j])`
//!
//! Nothing is saved by the forward pass but its inputs.
//!
//! Small graphs are worked on one per thread, large ones by all threads together in fixed pieces.

mod backward;
mod forward;
mod pairs;
mod pairs_backward;
mod row_gradients;

pub use backward::{SpectralGradients, spectral_product_backward, spectral_product_backward_with};
pub use forward::{Order, spectral_product, spectral_product_with};
pub use pairs::multiplications_per_node;

use crate::gemm::packed_len;
use crate::linear::add_weight_gradient;
use crate::others::Others;
use crate::parallel::map_pieces;
use crate::scratch::Scratch;
use crate::segments::check_offsets;
use std::ops::Range;

/// Inputs of the spectral product.
#[derive(Clone, Copy, Debug)]
pub struct SpectralInputs<'a> {
    /// Graph `g` has the nodes `offsets[g]..offsets[g + 1]`.
    pub offsets: &'a [u32],
    /// Positional channels D.
    pub channels: usize,
    /// Eigenpairs M.
    pub eigenpairs: usize,
    /// Hidden channels l.
    pub hidden: usize,
    /// Positional channels of the nodes, `[nodes, D]`.
    pub w: &'a [f32],
    /// Eigenvector entries, `[nodes, M]`.
    pub p: &'a [f32],
    /// `[graphs, M, D]`
    pub f: &'a [f32],
    /// `[l, D]`
    pub b: &'a [f32],
    /// More nodes of the graph, which must then be the only one.
    pub others: Option<OtherNodes<'a>>,
}

/// Nodes of a graph that others hold.
#[derive(Clone, Copy, Debug)]
pub struct OtherNodes<'a> {
    /// `T` over all nodes, `[M, D]`: the sum over all holders of what [`node_sums`] gives.
    pub table: &'a [f32],
    /// Who holds them.
    pub holders: &'a dyn Others,
}

/// `T` over the nodes at hand of the only graph, `[M, D]`; `others` are left out of it.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn node_sums(inputs: SpectralInputs<'_>, table: &mut [f32]) {
    let inputs = SpectralInputs { others: None, ..inputs };
    inputs.check();
    assert_eq!(inputs.num_graphs(), 1, "spectral product: others can hold nodes of a single graph");
    assert_eq!(table.len(), inputs.eigenpairs * inputs.channels, "spectral product: length of T");
    inputs.table(0, table);
}

/// Rows whose outer products are summed at a time.
const DEPTH: usize = 256;
/// Graphs with more nodes are shared between threads.
const LARGE: usize = 1024;

impl<'a> SpectralInputs<'a> {
    fn num_graphs(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn num_nodes(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    fn nodes(&self, graph: usize) -> Range<usize> {
        self.offsets[graph] as usize..self.offsets[graph + 1] as usize
    }

    fn w_rows(&self, nodes: &Range<usize>) -> &'a [f32] {
        &self.w[nodes.start * self.channels..nodes.end * self.channels]
    }

    fn p_rows(&self, nodes: &Range<usize>) -> &'a [f32] {
        &self.p[nodes.start * self.eigenpairs..nodes.end * self.eigenpairs]
    }

    /// F of one graph, `[M, D]`.
    fn f_of(&self, graph: usize) -> &'a [f32] {
        let size = self.eigenpairs * self.channels;
        &self.f[graph * size..(graph + 1) * size]
    }

    fn check(&self) {
        let nodes = self.num_nodes();
        let graphs = check_offsets("spectral product", self.offsets, nodes);
        assert_eq!(self.w.len(), nodes * self.channels, "spectral product: length of w");
        assert_eq!(self.p.len(), nodes * self.eigenpairs, "spectral product: length of p");
        assert_eq!(self.f.len(), graphs * self.eigenpairs * self.channels, "spectral product: length of F");
        assert_eq!(self.b.len(), self.hidden * self.channels, "spectral product: length of B");
        if let Some(others) = self.others {
            assert_eq!(graphs, 1, "spectral product: others can hold nodes of a single graph");
            assert_eq!(others.table.len(), self.eigenpairs * self.channels, "spectral product: length of T");
        }
    }

    /// `table[i,j] += Σ_v p_v[i]·w_v[j]` over the nodes given.
    fn add_table(&self, nodes: Range<usize>, table: &mut [f32]) {
        let mut packed = Scratch::new(packed_len(DEPTH.min(nodes.len()), self.channels));
        for start in nodes.clone().step_by(DEPTH) {
            let block = start..(start + DEPTH).min(nodes.end);
            let (p, w) = (self.p_rows(&block), self.w_rows(&block));
            add_weight_gradient(block.len(), self.eigenpairs, self.channels, p, w, &mut packed, table);
        }
    }

    /// `T` of a graph, by all threads if the graph is large.
    fn table(&self, graph: usize, table: &mut [f32]) {
        if let Some(others) = self.others {
            table.copy_from_slice(others.table);
            return;
        }
        let nodes = self.nodes(graph);
        table.fill(0.0);
        if nodes.len() <= LARGE {
            self.add_table(nodes, table);
            return;
        }
        // At most 64 pieces, so that their tables stay small for any graph.
        let piece = nodes.len().div_ceil(64).max(LARGE);
        let partials = map_pieces(nodes.len(), piece, |range| {
            let mut partial = Scratch::zeroed(table.len());
            self.add_table(nodes.start + range.start..nodes.start + range.end, &mut partial);
            partial
        });
        for partial in partials {
            for (sum, value) in table.iter_mut().zip(&partial[..]) {
                *sum += value;
            }
        }
    }
}
