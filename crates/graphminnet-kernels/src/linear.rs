//! Linear layer: `y = x·Wᵀ + b`, optionally `y = dropout(ReLU(x·Wᵀ + b))`.
//!
//! Shapes: `x [rows, inputs]`, `W [outputs, inputs]`, `b [outputs]`, `y [rows, outputs]`.
//!
//! Gradient, with `dz = dy` (or, after a ReLU, `dz = dy ⊙ [y > 0] / (1 − p)`; a positive output means active and
//! kept, so the output is all that has to be saved):
//!
//! `dx = dz·W`, `dW = dzᵀ·x`, `db = Σ_rows dz`.
//!
//! The weight gradient sums over many rows into a small matrix; rows are cut in at most 32 parts, each part sums into
//! a matrix of its own, and these are added in order.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::dropout::{Dropout, Mask};
use crate::gemm::{
    Add, Epilogue, Left, Place, Right, Store, load_lanes, pack, pack_transposed, packed_len, prefetch_rows,
    product, product_with, rows_per_product_piece, store_lanes,
};
use crate::math::relu;
use crate::parallel::{Disjoint, for_each_piece, map_pieces, rows_of};
use crate::scratch::Scratch;
use std::ops::Range;

/// Sizes of a linear layer and of the batch it is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearShape {
    /// Rows of the input.
    pub rows: usize,
    /// Width of the input.
    pub inputs: usize,
    /// Width of the output.
    pub outputs: usize,
}

/// What follows the affine map.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    /// Nothing.
    #[default]
    None,
    /// `ReLU`, then dropout of the activations if given.
    Relu(Option<Dropout>),
}

/// Where [`linear_backward`] writes gradients; those not wanted are not computed.
#[derive(Default)]
pub struct LinearGradients<'a> {
    /// `[rows, inputs]`
    pub input: Option<&'a mut [f32]>,
    /// Whether the input's gradient is added to what is there instead of written over it.
    pub add_to_input: bool,
    /// `[outputs, inputs]`
    pub weight: Option<&'a mut [f32]>,
    /// `[outputs]`
    pub bias: Option<&'a mut [f32]>,
}

/// Computes `y`. Backward needs `x`, `W` and, with a ReLU, `y`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn linear(
    shape: LinearShape,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    activation: Activation,
    y: &mut [f32],
) {
    let LinearShape { rows, inputs, outputs } = shape;
    assert_eq!(x.len(), rows * inputs, "linear: length of x");
    assert_eq!(weight.len(), outputs * inputs, "linear: length of the weight");
    assert!(bias.is_none_or(|b| b.len() == outputs), "linear: length of the bias");
    assert_eq!(y.len(), rows * outputs, "linear: length of y");
    let mut packed = Scratch::new(packed_len(inputs, outputs));
    pack_transposed(weight, inputs, outputs, &mut packed);
    let packed = &packed[..];
    let y = Disjoint::new(y);
    for_each_piece(rows, rows_per_product_piece(inputs, outputs), |range| {
        let left = Left::row_major(rows_of(x, &range, inputs), inputs);
        // SAFETY: pieces are disjoint.
        let out = unsafe { y.rows(&range, outputs) };
        match (activation, bias) {
            (Activation::None, None) => {
                product(range.len(), inputs, outputs, left, packed, &mut Store { out, row_stride: outputs });
            }
            (Activation::None, Some(bias)) => {
                product(range.len(), inputs, outputs, left, packed, &mut StoreBiased { out, bias });
            }
            (Activation::Relu(dropout), bias) => {
                let mask = dropout.and_then(Dropout::mask);
                let mut store = StoreRelu { out, columns: outputs, bias, mask, first_row: range.start };
                product(range.len(), inputs, outputs, left, packed, &mut store);
            }
        }
    });
}

struct StoreBiased<'a> {
    out: &'a mut [f32],
    bias: &'a [f32],
}

impl Epilogue for StoreBiased<'_> {
    #[inline(always)]
    fn prefetch(&self, rows: Range<usize>, column: usize) {
        prefetch_rows(self.out, self.bias.len(), rows, column);
    }

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let bias = load_lanes::<W>(&self.bias[column..], width);
        let mut values = sums;
        for c in 0..W {
            values[c] += bias[c];
        }
        store_lanes(&mut self.out[row * self.bias.len() + column..], width, values);
    }
}

struct StoreRelu<'a> {
    out: &'a mut [f32],
    columns: usize,
    bias: Option<&'a [f32]>,
    mask: Option<Mask>,
    first_row: usize,
}

impl Epilogue for StoreRelu<'_> {
    #[inline(always)]
    fn prefetch(&self, rows: Range<usize>, column: usize) {
        prefetch_rows(self.out, self.columns, rows, column);
    }

    #[inline(always)]
    fn row<S: Arithmetic, const W: usize>(&mut self, at: Place, sums: [f32; W]) {
        let Place { row, column, width } = at;
        let mut values = sums;
        if let Some(bias) = self.bias {
            let bias = load_lanes::<W>(&bias[column..], width);
            for c in 0..W {
                values[c] += bias[c];
            }
        }
        for value in &mut values {
            *value = relu(*value);
        }
        if let Some(mask) = &self.mask {
            let first = ((self.first_row + row) * self.columns + column) as u32;
            for (c, value) in values.iter_mut().enumerate() {
                *value *= mask.factor(first.wrapping_add(c as u32));
            }
        }
        store_lanes(&mut self.out[row * self.columns + column..], width, values);
    }
}

/// Rows of one part of the weight gradient.
fn rows_per_part(rows: usize) -> usize {
    rows.div_ceil(32).div_ceil(6).max(64) * 6
}

/// Rows of a block whose gradients are formed while it is in the cache.
const BLOCK: usize = 128;

/// Computes the wanted gradients from `dy`; `y` is the saved output, used only after a ReLU.
///
/// # Panics
///
/// If a slice has another length than its shape says, or `y` is missing after a ReLU.
pub fn linear_backward(
    shape: LinearShape,
    x: &[f32],
    weight: &[f32],
    activation: Activation,
    y: Option<&[f32]>,
    dy: &[f32],
    gradients: LinearGradients<'_>,
) {
    let LinearShape { rows, inputs, outputs } = shape;
    assert_eq!(x.len(), rows * inputs, "linear_backward: length of x");
    assert_eq!(weight.len(), outputs * inputs, "linear_backward: length of the weight");
    assert_eq!(dy.len(), rows * outputs, "linear_backward: length of dy");
    let active = match activation {
        Activation::None => None,
        Activation::Relu(dropout) => {
            let y = y.expect("linear_backward: the output is needed after a ReLU");
            assert_eq!(y.len(), dy.len(), "linear_backward: length of y");
            Some((y, dropout.and_then(Dropout::mask).map_or(1.0, |mask| mask.scale)))
        }
    };
    let LinearGradients { input, add_to_input, weight: d_weight, bias: d_bias } = gradients;
    assert!(input.as_ref().is_none_or(|g| g.len() == x.len()), "linear_backward: length of dx");
    assert!(d_weight.as_ref().is_none_or(|g| g.len() == weight.len()), "linear_backward: length of dW");
    assert!(d_bias.as_ref().is_none_or(|g| g.len() == outputs), "linear_backward: length of db");

    let packed_weight = input.is_some().then(|| {
        let mut packed = Scratch::new(packed_len(outputs, inputs));
        pack(weight, outputs, inputs, inputs, &mut packed);
        packed
    });
    let part = Part {
        shape,
        x,
        dy,
        active,
        packed_weight: packed_weight.as_deref(),
        input: input.map(Disjoint::new),
        add_to_input,
        wants_weight: d_weight.is_some(),
        wants_bias: d_bias.is_some(),
    };
    let partials = map_pieces(rows, rows_per_part(rows), |range| part.run(range));
    if let Some(out) = d_weight {
        sum_partials(out, partials.iter().map(|(weight, _)| &weight[..]));
    }
    if let Some(out) = d_bias {
        sum_partials(out, partials.iter().map(|(_, bias)| &bias[..]));
    }
}

/// `out = Σ parts`, in order.
pub(crate) fn sum_partials<'a>(out: &mut [f32], mut parts: impl Iterator<Item = &'a [f32]>) {
    match parts.next() {
        Some(first) => out.copy_from_slice(first),
        None => out.fill(0.0),
    }
    for part in parts {
        for (out, value) in out.iter_mut().zip(part) {
            *out += value;
        }
    }
}

/// What one part of the backward pass needs.
struct Part<'a> {
    shape: LinearShape,
    x: &'a [f32],
    dy: &'a [f32],
    /// Saved output and dropout scale, after a ReLU.
    active: Option<(&'a [f32], f32)>,
    packed_weight: Option<&'a [f32]>,
    input: Option<Disjoint<'a>>,
    add_to_input: bool,
    wants_weight: bool,
    wants_bias: bool,
}

impl Part<'_> {
    /// Gradients of the rows `range`: dx is written or added to, this part's dW and db are returned.
    fn run(&self, range: Range<usize>) -> (Scratch, Scratch) {
        let LinearShape { inputs, outputs, .. } = self.shape;
        let mut d_weight = Scratch::zeroed(if self.wants_weight { outputs * inputs } else { 0 });
        let mut d_bias = Scratch::zeroed(if self.wants_bias { outputs } else { 0 });
        let mut masked = Scratch::new(if self.active.is_some() { BLOCK * outputs } else { 0 });
        let mut packed_x = Scratch::new(if self.wants_weight { packed_len(BLOCK, inputs) } else { 0 });
        for start in range.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(range.end);
            let mut dz = rows_of(self.dy, &block, outputs);
            if let Some((y, scale)) = self.active {
                let masked = &mut masked[..dz.len()];
                mask_inactive(dz, rows_of(y, &block, outputs), scale, masked);
                dz = masked;
            }
            if let (Some(input), Some(packed)) = (&self.input, self.packed_weight) {
                // SAFETY: blocks of all parts are disjoint.
                let out = unsafe { input.rows(&block, inputs) };
                let left = Left::row_major(dz, outputs);
                let (rows, row_stride) = (block.len(), inputs);
                if self.add_to_input {
                    product(rows, outputs, inputs, left, packed, &mut Add { out, row_stride });
                } else {
                    product(rows, outputs, inputs, left, packed, &mut Store { out, row_stride });
                }
            }
            if self.wants_weight {
                add_weight_gradient(
                    block.len(),
                    outputs,
                    inputs,
                    dz,
                    rows_of(self.x, &block, inputs),
                    &mut packed_x,
                    &mut d_weight,
                );
            }
            if self.wants_bias {
                add_rows(dz, &mut d_bias);
            }
        }
        (d_weight, d_bias)
    }
}

/// `out[m, n] += Σ_rows a[row, m] · b[row, n]`, packing `b` in `packed` on the way if it must be.
pub(crate) fn add_weight_gradient(
    rows: usize,
    m: usize,
    n: usize,
    a: &[f32],
    b: &[f32],
    packed: &mut [f32],
    out: &mut [f32],
) {
    let right = Right::in_place(b, rows, n).unwrap_or_else(|| {
        pack(b, rows, n, n, &mut packed[..packed_len(rows, n)]);
        Right::packed(packed, rows, n)
    });
    product_with(m, Left::transposed(a, m), right, &mut Add { out, row_stride: n });
}

simd_fn! {
    fn mask_inactive<S>(dy: &[f32], y: &[f32], scale: f32, out: &mut [f32]) {
        let (dy, y) = (&dy[..out.len()], &y[..out.len()]);
        for (i, out) in out.iter_mut().enumerate() {
            *out = if y[i] > 0.0 { dy[i] * scale } else { 0.0 };
        }
    }
}

simd_fn! {
    /// `out += Σ_rows`, rows as wide as `out`.
    pub(crate) fn add_rows<S>(rows: &[f32], out: &mut [f32]) {
        for row in rows.chunks_exact(out.len().max(1)) {
            for (out, value) in out.iter_mut().zip(row) {
                *out += value;
            }
        }
    }
}
