//! Sums of values over pairs of nodes, weighted per head: once the value of the source, once that of the pair.
//!
//! ```text
//! y_i[t,c] = Σ_p a_p[t]·v_j[t,c]          m_i[t,c] = Σ_p a_p[t]·e_p[t,c]          pairs p from j that arrive at i
//! ```
//!
//! Shapes: weights `a` are `[pairs, heads]`, `v` `[nodes, l]`, `e` `[pairs, l]`, the output `[nodes, 2·l]` holds `y` and
//! behind it `m`.
//!
//! Gradient: `da_p = dy_i·v_j + dm_i·e_p` per head, `dv_j = Σ_p a_p dy_i`, `de_p = a_p dm_i`.

use crate::dispatch::simd_fn;
use crate::edges::Edges;
use crate::parallel::{Disjoint, balanced_ranges, for_each_range};
use std::ops::Range;

/// The inputs.
#[derive(Clone, Copy, Debug)]
pub struct PairMessages<'a> {
    /// The pairs, sorted by target.
    pub pairs: Edges<'a>,
    /// Number of heads; divides the width.
    pub heads: usize,
    /// Width `l`.
    pub width: usize,
    /// Weights.
    pub a: &'a [f32],
    /// Values of nodes.
    pub v: &'a [f32],
    /// Values of pairs.
    pub e: &'a [f32],
}

/// Where the wanted gradients go.
#[derive(Debug, Default)]
pub struct PairMessagesGradients<'a> {
    /// Of the weights.
    pub a: Option<&'a mut [f32]>,
    /// Of the values of nodes.
    pub v: Option<&'a mut [f32]>,
    /// Of the values of pairs.
    pub e: Option<&'a mut [f32]>,
}

impl PairMessages<'_> {
    fn check(&self) {
        self.pairs.check();
        assert!(
            self.heads > 0 && self.width > 0 && self.width.is_multiple_of(self.heads),
            "pair_messages: heads"
        );
        let (nodes, pairs) = (self.pairs.num_nodes, self.pairs.num_edges());
        assert_eq!(self.a.len(), pairs * self.heads, "pair_messages: length of a");
        assert_eq!(self.v.len(), nodes * self.width, "pair_messages: length of v");
        assert_eq!(self.e.len(), pairs * self.width, "pair_messages: length of e");
    }

    fn ranges(&self, offsets: &[u32]) -> Vec<Range<usize>> {
        balanced_ranges(offsets, 1 + 16_384 / self.width)
    }
}

/// Computes `[y, m]`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn pair_messages(input: PairMessages<'_>, output: &mut [f32]) {
    input.check();
    let columns = 2 * input.width;
    assert_eq!(output.len(), input.pairs.num_nodes * columns, "pair_messages: length of the output");
    let output = Disjoint::new(output);
    for_each_range(input.ranges(input.pairs.incoming), |nodes| {
        // SAFETY: ranges of nodes are disjoint.
        let output = unsafe { output.rows(&nodes, columns) };
        forward_nodes(&input, nodes, output);
    });
}

simd_fn! {
    fn forward_nodes<S>(input: &PairMessages<'_>, nodes: Range<usize>, output: &mut [f32]) {
        let (width, heads) = (input.width, input.heads);
        let channels = width / heads;
        for (node, out) in nodes.zip(output.chunks_exact_mut(2 * width)) {
            out.fill(0.0);
            let (y, m) = out.split_at_mut(width);
            for pair in input.pairs.incoming[node] as usize..input.pairs.incoming[node + 1] as usize {
                let v = &input.v[input.pairs.source[pair] as usize * width..][..width];
                let e = &input.e[pair * width..][..width];
                for (t, &a) in input.a[pair * heads..][..heads].iter().enumerate() {
                    let at = t * channels;
                    let (y, v) = (&mut y[at..][..channels], &v[at..][..channels]);
                    let (m, e) = (&mut m[at..][..channels], &e[at..][..channels]);
                    for c in 0..channels {
                        y[c] = S::fma(a, v[c], y[c]);
                        m[c] = S::fma(a, e[c], m[c]);
                    }
                }
            }
        }
    }
}

/// Computes the wanted gradients from `gradient`, which has the shape of the output.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn pair_messages_backward(input: PairMessages<'_>, gradient: &[f32], wanted: PairMessagesGradients<'_>) {
    input.check();
    let (width, heads, pairs) = (input.width, input.heads, input.pairs);
    assert_eq!(gradient.len(), 2 * pairs.num_nodes * width, "pair_messages_backward: length of the gradient");
    let PairMessagesGradients { a, v, e } = wanted;
    if a.is_some() || e.is_some() {
        let (has_a, has_e) = (a.is_some(), e.is_some());
        let (a, e) = (a.unwrap_or_default(), e.unwrap_or_default());
        assert!(!has_a || a.len() == input.a.len(), "pair_messages_backward: length of da");
        assert!(!has_e || e.len() == input.e.len(), "pair_messages_backward: length of de");
        let (a, e) = (Disjoint::new(a), Disjoint::new(e));
        for_each_range(input.ranges(pairs.incoming), |nodes| {
            let arriving = pairs.incoming[nodes.start] as usize..pairs.incoming[nodes.end] as usize;
            let none = 0..0;
            // SAFETY: pairs are sorted by target, so ranges of nodes have disjoint ranges of pairs.
            let a = unsafe { a.rows(if has_a { &arriving } else { &none }, heads) };
            // SAFETY: as above.
            let e = unsafe { e.rows(if has_e { &arriving } else { &none }, width) };
            backward_pairs(&input, gradient, arriving.clone(), a, e);
        });
    }
    if let Some(dv) = v {
        assert_eq!(dv.len(), input.v.len(), "pair_messages_backward: length of dv");
        let dv = Disjoint::new(dv);
        for_each_range(input.ranges(pairs.outgoing), |nodes| {
            // SAFETY: ranges of nodes are disjoint.
            let dv = unsafe { dv.rows(&nodes, width) };
            backward_nodes(&input, gradient, nodes, dv);
        });
    }
}

simd_fn! {
    /// Writes those of `da` and `de` that are not empty.
    fn backward_pairs<S>(
        input: &PairMessages<'_>,
        gradient: &[f32],
        pairs: Range<usize>,
        da: &mut [f32],
        de: &mut [f32],
    ) {
        let (width, heads) = (input.width, input.heads);
        let channels = width / heads;
        for (place, pair) in pairs.enumerate() {
            let target = input.pairs.target[pair] as usize;
            let (dy, dm) = gradient[2 * target * width..][..2 * width].split_at(width);
            let v = &input.v[input.pairs.source[pair] as usize * width..][..width];
            let e = &input.e[pair * width..][..width];
            let a = &input.a[pair * heads..][..heads];
            for t in 0..heads {
                let at = t * channels;
                if !da.is_empty() {
                    let mut sum = 0.0;
                    for c in at..at + channels {
                        sum = S::fma(dy[c], v[c], S::fma(dm[c], e[c], sum));
                    }
                    da[place * heads + t] = sum;
                }
                if !de.is_empty() {
                    let (de, dm) = (&mut de[place * width + at..][..channels], &dm[at..][..channels]);
                    for c in 0..channels {
                        de[c] = a[t] * dm[c];
                    }
                }
            }
        }
    }
}

simd_fn! {
    fn backward_nodes<S>(input: &PairMessages<'_>, gradient: &[f32], nodes: Range<usize>, dv: &mut [f32]) {
        let (width, heads, pairs) = (input.width, input.heads, input.pairs);
        let channels = width / heads;
        for (node, dv) in nodes.zip(dv.chunks_exact_mut(width)) {
            dv.fill(0.0);
            for &pair in &pairs.outgoing_edges[pairs.outgoing[node] as usize..pairs.outgoing[node + 1] as usize] {
                let (pair, target) = (pair as usize, pairs.target[pair as usize] as usize);
                let dy = &gradient[2 * target * width..][..width];
                for (t, &a) in input.a[pair * heads..][..heads].iter().enumerate() {
                    let (dv, dy) = (&mut dv[t * channels..][..channels], &dy[t * channels..][..channels]);
                    for c in 0..channels {
                        dv[c] = S::fma(a, dy[c], dv[c]);
                    }
                }
            }
        }
    }
}
