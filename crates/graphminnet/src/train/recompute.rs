//! Training in less memory: what the layers computed is not kept for the backward pass but computed again.
//!
//! The forward pass records nothing. It keeps the inputs of every `together`-th layer, and of the last such group of
//! layers everything that the backward pass starts from. The backward pass goes through the groups from the last to
//! the first: it computes the inputs of the group's layers again, then takes the layers one by one, each as two
//! recorded pieces (the feed-forward half, then the branches), so that the tape of half a layer is all that is ever
//! in memory. The same numbers are computed in the same order as without, so gradients have the same bits; only
//! where a tensor is shared by all layers (the coefficients φ, the edge features of GAT) can a sum be formed in another order.
//!
//! Unrecorded passes run on a copy of the model whose running estimates are thrown away: those of the model itself
//! are updated by the recorded pieces, once each.

use super::gradient_pass::Recompute;
use crate::model::{Encoded, GraphMinNet, ModelInput, Place, Shared, Spectrum};
use crate::nn::Pass;
use crate::ops::{pad_tape_depth, seed_gradient};
use crate::optim::NamedGradients;
use burn::module::Module;
use burn::tensor::{Gradients, Tensor};
use std::ops::Range;

/// Node features in the middle of a model are further from the leaves than anything that a layer computes from its
/// parameters and φ alone, which is at most this far.
const DEPTH_BELOW: usize = 16;

/// A forward pass in training that recorded nothing, and can be differentiated all the same.
#[derive(Debug)]
pub(super) struct Recomputation<'a> {
    model: &'a GraphMinNet,
    /// The same parameters, not recorded.
    unrecorded: GraphMinNet,
    input: &'a ModelInput,
    pass: Pass,
    spectrum: Spectrum,
    /// Layers in a group.
    together: usize,
    /// Inputs of the groups that will be computed again, by first layer; the first group starts at the encoder.
    starts: Vec<Option<Encoded>>,
    /// What the recorded pieces start from, by layer, where it is known already.
    known: Vec<Option<Known>>,
    /// Node features after the last layer.
    nodes: Tensor<2>,
    output: Tensor<2>,
}

/// Where the two recorded pieces of a layer start.
#[derive(Debug)]
struct Known {
    /// Inputs of the layer.
    inputs: Encoded,
    /// What its branches made of them, `[nodes, hidden]`.
    mixed: Tensor<2>,
}

impl<'a> Recomputation<'a> {
    /// The forward pass; `together` layers are computed again at a time (at least one).
    ///
    /// The more layers at a time, the fewer inputs are kept between groups and the more within one; from two on, the
    /// branches of a layer are computed three times instead of twice.
    pub(super) fn forward(
        model: &'a GraphMinNet,
        input: &'a ModelInput,
        pass: Pass,
        together: usize,
    ) -> Self {
        let unrecorded = model.clone().no_grad();
        let spectrum = unrecorded.spectrum(input);
        let mut starts: Vec<Option<Encoded>> = model.layers().iter().map(|_| None).collect();
        let mut known: Vec<Option<Known>> = model.layers().iter().map(|_| None).collect();
        let mut state = unrecorded.encode(input, pass);
        for group in groups(model, together) {
            let keep = group.len() == 1 || group.end == model.layers().len();
            if !keep && group.start > 0 {
                starts[group.start] = Some(state.clone());
            }
            for layer in group {
                let (shared, place) = at(&unrecorded, input, &spectrum, layer, pass);
                let inputs = keep.then(|| state.clone());
                let module = &unrecorded.layers()[layer];
                let (mixed, edges) = module.mix(state.nodes, state.edges, shared, place);
                known[layer] = inputs.map(|inputs| Known { inputs, mixed: mixed.clone() });
                state = Encoded { nodes: module.feed_forward(mixed, shared, place), edges };
            }
        }
        let nodes = state.nodes;
        let output = unrecorded.predict(nodes.clone(), input);
        Self { model, unrecorded, input, pass, spectrum, together, starts, known, nodes, output }
    }
}

impl Recompute<GraphMinNet> for Recomputation<'_> {
    fn output(&self) -> &Tensor<2> {
        &self.output
    }

    fn unrecorded(&self) -> &GraphMinNet {
        &self.unrecorded
    }

    fn abandon(self: Box<Self>) -> GraphMinNet {
        self.unrecorded.set_require_grad(true)
    }

    fn backward(self: Box<Self>, gradient: Tensor<2>) -> NamedGradients {
        let Self { model, unrecorded, input, pass, spectrum, together, mut starts, mut known, .. } = *self;
        let mut parameters = NamedGradients::default();
        let mut backward = |root: Option<Tensor<1>>| {
            let gradients = root.filter(Tensor::is_tracked).map(|root| root.backward());
            if let Some(gradients) = &gradients {
                parameters.add(NamedGradients::of(model, gradients));
            }
            gradients
        };

        drop(self.output);
        let nodes = leaf(self.nodes);
        let root = seed(None, Some(model.predict(nodes.clone(), input)), Some(gradient));
        let mut d_nodes = taken(nodes, &mut backward(root));
        let (mut d_edges, mut d_spectrum) = (None, SpectrumGradients::default());

        for group in groups(model, together).into_iter().rev() {
            if known[group.start].is_none() {
                let start = starts[group.start].take().unwrap_or_else(|| unrecorded.encode(input, pass));
                compute_again(&unrecorded, input, &spectrum, pass, start, group.clone(), &mut known);
            }
            for layer in group.rev() {
                let Some(Known { inputs, mixed }) = known[layer].take() else { continue };
                let module = &model.layers()[layer];
                let (shared, place) = at(model, input, &spectrum, layer, pass);

                let mixed = leaf(mixed);
                let root = seed(None, Some(module.feed_forward(mixed.clone(), shared, place)), d_nodes);
                let d_mixed = taken(mixed, &mut backward(root));

                let spectrum = leaf_spectrum(&spectrum, model);
                let shared = Shared { spectrum: &spectrum, ..shared };
                let leaves = (layer > 0).then(|| (leaf(inputs.nodes), inputs.edges.map(leaf)));
                let (nodes, edges) = match leaves.clone() {
                    Some((nodes, edges)) => (pad_tape_depth(nodes, DEPTH_BELOW), edges),
                    // The encoder goes with the first layer.
                    None => {
                        let Encoded { nodes, edges } = model.encode(input, pass);
                        (nodes, edges)
                    }
                };
                let (mixed, new_edges) = module.mix(nodes, edges, shared, place);
                // The engine follows first what was given last: nodes before edges, as where all layers are recorded.
                let root = seed(d_spectrum.seed(&spectrum), new_edges, d_edges);
                let mut gradients = backward(seed(root, Some(mixed), d_mixed));
                d_spectrum = SpectrumGradients::taken(spectrum, &mut gradients);
                (d_nodes, d_edges) = match leaves {
                    Some((nodes, edges)) => {
                        (taken(nodes, &mut gradients), edges.and_then(|edges| taken(edges, &mut gradients)))
                    }
                    None => (None, None),
                };
            }
        }

        backward(d_spectrum.seed(&model.spectrum(input)));
        parameters
    }
}

/// Runs a group of layers, unrecorded, for what their recorded pieces start from.
fn compute_again(
    model: &GraphMinNet,
    input: &ModelInput,
    spectrum: &Spectrum,
    pass: Pass,
    start: Encoded,
    group: Range<usize>,
    known: &mut [Option<Known>],
) {
    let mut state = start;
    for layer in group.clone() {
        let (shared, place) = at(model, input, spectrum, layer, pass);
        // The next group knows its inputs.
        let place = Place { update_edges: place.update_edges && layer + 1 < group.end, ..place };
        let inputs = state.clone();
        let (mixed, edges) = model.layers()[layer].mix(state.nodes, state.edges, shared, place);
        known[layer] = Some(Known { inputs, mixed: mixed.clone() });
        if layer + 1 == group.end {
            return;
        }
        state = Encoded { nodes: model.layers()[layer].feed_forward(mixed, shared, place), edges };
    }
}

/// What a layer reads, and where it stands.
fn at<'a>(
    model: &'a GraphMinNet,
    input: &'a ModelInput,
    spectrum: &'a Spectrum,
    layer: usize,
    pass: Pass,
) -> (Shared<'a>, Place) {
    let update_edges = layer + 1 < model.layers().len();
    (Shared { config: model.config(), input, spectrum }, Place { layer, pass, update_edges })
}

/// The layers in groups of `together`; the last group may be smaller.
fn groups(model: &GraphMinNet, together: usize) -> Vec<Range<usize>> {
    let (count, together) = (model.layers().len(), together.max(1));
    (0..count).step_by(together).map(|start| start..(start + together).min(count)).collect()
}

/// The same values, recorded from here on.
fn leaf<const D: usize>(values: Tensor<D>) -> Tensor<D> {
    values.detach().require_grad()
}

/// A scalar with the given gradient with respect to `output`, where there are both, and that of `rest`.
fn seed<const D: usize>(
    rest: Option<Tensor<1>>,
    output: Option<Tensor<D>>,
    gradient: Option<Tensor<D>>,
) -> Option<Tensor<1>> {
    match (output, gradient) {
        (Some(output), Some(gradient)) => Some(seed_gradient(rest, output, gradient)),
        _ => rest,
    }
}

/// The gradient of a leaf, which nobody else needs any more.
fn taken<const D: usize>(leaf: Tensor<D>, gradients: &mut Option<Gradients>) -> Option<Tensor<D>> {
    gradients.as_mut().and_then(|gradients| leaf.grad_remove(gradients))
}

/// The spectrum with coefficients that are recorded from here on, where there are parameters behind them.
fn leaf_spectrum(spectrum: &Spectrum, model: &GraphMinNet) -> Spectrum {
    let Spectrum { phi_a, phi_c, factors, positions } = spectrum.clone();
    if !model.config().has_set_encoder() {
        return Spectrum { phi_a, phi_c, factors, positions };
    }
    Spectrum { phi_a: leaf(phi_a), phi_c: leaf(phi_c), factors: leaf(factors), positions }
}

/// Gradients of the coefficients that all layers share, summed over the layers so far.
#[derive(Default)]
struct SpectrumGradients {
    phi_a: Option<Tensor<3>>,
    phi_c: Option<Tensor<3>>,
    factors: Option<Tensor<3>>,
}

impl SpectrumGradients {
    fn taken(spectrum: Spectrum, gradients: &mut Option<Gradients>) -> Self {
        Self {
            phi_a: taken(spectrum.phi_a, gradients),
            phi_c: taken(spectrum.phi_c, gradients),
            factors: taken(spectrum.factors, gradients),
        }
    }

    fn seed(self, spectrum: &Spectrum) -> Option<Tensor<1>> {
        let root = seed(None, Some(spectrum.phi_a.clone()), self.phi_a);
        let root = seed(root, Some(spectrum.phi_c.clone()), self.phi_c);
        seed(root, Some(spectrum.factors.clone()), self.factors)
    }
}
