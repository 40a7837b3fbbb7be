use crate::common::{Check, Random, SortedEdges, same_bits_on_all_pools};
use graphminnet_kernels::batch_norm::{AffineGradients, Statistics, UsedStatistics};
use graphminnet_kernels::dropout::{Dropout, dropout_mask};
use graphminnet_kernels::edges::Edges;
use graphminnet_kernels::gated_convolution::{
    ConvolutionGradients, ConvolutionSaved, EdgeFeatures, EdgeNorm, GatedConvolution, Kept, UpdatedEdges,
    gated_convolution, gated_convolution_alone, gated_convolution_backward,
};
use graphminnet_kernels::norm_relu_residual::norm_relu_residual;

/// Nodes, edges, width: isolated nodes, self-loops and repeated edges occur by chance.
fn cases() -> Vec<(SortedEdges, usize)> {
    let mut random = Random::new(3);
    [
        (1, 0, 5),
        (3, 0, 4),
        (2, 9, 7),
        (2, 400, 3),
        (40, 60, 36),
        (30, 400, 52),
        (300, 900, 31),
        (700, 2500, 16),
    ]
    .map(|(nodes, edges, width)| (random.edges(nodes, edges), width))
    .into()
}

/// What becomes of the edges.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Update {
    None,
    Batch(Option<Dropout>),
    Given(Option<Dropout>),
}

impl Update {
    const ALL: [Self; 5] = {
        let dropout = Some(Dropout { probability: 0.4, seed: 5, first: 0 });
        [Self::None, Self::Batch(None), Self::Batch(dropout), Self::Given(None), Self::Given(dropout)]
    };

    fn dropout(self) -> Option<Dropout> {
        match self {
            Self::None => None,
            Self::Batch(dropout) | Self::Given(dropout) => dropout,
        }
    }
}

/// Edge features, weight, bias, nodes, γ, β, and the given mean and variance.
fn inputs(edges: Edges<'_>, width: usize) -> Vec<Vec<f32>> {
    let mut random = Random::new(width as u64);
    let mut inputs = vec![
        random.values(edges.num_edges() * width),
        random.values(width * width),
        random.values(width),
        random.values(edges.num_nodes * 4 * width),
        random.values(width),
        random.values(width),
        random.values(width),
        random.values(width),
    ];
    inputs[7].iter_mut().for_each(|variance| *variance = 0.5 + variance.abs());
    inputs
}

fn reference(edges: Edges<'_>, width: usize, update: Update, v: &[Vec<f64>]) -> Vec<f64> {
    let (num_nodes, num_edges) = (edges.num_nodes, edges.num_edges());
    let part = |node: u32, part: usize, c: usize| v[3][(node as usize * 4 + part) * width + c];
    let mut gate = vec![0.0; num_edges * width];
    for edge in 0..num_edges {
        let (source, target) = (edges.source[edge], edges.target[edge]);
        for o in 0..width {
            let linear: f64 = (0..width).map(|i| v[0][edge * width + i] * v[1][o * width + i]).sum();
            gate[edge * width + o] = linear + v[2][o] + part(target, 1, o) + part(source, 3, o);
        }
    }
    let mut out = Vec::new();
    for node in 0..num_nodes as u32 {
        for c in 0..width {
            let (mut numerator, mut denominator) = (0.0, 1e-6);
            let incoming = &edges.incoming[node as usize..][..2];
            for edge in incoming[0] as usize..incoming[1] as usize {
                let open = 1.0 / (1.0 + (-gate[edge * width + c]).exp());
                numerator += open * part(edges.source[edge], 2, c);
                denominator += open;
            }
            out.push(part(node, 0, c) + numerator / denominator);
        }
    }
    if update == Update::None {
        return out;
    }
    let mut factors = vec![1.0; gate.len()];
    if let Some(dropout) = update.dropout() {
        dropout_mask(dropout, &mut factors);
    }
    let count = num_edges.max(1) as f64;
    let statistics: Vec<(f64, f64)> = (0..width)
        .map(|c| match update {
            Update::Given(_) => (v[6][c], v[7][c]),
            _ => {
                let column = || gate.iter().skip(c).step_by(width);
                let mean = column().sum::<f64>() / count;
                (mean, column().map(|g| (g - mean).powi(2)).sum::<f64>() / count)
            }
        })
        .collect();
    for (i, gate) in gate.iter().enumerate() {
        let (mean, variance) = statistics[i % width];
        let normalised = (gate - mean) / (variance + 1e-5).sqrt() * v[4][i % width] + v[5][i % width];
        out.push(v[0][i] + f64::from(factors[i]) * normalised.max(0.0));
    }
    out
}

/// What a forward pass with gradients keeps.
struct Pass {
    mixed: Vec<f32>,
    updated: Vec<f32>,
    gate: Vec<f32>,
    inverse: Vec<f32>,
    mean: Vec<f32>,
    variance: Vec<f32>,
}

fn operands<'a>(edges: Edges<'a>, width: usize, v: &'a [Vec<f32>]) -> GatedConvolution<'a> {
    GatedConvolution { edges, width, weight: &v[1], bias: &v[2], nodes: &v[3] }
}

fn forward(edges: Edges<'_>, width: usize, update: Update, v: &[Vec<f32>]) -> Pass {
    let nan = |count: usize| vec![f32::NAN; count];
    let mut pass = Pass {
        mixed: nan(edges.num_nodes * width),
        updated: Vec::new(),
        gate: nan(v[0].len()),
        inverse: nan(edges.num_nodes * width),
        mean: v[6].clone(),
        variance: v[7].clone(),
    };
    let batch = matches!(update, Update::Batch(_));
    let statistics = batch.then_some([&mut pass.mean[..], &mut pass.variance[..]]);
    let kept = Kept { gate: &mut pass.gate, inverse: &mut pass.inverse, statistics, others: None };
    gated_convolution(operands(edges, width, v), &v[0], &mut pass.mixed, kept);
    if update != Update::None {
        pass.updated = nan(v[0].len());
        let given = Statistics::Given { mean: &pass.mean, variance: &pass.variance };
        let (residual, dropout) = (Some(&v[0][..]), update.dropout());
        norm_relu_residual(&pass.gate, residual, &v[4], &v[5], given, dropout, &mut pass.updated);
    }
    pass
}

fn backward(
    edges: Edges<'_>,
    width: usize,
    update: Update,
    v: &[Vec<f32>],
    dy: &[f32],
) -> Vec<Option<Vec<f32>>> {
    let Pass { mixed, mut gate, inverse, mean, variance, .. } = forward(edges, width, update, v);
    let (d_mixed, d_updated) = dy.split_at(mixed.len());
    let mut gradients: Vec<Vec<f32>> = v[..6].iter().map(|v| vec![f32::NAN; v.len()]).collect();
    let [d_features, d_weight, d_bias, d_nodes, d_gamma, d_beta] = &mut gradients[..] else { unreachable!() };
    let updated = (update != Update::None).then(|| {
        d_features.copy_from_slice(d_updated);
        let from_batch = matches!(update, Update::Batch(_));
        let used = UsedStatistics { mean: &mean, variance: &variance, from_batch, others: None };
        let edges = UpdatedEdges { gamma: &v[4], beta: &v[5], used, dropout: update.dropout() };
        (edges, AffineGradients { gamma: Some(d_gamma), beta: Some(d_beta) })
    });
    let was_updated = updated.is_some();
    let saved = ConvolutionSaved { features: &v[0], mixed: &mixed, inverse: &inverse };
    let wanted = ConvolutionGradients {
        features: Some(d_features),
        wants_features: true,
        weight: Some(d_weight),
        bias: Some(d_bias),
        nodes: Some(d_nodes),
    };
    gated_convolution_backward(operands(edges, width, v), &mut gate, saved, Some(d_mixed), updated, wanted);
    let mut gradients: Vec<Option<Vec<f32>>> = gradients.into_iter().map(Some).collect();
    if !was_updated {
        gradients[4] = None;
        gradients[5] = None;
    }
    gradients.extend([None, None]);
    gradients
}

#[test]
fn gated_convolution_agrees_with_the_reference() {
    for (sorted, width) in cases() {
        let edges = sorted.as_edges();
        for update in Update::ALL {
            Check {
                what: format!("{} nodes, {} edges, {width}, {update:?}", edges.num_nodes, edges.num_edges()),
                inputs: inputs(edges, width),
                reference: &|v| reference(edges, width, update, v),
                forward: &|v| {
                    let pass = forward(edges, width, update, v);
                    [pass.mixed, pass.updated].concat()
                },
                backward: &|v, dy| backward(edges, width, update, v, dy),
                // The bias's gradient is a small difference of large sums where the norm takes constants away.
                tolerance: 2e-5,
            }
            .run();
        }
    }
}

/// One pass that keeps nothing gives the bits of two passes that keep everything.
#[test]
fn alone_or_with_all_kept_the_results_are_the_same() {
    for (sorted, width) in cases() {
        let edges = sorted.as_edges();
        let v = inputs(edges, width);
        for update in [Update::None, Update::Given(None)] {
            let kept = same_bits_on_all_pools("kept", Vec::clone, || {
                let pass = forward(edges, width, update, &v);
                [pass.mixed, pass.updated].concat()
            });
            let alone = same_bits_on_all_pools("alone", Vec::clone, || {
                let (mut features, mut mixed) = (v[0].clone(), vec![f32::NAN; edges.num_nodes * width]);
                let norm = EdgeNorm { gamma: &v[4], beta: &v[5], mean: &v[6], variance: &v[7] };
                let operand = match update {
                    Update::None => EdgeFeatures::Read(&v[0]),
                    _ => EdgeFeatures::Updated(&mut features, norm),
                };
                gated_convolution_alone(operands(edges, width, &v), operand, &mut mixed);
                if update == Update::None {
                    features.clear();
                }
                [mixed, features].concat()
            });
            assert!(kept.iter().map(|x| x.to_bits()).eq(alone.iter().map(|x| x.to_bits())), "{update:?}");
        }
    }
}

/// The two outputs' gradients add up, and what is not wanted changes nothing.
#[test]
fn a_missing_gradient_counts_as_zero() {
    for (sorted, width) in cases() {
        let edges = sorted.as_edges();
        let v = inputs(edges, width);
        let Pass { mixed, gate, inverse, mean, variance, .. } =
            forward(edges, width, Update::Batch(None), &v);
        let saved = ConvolutionSaved { features: &v[0], mixed: &mixed, inverse: &inverse };
        let mut random = Random::new(9);
        let (d_mixed, d_updated) = (random.values(mixed.len()), random.values(gate.len()));
        let zeros = vec![0.0; mixed.len()];
        let run = |d_mixed: Option<&[f32]>, d_updated: Option<&[f32]>, wants: bool| {
            let mut d_features = d_updated.map_or_else(|| vec![f32::NAN; gate.len()], <[f32]>::to_vec);
            let (mut d_weight, mut d_nodes) = (v[1].clone(), v[3].clone());
            let used = UsedStatistics { mean: &mean, variance: &variance, from_batch: true, others: None };
            let edge_norm = UpdatedEdges { gamma: &v[4], beta: &v[5], used, dropout: None };
            let updated = d_updated.map(|_| (edge_norm, AffineGradients::default()));
            let wanted = ConvolutionGradients {
                features: (wants || d_updated.is_some()).then_some(&mut d_features[..]),
                wants_features: wants,
                weight: wants.then_some(&mut d_weight[..]),
                bias: None,
                nodes: Some(&mut d_nodes),
            };
            let convolution = operands(edges, width, &v);
            gated_convolution_backward(convolution, &mut gate.clone(), saved, d_mixed, updated, wanted);
            (d_features, d_nodes)
        };
        let both = run(Some(&d_mixed), Some(&d_updated), true);
        assert_eq!(run(Some(&d_mixed), Some(&d_updated), false).1, both.1, "nodes alone");
        assert_eq!(run(None, Some(&d_updated), true), run(Some(&zeros), Some(&d_updated), true));
        let none = run(None, None, true);
        assert!(none.0.iter().chain(&none.1).all(|gradient| *gradient == 0.0));
    }
}
