//! `s_u = ⟨a_u, ā⟩`: the paper's four types of inner product, each in its cheapest form.
//!
//! Letters as in the paper and in [`super::block`]: `w = W x`, `p` positions, `E^A`, `E^C` the φ coefficients,
//! `F = E^A ⊙ E^C`, `k` hidden channel, `i` eigenpair, `j` positional channel, `T_g[i,j] = Σ_{v∈g} p_v[i]·w_v[j]`.
//!
//! | layout `channel`, linear `B` | form used | cost |
//! |---|---|---|
//! | type 1, 3 with `mul` | [`spectral_product`](crate::ops::spectral_product) | `n·M·D·l` or `n·(M·D² + D²·l/2)` |
//! | type 1, 2, 3 with `add`; type 2 with `mul` | per-graph matrices | `n·(M + D)·l` |
//! | type 4a, 4b with a scalar second product (type 3) | per-graph matrices | `n·M·(D + l)`, `n·D²·l` |
//! | everything else (`eigen` layout, non-linear `W`, `B`, dropout on `a`, type 2 inside type 4) | the definition | stores `n·M·l` |
//!
//! The definition of type 4 compares all pairs of nodes of a graph and is meant for ablations on small graphs.

use super::Spectrum;
use super::beyond::Beyond;
use crate::config::{Aggregate, InnerProduct, Layout, ModelConfig, PairKind};
use crate::nn::Projection;
use crate::ops::{
    self, Dropout, Epilogue, Structure, batched_rows, spectral_product, spectral_product_across,
    sum_per_graph,
};
use burn::tensor::Tensor;
use std::sync::Arc;

/// What the inner product is made of besides the projected features.
pub(super) struct Terms<'a> {
    pub(super) config: &'a ModelConfig,
    pub(super) spectrum: &'a Spectrum,
    /// The map `B`.
    pub(super) output: &'a Projection,
    pub(super) structure: &'a Arc<Structure>,
    /// What is beyond the batch.
    pub(super) beyond: Option<&'a Beyond>,
    /// Number of the layer.
    pub(super) layer: usize,
}

/// `[rows, columns] → [rows, width]`, every value the sum of its row.
fn times_ones(rows: Tensor<2>, width: usize) -> Tensor<2> {
    let ([_, columns], device) = (rows.dims(), rows.device());
    ops::linear(rows, Tensor::ones([width, columns], &device), None, Epilogue::None)
}

impl Terms<'_> {
    /// `s`, `[nodes, hidden]` (or `[nodes, 1]` for scalar products, which broadcast).
    pub(super) fn similarity(&self, w: Tensor<2>, embedding_dropout: Option<Dropout>) -> Tensor<2> {
        let hidden = self.config.hidden;
        let similarity = match (self.output.as_linear(), self.config.layout, embedding_dropout) {
            (Some(b), Layout::Channel, None) => self.channel_form(w, b.weight.val()),
            _ => self.definition(w, embedding_dropout),
        };
        let [nodes, width] = similarity.dims();
        match (nodes, width == hidden) {
            (_, true) => similarity,
            // The engine refuses to expand to no rows. Other parts of the graph wait for the gradient of none, too, and
            // expect as many operations on its way.
            (0, false) => times_ones(similarity, hidden),
            (_, false) => similarity.expand([nodes, hidden]),
        }
    }

    /// The cheap form, where there is one.
    fn channel_form(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        use InnerProduct::{Type1, Type2, Type3, Type4a, Type4b};
        match (self.config.inner_product, self.config.aggregate) {
            (Type1, Aggregate::Mul) => self.product(w, b),
            (Type3, Aggregate::Mul) => match w.dims() {
                [0, _] => times_ones(self.product(w, b), 1),
                _ => self.product(w, b).sum_dim(1),
            },
            (Type2, Aggregate::Mul) => self.type2_of_product(w, b),
            (Type1 | Type2 | Type3, Aggregate::Add) => self.of_sum(w, b),
            (Type4a, _) if self.config.type4_second == PairKind::Type3 => self.type4a(w, b),
            (Type4b, _) if self.config.type4_second == PairKind::Type3 => self.type4b(w, b),
            _ => self.definition(w, None),
        }
    }

    fn product(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let (positions, factors) = (self.spectrum.positions.clone(), self.spectrum.factors.clone());
        match self.beyond {
            None => spectral_product(w, positions, factors, b, self.structure),
            Some(Beyond::Noted(noted)) => {
                noted.note(positions.clone(), w.clone());
                spectral_product(w, positions, factors, b, self.structure)
            }
            Some(Beyond::Carried(carried)) => {
                let [nodes, _] = w.dims();
                let (positions, w, structure) = carried.extend(self.layer, positions, w);
                spectral_product(w, positions, factors, b, structure).narrow(0, 0, nodes)
            }
            Some(Beyond::Across(across)) => {
                spectral_product_across(w, positions, factors, b, self.structure, across)
            }
        }
    }

    /// `T`, `[graphs, pairs, channels]`.
    fn position_feature_sums(&self, w: Tensor<2>) -> Tensor<3> {
        ops::outer_sums(self.spectrum.positions.clone(), w, self.structure)
    }

    /// `s_u[i] = p_u[i]·Σ_j w_u[j]·F_i[j]·(Bᵀā)[j,i]`.
    fn type2_of_product(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let factors = self.spectrum.factors.clone();
        let sums = factors.clone() * self.position_feature_sums(w.clone());
        let abar = apply(sums, b.clone().transpose()); // ā: [G, M, l]
        let weights = factors * apply(abar, b); // F_i[j]·(Bᵀā)[j,i]: [G, M, D]
        batched_rows(w, weights.transpose(), self.structure) * self.spectrum.positions.clone()
    }

    /// With ⊕ = sum: `a_u[k,i] = (B(E^A_i ⊙ w_u))[k] + p_u[i]·(B E^C_i)[k]`.
    fn of_sum(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let Spectrum { phi_a, phi_c, positions, .. } = self.spectrum;
        let [graphs, pairs, channels] = phi_a.dims();
        let bt = b.clone().transpose(); // [D, l]
        let feature_sums = sum_per_graph(w.clone(), self.structure).reshape([graphs, 1, channels]);
        let position_sums = sum_per_graph(positions.clone(), self.structure).reshape([graphs, pairs, 1]);
        let positional = apply(phi_c.clone(), bt.clone()); // B E^C: [G, M, l]
        let abar = apply(phi_a.clone() * feature_sums, bt.clone()) + positional.clone() * position_sums; // [G, M, l]
        if self.config.inner_product == InnerProduct::Type2 {
            let per_feature = phi_a.clone() * apply(abar.clone(), b); // [G, M, D]
            let per_position = (positional * abar).sum_dim(2).reshape([graphs, pairs]); // [G, M]
            let own = ops::gather_graphs(per_position, self.structure) * positions.clone();
            return batched_rows(w, per_feature.transpose(), self.structure) + own;
        }
        // s_u[k] = Σ_j w_u[j]·B[k,j]·Σ_i E^A_i[j]·ā[k,i] + Σ_i p_u[i]·(B E^C_i)[k]·ā[k,i]
        let [_, hidden] = bt.dims();
        let per_feature = phi_a.clone().transpose().matmul(abar.clone()) * bt.reshape([1, channels, hidden]);
        let similarity = batched_rows(w, per_feature, self.structure)
            + batched_rows(positions.clone(), positional * abar, self.structure);
        match self.config.inner_product {
            InnerProduct::Type3 => similarity.sum_dim(1),
            _ => similarity,
        }
    }

    /// `⟨B C_u, B C_v⟩_first · ⟨A_u, A_v⟩_type3` summed over `v`.
    ///
    /// `B C_u[:,i] = p_u[i]·G_i` with `G = B E^C`, and `⟨A_u, A_v⟩ = Σ_j κ_j w_u[j] w_v[j]` with `κ_j = Σ_i E^A_i[j]²`;
    /// so with `r_u[i] = p_u[i]·Σ_j κ_j·w_u[j]·T[i,j]` every type is a weighted sum of `r_u`.
    fn type4a(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let spectrum = self.spectrum;
        let kappa = spectrum.phi_a.clone().powi_scalar(2).sum_dim(1); // [G, 1, D]
        let weights = self.position_feature_sums(w.clone()) * kappa; // [G, M, D]
        let r = batched_rows(w, weights.transpose(), self.structure) * spectrum.positions.clone(); // [n, M]
        let squares = apply(spectrum.phi_c.clone(), b.transpose()).powi_scalar(2); // G_i[k]²: [G, M, l]
        match self.config.type4_first {
            PairKind::Type1 => batched_rows(r, squares, self.structure),
            PairKind::Type3 => batched_rows(r, squares.sum_dim(2), self.structure),
            PairKind::Type2 => {
                let [graphs, pairs, _] = squares.dims();
                r * ops::gather_graphs(squares.sum_dim(2).reshape([graphs, pairs]), self.structure)
            }
        }
    }

    /// `⟨B A_u, B A_v⟩_first · ⟨C_u, C_v⟩_type3` summed over `v`.
    ///
    /// With `ψ_i = ‖E^C_i‖²` and `t_u[j] = Σ_i ψ_i·p_u[i]·T[i,j]` the sum over `v` disappears into `t_u`:
    /// `s_u = ⟨B(E^A ⊙ w_u), B(E^A ⊙ t_u)⟩_first`.
    fn type4b(&self, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
        let spectrum = self.spectrum;
        let [graphs, pairs, channels] = spectrum.phi_a.dims();
        let psi = spectrum.phi_c.clone().powi_scalar(2).sum_dim(2); // [G, M, 1]
        let t = batched_rows(
            spectrum.positions.clone(),
            self.position_feature_sums(w.clone()) * psi,
            self.structure,
        ); // [n, D]
        let [nodes, _] = w.dims();
        let outer = (w.reshape([nodes, channels, 1]) * t.reshape([nodes, 1, channels]))
            .reshape([nodes, channels * channels]); // w_u[j]·t_u[j']
        let [hidden, _] = b.dims();
        let matrices = match self.config.type4_first {
            // Σ_i E_i[j]·E_i[j']·(BᵀB)[j,j'] for each i: one column per eigenpair.
            PairKind::Type2 => {
                let gram = b.clone().transpose().matmul(b).reshape([1, 1, channels, channels]);
                let pairs_of_channels = spectrum.phi_a.clone().reshape([graphs, pairs, channels, 1])
                    * spectrum.phi_a.clone().reshape([graphs, pairs, 1, channels]);
                (pairs_of_channels * gram).reshape([graphs, pairs, channels * channels]).transpose()
            }
            kind => {
                let overlap = spectrum.phi_a.clone().transpose().matmul(spectrum.phi_a.clone()); // [G, D, D]
                let bt = b.transpose(); // [D, l]
                let squares =
                    bt.clone().reshape([1, channels, 1, hidden]) * bt.reshape([1, 1, channels, hidden]);
                let squares = match kind {
                    PairKind::Type3 => squares.sum_dim(3),
                    _ => squares,
                };
                let [_, _, _, width] = squares.dims();
                (overlap.reshape([graphs, channels, channels, 1]) * squares).reshape([
                    graphs,
                    channels * channels,
                    width,
                ])
            }
        };
        batched_rows(outer, matrices, self.structure)
    }

    /// The definition, with every embedding stored: `[nodes, columns, hidden]`.
    fn definition(&self, w: Tensor<2>, embedding_dropout: Option<Dropout>) -> Tensor<2> {
        let feature = feature(self.config, self.spectrum, w, self.structure);
        let positional = positional(self.config, self.spectrum, self.structure);
        match self.config.inner_product {
            InnerProduct::Type4a => self.all_pairs(self.embed(positional), feature),
            InnerProduct::Type4b => self.all_pairs(self.embed(feature), positional),
            kind => {
                let combined = match self.config.aggregate {
                    Aggregate::Mul => feature * positional,
                    Aggregate::Add => feature + positional,
                };
                let embedded = ops::dropout(self.embed(combined), embedding_dropout); // a: [n, S, l]
                let [nodes, columns, hidden] = embedded.dims();
                let flat = embedded.clone().reshape([nodes, columns * hidden]);
                let sums = ops::gather_graphs(sum_per_graph(flat, self.structure), self.structure);
                let products = embedded * sums.reshape([nodes, columns, hidden]);
                match kind {
                    InnerProduct::Type1 => products.sum_dim(1).reshape([nodes, hidden]),
                    InnerProduct::Type2 => products.sum_dim(2).reshape([nodes, columns]),
                    _ => products.reshape([nodes, columns * hidden]).sum_dim(1),
                }
            }
        }
    }

    /// `B` applied to every column: `[nodes, columns, rows] → [nodes, columns, hidden]`.
    fn embed(&self, columns_first: Tensor<3>) -> Tensor<3> {
        let [nodes, columns, rows] = columns_first.dims();
        let embedded = self.output.forward(columns_first.reshape([nodes * columns, rows]));
        let [_, hidden] = embedded.dims();
        embedded.reshape([nodes, columns, hidden])
    }

    /// `Σ_v ⟨X_u, X_v⟩_first ⊙ ⟨Y_u, Y_v⟩_second`, graph by graph.
    fn all_pairs(&self, x: Tensor<3>, y: Tensor<3>) -> Tensor<2> {
        let (first, second) = (self.config.type4_first, self.config.type4_second);
        let graphs =
            self.structure.node_offsets().windows(2).filter(|range| range[0] < range[1]).map(|range| {
                let (start, size) = (range[0] as usize, (range[1] - range[0]) as usize);
                let x = x.clone().narrow(0, start, size);
                let y = y.clone().narrow(0, start, size);
                let products = pairwise(first, x) * pairwise(second, y); // [n, n, l or 1]
                let [_, _, width] = products.dims();
                products.sum_dim(1).reshape([size, width])
            });
        let graphs: Vec<Tensor<2>> = graphs.collect();
        if graphs.is_empty() {
            return Tensor::zeros([0, self.config.hidden], &x.device());
        }
        Tensor::cat(graphs, 0)
    }
}

/// Every matrix of a batch times one matrix: `[graphs, pairs, in]·[in, out]`.
fn apply(matrices: Tensor<3>, right: Tensor<2>) -> Tensor<3> {
    let ([graphs, pairs, inner], [_, out]) = (matrices.dims(), right.dims());
    matrices.reshape([graphs * pairs, inner]).matmul(right).reshape([graphs, pairs, out])
}

/// `⟨X_u, X_v⟩` for all pairs of one graph: `[n, columns, rows] → [n, n, width]`.
fn pairwise(kind: PairKind, x: Tensor<3>) -> Tensor<3> {
    let [nodes, columns, rows] = x.dims();
    let products = x.clone().reshape([nodes, 1, columns, rows]) * x.reshape([1, nodes, columns, rows]);
    match kind {
        PairKind::Type1 => products.sum_dim(2).reshape([nodes, nodes, rows]),
        PairKind::Type2 => products.sum_dim(3).reshape([nodes, nodes, columns]),
        PairKind::Type3 => products.reshape([nodes, nodes, columns * rows]).sum_dim(2),
    }
}

/// φ of every node, columns first: `[nodes, columns, rows]`.
fn coefficients(config: &ModelConfig, phi: &Tensor<3>, structure: &Structure) -> Tensor<3> {
    let [graphs, pairs, channels] = phi.dims();
    let flat = ops::gather_graphs(phi.clone().reshape([graphs, pairs * channels]), structure);
    let cube = flat.reshape([structure.num_nodes(), pairs, channels]);
    match config.layout {
        Layout::Channel => cube,
        Layout::Eigen => cube.transpose(),
    }
}

/// `A_u`, columns first: `[nodes, columns, rows]`.
fn feature(config: &ModelConfig, spectrum: &Spectrum, w: Tensor<2>, structure: &Structure) -> Tensor<3> {
    let [nodes, rows] = w.dims();
    coefficients(config, &spectrum.phi_a, structure) * w.reshape([nodes, 1, rows])
}

/// `C_u`, columns first: `[nodes, columns, rows]`.
pub(super) fn positional(config: &ModelConfig, spectrum: &Spectrum, structure: &Structure) -> Tensor<3> {
    let [nodes, pairs] = spectrum.positions.dims();
    let positions = spectrum.positions.clone();
    coefficients(config, &spectrum.phi_c, structure)
        * match config.layout {
            Layout::Channel => positions.reshape([nodes, pairs, 1]),
            Layout::Eigen => positions.reshape([nodes, 1, pairs]),
        }
}
