//! The heart of the block: every node's embedding against the sum over its graph, in linear time and memory.
//!
//! Legend: `w_u = W x_u` (`D` numbers), `p_u` eigenvector entries (`M` numbers), `F_i = E^A_i ⊙ E^C_i` (`M×D` per
//! graph), `B` (`l×D`), `a_u[k,i] = p_u[i]·Σ_j B[k,j]·F_i[j]·w_u[j]`, `ā = Σ_v a_v`.
//!
//! ```text
//! s_u[k] = Σ_i a_u[k,i]·ā[k,i]
//!
//! T_g[i,j]     = Σ_{v∈g} p_v[i]·w_v[j]
//! ā_g[k,i]     = Σ_j B[k,j]·F_i[j]·T_g[i,j]
//! Q_g[(i,j),k] = B[k,j]·F_i[j]·ā_g[k,i]
//! s_u[k]       = Σ_{i,j} p_u[i]·w_u[j]·Q_g[(i,j),k]
//! ```
//!
//! so no `n×M×l` tensor is ever stored.

use super::engine::{self, Array, Kernel, Slot};
use super::generic::{pad, unpad};
use super::{Across, Structure};
use burn::tensor::Tensor;
use graphminnet_kernels::others::Others;
use graphminnet_kernels::spectral_product as kernels;
use std::sync::Arc;

/// `s_u = ⟨a_u, ā⟩` of type 1 with element-wise products.
///
/// # Shapes
///
/// * `projected`: `[nodes, D]`, `w`
/// * `entries`: `[nodes, M]`, `p`
/// * `factors`: `[graphs, M, D]`, `F`
/// * `output`: `[l, D]`, `B`
/// * returns `[nodes, l]`
pub fn spectral_product(
    projected: Tensor<2>,
    entries: Tensor<2>,
    factors: Tensor<3>,
    output: Tensor<2>,
    structure: &Arc<Structure>,
) -> Tensor<2> {
    if !engine::on_cpu(&projected.device()) {
        return generic(projected, entries, factors, output, structure);
    }
    let kernel = Fused { structure: structure.clone() };
    engine::run(kernel, [projected.into(), entries.into(), factors.into(), output.into()])
}

/// The same for a part of the only graph: `ā` is the sum over the nodes of all parts.
pub(crate) fn spectral_product_across(
    projected: Tensor<2>,
    entries: Tensor<2>,
    factors: Tensor<3>,
    output: Tensor<2>,
    structure: &Arc<Structure>,
    across: &Arc<Across>,
) -> Tensor<2> {
    let kernel = OfParts { own: Fused { structure: structure.clone() }, across: across.clone() };
    engine::run(kernel, [projected.into(), entries.into(), factors.into(), output.into()])
}

/// The kernel; operands `projected`, `entries`, `factors`, `output`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Fused {
    fn inputs<'a>(&'a self, [w, p, f, b]: &'a [Array; 4]) -> kernels::SpectralInputs<'a> {
        kernels::SpectralInputs {
            offsets: self.structure.node_offsets(),
            channels: w.dim(1),
            eigenpairs: p.dim(1),
            hidden: b.dim(0),
            w: w.values(),
            p: p.values(),
            f: f.values(),
            b: b.values(),
            others: None,
        }
    }
}

impl Kernel<4> for Fused {
    type Saved = [Array; 4];

    fn forward(&self, operands: &[Array; 4], keep: bool) -> (Array, Option<Self::Saved>) {
        let inputs = self.inputs(operands);
        let s = Array::written([self.structure.num_nodes(), inputs.hidden], |s| {
            kernels::spectral_product(inputs, s);
        });
        (s, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 4]) -> [Option<Array>; 4] {
        let mut slots = [0, 1, 2, 3].map(|at| Slot::like(&operands[at], wanted[at]));
        let [w, p, f, b] = slots.each_mut().map(Slot::as_mut);
        kernels::spectral_product_backward(
            self.inputs(&operands),
            gradient.values(),
            kernels::SpectralGradients { w, p, f, b },
        );
        slots.map(Slot::into_array)
    }
}

/// The kernel for a part of a graph; it keeps `T`, which the parts have in common, beside the operands.
#[derive(Debug, Clone)]
struct OfParts {
    own: Fused,
    across: Arc<Across>,
}

impl OfParts {
    fn inputs<'a>(&'a self, operands: &'a [Array; 4], table: &'a [f32]) -> kernels::SpectralInputs<'a> {
        let others = Some(kernels::OtherNodes { table, holders: &*self.across });
        kernels::SpectralInputs { others, ..self.own.inputs(operands) }
    }
}

impl Kernel<4> for OfParts {
    type Saved = ([Array; 4], Vec<f32>);

    fn forward(&self, operands: &[Array; 4], keep: bool) -> (Array, Option<Self::Saved>) {
        let inputs = self.own.inputs(operands);
        let mut table = vec![0.0f32; inputs.eigenpairs * inputs.channels];
        kernels::node_sums(inputs, &mut table);
        let mut sums: Vec<f64> = table.iter().map(|&sum| f64::from(sum)).collect();
        self.across.join_sums(&mut sums);
        table.iter_mut().zip(sums).for_each(|(table, sum)| *table = sum as f32);
        let s = Array::written([self.own.structure.num_nodes(), inputs.hidden], |s| {
            kernels::spectral_product(self.inputs(operands, &table), s);
        });
        (s, keep.then(|| (operands.clone(), table)))
    }

    fn backward(
        &self,
        (operands, table): Self::Saved,
        gradient: Array,
        wanted: [bool; 4],
    ) -> [Option<Array>; 4] {
        let mut slots = [0, 1, 2, 3].map(|at| Slot::like(&operands[at], wanted[at]));
        let [w, p, f, b] = slots.each_mut().map(Slot::as_mut);
        let gradients = kernels::SpectralGradients { w, p, f, b };
        kernels::spectral_product_backward(self.inputs(&operands, &table), gradient.values(), gradients);
        slots.map(Slot::into_array)
    }
}

fn generic(
    projected: Tensor<2>,
    entries: Tensor<2>,
    factors: Tensor<3>,
    output: Tensor<2>,
    structure: &Structure,
) -> Tensor<2> {
    let [graphs, pairs, channels] = factors.dims();
    let [hidden, _] = output.dims();
    let longest = structure.longest();
    if longest == 0 {
        return Tensor::zeros([0, hidden], &projected.device());
    }
    let w = pad(projected, structure); // [G, N, D]
    let p = pad(entries, structure); // [G, N, M]
    let b = output.transpose(); // [D, l]
    let t = p.clone().transpose().matmul(w.clone()); // [G, M, D]
    let abar = (factors.clone() * t).reshape([graphs * pairs, channels]).matmul(b.clone()); // [G·M, l]
    let q = factors.reshape([graphs, pairs, channels, 1])
        * b.reshape([1, 1, channels, hidden])
        * abar.reshape([graphs, pairs, 1, hidden]); // [G, M, D, l]
    let outer = p.reshape([graphs, longest, pairs, 1]) * w.reshape([graphs, longest, 1, channels]);
    let s = outer.reshape([graphs, longest, pairs * channels]).matmul(q.reshape([
        graphs,
        pairs * channels,
        hidden,
    ])); // [G, N, l]
    unpad(s, structure)
}

/// Multiplies the rows of each graph by that graph's matrix.
///
/// # Shapes
///
/// * `rows`: `[nodes, in]`
/// * `matrices`: `[graphs, in, out]`
/// * returns `[nodes, out]`
pub fn batched_rows(rows: Tensor<2>, matrices: Tensor<3>, structure: &Arc<Structure>) -> Tensor<2> {
    let [_, _, out] = matrices.dims();
    if structure.num_nodes() == 0 {
        return Tensor::zeros([0, out], &rows.device());
    }
    unpad(pad(rows, structure).matmul(matrices), structure)
}

/// `Σ_v left_v ⊗ right_v` over the nodes of each graph.
///
/// # Shapes
///
/// * `left`: `[nodes, a]`, `right`: `[nodes, b]`
/// * returns `[graphs, a, b]`
pub fn outer_sums(left: Tensor<2>, right: Tensor<2>, structure: &Arc<Structure>) -> Tensor<3> {
    let ([_, a], [_, b]) = (left.dims(), right.dims());
    if structure.num_nodes() == 0 {
        return Tensor::zeros([structure.num_graphs(), a, b], &left.device());
    }
    pad(left, structure).transpose().matmul(pad(right, structure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, structure};

    #[test]
    fn kernel_and_generic_body_agree() {
        let structure = structure();
        let (nodes, graphs, pairs, channels, hidden) =
            (structure.num_nodes(), structure.num_graphs(), 4, 3, 6);
        let shapes = [[nodes, channels], [nodes, pairs], [graphs, pairs * channels], [hidden, channels]];
        let factors = |t: &Tensor<2>| t.clone().reshape([graphs, pairs, channels]);
        assert_same_bodies(
            &shapes,
            |t| spectral_product(t[0].clone(), t[1].clone(), factors(&t[2]), t[3].clone(), &structure),
            |t| generic(t[0].clone(), t[1].clone(), factors(&t[2]), t[3].clone(), &structure),
        );
    }
}
