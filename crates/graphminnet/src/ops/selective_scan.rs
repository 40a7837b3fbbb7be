//! The selective state-space scan of Mamba, over sequences that stand one after the other.
//!
//! ```text
//! S_t[i,n] = exp(Δ_t[i]·A[i,n])·S_{t−1}[i,n] + Δ_t[i]·B_t[n]·u_t[i]        S = 0 before each sequence
//! y_t[i]   = Σ_n S_t[i,n]·C_t[n]
//! ```

use super::engine::{self, Array, Kernel, Slot};
use burn::tensor::Tensor;
use graphminnet_kernels::selective_scan as kernels;
use std::sync::Arc;

/// The outputs `y` of all rows.
///
/// # Shapes
///
/// * `u`, `delta`: `[rows, channels]`
/// * `a`: `[channels, states]`
/// * `b`, `c`: `[rows, states]`
/// * `offsets`: where sequences begin, and the number of rows
/// * returns `[rows, channels]`
pub fn selective_scan([u, delta, a, b, c]: [Tensor<2>; 5], offsets: &Arc<Vec<u32>>) -> Tensor<2> {
    if !engine::on_cpu(&u.device()) {
        return generic([u, delta, a, b, c], offsets);
    }
    let kernel = Fused { offsets: offsets.clone() };
    engine::run(kernel, [u.into(), delta.into(), a.into(), b.into(), c.into()])
}

/// The kernel; operands `u`, `delta`, `a`, `b`, `c`.
#[derive(Debug, Clone)]
struct Fused {
    offsets: Arc<Vec<u32>>,
}

impl Fused {
    fn inputs<'a>(&'a self, operands: &'a [Array; 5]) -> kernels::SelectiveScan<'a> {
        let (channels, states) = (operands[2].dim(0), operands[2].dim(1));
        let [u, delta, a, b, c] = operands.each_ref().map(Array::values);
        kernels::SelectiveScan { offsets: &self.offsets, channels, states, u, delta, a, b, c }
    }
}

impl Kernel<5> for Fused {
    type Saved = [Array; 5];

    fn forward(&self, operands: &[Array; 5], keep: bool) -> (Array, Option<Self::Saved>) {
        let y = Array::written(operands[0].shape(), |y| kernels::selective_scan(self.inputs(operands), y));
        (y, keep.then(|| operands.clone()))
    }

    fn backward(&self, operands: Self::Saved, gradient: Array, wanted: [bool; 5]) -> [Option<Array>; 5] {
        // One run backwards gives all of them.
        let mut slots = std::array::from_fn::<_, 5, _>(|at| Slot::like(&operands[at], true));
        if let [Some(u), Some(delta), Some(a), Some(b), Some(c)] = slots.each_mut().map(Slot::as_mut) {
            let gradients = kernels::SelectiveScanGradients { u, delta, a, b, c };
            kernels::selective_scan_backward(self.inputs(&operands), gradient.values(), gradients);
        }
        let mut at = 0;
        slots.map(|slot| {
            at += 1;
            slot.into_array().filter(|_| wanted[at - 1])
        })
    }
}

fn generic([u, delta, a, b, c]: [Tensor<2>; 5], offsets: &[u32]) -> Tensor<2> {
    let ([rows, channels], [_, states], device) = (u.dims(), a.dims(), u.device());
    if rows == 0 {
        return Tensor::zeros([0, channels], &device);
    }
    let row = |x: &Tensor<2>, at: usize| x.clone().narrow(0, at, 1);
    let mut outputs = Vec::with_capacity(rows);
    for range in offsets.windows(2) {
        let mut state = Tensor::<2>::zeros([channels, states], &device);
        for at in range[0] as usize..range[1] as usize {
            let step = row(&delta, at).reshape([channels, 1]);
            let push = step.clone() * row(&u, at).reshape([channels, 1]);
            state = (step * a.clone()).exp() * state + push * row(&b, at);
            outputs.push((state.clone() * row(&c, at)).sum_dim(1).reshape([1, channels]));
        }
    }
    Tensor::cat(outputs, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernel_and_generic_body_agree() {
        let offsets = Arc::new(vec![0, 3, 3, 7]);
        // Steps are small and positive, rates negative.
        let five = |t: &[Tensor<2>]| {
            let (delta, a) = (t[1].clone().abs() * 0.3, t[2].clone().abs().neg());
            [t[0].clone(), delta, a, t[3].clone(), t[4].clone()]
        };
        assert_same_bodies(
            &[[7, 4], [7, 4], [4, 3], [7, 3], [7, 3]],
            |t| selective_scan(five(t), &offsets),
            |t| generic(five(t), &offsets),
        );
    }
}
