//! The set encoder φ: coefficients for every eigenvalue that depend on the whole spectrum, whatever its order.
//!
//! ```text
//! s_i = sqrt(λ_i) if valid else 0
//! e_i = SiLU(LayerNorm(Linear(1→D)(s_i)))
//! three times:  c = mean over valid j of f(e_j)          (divided by max(1, number valid))
//!               e_i ← e_i + c ⊙ g(e_i)
//! E_i = e_i if valid else 0
//! ```
//! `f` and `g` are `SiLU(LN(Linear(SiLU(LN(Linear(x))))))` with parameters of their own.

use super::{Init, Linear};
use crate::ops::layer_norm_silu;
use burn::module::{Module, Param};
use burn::tensor::Tensor;

/// Number of set layers.
const SET_LAYERS: usize = 3;

/// Scale and shift of a layer norm.
#[derive(Module, Debug)]
pub(super) struct LayerNorm {
    /// γ.
    pub weight: Param<Tensor<1>>,
    /// β.
    pub bias: Param<Tensor<1>>,
}

impl LayerNorm {
    fn new(width: usize, init: &Init) -> Self {
        Self { weight: init.constant([width], 1.0), bias: init.constant([width], 0.0) }
    }

    /// `SiLU(LayerNorm(x))`.
    fn forward_silu(&self, x: Tensor<2>) -> Tensor<2> {
        layer_norm_silu(x, self.weight.val(), self.bias.val())
    }
}

/// `SiLU(LN(Linear(SiLU(LN(Linear(x))))))`.
#[derive(Module, Debug)]
pub(super) struct SetMlp {
    lin1: Linear,
    ln1: LayerNorm,
    lin2: Linear,
    ln2: LayerNorm,
}

impl SetMlp {
    fn new(width: usize, init: &mut Init) -> Self {
        let (lin1, lin2) = (Linear::new(width, width, true, init), Linear::new(width, width, true, init));
        Self { lin1, ln1: LayerNorm::new(width, init), lin2, ln2: LayerNorm::new(width, init) }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let x = self.ln1.forward_silu(self.lin1.forward(x));
        self.ln2.forward_silu(self.lin2.forward(x))
    }
}

/// One step `e ← e + mean(f(e)) ⊙ g(e)`.
#[derive(Module, Debug)]
pub(super) struct SetLayer {
    f: SetMlp,
    g: SetMlp,
}

/// The whole encoder.
#[derive(Module, Debug)]
pub struct SetEncoder {
    input: Linear,
    input_ln: LayerNorm,
    layers: Vec<SetLayer>,
}

impl SetEncoder {
    /// Fresh parameters for `width` channels.
    pub fn new(width: usize, init: &mut Init) -> Self {
        let input = Linear::new(1, width, true, init);
        let input_ln = LayerNorm::new(width, init);
        let layers = (0..SET_LAYERS)
            .map(|_| SetLayer { f: SetMlp::new(width, init), g: SetMlp::new(width, init) })
            .collect();
        Self { input, input_ln, layers }
    }

    /// Coefficients of every eigenvalue.
    ///
    /// # Shapes
    ///
    /// * `eigenvalues`: `[graphs, pairs]`
    /// * `valid` (0 or 1): `[graphs, pairs]`
    /// * returns `[graphs, pairs, width]`, zero where invalid
    pub fn forward(&self, eigenvalues: Tensor<2>, valid: Tensor<2>) -> Tensor<3> {
        let [graphs, pairs] = eigenvalues.dims();
        let [width, _] = self.input.weight.val().dims();
        // An invalid eigenvalue becomes 1 before the root and 0 after it: its gradient is 0, not 0·∞.
        let invalid = valid.clone().neg() + 1.0;
        let roots = (eigenvalues * valid.clone() + invalid).sqrt() * valid.clone();
        let count = valid.clone().sum_dim(1).clamp_min(1.0).reshape([graphs, 1, 1]);
        let valid = valid.reshape([graphs, pairs, 1]);
        let flat = |cube: Tensor<3>| cube.reshape([graphs * pairs, width]);
        let cube = |flat: Tensor<2>| flat.reshape([graphs, pairs, width]);
        let mut code =
            cube(self.input_ln.forward_silu(self.input.forward(roots.reshape([graphs * pairs, 1]))));
        for layer in &self.layers {
            let rows = flat(code.clone());
            let mean = (cube(layer.f.forward(rows.clone())) * valid.clone()).sum_dim(1) / count.clone();
            code = code + mean * cube(layer.g.forward(rows));
        }
        code * valid
    }
}
