//! Dropout whose mask is a pure function of the seed and the element's position.
//!
//! `y[i] = x[i] / (1 − p)` with probability `1 − p`, else 0. Nothing is stored for the gradient: the mask of element
//! `i` (row-major position in its tensor, modulo 2³²) is a hash of `(seed, i)` and is computed again where needed.

use crate::dispatch::simd_fn;
use crate::parallel::{Disjoint, for_each_piece};

/// Which elements to drop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// Probability of dropping an element; 0 keeps everything, 1 drops everything.
    pub probability: f32,
    /// Names the mask: equal seeds give equal masks.
    pub seed: u64,
    /// Position of the first element among those that the mask is made for; not 0 for a part of them.
    pub first: u32,
}

impl Dropout {
    /// `None` when nothing would be dropped.
    pub(crate) fn mask(self) -> Option<Mask> {
        (self.probability > 0.0).then(|| Mask::new(self))
    }
}

/// A mask, ready to use.
#[derive(Clone, Copy)]
pub(crate) struct Mask {
    first: u32,
    first_key: u32,
    second_key: u32,
    /// Elements whose 31-bit hash is below are dropped.
    threshold: i32,
    /// Factor of the kept elements, 1 / (1 − p).
    pub scale: f32,
}

impl Mask {
    fn new(dropout: Dropout) -> Self {
        // SplitMix64 spreads neighbouring seeds over both keys.
        let mut key = dropout.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        key ^= key >> 31;
        let probability = dropout.probability.min(1.0);
        Self {
            first: dropout.first,
            first_key: key as u32,
            second_key: (key >> 32) as u32,
            threshold: (f64::from(probability) * 2_147_483_648.0) as i32,
            scale: if probability < 1.0 { 1.0 / (1.0 - probability) } else { 0.0 },
        }
    }

    /// 0 for a dropped element, `scale` for a kept one.
    #[inline(always)]
    pub(crate) fn factor(&self, index: u32) -> f32 {
        let mut hash = index.wrapping_add(self.first) ^ self.first_key;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x7FEB_352D);
        hash = (hash ^ (hash >> 15)).wrapping_add(self.second_key).wrapping_mul(0x846C_A68B);
        hash ^= hash >> 16;
        if ((hash >> 1) as i32) < self.threshold { 0.0 } else { self.scale }
    }
}

/// Writes the factor of every element: 0 where dropped, 1 / (1 − p) where kept.
///
/// Other implementations of an operation can multiply by this and get the very same result.
pub fn dropout_mask(dropout: Dropout, out: &mut [f32]) {
    let Some(mask) = dropout.mask() else {
        out.fill(1.0);
        return;
    };
    let count = out.len();
    let out = Disjoint::new(out);
    for_each_piece(count, 16_384, |range| {
        // SAFETY: pieces are disjoint.
        mask_values(mask, range.start as u32, unsafe { out.range(range.clone()) });
    });
}

simd_fn! {
    fn mask_values<S>(mask: Mask, first: u32, out: &mut [f32]) {
        for (offset, value) in out.iter_mut().enumerate() {
            *value = mask.factor(first.wrapping_add(offset as u32));
        }
    }
}

/// `out = x ⊙ mask`; the gradient is the same function of the output's gradient.
///
/// # Panics
///
/// If the lengths differ.
pub fn dropout(dropout: Dropout, x: &[f32], out: &mut [f32]) {
    assert_eq!(x.len(), out.len(), "dropout: input and output differ in length");
    let Some(mask) = dropout.mask() else {
        out.copy_from_slice(x);
        return;
    };
    let count = out.len();
    let out = Disjoint::new(out);
    for_each_piece(count, 16_384, |range| {
        // SAFETY: pieces are disjoint.
        drop_values(mask, range.start as u32, &x[range.clone()], unsafe { out.range(range.clone()) });
    });
}

simd_fn! {
    fn drop_values<S>(mask: Mask, first: u32, x: &[f32], out: &mut [f32]) {
        let x = &x[..out.len()];
        for (offset, value) in out.iter_mut().enumerate() {
            *value = x[offset] * mask.factor(first.wrapping_add(offset as u32));
        }
    }
}
