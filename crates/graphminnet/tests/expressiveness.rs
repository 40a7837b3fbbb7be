//! What message passing cannot see and the block can: circular skip-link graphs.
//!
//! A circular skip-link graph is a cycle of 41 nodes in which every node is also connected to the node a fixed
//! number of steps further on. All of them are regular of degree 4, so with equal node features no message passing
//! along the edges tells them apart (nor does the 1-dimensional Weisfeiler–Leman test). Their Laplacian spectra differ.

mod common;

use common::{circulant, difference, input_of, lively_model, plain, prepared, scale, values};
use graphminnet::config::{GlobalKind, InputNorm, LocalKind, Pooling};
use graphminnet::nn::Pass;
use graphminnet::{GraphMinNet, ModelConfig};
use graphminnet_data::rng;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Features, Graph};

const NODES: usize = 41;
const SKIPS: [usize; 10] = [2, 3, 4, 5, 6, 9, 11, 12, 13, 16];

/// The ten graphs, all nodes alike.
fn skip_link_graphs() -> Vec<Graph> {
    SKIPS
        .iter()
        .map(|&skip| {
            let ones = Features::numbers(NODES, 1, vec![1.0; NODES]).unwrap();
            circulant(NODES, &[1, skip]).with_node_features(ones).unwrap()
        })
        .collect()
}

/// Four layers, no positional encoding of the nodes.
fn config(local: LocalKind, lap_dim: usize) -> ModelConfig {
    ModelConfig {
        hidden: 16,
        layers: 4,
        local,
        lap_dim,
        pe_width: 16,
        whole_eigenspaces: true,
        pooling: Pooling::Add,
        out_dim: 8,
        ..ModelConfig::default()
    }
}

fn outputs(model: &GraphMinNet, graphs: Vec<Graph>) -> Vec<Vec<f32>> {
    let graphs: Vec<PreparedGraph> =
        graphs.into_iter().map(|graph| prepared(graph, model.config())).collect();
    let output = values(model.forward(&input_of(model.config(), &graphs, &plain()), Pass::Eval));
    output.chunks(model.config().out_dim).map(<[f32]>::to_vec).collect()
}

/// Smallest and largest difference between the outputs of two different classes, and the pair that is closest.
fn pairwise(outputs: &[Vec<f32>]) -> (f32, f32, [usize; 2]) {
    let mut found = (f32::INFINITY, 0f32, [0, 0]);
    for a in 0..outputs.len() {
        for b in 0..a {
            let difference = difference(&outputs[a], &outputs[b]);
            found.1 = found.1.max(difference);
            if difference < found.0 {
                (found.0, found.2) = (difference, [SKIPS[b], SKIPS[a]]);
            }
        }
    }
    found
}

#[test]
fn message_passing_alone_gives_all_skip_link_graphs_the_same_output() {
    for local in [LocalKind::Gine, LocalKind::Gated] {
        for seed in 0..4 {
            let config = ModelConfig { global: GlobalKind::None, ..config(local, 16) };
            let model = lively_model(&config, seed, &plain());
            let outputs = outputs(&model, skip_link_graphs());
            assert!(scale(&outputs[0], 0.0) > 1e-2, "the output itself is not zero");
            let (_, largest, _) = pairwise(&outputs);
            assert!(largest < 1e-5, "{local}: outputs differ by {largest:e}");
        }
    }
}

#[test]
fn with_the_self_term_all_skip_link_graphs_are_told_apart() {
    println!("local  pairs  seed  smallest difference (classes)   renumbered copies");
    for (local, lap_dim) in
        [(LocalKind::Gine, 16), (LocalKind::Gated, 16), (LocalKind::None, 16), (LocalKind::Gated, 10)]
    {
        for seed in 0..4 {
            let config = ModelConfig { self_term: true, ..config(local, lap_dim) };
            let model = lively_model(&config, seed, &plain());
            let found = outputs(&model, skip_link_graphs());
            let (smallest, _, [a, b]) = pairwise(&found);

            // What rounding and another eigenbasis do to the same graphs.
            let random = &mut rng::stream(seed, "renumber", &[]);
            let copies = skip_link_graphs()
                .iter()
                .map(|graph| common::renumbered(graph, &random.permutation(NODES)))
                .collect();
            let noise =
                found.iter().zip(outputs(&model, copies)).map(|(a, b)| difference(a, &b)).fold(0.0, f32::max);
            println!(
                "{local:5}  {lap_dim:5}  {seed:4}  {smallest:.1e} ({a:2}, {b:2})                {noise:.1e}"
            );
            assert!(smallest > 1e-5, "{local}, {lap_dim} eigenpairs: {a} and {b} differ by {smallest:e}");
            assert!(smallest > 30.0 * noise, "{smallest:e} is not far from the noise {noise:e}");
        }
    }
}

/// Eigenvectors are orthogonal to constants: `Σ_v p_v·w = 0`.
#[test]
fn without_the_self_term_the_block_is_zero_on_constant_features() {
    for input_norm in [InputNorm::None, InputNorm::Ball] {
        for lap_dim in [16, NODES - 1] {
            let with = ModelConfig { self_term: true, input_norm, ..config(LocalKind::None, lap_dim) };
            let without = ModelConfig { self_term: false, ..with.clone() };
            let size = |config: &ModelConfig, constant: bool| {
                let model = lively_model(config, 1, &plain());
                let graphs: Vec<PreparedGraph> =
                    skip_link_graphs().into_iter().map(|graph| prepared(graph, config)).collect();
                let input = input_of(config, &graphs, &plain());
                let random = &mut rng::stream(1, "features", &[]);
                let row = common::normals(config.hidden, random);
                let rows = NODES * graphs.len();
                let x =
                    if constant { row.repeat(rows) } else { common::normals(rows * config.hidden, random) };
                let x = common::tensor(&x, [rows, config.hidden], &plain());
                let block = model.layers()[0].block().unwrap();
                let output = block.forward(x, &input, &model.spectrum(&input), config, 0, Pass::Eval);
                scale(&values(output), 0.0)
            };
            let (zero, usual, own) = (size(&without, true), size(&without, false), size(&with, true));
            println!(
                "constant {zero:.1e}, random features {usual:.1e}, constant with the self term {own:.1e}"
            );
            assert!(zero < 1e-6 * usual, "constant features give {zero:e}, random ones {usual:e}");
            assert!(own > 1e-3 * usual, "the self term gives {own:e}, random features {usual:e}");
        }
    }
}

#[test]
fn without_the_self_term_the_whole_model_sees_no_difference() {
    for seed in 0..4 {
        let model = lively_model(&config(LocalKind::Gated, 16), seed, &plain());
        let (_, largest, _) = pairwise(&outputs(&model, skip_link_graphs()));
        assert!(largest < 1e-5, "outputs differ by {largest:e}");
    }
}
