//! Forward pass of the gated convolution.
//!
//! For a block of edges: `C·ε` as a matrix product, then all that depends on it, node by node and in registers.

use super::{
    Block, DENOMINATOR_EPSILON, GatedConvolution, PART_A, PART_B, PART_D, PART_E, PRODUCT_ROWS, Segment,
};
use crate::batch_norm::{Affine, BLOCK, add_moments, moments};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{Left, Store, pack_transposed, packed_len, product};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::math::{relu, sigmoid};
use crate::others::Others;
use crate::parallel::{Disjoint, for_each_range, map_ranges, rows_of};
use crate::scratch::Scratch;
use std::ops::Range;

/// The norm of edges with given statistics, `[l]` each.
#[derive(Clone, Copy, Debug)]
pub struct EdgeNorm<'a> {
    /// γ
    pub gamma: &'a [f32],
    /// β
    pub beta: &'a [f32],
    /// Mean.
    pub mean: &'a [f32],
    /// Biased variance.
    pub variance: &'a [f32],
}

/// The edge features of a pass that keeps nothing.
pub enum EdgeFeatures<'a> {
    /// Only read.
    Read(&'a [f32]),
    /// Replaced by the new ones, without dropout.
    Updated(&'a mut [f32], EdgeNorm<'a>),
}

/// Where a forward pass leaves what comes after it needs.
pub struct Kept<'a> {
    /// Gates before the sigmoid, `[edges, l]`.
    pub gate: &'a mut [f32],
    /// `r`, the inverse denominators, `[nodes, l]`.
    pub inverse: &'a mut [f32],
    /// Mean and biased variance of the gates, `[l]` each, if wanted.
    pub statistics: Option<[&'a mut [f32]; 2]>,
    /// Who has more edges that count in these.
    pub others: Option<&'a dyn Others>,
}

/// Computes `mixed` (x̂) and keeps the gates. New edge features are a [norm](crate::norm_relu_residual) of those.
///
/// # Panics
///
/// If a slice has another length than its shape says, or an edge names a node that does not exist.
pub fn gated_convolution(
    convolution: GatedConvolution<'_>,
    features: &[f32],
    mixed: &mut [f32],
    kept: Kept<'_>,
) {
    let Kept { gate, inverse, statistics, others } = kept;
    let width = convolution.width;
    convolution.check();
    convolution.check_edges(features, "the edge features");
    convolution.check_edges(gate, "the gates");
    convolution.check_nodes(mixed, 1, "the output");
    convolution.check_nodes(inverse, 1, "the inverse denominators");
    let pass = Pass::new(&convolution);
    let origin = statistics.as_ref().map(|_| pass.first_gate(features));
    let (gate, mixed, inverse) = (Disjoint::new(gate), Disjoint::new(mixed), Disjoint::new(inverse));
    let partials = map_ranges(convolution.ranges_by_target(), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let (mixed, inverse) = unsafe { (mixed.rows(&nodes, width), inverse.rows(&nodes, width)) };
        let mut means = Means::new(nodes.start, mixed, Some(inverse), width);
        let mut moments = origin.as_deref().map(Moments::new);
        convolution.for_each_block(nodes, PRODUCT_ROWS, |block| {
            // SAFETY: edges are sorted by target, so ranges of nodes have disjoint ranges of edges.
            let gate = unsafe { gate.rows(&block.edges, width) };
            pass.multiply(&block.edges, rows_of(features, &block.edges, width), gate);
            mix(&convolution, block, gate, &mut means, &mut Plain::<true>);
            if let Some(moments) = &mut moments {
                moments.add(gate);
            }
        });
        moments.map(Moments::total)
    });
    if let (Some([mean, variance]), Some(origin)) = (statistics, origin) {
        let mut total = vec![0.0; 2 * width];
        for sums in partials.into_iter().flatten() {
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        }
        moments(convolution.edges.num_edges(), &total, &origin, others, mean, variance);
    }
}

/// Computes `mixed` (x̂) and, in place, new edge features; gates never leave the cache.
///
/// # Panics
///
/// If a slice has another length than its shape says, or an edge names a node that does not exist.
pub fn gated_convolution_alone(
    convolution: GatedConvolution<'_>,
    features: EdgeFeatures<'_>,
    mixed: &mut [f32],
) {
    let width = convolution.width;
    convolution.check();
    convolution.check_nodes(mixed, 1, "the output");
    let pass = Pass::new(&convolution);
    match features {
        EdgeFeatures::Read(features) => {
            convolution.check_edges(features, "the edge features");
            pass.alone(mixed, |block, product, means| {
                pass.multiply(&block.edges, rows_of(features, &block.edges, width), product);
                mix(&convolution, block, product, means, &mut Plain::<false>);
            });
        }
        EdgeFeatures::Updated(features, norm) => {
            convolution.check_edges(features, "the edge features");
            let affine = Affine::new(norm.mean, norm.variance, norm.gamma, norm.beta);
            let features = Disjoint::new(features);
            pass.alone(mixed, |block, product, means| {
                // SAFETY: blocks are disjoint.
                let features = unsafe { features.rows(&block.edges, width) };
                pass.multiply(&block.edges, features, product);
                mix(&convolution, block, product, means, &mut Update { features, affine: &affine });
            });
        }
    }
}

/// The convolution with its weight laid out for matrix products.
struct Pass<'a> {
    convolution: &'a GatedConvolution<'a>,
    packed: Scratch,
}

impl<'a> Pass<'a> {
    fn new(convolution: &'a GatedConvolution<'a>) -> Self {
        let width = convolution.width;
        let mut packed = Scratch::new(packed_len(width, width));
        pack_transposed(convolution.weight, width, width, &mut packed);
        Self { convolution, packed }
    }

    /// `C·ε` of the edges of a block.
    fn multiply(&self, block: &Range<usize>, features: &[f32], out: &mut [f32]) {
        let width = self.convolution.width;
        self.convolution.ask_for_sources(block, 2);
        let left = Left::row_major(features, width);
        product(block.len(), width, width, left, &self.packed, &mut Store { out, row_stride: width });
    }

    /// The gate of the first edge; zeros if there is none.
    fn first_gate(&self, features: &[f32]) -> Vec<f32> {
        let GatedConvolution { edges, width, bias, nodes, .. } = *self.convolution;
        let mut gate = vec![0.0; width];
        if let (Some(&source), Some(&target)) = (edges.source.first(), edges.target.first()) {
            self.multiply(&(0..1), &features[..width], &mut gate);
            let d = &nodes[self.convolution.part(target as usize, PART_D)..][..width];
            let e = &nodes[self.convolution.part(source as usize, PART_E)..][..width];
            for c in 0..width {
                gate[c] += bias[c] + d[c] + e[c];
            }
        }
        gate
    }

    /// Calls `work` for every block of edges, with room for its products and the means of its nodes.
    fn alone(&self, mixed: &mut [f32], work: impl Fn(&Block, &mut [f32], &mut Means<'_>) + Send + Sync) {
        let (convolution, width) = (self.convolution, self.convolution.width);
        let mixed = Disjoint::new(mixed);
        for_each_range(convolution.ranges_by_target(), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let mixed = unsafe { mixed.rows(&nodes, width) };
            let mut means = Means::new(nodes.start, mixed, None, width);
            let mut products = Scratch::new(PRODUCT_ROWS * width);
            convolution.for_each_block(nodes, PRODUCT_ROWS, |block| {
                work(block, &mut products[..block.edges.len() * width], &mut means);
            });
        });
    }
}

/// Gated means of consecutive nodes, whose edges arrive block by block.
struct Means<'a> {
    /// The first of the nodes.
    first: usize,
    /// Outputs of the nodes.
    mixed: &'a mut [f32],
    /// Their inverse denominators, if wanted.
    inverse: Option<&'a mut [f32]>,
    /// Numerator and denominator, `l` values each, of a node whose edges are not all in one block.
    open: Scratch,
}

impl<'a> Means<'a> {
    fn new(first: usize, mixed: &'a mut [f32], inverse: Option<&'a mut [f32]>, width: usize) -> Self {
        Self { first, mixed, inverse, open: Scratch::zeroed(2 * width) }
    }
}

simd_fn! {
    /// Turns the products `C·ε` of a block into gates and adds them to the means of their nodes.
    fn mix<S; G: Gates>(
        convolution: &GatedConvolution<'_>,
        block: &Block,
        products: &mut [f32],
        means: &mut Means<'_>,
        gates: &mut G,
    ) {
        for segment in &block.segments {
            let mut columns = Columns { convolution, block, segment, products, means, gates };
            for_lanes::<S, _>(convolution.width, &mut columns);
        }
    }
}

/// The work of [`mix`] for one node, a few columns at a time.
struct Columns<'a, 'm, G> {
    convolution: &'a GatedConvolution<'a>,
    block: &'a Block,
    segment: &'a Segment,
    products: &'a mut [f32],
    means: &'a mut Means<'m>,
    gates: &'a mut G,
}

impl<G: Gates> Lanes for Columns<'_, '_, G> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let GatedConvolution { edges, width: stride, bias, nodes, .. } = *self.convolution;
        let Segment { node, ref rows, begins, ends } = *self.segment;
        let sources = &edges.source[self.block.edges.clone()][rows.clone()];
        let (mut numerator, mut denominator) = ([0.0; W], [DENOMINATOR_EPSILON as f32; W]);
        if !begins {
            numerator = load_lanes::<W>(&self.means.open[at..], width);
            denominator = load_lanes::<W>(&self.means.open[stride + at..], width);
        }
        let mut of_target = load_lanes::<W>(&nodes[self.convolution.part(node, PART_D) + at..], width);
        let bias = load_lanes::<W>(&bias[at..], width);
        for c in 0..W {
            of_target[c] += bias[c];
        }
        let constants = self.gates.constants::<W>(at, width);
        for (row, &source) in rows.clone().zip(sources) {
            let place = row * stride + at;
            let mut gate = load_lanes::<W>(&self.products[place..], width);
            let source = &nodes[self.convolution.part(source as usize, PART_B) + at..];
            let b = load_lanes::<W>(source, width);
            let of_source = load_lanes::<W>(&source[(PART_E - PART_B) * stride..], width);
            for c in 0..W {
                gate[c] += of_target[c] + of_source[c];
                let open = sigmoid::<S>(gate[c]);
                numerator[c] = S::fma(open, b[c], numerator[c]);
                denominator[c] += open;
            }
            self.gates.take::<S, W>(&constants, self.products, place, width, gate);
        }
        if !ends {
            store_lanes(&mut self.means.open[at..], width, numerator);
            store_lanes(&mut self.means.open[stride + at..], width, denominator);
            return;
        }
        let a = load_lanes::<W>(&nodes[self.convolution.part(node, PART_A) + at..], width);
        let (mut mean, mut inverse) = ([0.0; W], [0.0; W]);
        for c in 0..W {
            inverse[c] = 1.0 / denominator[c];
            mean[c] = S::fma(numerator[c], inverse[c], a[c]);
        }
        let place = (node - self.means.first) * stride + at;
        store_lanes(&mut self.means.mixed[place..], width, mean);
        if let Some(out) = &mut self.means.inverse {
            store_lanes(&mut out[place..], width, inverse);
        }
    }
}

/// What becomes of the gates of a block.
trait Gates {
    /// Values needed for `W` columns of all edges.
    type Constants<const W: usize>;
    /// Those of the columns from `at` on.
    fn constants<const W: usize>(&self, at: usize, width: usize) -> Self::Constants<W>;
    /// Takes `W` columns of an edge's gate; `place` is where in the block they are.
    fn take<S: Arithmetic, const W: usize>(
        &mut self,
        constants: &Self::Constants<W>,
        products: &mut [f32],
        place: usize,
        width: usize,
        gate: [f32; W],
    );
}

/// `ε += ReLU(BN(ê))`.
struct Update<'a> {
    features: &'a mut [f32],
    affine: &'a Affine<'a>,
}

impl Gates for Update<'_> {
    /// Mean, scale and shift.
    type Constants<const W: usize> = [[f32; W]; 3];

    #[inline(always)]
    fn constants<const W: usize>(&self, at: usize, width: usize) -> [[f32; W]; 3] {
        let Affine { mean, scale, beta } = self.affine;
        [load_lanes(&mean[at..], width), load_lanes(&scale[at..], width), load_lanes(&beta[at..], width)]
    }

    #[inline(always)]
    fn take<S: Arithmetic, const W: usize>(
        &mut self,
        [mean, scale, shift]: &[[f32; W]; 3],
        _: &mut [f32],
        place: usize,
        width: usize,
        gate: [f32; W],
    ) {
        let mut feature = load_lanes::<W>(&self.features[place..], width);
        for c in 0..W {
            feature[c] += relu(Affine::apply::<S>(mean[c], scale[c], shift[c], gate[c]));
        }
        store_lanes(&mut self.features[place..], width, feature);
    }
}

/// Written over the products if `KEEP`, otherwise forgotten.
struct Plain<const KEEP: bool>;

impl<const KEEP: bool> Gates for Plain<KEEP> {
    type Constants<const W: usize> = ();

    #[inline(always)]
    fn constants<const W: usize>(&self, _: usize, _: usize) {}

    #[inline(always)]
    fn take<S: Arithmetic, const W: usize>(
        &mut self,
        (): &(),
        products: &mut [f32],
        place: usize,
        width: usize,
        gate: [f32; W],
    ) {
        if KEEP {
            store_lanes(&mut products[place..], width, gate);
        }
    }
}

/// Sums of gates and of their squares: in f32 over some rows, in f64 beyond.
struct Moments<'a> {
    /// What they are taken about, so that a large common offset does not cancel the variance away.
    origin: &'a [f32],
    rows: usize,
    /// Sums, then sums of squares.
    partial: Vec<f32>,
    total: Vec<f64>,
}

impl<'a> Moments<'a> {
    fn new(origin: &'a [f32]) -> Self {
        let columns = 2 * origin.len();
        Self { origin, rows: 0, partial: vec![0.0; columns], total: vec![0.0; columns] }
    }

    fn add(&mut self, gates: &[f32]) {
        let rows = gates.len() / self.origin.len().max(1);
        if self.rows + rows > BLOCK {
            self.flush();
        }
        self.rows += rows;
        let (sums, squares) = self.partial.split_at_mut(self.origin.len());
        add_moments(gates, self.origin, sums, squares);
    }

    fn flush(&mut self) {
        for (total, partial) in self.total.iter_mut().zip(&mut self.partial) {
            *total += f64::from(std::mem::take(partial));
        }
        self.rows = 0;
    }

    fn total(mut self) -> Vec<f64> {
        self.flush();
        self.total
    }
}
