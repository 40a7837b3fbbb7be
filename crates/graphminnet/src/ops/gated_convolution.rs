//! GatedGCN's work on edges, for every edge `j → i` and every node `i`:
//!
//! ```text
//! ê_ij  = C ε_ij + c + D x_i + E x_j
//! x̂_i   = A x_i + (Σ_j σ(ê_ij) ⊙ B x_j) / (Σ_j σ(ê_ij) + 10⁻⁶)
//! ε'_ij = ε_ij + Dropout(ReLU(BN(ê_ij)))          (where edges are updated)
//! ```
//!
//! One operation, because edges are many: a kernel that does everything to an edge at once moves it through memory
//! once, and outside training needs no memory for gates at all.

use super::batch_statistics::{Measured, normalise, used};
use super::engine::{Array, Operand, Slot, on_cpu};
use super::generic::{gather_rows, sum_rows};
use super::multi_output::{self, MultiOutputKernel};
use super::{BatchStatistics, Dropout, Epilogue, Statistics, Structure, buffers, dropout, linear};
use burn::tensor::{Tensor, activation};
use graphminnet_kernels::batch_norm::{AffineGradients, Statistics as KernelStatistics};
use graphminnet_kernels::gated_convolution::{self as kernels, DENOMINATOR_EPSILON};
use graphminnet_kernels::norm_relu_residual::norm_relu_residual;
use std::sync::Arc;

/// How edges are updated from their gates.
#[derive(Debug, Clone)]
pub struct EdgeUpdate {
    /// γ, `[hidden]`
    pub scale: Tensor<1>,
    /// β, `[hidden]`
    pub shift: Tensor<1>,
    /// Statistics of the norm.
    pub statistics: Statistics,
    /// Dropout after the ReLU.
    pub rate: Option<Dropout>,
}

/// What the gated convolution makes.
#[derive(Debug)]
pub struct GatedConvolution {
    /// x̂, `[nodes, hidden]`
    pub nodes: Tensor<2>,
    /// ε', `[edges, hidden]`, if edges are updated.
    pub edges: Option<Tensor<2>>,
    /// Statistics of the gates, if those were used.
    pub measured: Option<BatchStatistics>,
}

/// Gates, gated means and, with an `update`, new edges.
///
/// # Shapes
///
/// * `edges`: `[edges, hidden]`, the edge features ε
/// * `weight`, `bias`: `[hidden, hidden]`, `[hidden]`, the map C
/// * `nodes`: `[nodes, 4·hidden]`, rows `[A x | D x | B x | E x]`
pub fn gated_convolution(
    edges: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    nodes: Tensor<2>,
    structure: &Arc<Structure>,
    update: Option<EdgeUpdate>,
) -> GatedConvolution {
    let device = edges.device();
    if !on_cpu(&device) {
        return generic(edges, weight, bias, nodes, structure, update);
    }
    let mut kernel = Fused { structure: structure.clone(), update: None };
    let mut norm = [const { None }; 4];
    if let Some(EdgeUpdate { scale, shift, statistics, rate }) = update {
        let (mean, variance, measured) = Measured::prepare(&statistics);
        norm = [Some(scale.into()), Some(shift.into()), Some(mean), Some(variance)];
        kernel.update = Some(Update { rate, measured });
    }
    let update = kernel.update.clone();
    let [scale, shift, mean, variance] = norm.map(|operand| operand.unwrap_or_else(Operand::absent));
    let operands = [edges.into(), weight.into(), bias.into(), nodes.into(), scale, shift, mean, variance];
    let [nodes, edges] = multi_output::run(kernel, operands);
    let edges = update.is_some().then_some(edges);
    GatedConvolution { nodes, edges, measured: update.and_then(|update| update.measured.take(&device)) }
}

/// The kernel; operands `edges`, `weight`, `bias`, `nodes`, `scale`, `shift`, `mean`, `variance`; the last four are
/// absent if edges are not updated, and so is the second output.
#[derive(Debug, Clone)]
struct Fused {
    structure: Arc<Structure>,
    update: Option<Update>,
}

#[derive(Debug, Clone)]
struct Update {
    rate: Option<Dropout>,
    measured: Measured,
}

/// What the gradients need.
#[derive(Debug, Clone)]
struct Saved {
    edges: Array,
    weight: Array,
    bias: Array,
    nodes: Array,
    gates: Array,
    mixed: Array,
    inverse: Array,
    /// `scale`, `shift`, and mean and variance as they were used.
    norm: Option<([Array; 2], [Array; 2])>,
}

impl Fused {
    fn operands<'a>(
        &'a self,
        weight: &'a Array,
        bias: &'a Array,
        nodes: &'a Array,
    ) -> kernels::GatedConvolution<'a> {
        kernels::GatedConvolution {
            edges: self.structure.edges(),
            width: bias.dim(0),
            weight: weight.values(),
            bias: bias.values(),
            nodes: nodes.values(),
        }
    }

    /// The forward pass that keeps nothing and takes statistics as given: new edges are written over the old ones.
    fn forward_alone(
        &self,
        [edges, weight, bias, nodes, scale, shift, mean, variance]: [Array; 8],
    ) -> [Array; 2] {
        let operands = self.operands(&weight, &bias, &nodes);
        let shape = [self.structure.num_nodes(), operands.width];
        if self.update.is_none() {
            let mixed = Array::written(shape, |mixed| {
                kernels::gated_convolution_alone(
                    operands,
                    kernels::EdgeFeatures::Read(edges.values()),
                    mixed,
                );
            });
            return [mixed, Array::new(Vec::new(), [0, 0])];
        }
        let edges_shape = edges.shape().to_vec();
        let mut features = edges.into_own_values();
        let norm = kernels::EdgeNorm {
            gamma: scale.values(),
            beta: shift.values(),
            mean: mean.values(),
            variance: variance.values(),
        };
        let mixed = Array::written(shape, |mixed| {
            let features = kernels::EdgeFeatures::Updated(&mut features, norm);
            kernels::gated_convolution_alone(operands, features, mixed);
        });
        [mixed, Array::new(features, edges_shape)]
    }

    fn forward_keeping(&self, inputs: [Array; 8]) -> ([Array; 2], Saved) {
        let [edges, weight, bias, nodes, scale, shift, mean, variance] = inputs;
        let operands = self.operands(&weight, &bias, &nodes);
        let shape = [self.structure.num_nodes(), operands.width];
        let mut gates = buffers::take(edges.values().len());
        let mut inverse = buffers::take(shape[0] * shape[1]);
        let mut mixed = buffers::take(shape[0] * shape[1]);
        let mut convolve = |statistics: Option<[&mut [f32]; 2]>| {
            let others = self.update.as_ref().and_then(|update| update.measured.others());
            let kept = kernels::Kept { gate: &mut gates, inverse: &mut inverse, statistics, others };
            kernels::gated_convolution(operands, edges.values(), &mut mixed, kept);
        };
        let mut updated = Array::new(Vec::new(), [0, 0]);
        let mut norm = None;
        match &self.update {
            None => convolve(None),
            Some(Update { rate, measured }) => {
                let used = measured.with(operands.width, [&mean, &variance], |statistics| match statistics {
                    KernelStatistics::Batch { mean, variance, .. } => convolve(Some([mean, variance])),
                    KernelStatistics::Given { .. } => convolve(None),
                });
                let statistics =
                    KernelStatistics::Given { mean: used[0].values(), variance: used[1].values() };
                updated = Array::written(edges.shape(), |out| {
                    let residual = Some(edges.values());
                    let (gamma, beta) = (scale.values(), shift.values());
                    norm_relu_residual(&gates, residual, gamma, beta, statistics, *rate, out);
                });
                norm = Some(([scale, shift], used));
            }
        }
        let mixed = Array::new(mixed, shape);
        let (gates, inverse) = (Array::new(gates, edges.shape()), Array::new(inverse, shape));
        let saved = Saved { edges, weight, bias, nodes, gates, mixed: mixed.clone(), inverse, norm };
        ([mixed, updated], saved)
    }
}

impl MultiOutputKernel<8, 2> for Fused {
    type Saved = Saved;

    fn forward(&self, inputs: [Array; 8], keep: bool) -> ([Array; 2], Option<Saved>) {
        let is_plain = |update: &Update| update.rate.is_none() && !update.measured.is_of_batch();
        if !keep && self.update.as_ref().is_none_or(is_plain) {
            return (self.forward_alone(inputs), None);
        }
        let (outputs, saved) = self.forward_keeping(inputs);
        (outputs, keep.then_some(saved))
    }

    fn backward(
        &self,
        saved: Saved,
        [d_mixed, d_updated]: [Option<Array>; 2],
        wanted: [bool; 8],
    ) -> [Option<Array>; 8] {
        let Saved { edges, weight, bias, nodes, gates, mixed, inverse, norm } = saved;
        let mut gates = gates.into_own_values();
        // Without a gradient of the new edges the norm plays no part.
        let norm = norm.filter(|_| d_updated.is_some());
        let mut d_edges = d_updated.map_or_else(|| Slot::like(&edges, wanted[0]), Slot::onto);
        let mut d_weight = Slot::like(&weight, wanted[1]);
        let mut d_bias = Slot::like(&bias, wanted[2]);
        let mut d_nodes = Slot::like(&nodes, wanted[3]);
        let mut d_scale = Slot::like(&bias, wanted[4]);
        let mut d_shift = Slot::like(&bias, wanted[5]);
        if norm.is_none() {
            for slot in [&mut d_scale, &mut d_shift] {
                slot.as_mut().unwrap_or_default().fill(0.0);
            }
        }
        let updated =
            self.update.as_ref().zip(norm.as_ref()).map(|(update, ([scale, shift], statistics))| {
                let edges = kernels::UpdatedEdges {
                    gamma: scale.values(),
                    beta: shift.values(),
                    used: used(statistics, &update.measured),
                    dropout: update.rate,
                };
                (edges, AffineGradients { gamma: d_scale.as_mut(), beta: d_shift.as_mut() })
            });
        kernels::gated_convolution_backward(
            self.operands(&weight, &bias, &nodes),
            &mut gates,
            kernels::ConvolutionSaved {
                features: edges.values(),
                mixed: mixed.values(),
                inverse: inverse.values(),
            },
            d_mixed.as_ref().map(Array::values),
            updated,
            kernels::ConvolutionGradients {
                features: d_edges.as_mut(),
                wants_features: wanted[0],
                weight: d_weight.as_mut(),
                bias: d_bias.as_mut(),
                nodes: d_nodes.as_mut(),
            },
        );
        // As an array, so that its memory is used again.
        drop(Array::new(gates, edges.shape()));
        let d_edges = d_edges.into_array().filter(|_| wanted[0]);
        let [d_weight, d_bias, d_nodes] = [d_weight, d_bias, d_nodes].map(Slot::into_array);
        [d_edges, d_weight, d_bias, d_nodes, d_scale.into_array(), d_shift.into_array(), None, None]
    }
}

fn generic(
    edges: Tensor<2>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    nodes: Tensor<2>,
    structure: &Structure,
    update: Option<EdgeUpdate>,
) -> GatedConvolution {
    let [_, hidden] = edges.dims();
    let indices = structure.indices(&edges.device());
    let [own, of_target, message, of_source] =
        [0, 1, 2, 3].map(|part| nodes.clone().narrow(1, part * hidden, hidden));
    let gates = linear(edges.clone(), weight, Some(bias), Epilogue::None)
        + gather_rows(of_target, indices.target.clone())
        + gather_rows(of_source, indices.source.clone());
    let open = activation::sigmoid(gates.clone());
    let messages = open.clone() * gather_rows(message, indices.source);
    let numerator = sum_rows(messages, indices.target.clone(), structure.num_nodes());
    let denominator = sum_rows(open, indices.target, structure.num_nodes());
    let nodes = own + numerator / (denominator + DENOMINATOR_EPSILON);
    let Some(EdgeUpdate { scale, shift, statistics, rate }) = update else {
        return GatedConvolution { nodes, edges: None, measured: None };
    };
    let (normalised, measured) = normalise(gates, scale, shift, statistics);
    let edges = edges + dropout(activation::relu(normalised), rate);
    GatedConvolution { nodes, edges: Some(edges), measured }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_same_bodies, structure, vector};
    use burn::tensor::Device;

    const WIDTH: usize = 6;

    fn update(t: &[Tensor<2>], given: bool, rate: Option<Dropout>) -> EdgeUpdate {
        let statistics = match given {
            false => Statistics::Batch,
            true => Statistics::Given {
                mean: vector(&t[6]).detach(),
                variance: (vector(&t[7]).powi_scalar(2) + 0.5).detach(),
            },
        };
        EdgeUpdate { scale: vector(&t[4]), shift: vector(&t[5]), statistics, rate }
    }

    fn shapes(structure: &Structure) -> [[usize; 2]; 8] {
        let (row, nodes) = ([1, WIDTH], [structure.num_nodes(), 4 * WIDTH]);
        [[structure.num_edges(), WIDTH], [WIDTH, WIDTH], row, nodes, row, row, row, row]
    }

    #[test]
    fn kernel_and_generic_body_agree() {
        let structure = structure();
        let dropped = Some(Dropout { probability: 0.3, seed: 3, first: 0 });
        let cases =
            [None, Some((false, None)), Some((false, dropped)), Some((true, None)), Some((true, dropped))];
        for case in cases {
            // Nodes alone, edges alone, both.
            for (uses_nodes, uses_edges) in [(true, false), (false, true), (true, true)] {
                // The norm of a batch takes constants away: alone it would leave the bias a gradient of rounding errors.
                let of_batch = matches!(case, Some((false, _)));
                if uses_edges && (case.is_none() || of_batch && !uses_nodes) {
                    continue;
                }
                let output = |result: GatedConvolution| {
                    let parts = [uses_nodes.then_some(result.nodes), result.edges.filter(|_| uses_edges)];
                    Tensor::cat(parts.into_iter().flatten().collect(), 0)
                };
                let arguments = |t: &[Tensor<2>]| {
                    let update = case.map(|(given, rate)| update(t, given, rate));
                    (t[0].clone(), t[1].clone(), vector(&t[2]), t[3].clone(), update)
                };
                assert_same_bodies(
                    &shapes(&structure),
                    |t| {
                        let (edges, weight, bias, nodes, update) = arguments(t);
                        output(gated_convolution(edges, weight, bias, nodes, &structure, update))
                    },
                    |t| {
                        let (edges, weight, bias, nodes, update) = arguments(t);
                        output(generic(edges, weight, bias, nodes, &structure, update))
                    },
                );
            }
        }
    }

    /// Without recording, gates are never stored; the results are the same bits.
    #[test]
    fn recorded_or_not_the_results_are_the_same() {
        let structure = structure();
        let run = |device: &Device| {
            let t: Vec<Tensor<2>> = shapes(&structure)
                .iter()
                .enumerate()
                .map(|(which, &[rows, columns])| {
                    let values: Vec<f32> = (0..rows * columns)
                        .map(|i| ((i * 37 + which * 11) % 23) as f32 / 23.0 - 0.4)
                        .collect();
                    Tensor::<1>::from_floats(&values[..], device).reshape([rows, columns])
                })
                .collect();
            let edges = t[0].clone();
            let weight = if device.is_autodiff() { t[1].clone().require_grad() } else { t[1].clone() };
            let result = gated_convolution(
                edges.clone(),
                weight,
                vector(&t[2]),
                t[3].clone(),
                &structure,
                Some(update(&t, true, None)),
            );
            let bits = |tensor: Tensor<2>| -> Vec<u32> {
                tensor.into_data().try_to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
            };
            assert_eq!(bits(edges), bits(t[0].clone()), "edges that somebody else reads stay as they are");
            [bits(result.nodes), result.edges.map(bits).unwrap_or_default()]
        };
        let plain = run(&Device::flex());
        assert!(!plain[1].is_empty());
        assert_eq!(run(&Device::flex().autodiff()), plain);
    }
}
