//! The gated graph convolution: a gate on every edge, a gated mean at every node, new edge features.
//!
//! ```text
//! ê_ij  = C·ε_ij + c + D_i + E_j                                      (edge j → i)
//! x̂_i   = A_i + (Σ_j σ(ê_ij) ⊙ B_j) / (Σ_j σ(ê_ij) + 1e-6)
//! ε'_ij = ε_ij + dropout(ReLU(BN(ê_ij)))                              (where edges are updated)
//! ```
//!
//! Shapes: edge features ε and gates ê `[edges, l]`, weight `C [l, l]`, bias `c [l]`, output x̂ `[nodes, l]`, and the
//! four linear maps of the node features as one array `[nodes, 4l]` with rows `[A | D | B | E]`: first what a node
//! gives to its incoming edges, then what it gives to its outgoing ones.
//!
//! Edges are many and their rows short, so the time goes into moving them through memory. All that is done to an edge
//! is therefore done in one pass, on blocks of edges small enough for the nearest cache. Edges are sorted by target:
//! the blocks of a range of nodes belong to those nodes alone, and ranges are what threads share out.
//!
//! # Gradient
//!
//! With `m_i = x̂_i − A_i` (the gated mean), `r_i = 1 / (Σ_j σ(ê_ij) + 1e-6)` and `q_i = dx̂_i ⊙ r_i`:
//!
//! * `dê_ij = q_i ⊙ (B_j − m_i) ⊙ σ(ê_ij) ⊙ (1 − σ(ê_ij))` plus the gradient through the norm, see
//!   [`crate::batch_norm`]
//! * `dε_ij = dε'_ij + Cᵀ·dê_ij`, `dC = Σ_e dê_e ⊗ ε_e`, `dc = Σ_e dê_e`
//! * `dA_i = dx̂_i`, `dD_i = Σ_{j→i} dê_ij`, `dB_j = Σ_{j→i} q_i ⊙ σ(ê_ij)`, `dE_j = Σ_{j→i} dê_ij`
//!
//! Sigmoid, mask and sign are computed again rather than stored. One pass goes by target, sums at sources follow; no
//! atomics.

mod at_source;
mod backward;
mod forward;

pub use backward::{ConvolutionGradients, ConvolutionSaved, UpdatedEdges, gated_convolution_backward};
pub use forward::{EdgeFeatures, EdgeNorm, Kept, gated_convolution, gated_convolution_alone};

use crate::edges::Edges;
use crate::parallel::{balanced_ranges, prefetch};
use std::ops::Range;

/// Keeps the denominator of a node without incoming edges away from zero.
pub const DENOMINATOR_EPSILON: f64 = 1e-6;
/// Node rows up to this many values are taken to be near at hand; others are asked for ahead of time.
const NEAR_VALUES: usize = 1 << 20;
/// Rows that a matrix product wants at once.
const PRODUCT_ROWS: usize = 132;
/// Edges between asking for a row and reading it.
const AHEAD: usize = 3;

/// The operands that forward and backward pass share.
#[derive(Clone, Copy, Debug)]
pub struct GatedConvolution<'a> {
    /// The edges of the batch.
    pub edges: Edges<'a>,
    /// Width `l` of all rows.
    pub width: usize,
    /// `C [l, l]`
    pub weight: &'a [f32],
    /// `c [l]`
    pub bias: &'a [f32],
    /// `[A | D | B | E]`, `[nodes, 4l]`
    pub nodes: &'a [f32],
}

/// Position of a node's part in a row `[A | D | B | E]`, in units of `l`.
const PART_A: usize = 0;
const PART_D: usize = 1;
const PART_B: usize = 2;
const PART_E: usize = 3;
/// Parts of a row.
const PARTS: usize = 4;

impl GatedConvolution<'_> {
    fn check(&self) {
        self.edges.check();
        assert_eq!(self.weight.len(), self.width * self.width, "gated convolution: length of the weight");
        assert_eq!(self.bias.len(), self.width, "gated convolution: length of the bias");
        self.check_nodes(self.nodes, PARTS, "nodes");
    }

    fn check_edges(&self, values: &[f32], name: &str) {
        assert_eq!(values.len(), self.edges.num_edges() * self.width, "gated convolution: length of {name}");
    }

    fn check_nodes(&self, values: &[f32], parts: usize, name: &str) {
        let length = self.edges.num_nodes * parts * self.width;
        assert_eq!(values.len(), length, "gated convolution: length of {name}");
    }

    /// Where `part` of node `node` starts.
    #[inline(always)]
    fn part(&self, node: usize, part: usize) -> usize {
        (node * PARTS + part) * self.width
    }

    /// Ranges of nodes with about equally many incoming edges.
    fn ranges_by_target(&self) -> Vec<Range<usize>> {
        balanced_ranges(self.edges.incoming, self.least_cost())
    }

    /// Ranges of nodes with about equally many outgoing edges.
    fn ranges_by_source(&self) -> Vec<Range<usize>> {
        balanced_ranges(self.edges.outgoing, self.least_cost())
    }

    fn least_cost(&self) -> usize {
        1 + 8192 / self.width.max(1)
    }

    /// Rows of edges that stay in the nearest cache from one step of the work to the next.
    fn rows_in_cache(&self) -> usize {
        (4096 / self.width.max(1)).clamp(12, 132) / 6 * 6
    }

    /// Asks for the rows of the sources of edges, which may be anywhere: `B`, and with `parts` 2 also `E`.
    fn ask_for_sources(&self, edges: &Range<usize>, parts: usize) {
        if self.nodes.len() > NEAR_VALUES {
            for &source in &self.edges.source[edges.clone()] {
                prefetch(&self.nodes[self.part(source as usize, PART_B)..][..parts * self.width]);
            }
        }
    }

    /// Calls `work` for the edges that point to `nodes`, in blocks of at most `rows`.
    fn for_each_block(&self, nodes: Range<usize>, rows: usize, mut work: impl FnMut(&Block)) {
        let incoming = self.edges.incoming;
        let last = incoming[nodes.end] as usize;
        let mut block = Block { edges: 0..0, segments: Vec::new() };
        let (mut node, mut edge) = (nodes.start, incoming[nodes.start] as usize);
        while node < nodes.end {
            let start = edge;
            let limit = (start + rows).min(last);
            block.segments.clear();
            while node < nodes.end {
                let (first, end) = (incoming[node] as usize, incoming[node + 1] as usize);
                let stop = end.min(limit);
                let rows = edge - start..stop - start;
                block.segments.push(Segment { node, rows, begins: edge == first, ends: stop == end });
                edge = stop;
                if stop < end {
                    break;
                }
                node += 1;
            }
            block.edges = start..edge;
            work(&block);
        }
    }
}

/// Consecutive edges, by target.
struct Block {
    edges: Range<usize>,
    /// The nodes they point to; also nodes without incoming edges in between. Never empty.
    segments: Vec<Segment>,
}

/// The edges of a block that point to one node.
struct Segment {
    node: usize,
    /// Numbers within the block.
    rows: Range<usize>,
    /// Whether the node's first edge is among them.
    begins: bool,
    /// Whether the node's last edge is among them.
    ends: bool,
}
