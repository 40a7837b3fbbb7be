//! The selective state-space scan of Mamba over sequences that stand one after the other.
//!
//! ```text
//! S_t[i,n] = exp(Δ_t[i]·A[i,n])·S_{t−1}[i,n] + Δ_t[i]·B_t[n]·u_t[i]        S = 0 before each sequence
//! y_t[i]   = Σ_n S_t[i,n]·C_t[n]
//! ```
//!
//! Shapes: `u`, `Δ`, `y` are `[rows, c]`, `B`, `C` `[rows, N]`, `A` `[c, N]`; `offsets` says where sequences begin.
//!
//! Gradient, with `G_t = dy_t ⊗ C_t + exp(Δ_{t+1}A) ⊙ G_{t+1}` run backwards and `a_t = exp(Δ_t A)`:
//!
//! ```text
//! dC_t[n] = Σ_i dy_t[i]·S_t[i,n]              dB_t[n] = Σ_i G_t[i,n]·Δ_t[i]·u_t[i]
//! du_t[i] = Σ_n G_t[i,n]·Δ_t[i]·B_t[n]        dA[i,n] = Σ_t G_t[i,n]·Δ_t[i]·a_t[i,n]·S_{t−1}[i,n]
//! dΔ_t[i] = Σ_n G_t[i,n]·(A[i,n]·a_t[i,n]·S_{t−1}[i,n] + B_t[n]·u_t[i])
//! ```
//!
//! Time is linear in the rows, forward and backward. The backward pass keeps the state of every [`STEPS`]-th row and
//! computes the states between again. Work is cut by sequence and by blocks of channels; what blocks add up is added in
//! order.

use crate::dispatch::{Arithmetic, simd_fn};
use crate::math::exp;
use crate::scratch::Scratch;
use crate::segments::check_offsets;
use rayon::prelude::*;
use std::ops::Range;

/// Channels of one piece of work.
const BLOCK: usize = 16;

/// Rows between two kept states.
pub const STEPS: usize = 64;

/// The inputs.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveScan<'a> {
    /// Where sequences begin; one more value than sequences.
    pub offsets: &'a [u32],
    /// Channels `c`.
    pub channels: usize,
    /// States `N` per channel.
    pub states: usize,
    /// Inputs.
    pub u: &'a [f32],
    /// Step sizes Δ.
    pub delta: &'a [f32],
    /// Rates `A`.
    pub a: &'a [f32],
    /// Input maps `B`.
    pub b: &'a [f32],
    /// Output maps `C`.
    pub c: &'a [f32],
}

/// Where the gradients go; all of them are computed.
#[derive(Debug)]
pub struct SelectiveScanGradients<'a> {
    /// Of the inputs.
    pub u: &'a mut [f32],
    /// Of the step sizes.
    pub delta: &'a mut [f32],
    /// Of the rates.
    pub a: &'a mut [f32],
    /// Of the input maps.
    pub b: &'a mut [f32],
    /// Of the output maps.
    pub c: &'a mut [f32],
}

/// Rows of one sequence and some of its channels.
#[derive(Clone, Debug)]
struct Piece {
    rows: Range<usize>,
    channels: Range<usize>,
}

/// What one piece gives: `[rows, channels of the piece]` each for the first two, `[rows, N]` or `[channels, N]` for the rest.
struct PieceGradients {
    u: Vec<f32>,
    delta: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl SelectiveScan<'_> {
    fn rows(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    fn check(&self) {
        let (rows, channels, states) = (self.rows(), self.channels, self.states);
        check_offsets("selective_scan", self.offsets, rows);
        assert_eq!(self.u.len(), rows * channels, "selective_scan: length of u");
        assert_eq!(self.delta.len(), rows * channels, "selective_scan: length of delta");
        assert_eq!(self.a.len(), channels * states, "selective_scan: length of a");
        assert_eq!(self.b.len(), rows * states, "selective_scan: length of b");
        assert_eq!(self.c.len(), rows * states, "selective_scan: length of c");
    }

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for range in self.offsets.windows(2).filter(|range| range[1] > range[0]) {
            for start in (0..self.channels).step_by(BLOCK) {
                let channels = start..(start + BLOCK).min(self.channels);
                pieces.push(Piece { rows: range[0] as usize..range[1] as usize, channels });
            }
        }
        pieces
    }

    #[inline(always)]
    fn of_row<'b>(&self, values: &'b [f32], row: usize) -> &'b [f32] {
        &values[row * self.states..][..self.states]
    }
}

/// Computes `y`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn selective_scan(input: SelectiveScan<'_>, y: &mut [f32]) {
    input.check();
    assert_eq!(y.len(), input.u.len(), "selective_scan: length of y");
    let pieces = input.pieces();
    let parts: Vec<Vec<f32>> = pieces.par_iter().map(|piece| forward_piece(&input, piece)).collect();
    for (piece, part) in pieces.iter().zip(parts) {
        copy_channels(&part, piece, input.channels, y);
    }
}

/// Puts `[rows, channels of the piece]` into their place.
fn copy_channels(part: &[f32], piece: &Piece, channels: usize, whole: &mut [f32]) {
    for (row, part) in piece.rows.clone().zip(part.chunks_exact(piece.channels.len())) {
        whole[row * channels..][piece.channels.clone()].copy_from_slice(part);
    }
}

/// One step of one channel: the new state from the old one.
#[inline(always)]
fn advance<S: Arithmetic>(state: &mut [f32], a: &[f32], b: &[f32], delta: f32, u: f32) {
    let (a, b) = (&a[..state.len()], &b[..state.len()]);
    let push = delta * u;
    for n in 0..state.len() {
        state[n] = S::fma(exp::<S>(delta * a[n]), state[n], push * b[n]);
    }
}

simd_fn! {
    fn forward_piece<S>(input: &SelectiveScan<'_>, piece: &Piece) -> Vec<f32> {
        let (width, states) = (piece.channels.len(), input.states);
        let mut y = vec![0.0; piece.rows.len() * width];
        let mut state = Scratch::zeroed(width * states);
        for (row, y) in piece.rows.clone().zip(y.chunks_exact_mut(width)) {
            let (b, c) = (input.of_row(input.b, row), input.of_row(input.c, row));
            for i in 0..width {
                let channel = piece.channels.start + i;
                let state = &mut state[i * states..][..states];
                let at = row * input.channels + channel;
                advance::<S>(state, input.of_row(input.a, channel), b, input.delta[at], input.u[at]);
                let mut sum = 0.0;
                for n in 0..states {
                    sum = S::fma(state[n], c[n], sum);
                }
                y[i] = sum;
            }
        }
        y
    }
}

/// Computes the gradients from `dy`.
///
/// # Panics
///
/// If a slice has another length than its shape says.
pub fn selective_scan_backward(input: SelectiveScan<'_>, dy: &[f32], gradients: SelectiveScanGradients<'_>) {
    input.check();
    let SelectiveScanGradients { u, delta, a, b, c } = gradients;
    for (gradient, like, name) in [
        (&*u, input.u, "u"),
        (&*delta, input.u, "delta"),
        (&*a, input.a, "a"),
        (&*b, input.b, "b"),
        (&*c, input.c, "c"),
    ] {
        assert_eq!(gradient.len(), like.len(), "selective_scan_backward: length of d{name}");
    }
    assert_eq!(dy.len(), input.u.len(), "selective_scan_backward: length of dy");
    for sum in [&mut *a, &mut *b, &mut *c] {
        sum.fill(0.0);
    }
    let pieces = input.pieces();
    let parts: Vec<PieceGradients> =
        pieces.par_iter().map(|piece| backward_piece(&input, dy, piece)).collect();
    for (piece, part) in pieces.iter().zip(parts) {
        copy_channels(&part.u, piece, input.channels, u);
        copy_channels(&part.delta, piece, input.channels, delta);
        let states = input.states;
        let add = |to: &mut [f32], from: &[f32]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        add(&mut a[piece.channels.start * states..piece.channels.end * states], &part.a);
        add(&mut b[piece.rows.start * states..piece.rows.end * states], &part.b);
        add(&mut c[piece.rows.start * states..piece.rows.end * states], &part.c);
    }
}

simd_fn! {
    fn backward_piece<S>(input: &SelectiveScan<'_>, dy: &[f32], piece: &Piece) -> PieceGradients {
        let (rows, width, states) = (piece.rows.len(), piece.channels.len(), input.states);
        let size = width * states;
        let mut part = PieceGradients {
            u: vec![0.0; rows * width],
            delta: vec![0.0; rows * width],
            a: vec![0.0; size],
            b: vec![0.0; rows * states],
            c: vec![0.0; rows * states],
        };
        // The states before every STEPS-th row.
        let chunks = rows.div_ceil(STEPS);
        let mut kept = Scratch::new(chunks * size);
        let mut state = Scratch::zeroed(size);
        for place in 0..rows {
            if place % STEPS == 0 {
                kept[place / STEPS * size..][..size].copy_from_slice(&state);
            }
            step_row::<S>(input, piece, piece.rows.start + place, &mut state);
        }
        // The states before and after every row of one chunk.
        let mut within = Scratch::new((STEPS + 1) * size);
        let mut flow = Scratch::zeroed(size);
        for chunk in (0..chunks).rev() {
            let first = chunk * STEPS;
            let last = (first + STEPS).min(rows);
            within[..size].copy_from_slice(&kept[chunk * size..][..size]);
            for place in first..last {
                let (before, after) = within[(place - first) * size..][..2 * size].split_at_mut(size);
                after.copy_from_slice(before);
                step_row::<S>(input, piece, piece.rows.start + place, after);
            }
            for place in (first..last).rev() {
                let (before, after) = within[(place - first) * size..][..2 * size].split_at(size);
                back_row::<S>(input, dy, piece, place, before, after, &mut flow, &mut part);
            }
        }
        part
    }
}

/// One step of all channels of a piece.
#[inline(always)]
fn step_row<S: Arithmetic>(input: &SelectiveScan<'_>, piece: &Piece, row: usize, state: &mut [f32]) {
    let b = input.of_row(input.b, row);
    for (channel, state) in piece.channels.clone().zip(state.chunks_exact_mut(input.states)) {
        let at = row * input.channels + channel;
        advance::<S>(state, input.of_row(input.a, channel), b, input.delta[at], input.u[at]);
    }
}

/// The gradients of one row; `flow` comes in as `exp(Δ_{t+1}A) ⊙ G_{t+1}` and leaves as the same one row earlier.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn back_row<S: Arithmetic>(
    input: &SelectiveScan<'_>,
    dy: &[f32],
    piece: &Piece,
    place: usize,
    before: &[f32],
    after: &[f32],
    flow: &mut [f32],
    part: &mut PieceGradients,
) {
    let (states, row) = (input.states, piece.rows.start + place);
    let (b, c) = (input.of_row(input.b, row), input.of_row(input.c, row));
    let (db, dc) = (&mut part.b[place * states..][..states], &mut part.c[place * states..][..states]);
    for (i, channel) in piece.channels.clone().enumerate() {
        let at = row * input.channels + channel;
        let (delta, u, dy) = (input.delta[at], input.u[at], dy[at]);
        let a = input.of_row(input.a, channel);
        let (before, after) = (&before[i * states..][..states], &after[i * states..][..states]);
        let (flow, da) = (&mut flow[i * states..][..states], &mut part.a[i * states..][..states]);
        let (mut of_push, mut of_decay) = (0.0, 0.0);
        for n in 0..states {
            let g = S::fma(dy, c[n], flow[n]);
            let decay = exp::<S>(delta * a[n]);
            let decayed = g * decay * before[n];
            dc[n] = S::fma(dy, after[n], dc[n]);
            db[n] = S::fma(g, delta * u, db[n]);
            da[n] = S::fma(delta, decayed, da[n]);
            of_push = S::fma(g, b[n], of_push);
            of_decay = S::fma(a[n], decayed, of_decay);
            flow[n] = g * decay;
        }
        let out = place * piece.channels.len() + i;
        part.u[out] = of_push * delta;
        part.delta[out] = S::fma(of_push, u, of_decay);
    }
}
