//! The Laplacian positional encoder: a small network on every (eigenvector entry, eigenvalue) pair, summed.
//!
//! ```text
//! out_u = Σ_{i exists} ReLU(W₂·ReLU(W₁·(sign_i·v_u[i], λ_g(u)[i]) + b₁) + b₂)
//! ```

use super::Structure;
use super::engine::{self, Array, Kernel, Slot};
use super::generic::gather_graphs;
use burn::tensor::{Tensor, TensorData, activation};
use graphminnet_kernels::lap_pe as kernels;
use std::sync::Arc;

/// The two linear layers of the encoder.
#[derive(Debug, Clone)]
pub struct LapPeWeights {
    /// `[inner, 2]`.
    pub weight1: Tensor<2>,
    /// `[inner]`.
    pub bias1: Tensor<1>,
    /// `[width, inner]`.
    pub weight2: Tensor<2>,
    /// `[width]`.
    pub bias2: Tensor<1>,
}

/// The encoding of every node.
///
/// # Shapes
///
/// * `eigenvectors`: `[nodes, pairs]`
/// * `eigenvalues`, `exist` (0 or 1): `[graphs, pairs]`
/// * `signs` (1 or −1): `[pairs]`
/// * returns `[nodes, width]`
pub fn lap_pe(
    eigenvectors: Tensor<2>,
    eigenvalues: Tensor<2>,
    exist: Tensor<2>,
    signs: Option<Vec<f32>>,
    weights: LapPeWeights,
    structure: &Arc<Structure>,
) -> Tensor<2> {
    let device = eigenvectors.device();
    let signs = signs.map(|signs| {
        let count = signs.len();
        Tensor::<1>::from_data(TensorData::new(signs, [count]), &device)
    });
    if !engine::on_cpu(&device) {
        return generic(eigenvectors, eigenvalues, exist, signs, weights, structure);
    }
    let signs = signs.unwrap_or_else(|| Tensor::ones([eigenvectors.dims()[1]], &device));
    let LapPeWeights { weight1, bias1, weight2, bias2 } = weights;
    let operands = [
        eigenvectors.into(),
        eigenvalues.into(),
        exist.into(),
        signs.into(),
        weight1.into(),
        bias1.into(),
        weight2.into(),
        bias2.into(),
    ];
    engine::run(Fused { structure: structure.clone() }, operands)
}

/// The kernel; operands `eigenvectors`, `eigenvalues`, `exist`, `signs`, `weight1`, `bias1`, `weight2`, `bias2`.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
}

impl Fused {
    fn inputs<'a>(&'a self, operands: &'a [Array; 8]) -> kernels::LapPe<'a> {
        let [eigvecs, eigvals, exist, signs, w1, b1, w2, b2] = operands.each_ref().map(Array::values);
        kernels::LapPe {
            offsets: self.structure.node_offsets(),
            eigvecs,
            eigvals,
            exist,
            signs,
            w1,
            b1,
            w2,
            b2,
        }
    }
}

impl Kernel<8> for Fused {
    type Saved = [Array; 8];

    fn forward(&self, operands: &[Array; 8], keep: bool) -> (Array, Option<Self::Saved>) {
        let width = operands[7].dim(0);
        let output = Array::written([self.structure.num_nodes(), width], |out| {
            kernels::lap_pe(self.inputs(operands), out);
        });
        (output, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 8]) -> [Option<Array>; 8] {
        // Nothing is learned about which pairs exist or which sign they got.
        let mut slots =
            std::array::from_fn::<_, 8, _>(|at| Slot::like(&operands[at], wanted[at] && at != 2 && at != 3));
        let [eigvecs, eigvals, _, _, w1, b1, w2, b2] = slots.each_mut().map(Slot::as_mut);
        let gradients = kernels::LapPeGradients { w1, b1, w2, b2, eigvecs, eigvals };
        kernels::lap_pe_backward(self.inputs(&operands), gradient.values(), gradients);
        slots.map(Slot::into_array)
    }
}

fn generic(
    eigenvectors: Tensor<2>,
    eigenvalues: Tensor<2>,
    exist: Tensor<2>,
    signs: Option<Tensor<1>>,
    weights: LapPeWeights,
    structure: &Structure,
) -> Tensor<2> {
    let [nodes, pairs] = eigenvectors.dims();
    let [width, _] = weights.weight2.dims();
    if nodes == 0 {
        return Tensor::zeros([0, width], &eigenvectors.device());
    }
    let entries = match signs {
        None => eigenvectors,
        Some(signs) => eigenvectors * signs.unsqueeze(),
    };
    let values = gather_graphs(eigenvalues, structure);
    let exist = gather_graphs(exist, structure).reshape([nodes, pairs, 1]);
    let inputs =
        Tensor::cat(vec![entries.reshape([nodes * pairs, 1]), values.reshape([nodes * pairs, 1])], 1);
    let inner = activation::relu(inputs.matmul(weights.weight1.transpose()) + weights.bias1.unsqueeze());
    let outer = activation::relu(inner.matmul(weights.weight2.transpose()) + weights.bias2.unsqueeze());
    (outer.reshape([nodes, pairs, width]) * exist).sum_dim(1).reshape([nodes, width])
}
