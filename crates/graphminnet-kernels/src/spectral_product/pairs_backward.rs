//! Backward pass of the spectral product through pairs of channels; symbols in `pairs`.
//!
//! With `g_u = ds_u`:
//!
//! * `dR_u = g_u·A`, `dA = Σ_u g_uᵀ·R_u`
//! * `dU_u[j,j'] = w_u[j]·dR_u{j,j'}`, `dw_u[j] = Σ_{j'} dR_u{j,j'}·U_u[j,j']`
//! * `dK = pᵀ·dU`
//! * `dT[i,j'] = Σ_j F[i,j]·F[i,j']·dK[i,(j,j')]`, and `dF` by the product rule, twice
//! * `dw_u[j] += Σ_i p_u[i]·dT[i,j]`
//! * `dB[k,j] = Σ_{j'} dA[k,{j,j'}]·B[k,j']`, `j' = j` twice
//!
//! `U` and `R` are formed again, some nodes and some pairs at a time, which stay in the cache.

use super::SpectralInputs;
use super::backward::{Pass, Sink};
use super::pairs::{Channels, PairFactors, num_pairs, parts_of_pairs, twice};
use crate::dispatch::simd_fn;
use crate::gemm::{
    Add, Left, PANEL, Right, Store, load_lanes, pack, packed_len, product, product_with, store_lanes,
};
use crate::parallel::{for_each_piece, map_pieces, rows_of};
use crate::scratch::Scratch;
use std::ops::Range;

/// Panels of pairs worked on at a time; an odd number, so that rows do not fall on the same places of the cache.
const PANELS: usize = 5;
const STRIDE: usize = PANELS * PANEL;
/// Nodes worked on at a time.
const ROWS: usize = 256;

/// `A` as a right operand `[l, pairs]`.
pub(super) fn pack_squares_by_pair(inputs: &SpectralInputs<'_>) -> Scratch {
    let SpectralInputs { channels, hidden, .. } = *inputs;
    let mut b = Scratch::new(2 * inputs.b.len());
    twice(inputs.b, channels, &mut b);
    let mut packed = Scratch::new(packed_len(hidden, num_pairs(channels)));
    for (panel, lines) in packed.chunks_exact_mut((PANEL * hidden).max(1)).enumerate() {
        let at = Channels::of(panel * PANEL, channels);
        for (row, line) in b.chunks_exact(2 * channels).zip(lines.chunks_exact_mut(PANEL)) {
            for ((out, first), second) in line.iter_mut().zip(&row[at.first..]).zip(&row[at.second..]) {
                *out = first * second;
            }
        }
    }
    packed
}

/// Sums over nodes.
pub(super) struct PairSums {
    /// dA, `[l, pairs]`
    pub squares: Scratch,
    /// dK of `(j,j')`, `[pairs, M]`
    first: Scratch,
    /// dK of `(j',j)`, `[pairs, M]`, of which the first D rows stay zero
    second: Scratch,
}

impl PairSums {
    pub fn zeroed(inputs: &SpectralInputs<'_>) -> Self {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = *inputs;
        let pairs = num_pairs(channels);
        let [squares, first, second] =
            [hidden, eigenpairs, eigenpairs].map(|width| Scratch::zeroed(pairs * width));
        Self { squares, first, second }
    }

    /// Forgets the sums that belong to one graph.
    pub fn begin_graph(&mut self) {
        self.first.fill(0.0);
        self.second.fill(0.0);
    }

    pub fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.squares, &other.squares),
            (&mut self.first, &other.first),
            (&mut self.second, &other.second),
        ];
        for (sums, others) in sums {
            sums.iter_mut().zip(&others[..]).for_each(|(sum, value)| *sum += value);
        }
    }

    /// dF of a graph (written to `df`) and dT, both `[M, D]`.
    pub fn through_factors(
        &self,
        inputs: &SpectralInputs<'_>,
        graph: usize,
        table: &[f32],
        df: &mut [f32],
    ) -> Scratch {
        let SpectralInputs { channels, eigenpairs, .. } = *inputs;
        let size = eigenpairs * channels;
        let (mut f, mut t) = (Scratch::new(size), Scratch::new(size));
        transpose(inputs.f_of(graph), channels, &mut f);
        transpose(table, channels, &mut t);
        let (mut df_by_channel, mut dt_by_channel) = (Scratch::zeroed(size), Scratch::zeroed(size));
        for pair in 0..num_pairs(channels) {
            let Channels { first, second } = Channels::of(pair, channels);
            let of = |channel: usize| channel * eigenpairs..(channel + 1) * eigenpairs;
            let (first, second, here) = (of(first), of(second % channels), of(pair));
            let factor = PairOfFactors {
                f: [&f[first.clone()], &f[second.clone()]],
                t: [&t[first.clone()], &t[second.clone()]],
            };
            if pair < channels {
                factor.backward_alone(
                    &self.first[here],
                    &mut df_by_channel[first.clone()],
                    &mut dt_by_channel[first],
                );
            } else if let (Ok(df), Ok(dt)) = (
                df_by_channel.get_disjoint_mut([first.clone(), second.clone()]),
                dt_by_channel.get_disjoint_mut([first, second]),
            ) {
                factor.backward(&self.first[here.clone()], &self.second[here], df, dt);
            }
        }
        let mut dt = Scratch::new(size);
        transpose(&dt_by_channel, eigenpairs, &mut dt);
        transpose(&df_by_channel, eigenpairs, df);
        dt
    }

    /// Adds dB.
    pub fn through_squares(&self, inputs: &SpectralInputs<'_>, db: &mut [f32]) {
        let channels = inputs.channels;
        let mut b = Scratch::new(2 * channels);
        let (mut near, mut far) = (Scratch::new(channels), Scratch::new(2 * channels));
        let rows = inputs.b.chunks_exact(channels).zip(self.squares.chunks_exact(num_pairs(channels)));
        for ((row, squares), db) in rows.zip(db.chunks_exact_mut(channels)) {
            twice(row, channels, &mut b);
            near.fill(0.0);
            far.fill(0.0);
            for (diagonal, squares) in squares.chunks(channels).enumerate() {
                add_products(squares, &b[diagonal..], &mut near);
                add_products(squares, &b, &mut far[diagonal..]);
            }
            for (j, db) in db.iter_mut().enumerate() {
                *db += near[j] + far[j] + far[channels + j];
            }
        }
    }
}

fn add_products(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out += a * b;
    }
}

/// `out[column, row] = rows[row, column]`, rows of `width`.
fn transpose(rows: &[f32], width: usize, out: &mut [f32]) {
    let count = rows.len() / width.max(1);
    for (row, values) in rows.chunks_exact(width.max(1)).enumerate() {
        for (column, value) in values.iter().enumerate() {
            out[column * count + row] = *value;
        }
    }
}

/// `F` and `T` of the two channels of a pair, for all eigenpairs.
struct PairOfFactors<'a> {
    f: [&'a [f32]; 2],
    t: [&'a [f32]; 2],
}

impl PairOfFactors<'_> {
    fn backward(&self, d_first: &[f32], d_second: &[f32], df: [&mut [f32]; 2], dt: [&mut [f32]; 2]) {
        let ([f, f_other], [t, t_other]) = (self.f, self.t);
        let ([df, df_other], [dt, dt_other]) = (df, dt);
        for i in 0..f.len() {
            let both = f[i] * f_other[i];
            dt_other[i] += both * d_first[i];
            dt[i] += both * d_second[i];
            let d_both = d_first[i] * t_other[i] + d_second[i] * t[i];
            df[i] += d_both * f_other[i];
            df_other[i] += d_both * f[i];
        }
    }

    /// Of a channel with itself.
    fn backward_alone(&self, d_first: &[f32], df: &mut [f32], dt: &mut [f32]) {
        let ([f, _], [t, _]) = (self.f, self.t);
        for i in 0..f.len() {
            dt[i] += f[i] * f[i] * d_first[i];
            df[i] += 2.0 * d_first[i] * t[i] * f[i];
        }
    }
}

impl Pass<'_> {
    /// One graph, on this thread; dA is added to what `sums` holds of other graphs.
    pub(super) fn small_graph_through_pairs(
        &self,
        graph: usize,
        squares: &[f32],
        sink: &Sink<'_>,
        sums: &mut PairSums,
    ) {
        let SpectralInputs { channels, eigenpairs, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut table = Scratch::new(eigenpairs * channels);
        self.inputs.table(graph, &mut table);
        let factors = PairFactors::new(&self.inputs, graph, &table);
        // SAFETY: each graph is worked on once.
        let mut dw = sink.w.as_ref().map(|w| unsafe { w.rows(&nodes, channels) });
        sums.begin_graph();
        self.nodes_through_pairs(&nodes, &factors, squares, sums, dw.as_deref_mut());
        let dt = self.end_graph(graph, &table, sink, sums);
        if let Some(dw) = dw {
            self.add_through_table(&nodes, &dt, dw);
        }
    }

    /// One large graph, by all threads; returns dB.
    pub(super) fn large_graph_through_pairs(
        &self,
        graph: usize,
        squares: &[f32],
        sink: &Sink<'_>,
    ) -> Scratch {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let nodes = self.inputs.nodes(graph);
        let mut table = Scratch::new(eigenpairs * channels);
        self.inputs.table(graph, &mut table);
        let factors = PairFactors::new(&self.inputs, graph, &table);
        let dw_of = |range: &Range<usize>| {
            let nodes = nodes.start + range.start..nodes.start + range.end;
            // SAFETY: pieces are disjoint, and one loop over them ends before the next begins.
            let dw = sink.w.as_ref().map(|w| unsafe { w.rows(&nodes, channels) });
            (nodes, dw)
        };
        // Few enough parts to keep their sums small, enough for many threads.
        let part = nodes.len().div_ceil(16).max(2 * ROWS);
        let parts = map_pieces(nodes.len(), part, |range| {
            let (nodes, dw) = dw_of(&range);
            let mut sums = PairSums::zeroed(&self.inputs);
            self.nodes_through_pairs(&nodes, &factors, squares, &mut sums, dw);
            sums
        });
        let mut sums = PairSums::zeroed(&self.inputs);
        parts.iter().for_each(|part| sums.add(part));
        let dt = self.end_graph(graph, &table, sink, &sums);
        for_each_piece(nodes.len(), ROWS, |range| {
            if let (nodes, Some(dw)) = dw_of(&range) {
                self.add_through_table(&nodes, &dt, dw);
            }
        });
        let mut db = Scratch::zeroed(hidden * channels);
        sums.through_squares(&self.inputs, &mut db);
        db
    }

    /// Writes dF of a graph whose sums are complete, and returns dT as a right operand `[M, D]`.
    fn end_graph(&self, graph: usize, table: &[f32], sink: &Sink<'_>, sums: &PairSums) -> Scratch {
        let SpectralInputs { channels, eigenpairs, .. } = self.inputs;
        let mut df = Scratch::new(eigenpairs * channels);
        let dt = sums.through_factors(&self.inputs, graph, table, &mut df);
        // SAFETY: each graph is worked on once.
        unsafe { sink.write_f(&self.inputs, graph, &df) };
        let mut packed = Scratch::new(packed_len(eigenpairs, channels));
        pack(&dt, eigenpairs, channels, channels, &mut packed);
        packed
    }

    /// Adds what goes through `T` to dw of some nodes.
    fn add_through_table(&self, nodes: &Range<usize>, packed_dt: &[f32], dw: &mut [f32]) {
        let SpectralInputs { channels, eigenpairs, .. } = self.inputs;
        let p = Left::row_major(self.inputs.p_rows(nodes), eigenpairs);
        let mut add = Add { out: dw, row_stride: channels };
        product(nodes.len(), eigenpairs, channels, p, packed_dt, &mut add);
    }

    /// Adds the sums over some nodes of a graph, and writes what goes through `R` to their dw.
    ///
    /// `squares` is `A` as a right operand `[l, pairs]`.
    pub(super) fn nodes_through_pairs(
        &self,
        nodes: &Range<usize>,
        factors: &PairFactors,
        squares: &[f32],
        sums: &mut PairSums,
        mut dw: Option<&mut [f32]>,
    ) {
        let channels = self.inputs.channels;
        let blocks = nodes.len().div_ceil(ROWS);
        for block in 0..blocks {
            let [start, end] = [block, block + 1].map(|block| block * nodes.len() / blocks);
            let dw = dw.as_deref_mut().map(|dw| &mut dw[start * channels..end * channels]);
            self.block_through_pairs(nodes.start + start..nodes.start + end, factors, squares, sums, dw);
        }
    }

    fn block_through_pairs(
        &self,
        nodes: Range<usize>,
        factors: &PairFactors,
        squares: &[f32],
        sums: &mut PairSums,
        dw: Option<&mut [f32]>,
    ) {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = self.inputs;
        let (rows, pairs) = (nodes.len(), num_pairs(channels));
        let ds = rows_of(self.ds, &nodes, hidden);
        let p = self.inputs.p_rows(&nodes);
        let mut packed_p = Scratch::new(packed_len(rows, eigenpairs));
        pack(p, rows, eigenpairs, eigenpairs, &mut packed_p);
        let mut w = Scratch::new(2 * channels * rows);
        twice(self.inputs.w_rows(&nodes), channels, &mut w);
        let mut dw_twice = Scratch::zeroed(2 * channels * rows);
        let [mut joined, mut first, mut second] = [(); 3].map(|()| Scratch::new(rows * STRIDE));
        for part in parts_of_pairs(channels, PANELS) {
            let width = part.len();
            let others = part.start.max(channels)..part.end.max(channels);
            let skipped = width - others.len();
            let (ds_rows, p_rows) = (Left::row_major(ds, hidden), Left::row_major(p, eigenpairs));
            let mut store = Store { out: &mut joined, row_stride: STRIDE };
            product(rows, hidden, width, ds_rows, &squares[part.start * hidden..], &mut store);
            let mut store = Store { out: &mut first, row_stride: STRIDE };
            product(rows, eigenpairs, width, p_rows, factors.first_from(part.start, eigenpairs), &mut store);
            if !others.is_empty() {
                let mut store = Store { out: &mut second[skipped..], row_stride: STRIDE };
                let factors = factors.second_from(others.start, channels, eigenpairs);
                product(rows, eigenpairs, others.len(), p_rows, factors, &mut store);
            }
            through_joined(part.clone(), channels, &w, &mut joined, &mut first, &mut second, &mut dw_twice);
            let right = Right::strided(&joined, rows, width, STRIDE);
            let mut add = Add { out: &mut sums.squares[part.start..], row_stride: pairs };
            product_with(hidden, rows, width, Left::transposed(ds, hidden), right, &mut add);
            let columns = |values| Left { values, row_stride: 1, depth_stride: STRIDE };
            let mut add = Add { out: &mut sums.first[part.start * eigenpairs..], row_stride: eigenpairs };
            product(width, rows, eigenpairs, columns(&first), &packed_p, &mut add);
            if !others.is_empty() {
                let mut add =
                    Add { out: &mut sums.second[others.start * eigenpairs..], row_stride: eigenpairs };
                product(others.len(), rows, eigenpairs, columns(&second[skipped..]), &packed_p, &mut add);
            }
        }
        if let Some(dw) = dw {
            for (dw, twice) in dw.chunks_exact_mut(channels).zip(dw_twice.chunks_exact(2 * channels)) {
                let (near, far) = twice.split_at(channels);
                for ((dw, near), far) in dw.iter_mut().zip(near).zip(far) {
                    *dw = near + far;
                }
            }
        }
    }
}

simd_fn! {
    /// Step 3 and its gradient, in place: from dR and the two `U` of some pairs to `R` and the two dU; adds to dw.
    fn through_joined<S>(
        pairs: Range<usize>,
        channels: usize,
        w: &[f32],
        joined: &mut [f32],
        first: &mut [f32],
        second: &mut [f32],
        dw: &mut [f32],
    ) {
        let rows = w.chunks_exact(2 * channels).zip(dw.chunks_exact_mut(2 * channels));
        let values = joined.chunks_exact_mut(STRIDE).zip(first.chunks_exact_mut(STRIDE)).zip(second.chunks_exact_mut(STRIDE));
        for ((w, dw), ((joined, first), second)) in rows.zip(values) {
            for column in (0..pairs.len()).step_by(PANEL) {
                let pair = pairs.start + column;
                let at = Channels::of(pair, channels);
                let d_joined = load_lanes::<PANEL>(&joined[column..], PANEL);
                let w_first = load_lanes::<PANEL>(&w[at.first..], PANEL);
                let mut dw_first = load_lanes::<PANEL>(&dw[at.first..], PANEL);
                let mut u = load_lanes::<PANEL>(&first[column..], PANEL);
                let mut sum = [0.0; PANEL];
                for c in 0..PANEL {
                    dw_first[c] = S::fma(d_joined[c], u[c], dw_first[c]);
                    sum[c] = w_first[c] * u[c];
                    u[c] = w_first[c] * d_joined[c];
                }
                store_lanes(&mut first[column..], PANEL, u);
                store_lanes(&mut dw[at.first..], PANEL, dw_first);
                if pair >= channels {
                    let w_second = load_lanes::<PANEL>(&w[at.second..], PANEL);
                    let mut dw_second = load_lanes::<PANEL>(&dw[at.second..], PANEL);
                    let mut u = load_lanes::<PANEL>(&second[column..], PANEL);
                    for c in 0..PANEL {
                        dw_second[c] = S::fma(d_joined[c], u[c], dw_second[c]);
                        sum[c] = S::fma(w_second[c], u[c], sum[c]);
                        u[c] = w_second[c] * d_joined[c];
                    }
                    store_lanes(&mut second[column..], PANEL, u);
                    store_lanes(&mut dw[at.second..], PANEL, dw_second);
                }
                store_lanes(&mut joined[column..], PANEL, sum);
            }
        }
    }
}
