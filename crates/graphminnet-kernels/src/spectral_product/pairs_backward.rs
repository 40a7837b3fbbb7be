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
use crate::dispatch::{Arithmetic, simd_fn};
use crate::gemm::{
    Add, Left, PANEL, Right, Store, load_lanes, pack, packed_len, product, product_with, store_lanes,
};
use crate::others::join_sums;
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
    /// dK of `(j,j')`, `[pairs, padded M]`
    first: Scratch,
    /// dK of `(j',j)`, `[pairs, padded M]`, of which the first D rows stay zero
    second: Scratch,
}

/// Length of a row of dK: whole panels, so that no sum has to be cut.
fn padded(eigenpairs: usize) -> usize {
    eigenpairs.next_multiple_of(PANEL)
}

impl PairSums {
    pub(super) fn zeroed(inputs: &SpectralInputs<'_>) -> Self {
        let SpectralInputs { channels, eigenpairs, hidden, .. } = *inputs;
        let length = padded(eigenpairs);
        let [squares, first, second] =
            [hidden, length, length].map(|width| Scratch::zeroed(num_pairs(channels) * width));
        Self { squares, first, second }
    }

    /// Forgets the sums that belong to one graph.
    pub(super) fn begin_graph(&mut self) {
        self.first.fill(0.0);
        self.second.fill(0.0);
    }

    pub(super) fn add(&mut self, other: &Self) {
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
    fn through_factors(
        &self,
        inputs: &SpectralInputs<'_>,
        graph: usize,
        table: &[f32],
        df: &mut [f32],
        dt: &mut [f32],
    ) {
        let SpectralInputs { channels, eigenpairs, .. } = *inputs;
        let length = padded(eigenpairs);
        let [mut f, mut t, mut df_by_channel, mut dt_by_channel] =
            [(); 4].map(|()| Scratch::zeroed(channels * length));
        transpose(inputs.f_of(graph), channels, length, &mut f);
        transpose(table, channels, length, &mut t);
        through_factors(self, channels, &f, &t, &mut df_by_channel, &mut dt_by_channel);
        for (by_channel, out) in [(&df_by_channel, df), (&dt_by_channel, dt)] {
            for (channel, values) in by_channel.chunks_exact(length).enumerate() {
                for (pair, value) in values[..eigenpairs].iter().enumerate() {
                    out[pair * channels + channel] = *value;
                }
            }
        }
    }
}

simd_fn! {
    /// Adds dB, given dA `[l, pairs]`.
    pub(super) fn through_squares<S>(inputs: &SpectralInputs<'_>, squares: &[f32], db: &mut [f32]) {
        let channels = inputs.channels;
        let mut b = Scratch::new(2 * inputs.b.len());
        twice(inputs.b, channels, &mut b);
        let mut db_twice = Scratch::zeroed(b.len());
        // Panel by panel, not row by row: the next panel of a row adds to a part of dB that overlaps the last one.
        for column in (0..num_pairs(channels)).step_by(PANEL) {
            let Channels { first, second } = Channels::of(column, channels);
            let rows = b.chunks_exact(2 * channels).zip(db_twice.chunks_exact_mut(2 * channels));
            for ((b, db), squares) in rows.zip(squares.chunks_exact(num_pairs(channels))) {
                let squares = load_lanes::<PANEL>(&squares[column..], PANEL);
                add_product::<S>(squares, load_lanes::<PANEL>(&b[second..], PANEL), &mut db[first..]);
                add_product::<S>(squares, load_lanes::<PANEL>(&b[first..], PANEL), &mut db[second..]);
            }
        }
        add_halves(&db_twice, channels, db);
    }
}

/// Adds both halves of rows that hold all channels twice.
#[inline(always)]
fn add_halves(twice: &[f32], channels: usize, out: &mut [f32]) {
    for (out, twice) in out.chunks_exact_mut(channels).zip(twice.chunks_exact(2 * channels)) {
        let (near, far) = twice.split_at(channels);
        for ((out, near), far) in out.iter_mut().zip(near).zip(far) {
            *out += near + far;
        }
    }
}

/// `out[column, row] = rows[row, column]`, rows of `width`, rows of the result of `length`.
fn transpose(rows: &[f32], width: usize, length: usize, out: &mut [f32]) {
    for (row, values) in rows.chunks_exact(width).enumerate() {
        for (column, value) in values.iter().enumerate() {
            out[column * length + row] = *value;
        }
    }
}

simd_fn! {
    /// From dK to dF and dT (both added); all but dK are `[D, padded M]`.
    fn through_factors<S>(sums: &PairSums, channels: usize, f: &[f32], t: &[f32], df: &mut [f32], dt: &mut [f32]) {
        let length = f.len() / channels;
        let mut d_factors = sums.first.chunks_exact(length).zip(sums.second.chunks_exact(length));
        for (first, (d_first, _)) in d_factors.by_ref().take(channels).enumerate() {
            for at in (0..length).step_by(PANEL) {
                let here = first * length + at;
                let (f, t) = (load_lanes::<PANEL>(&f[here..], PANEL), load_lanes::<PANEL>(&t[here..], PANEL));
                let d_first = load_lanes::<PANEL>(&d_first[at..], PANEL);
                let (mut square, mut d_f) = ([0.0; PANEL], [0.0; PANEL]);
                for c in 0..PANEL {
                    square[c] = f[c] * f[c];
                    d_f[c] = 2.0 * f[c] * t[c];
                }
                add_product::<S>(square, d_first, &mut dt[here..]);
                add_product::<S>(d_f, d_first, &mut df[here..]);
            }
        }
        let (mut first, mut second) = (0, length);
        let mut diagonal = length;
        for (d_first, d_second) in d_factors {
            for at in (0..length).step_by(PANEL) {
                let (first, second) = (first + at, second + at);
                let d_first = load_lanes::<PANEL>(&d_first[at..], PANEL);
                let d_second = load_lanes::<PANEL>(&d_second[at..], PANEL);
                let (f_first, f_second) = (load_lanes::<PANEL>(&f[first..], PANEL), load_lanes::<PANEL>(&f[second..], PANEL));
                let (t_first, t_second) = (load_lanes::<PANEL>(&t[first..], PANEL), load_lanes::<PANEL>(&t[second..], PANEL));
                let (mut both, mut d_both) = ([0.0; PANEL], [0.0; PANEL]);
                for c in 0..PANEL {
                    both[c] = f_first[c] * f_second[c];
                    d_both[c] = S::fma(d_first[c], t_second[c], d_second[c] * t_first[c]);
                }
                add_product::<S>(both, d_second, &mut dt[first..]);
                add_product::<S>(both, d_first, &mut dt[second..]);
                add_product::<S>(d_both, f_second, &mut df[first..]);
                add_product::<S>(d_both, f_first, &mut df[second..]);
            }
            // The next pair on the diagonal, or the first one of the next.
            first += length;
            second += length;
            if first == f.len() {
                diagonal += length;
                (first, second) = (0, diagonal);
            }
            if second == f.len() {
                second = 0;
            }
        }
    }
}

#[inline(always)]
fn add_product<S: Arithmetic>(a: [f32; PANEL], b: [f32; PANEL], out: &mut [f32]) {
    let mut total = load_lanes::<PANEL>(out, PANEL);
    for c in 0..PANEL {
        total[c] = S::fma(a[c], b[c], total[c]);
    }
    store_lanes(out, PANEL, total);
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
        through_squares(&self.inputs, &sums.squares, &mut db);
        db
    }

    /// Writes dF of a graph whose sums are complete, and returns dT as a right operand `[M, D]`.
    fn end_graph(&self, graph: usize, table: &[f32], sink: &Sink<'_>, sums: &PairSums) -> Scratch {
        let SpectralInputs { channels, eigenpairs, .. } = self.inputs;
        let [mut df, mut dt] = [(); 2].map(|()| Scratch::new(eigenpairs * channels));
        sums.through_factors(&self.inputs, graph, table, &mut df, &mut dt);
        if let Some(others) = self.inputs.others {
            join_sums(others.holders, &mut dt);
        }
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
            product_with(hidden, Left::transposed(ds, hidden), right, &mut add);
            let columns = |values| Left { values, row_stride: 1, depth_stride: STRIDE };
            let length = padded(eigenpairs);
            let mut add = Add { out: &mut sums.first[part.start * length..], row_stride: length };
            product(width, rows, length, columns(&first), &packed_p, &mut add);
            if !others.is_empty() {
                let mut add = Add { out: &mut sums.second[others.start * length..], row_stride: length };
                product(others.len(), rows, length, columns(&second[skipped..]), &packed_p, &mut add);
            }
        }
        if let Some(dw) = dw {
            dw.fill(0.0);
            add_halves(&dw_twice, channels, dw);
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
        // Panel by panel, not row by row: the next panel of a row adds to a part of dw that overlaps the last one.
        for column in (0..pairs.len()).step_by(PANEL) {
            let at = Channels::of(pairs.start + column, channels);
            let rows = w.chunks_exact(2 * channels).zip(dw.chunks_exact_mut(2 * channels));
            let values = joined
                .chunks_exact_mut(STRIDE)
                .zip(first.chunks_exact_mut(STRIDE))
                .zip(second.chunks_exact_mut(STRIDE));
            for ((w, dw), ((joined, first), second)) in rows.zip(values) {
                let (joined, first) = (&mut joined[column..], &mut first[column..]);
                let d_joined = load_lanes::<PANEL>(joined, PANEL);
                let mut sum = [0.0; PANEL];
                through_term::<S>(&w[at.first..], d_joined, first, &mut dw[at.first..], &mut sum);
                if at.second != at.first {
                    let second = &mut second[column..];
                    through_term::<S>(&w[at.second..], d_joined, second, &mut dw[at.second..], &mut sum);
                }
                store_lanes(joined, PANEL, sum);
            }
        }
    }
}

/// One of the two terms `w·U` of `R`: adds it to `sum` and its part of dw, and replaces `U` by dU.
#[inline(always)]
fn through_term<S: Arithmetic>(
    w: &[f32],
    d_joined: [f32; PANEL],
    u: &mut [f32],
    dw: &mut [f32],
    sum: &mut [f32; PANEL],
) {
    let w = load_lanes::<PANEL>(w, PANEL);
    let mut dw_lanes = load_lanes::<PANEL>(dw, PANEL);
    let mut lanes = load_lanes::<PANEL>(u, PANEL);
    for c in 0..PANEL {
        dw_lanes[c] = S::fma(d_joined[c], lanes[c], dw_lanes[c]);
        sum[c] = S::fma(w[c], lanes[c], sum[c]);
        lanes[c] = w[c] * d_joined[c];
    }
    store_lanes(u, PANEL, lanes);
    store_lanes(dw, PANEL, dw_lanes);
}
