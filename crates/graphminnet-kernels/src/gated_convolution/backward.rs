//! Backward pass of the gated convolution, by target.

use super::at_source::{sum_gradients, sum_open_gates};
use super::{Block, GatedConvolution, PART_A, PART_B, PART_D, PARTS, PRODUCT_ROWS, Segment};
use crate::batch_norm::{Affine, AffineGradients, GradientCoefficients, UsedStatistics};
use crate::dispatch::{Arithmetic, simd_fn};
use crate::dropout::{Dropout, Mask};
use crate::gemm::{Add, Left, Store, pack, packed_len, product};
use crate::lanes::{Lanes, for_lanes, load_lanes, store_lanes};
use crate::linear::{add_weight_gradient, sum_partials};
use crate::math::sigmoid;
use crate::norm_relu_residual::gradient_coefficients;
use crate::parallel::{
    Disjoint, for_each_piece, for_each_range, map_ranges, prefetch_block, rows_of, rows_per_piece,
};
use crate::scratch::Scratch;
use std::ops::Range;

/// What the forward pass had and made.
#[derive(Clone, Copy)]
pub struct ConvolutionSaved<'a> {
    /// ε, `[edges, l]`
    pub features: &'a [f32],
    /// x̂, `[nodes, l]`
    pub mixed: &'a [f32],
    /// `r`, `[nodes, l]`
    pub inverse: &'a [f32],
}

/// How edges were updated.
#[derive(Clone, Copy)]
pub struct UpdatedEdges<'a> {
    /// γ
    pub gamma: &'a [f32],
    /// β
    pub beta: &'a [f32],
    /// Statistics of the norm.
    pub used: UsedStatistics<'a>,
    /// Dropout after the ReLU.
    pub dropout: Option<Dropout>,
}

/// Where gradients are written; those not wanted are not computed.
#[derive(Default)]
pub struct ConvolutionGradients<'a> {
    /// `[edges, l]`. With updated edges it holds their gradient at the beginning, which is needed whether or not
    /// `wants_features`.
    pub features: Option<&'a mut [f32]>,
    /// Whether the gradient of the edge features is wanted.
    pub wants_features: bool,
    /// `[l, l]`
    pub weight: Option<&'a mut [f32]>,
    /// `[l]`
    pub bias: Option<&'a mut [f32]>,
    /// `[nodes, 4l]`
    pub nodes: Option<&'a mut [f32]>,
}

/// Computes the wanted gradients. The gates are overwritten by their gradient.
///
/// `d_mixed` is the gradient of x̂, if there is one; that of updated edges is where `gradients.features` will be.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn gated_convolution_backward(
    convolution: GatedConvolution<'_>,
    gate: &mut [f32],
    saved: ConvolutionSaved<'_>,
    d_mixed: Option<&[f32]>,
    updated: Option<(UpdatedEdges<'_>, AffineGradients<'_>)>,
    gradients: ConvolutionGradients<'_>,
) {
    convolution.check();
    convolution.check_edges(gate, "the gates");
    convolution.check_edges(saved.features, "the edge features");
    convolution.check_nodes(saved.mixed, 1, "the output");
    convolution.check_nodes(saved.inverse, 1, "the inverse denominators");
    let ConvolutionGradients { features, wants_features, weight, bias, nodes } = gradients;
    let width = convolution.width;
    assert!(
        features.is_some() || !(wants_features || updated.is_some()),
        "gated convolution: no edge gradient"
    );
    let d_features = features.unwrap_or_default();
    let norm = updated.map(|(update, d_norm)| {
        convolution.check_edges(d_features, "the gradient of the edge features");
        Norm::new(&update, gate, d_features, d_norm)
    });
    let wants_nodes = nodes.is_some();
    let d_nodes = nodes.unwrap_or_default();
    if wants_nodes {
        convolution.check_nodes(d_nodes, PARTS, "the gradient of the nodes");
    }
    let d_nodes = Disjoint::new(d_nodes);
    let mut q = Scratch::new(if d_mixed.is_some() { saved.inverse.len() } else { 0 });
    if let Some(d_mixed) = d_mixed {
        convolution.check_nodes(d_mixed, 1, "the gradient of the output");
        let q = Disjoint::new(&mut q);
        for_each_piece(convolution.edges.num_nodes, rows_per_piece(width), |nodes| {
            // SAFETY: pieces are disjoint.
            let q = unsafe { q.rows(&nodes, width) };
            multiply(rows_of(d_mixed, &nodes, width), rows_of(saved.inverse, &nodes, width), q);
        });
    }
    // The sums at sources need the gates, which the pass by target overwrites.
    if wants_nodes {
        for_each_range(convolution.ranges_by_source(), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let rows = unsafe { d_nodes.rows(&nodes, PARTS * width) };
            sum_open_gates(&convolution, gate, d_mixed, &q, nodes, rows);
        });
    }
    let target = ByTarget {
        convolution: &convolution,
        saved,
        d_mixed,
        q: &q,
        norm,
        packed: wants_features.then(|| {
            let mut packed = Scratch::new(packed_len(width, width));
            pack(convolution.weight, width, width, width, &mut packed);
            packed
        }),
        gate: Disjoint::new(gate),
        d_features: Disjoint::new(d_features),
        d_nodes: wants_nodes.then_some(d_nodes),
        wants_weight: weight.is_some(),
    };
    let partials = map_ranges(convolution.ranges_by_target(), |nodes| target.run(nodes));
    if let Some(weight) = weight {
        sum_partials(weight, partials.iter().map(|(weight, _)| &weight[..]));
    }
    if let Some(bias) = bias {
        sum_partials(bias, partials.iter().map(|(_, bias)| &bias[..]));
    }
    if wants_nodes {
        for_each_range(convolution.ranges_by_source(), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let rows = unsafe { d_nodes.rows(&nodes, PARTS * width) };
            sum_gradients(&convolution, gate, nodes, rows);
        });
    }
}

/// The gradient through the norm of edges: `scale·g + (ê − mean)·slope + constant` with
/// `g = dε' ⊙ mask ⊙ [BN(ê) > 0]`.
struct Norm<'a> {
    affine: Affine<'a>,
    coefficients: GradientCoefficients,
    mask: Option<Mask>,
}

impl<'a> Norm<'a> {
    fn new(update: &UpdatedEdges<'a>, gate: &[f32], d_updated: &[f32], d_norm: AffineGradients<'_>) -> Self {
        let UpdatedEdges { gamma, beta, used, dropout } = *update;
        let affine = Affine::new(used.mean, used.variance, gamma, beta);
        let mask = dropout.and_then(Dropout::mask);
        let AffineGradients { gamma: d_gamma, beta: d_beta } = d_norm;
        let coefficients =
            gradient_coefficients(gate, gamma, &affine, used, mask, d_updated, d_gamma, d_beta);
        Self { affine, coefficients, mask }
    }

    /// The constants of the columns from `at` on.
    #[inline(always)]
    fn columns<const W: usize>(&self, at: usize, width: usize) -> NormColumns<W> {
        let GradientCoefficients { scale, slope, constant } = &self.coefficients;
        NormColumns {
            mean: load_lanes(&self.affine.mean[at..], width),
            factor: load_lanes(&self.affine.scale[at..], width),
            shift: load_lanes(&self.affine.beta[at..], width),
            mask: self.mask,
            scale: load_lanes(&scale[at..], width),
            slope: load_lanes(&slope[at..], width),
            constant: load_lanes(&constant[at..], width),
        }
    }
}

/// `W` columns of [`Norm`].
struct NormColumns<const W: usize> {
    mean: [f32; W],
    factor: [f32; W],
    shift: [f32; W],
    mask: Option<Mask>,
    scale: [f32; W],
    slope: [f32; W],
    constant: [f32; W],
}

impl<const W: usize> NormColumns<W> {
    /// The gradient of a gate, given that of the new edge; `index` numbers the first value among all edges' values.
    #[inline(always)]
    fn gradient<S: Arithmetic>(&self, gate: [f32; W], d_updated: [f32; W], index: u32) -> [f32; W] {
        let mut gradient = d_updated;
        for c in 0..W {
            let is_active = Affine::apply::<S>(self.mean[c], self.factor[c], self.shift[c], gate[c]) > 0.0;
            gradient[c] = if is_active { gradient[c] } else { 0.0 };
        }
        if let Some(mask) = &self.mask {
            for c in 0..W {
                gradient[c] *= mask.factor(index.wrapping_add(c as u32));
            }
        }
        for c in 0..W {
            let rest = S::fma(gate[c] - self.mean[c], self.slope[c], self.constant[c]);
            gradient[c] = S::fma(self.scale[c], gradient[c], rest);
        }
        gradient
    }
}

/// What the pass by target needs.
struct ByTarget<'a> {
    convolution: &'a GatedConvolution<'a>,
    saved: ConvolutionSaved<'a>,
    d_mixed: Option<&'a [f32]>,
    q: &'a [f32],
    norm: Option<Norm<'a>>,
    /// The weight, if the gradient of the features is wanted.
    packed: Option<Scratch>,
    gate: Disjoint<'a>,
    d_features: Disjoint<'a>,
    d_nodes: Option<Disjoint<'a>>,
    wants_weight: bool,
}

impl ByTarget<'_> {
    /// Gradients of the edges that point to `nodes`, and these nodes' own; returns their part of dC and dc.
    fn run(&self, nodes: Range<usize>) -> (Scratch, Scratch) {
        let width = self.convolution.width;
        let mut d_weight = Scratch::zeroed(if self.wants_weight { width * width } else { 0 });
        let packed_rows = if self.wants_weight { PRODUCT_ROWS + self.convolution.rows_in_cache() } else { 0 };
        let mut packed_features = Scratch::new(packed_len(packed_rows, width));
        let mut at_target = AtTarget {
            first: nodes.start,
            // SAFETY: ranges of nodes are disjoint.
            d_nodes: self.d_nodes.map(|d_nodes| unsafe { d_nodes.rows(&nodes, PARTS * width) }),
            open: Scratch::zeroed(width),
            d_bias: Scratch::zeroed(width),
        };
        let last = self.convolution.edges.incoming[nodes.end] as usize;
        let mut pending = self.convolution.edges.incoming[nodes.start] as usize;
        self.convolution.for_each_block(nodes, self.convolution.rows_in_cache(), |block| {
            // SAFETY: edges are sorted by target, so ranges of nodes have disjoint ranges of edges.
            let gate = unsafe { self.gate.rows(&block.edges, width) };
            let d_features: &[f32] = match &self.norm {
                None => &[],
                // SAFETY: as above.
                Some(_) => unsafe { self.d_features.rows(&block.edges, width) },
            };
            self.convolution.ask_for_sources(&block.edges, 1);
            if self.wants_weight {
                // Products over rows go down the columns, which the processor does not foresee.
                prefetch_block(rows_of(self.saved.features, &block.edges, width));
            }
            gate_gradients(self, block, gate, d_features, &mut at_target);
            // Products want more rows than the nearest cache holds.
            if block.edges.end < pending + PRODUCT_ROWS && block.edges.end < last {
                return;
            }
            let edges = pending..block.edges.end;
            pending = block.edges.end;
            let rows = edges.len();
            // SAFETY: as above; the gradients are complete.
            let gate = unsafe { self.gate.rows(&edges, width) };
            if let Some(packed) = &self.packed {
                // SAFETY: as above.
                let out = unsafe { self.d_features.rows(&edges, width) };
                let (left, row_stride) = (Left::row_major(gate, width), width);
                if self.norm.is_some() {
                    product(rows, width, width, left, packed, &mut Add { out, row_stride });
                } else {
                    product(rows, width, width, left, packed, &mut Store { out, row_stride });
                }
            }
            if self.wants_weight {
                let features = rows_of(self.saved.features, &edges, width);
                add_weight_gradient(rows, width, width, gate, features, &mut packed_features, &mut d_weight);
            }
        });
        (d_weight, at_target.d_bias)
    }
}

/// Sums of gradients at consecutive nodes, whose edges arrive block by block.
struct AtTarget<'a> {
    /// The first of the nodes.
    first: usize,
    /// Their gradients, if wanted.
    d_nodes: Option<&'a mut [f32]>,
    /// `Σ dê` of a node whose edges are not all in one block.
    open: Scratch,
    /// `Σ dê` over all edges.
    d_bias: Scratch,
}

simd_fn! {
    /// Replaces the gates of a block by their gradients and sums these.
    fn gate_gradients<S>(
        pass: &ByTarget<'_>,
        block: &Block,
        gate: &mut [f32],
        d_updated: &[f32],
        at_target: &mut AtTarget<'_>,
    ) {
        match (pass.d_mixed, &pass.norm) {
            (Some(_), Some(_)) => segments::<S, true, true>(pass, block, gate, d_updated, at_target),
            (Some(_), None) => segments::<S, true, false>(pass, block, gate, d_updated, at_target),
            (None, Some(_)) => segments::<S, false, true>(pass, block, gate, d_updated, at_target),
            (None, None) => segments::<S, false, false>(pass, block, gate, d_updated, at_target),
        }
    }
}

#[inline(always)]
fn segments<S: Arithmetic, const MIXED: bool, const NORM: bool>(
    pass: &ByTarget<'_>,
    block: &Block,
    gate: &mut [f32],
    d_updated: &[f32],
    at_target: &mut AtTarget<'_>,
) {
    for segment in &block.segments {
        let mut columns = Columns::<MIXED, NORM> { pass, block, segment, gate, d_updated, at_target };
        for_lanes::<S, _>(pass.convolution.width, &mut columns);
    }
}

/// The work of [`gate_gradients`] for one node, a few columns at a time.
struct Columns<'a, 't, const MIXED: bool, const NORM: bool> {
    pass: &'a ByTarget<'a>,
    block: &'a Block,
    segment: &'a Segment,
    gate: &'a mut [f32],
    d_updated: &'a [f32],
    at_target: &'a mut AtTarget<'t>,
}

impl<const MIXED: bool, const NORM: bool> Lanes for Columns<'_, '_, MIXED, NORM> {
    #[inline(always)]
    fn lanes<S: Arithmetic, const W: usize>(&mut self, at: usize, width: usize) {
        let ByTarget { convolution, saved, q, .. } = *self.pass;
        let GatedConvolution { edges, width: stride, nodes, .. } = *convolution;
        let Segment { node, ref rows, begins, ends } = *self.segment;
        let sources = &edges.source[self.block.edges.clone()][rows.clone()];
        let (mut own_q, mut mean) = ([0.0; W], [0.0; W]);
        if MIXED {
            own_q = load_lanes::<W>(&q[node * stride + at..], width);
            mean = load_lanes::<W>(&saved.mixed[node * stride + at..], width);
            let a = load_lanes::<W>(&nodes[convolution.part(node, PART_A) + at..], width);
            for c in 0..W {
                mean[c] -= a[c];
            }
        }
        // A closure's body would not be compiled for the wide instructions.
        #[allow(clippy::manual_map)]
        let norm = match &self.pass.norm {
            Some(norm) => Some(norm.columns::<W>(at, width)),
            None => None,
        };
        let mut sum = if begins { [0.0; W] } else { load_lanes::<W>(&self.at_target.open[at..], width) };
        for (row, &source) in rows.clone().zip(sources) {
            let place = row * stride + at;
            let gate = load_lanes::<W>(&self.gate[place..], width);
            let mut gradient = [0.0; W];
            if MIXED {
                let b = convolution.part(source as usize, PART_B) + at;
                let b = load_lanes::<W>(&nodes[b..], width);
                for c in 0..W {
                    let open = sigmoid::<S>(gate[c]);
                    gradient[c] = own_q[c] * (b[c] - mean[c]) * (open * (1.0 - open));
                }
            }
            if let (true, Some(norm)) = (NORM, &norm) {
                let d_updated = load_lanes::<W>(&self.d_updated[place..], width);
                let index = ((self.block.edges.start + row) * stride + at) as u32;
                let through = norm.gradient::<S>(gate, d_updated, index);
                for c in 0..W {
                    gradient[c] += through[c];
                }
            }
            for c in 0..W {
                sum[c] += gradient[c];
            }
            store_lanes(&mut self.gate[place..], width, gradient);
        }
        if !ends {
            store_lanes(&mut self.at_target.open[at..], width, sum);
            return;
        }
        if let Some(d_nodes) = &mut self.at_target.d_nodes {
            let d_d = convolution.part(node - self.at_target.first, PART_D) + at;
            store_lanes(&mut d_nodes[d_d..], width, sum);
        }
        let mut d_bias = load_lanes::<W>(&self.at_target.d_bias[at..], width);
        for c in 0..W {
            d_bias[c] += sum[c];
        }
        store_lanes(&mut self.at_target.d_bias[at..], width, d_bias);
    }
}

simd_fn! {
    fn multiply<S>(a: &[f32], b: &[f32], out: &mut [f32]) {
        let (a, b) = (&a[..out.len()], &b[..out.len()]);
        for i in 0..out.len() {
            out[i] = a[i] * b[i];
        }
    }
}
