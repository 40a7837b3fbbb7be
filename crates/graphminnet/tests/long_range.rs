//! The paper's proposition on long-range dependencies, measured: how much the output at one end of a path depends on
//! the input at the other.
//!
//! For a path of `n` nodes and output node 0, `J(d) = ‖∂h_0/∂x_d‖` (Frobenius norm of the Jacobian between the hidden
//! features of two nodes at distance `d`). With φ = `power:k` the block's kernel is `Σ_i λ_i^{4k}·p_0[i]·p_d[i]`
//! over the lowest `M` eigenpairs, a sum of cosines of `d/n`: stretching the path stretches the kernel and does not
//! make it fall off. A message-passing layer reaches one step.

mod common;

use burn::tensor::Tensor;
use common::{input_of, path, prepared, tracked, values};
use graphminnet::config::{GlobalKind, InputNorm, Phi};
use graphminnet::nn::{GatedGcn, Init, LocalPass, Pass};
use graphminnet::{GraphMinNet, ModelConfig, ModelInput};
use graphminnet_data::rng;
use graphminnet_data::{Features, Graph};

const HIDDEN: usize = 4;
const LENGTHS: [usize; 5] = [16, 32, 64, 128, 256];

fn config(phi: Phi) -> ModelConfig {
    ModelConfig {
        hidden: HIDDEN,
        layers: 1,
        pe_width: 6,
        lap_dim: 5,
        phi_a: phi,
        phi_c: phi,
        input_norm: InputNorm::None,
        ..ModelConfig::default()
    }
}

fn path_input(nodes: usize, config: &ModelConfig) -> ModelInput {
    let features = Features::numbers(nodes, 1, vec![1.0; nodes]).unwrap();
    let graph: Graph = path(nodes).with_node_features(features).unwrap();
    input_of(config, &[prepared(graph, config)], &tracked())
}

/// Random node features that are alike at every length.
fn features(nodes: usize) -> Tensor<2> {
    let x = common::normals(nodes * HIDDEN, &mut rng::stream(1, "path features", &[]));
    common::tensor(&x, [nodes, HIDDEN], &tracked()).require_grad()
}

/// `J(d)` for every distance `d` from node 0.
fn jacobian_norms(nodes: usize, forward: impl Fn(Tensor<2>) -> Tensor<2>) -> Vec<f64> {
    let mut squares = vec![0.0; nodes];
    for channel in 0..HIDDEN {
        let x = features(nodes);
        let output = forward(x.clone()).narrow(0, 0, 1).narrow(1, channel, 1).sum();
        let gradient = x.grad(&output.backward()).map(values).unwrap_or_else(|| vec![0.0; nodes * HIDDEN]);
        for (square, row) in squares.iter_mut().zip(gradient.chunks(HIDDEN)) {
            *square += row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

/// Slope of the least-squares line through `(x, ln y)`.
fn log_slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y.ln()).sum::<f64>() / count;
    let (mut cross, mut square) = (0.0, 0.0);
    for (x, y) in points {
        cross += (x - mean_x) * (y.ln() - mean_y);
        square += (x - mean_x).powi(2);
    }
    cross / square
}

/// Eight stretches of the path: middle distance, and root mean square of `J` (the kernel has zeros).
fn profile(norms: &[f64]) -> Vec<(f64, f64)> {
    let others = &norms[1..];
    let size = others.len().div_ceil(8);
    others
        .chunks(size)
        .enumerate()
        .map(|(at, chunk)| ((at * size) as f64 + chunk.len() as f64 / 2.0, root_mean_square(chunk)))
        .collect()
}

#[test]
fn the_blocks_gradient_does_not_decay_with_distance() {
    println!("phi      length  near half   far half   far/near   far end/near   slope of ln J per step");
    for exponent in [0, 1, 2] {
        let mut shares = Vec::new();
        for nodes in LENGTHS {
            let config = config(Phi::Power(exponent));
            let model = GraphMinNet::new(&config, 3, &tracked()).unwrap();
            let input = path_input(nodes, &config);
            let spectrum = model.spectrum(&input);
            let block = model.layers()[0].block().unwrap();
            let norms =
                jacobian_norms(nodes, |x| block.forward(x, &input, &spectrum, &config, 0, Pass::Eval));
            let near = root_mean_square(&norms[1..nodes / 2]);
            let far = root_mean_square(&norms[nodes / 2..]);
            let slope = log_slope(&profile(&norms));
            let end = norms[nodes - 1] / near;
            println!(
                "power:{exponent}  {nodes:6}  {near:.3e}  {far:.3e}  {:8.3}  {end:12.3}   {slope:+.4}",
                far / near
            );
            // The far half depends on the input as strongly as the near half, up to a constant, whatever the length.
            assert!(far / near > 0.2, "power:{exponent}, {nodes} nodes: {far:e} far away, {near:e} nearby");
            assert!(end > 0.2, "power:{exponent}, {nodes} nodes: {end} at the far end");
            // No exponential decay: what there is of a slope belongs to d/n, not to d.
            assert!(slope.abs() * (nodes as f64) < 4.0, "power:{exponent}, {nodes} nodes: slope {slope}");
            shares.push(far / near);
        }
        let (least, most) = shares.iter().fold((f64::INFINITY, 0f64), |(a, b), &s| (a.min(s), b.max(s)));
        assert!(most / least < 1.5, "power:{exponent}: the share {shares:?} depends on the length");
    }
}

#[test]
fn message_passing_decays_and_ends_at_its_depth() {
    const NODES: usize = 64;
    println!("depth  J(1)       J(depth)   J(depth + 1)   slope of ln J per step");
    for depth in [2, 4, 8] {
        let mut slopes = Vec::new();
        for seed in 0..3 {
            let init = &mut Init::new(seed, &tracked());
            let layers: Vec<GatedGcn> = (0..depth).map(|_| GatedGcn::new(HIDDEN, init)).collect();
            let input = path_input(NODES, &config(Phi::Power(0)));
            let structure = &input.structure;
            let norms = jacobian_norms(NODES, |x| {
                let mut nodes = x;
                let mut edges = Tensor::zeros([structure.num_edges(), HIDDEN], &tracked());
                for (number, layer) in layers.iter().enumerate() {
                    let (new_nodes, new_edges) = layer.forward(
                        nodes,
                        edges,
                        structure,
                        LocalPass { drop: 0.0, layer: number, pass: Pass::Eval },
                        true,
                    );
                    (nodes, edges) = (new_nodes, new_edges.unwrap());
                }
                nodes
            });
            assert!(norms[1] > 0.0, "depth {depth}: the neighbour counts");
            assert!(norms[depth + 1..].iter().all(|norm| *norm == 0.0), "depth {depth}: nothing beyond");
            let reached: Vec<(f64, f64)> =
                (1..=depth).map(|d| (d as f64, norms[d])).filter(|(_, norm)| *norm > 0.0).collect();
            let slope = log_slope(&reached);
            println!(
                "{depth:5}  {:.3e}  {:.3e}  {:.3e}      {slope:+.3}",
                norms[1],
                norms[depth],
                norms[depth + 1]
            );
            slopes.push(slope);
        }
        let mean = slopes.iter().sum::<f64>() / slopes.len() as f64;
        assert!(mean < -0.5, "depth {depth}: ln J falls by {mean} per step");
    }
}

#[test]
fn one_layer_of_the_model_reaches_the_far_end_and_message_passing_does_not() {
    for nodes in LENGTHS {
        let reach = |global: GlobalKind| {
            let config = ModelConfig {
                global,
                level: graphminnet::config::LevelKind::Node,
                node_in: HIDDEN,
                ..config(Phi::Deepset)
            };
            let model = GraphMinNet::new(&config, 3, &tracked()).unwrap();
            let input = {
                let features = Features::numbers(nodes, HIDDEN, values(features(nodes))).unwrap();
                let graph = path(nodes).with_node_features(features).unwrap();
                input_of(&config, &[prepared(graph, &config)], &tracked())
            };
            let norms = jacobian_norms(nodes, |x| {
                let mut input = input.clone();
                input.nodes = graphminnet::model::FeatureInput::Numbers(x);
                model.embed(&input, Pass::Eval)
            });
            norms[nodes - 1]
        };
        let (with, without) = (reach(GlobalKind::Graphminnet), reach(GlobalKind::None));
        println!("{nodes:4} nodes: {with:.2e} with the block, {without:.2e} without");
        assert!(with > 0.0, "{nodes} nodes");
        assert_eq!(without, 0.0, "{nodes} nodes");
    }
}
