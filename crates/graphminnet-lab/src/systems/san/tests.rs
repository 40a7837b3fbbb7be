//! SAN against the numbers of an independent implementation, a plain loop in 64 bits, and itself renumbered.

// The loops of the references are written with the indices of the formulas.
#![allow(clippy::needless_range_loop)]

use super::{MissingPair, San, SanConfig, SanInput, SpectrumConfig, SpectrumInput};
use crate::systems::model::Layers;
use crate::systems::positions::PositionEncoder;
use crate::systems::testing::{
    Parameters, Rows, TRAIN, assert_equivariant, assert_gradients, assert_like_reference, assert_near,
    filled, plus, random_graph, recorded, relu, table, values,
};
use crate::systems::{Body, Encoder, HeadKind, Positions, System, SystemConfig, SystemRecipe};
use burn::tensor::Tensor;
use graphminnet::config::{LevelKind, Pooling};
use graphminnet::ops::Structure;
use graphminnet::weights;
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, prepare_graph};
use graphminnet_data::{Batch, Graph};
use std::sync::Arc;

fn config(missing: MissingPair, positions: Positions) -> SystemConfig {
    SystemConfig {
        hidden: 8,
        layers: 1,
        dropout: 0.0,
        nodes: Encoder::Table(5),
        edges: Some(Encoder::Table(3)),
        positions,
        level: LevelKind::Node,
        pooling: Pooling::Mean,
        head: HeadKind::San,
        outputs: 2,
        system: Body::San(SanConfig { heads: 2, gamma: 0.1, missing, allocate_unused_table: false }),
    }
}

/// The two graphs of the independent implementation.
pub(crate) fn two_graphs() -> Batch {
    let both = |pairs: &[[u32; 2]]| pairs.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
    let first = Graph::from_edges(5, both(&[[0, 1], [1, 2], [2, 3], [1, 3], [3, 4]])).unwrap();
    let second = Graph::from_edges(3, both(&[[0, 1], [1, 2]])).unwrap();
    Batch::of_graphs(&[&first, &second]).unwrap()
}

/// `0.5·sin(0.7u + 1.3c)`.
pub(crate) fn node_values() -> Tensor<2> {
    table(8, 8, |u, c| 0.5 * (0.7 * u as f64 + 1.3 * c as f64).sin())
}

/// `0.5·cos(0.3j + 0.9c)` in the order of the edges of a batch.
pub(crate) fn edge_values(batch: &Batch) -> Tensor<2> {
    let given = &batch.layout.topology().given_order;
    table(14, 8, |j, c| 0.5 * (0.3 * f64::from(given[j]) + 0.9 * c as f64).cos())
}

/// `Σ out[u,c]·cos(0.2u + 0.5c)`.
pub(crate) fn weighted(out: Tensor<2>) -> Tensor<1> {
    let [rows, columns] = out.dims();
    (out * table(rows, columns, |u, c| (0.2 * u as f64 + 0.5 * c as f64).cos())).sum()
}

fn layers(model: &System) -> &San {
    match model.body() {
        Layers::San(san) => san,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_layer_meets_the_numbers_of_the_independent_implementation() {
    let mut rule = vec![("body.missing".to_owned(), 0.5, 0.0)];
    for name in ["Q", "K", "E", "Q2", "K2", "E2", "V"] {
        rule.push((format!("body.layers.0.{name}.weight"), 0.5, 0.0));
    }
    for (name, base) in [("O", 0.0), ("bn1", 1.0), ("F1", 0.0), ("F2", 0.0), ("bn2", 1.0)] {
        rule.push((format!("body.layers.0.{name}.weight"), 0.5, base));
        rule.push((format!("body.layers.0.{name}.bias"), 0.5, 0.0));
    }
    let config = config(MissingPair::Learned, Positions::None);
    let model = filled(System::new(&config, 0, &recorded()).unwrap(), 0, &rule);
    let (batch, san) = (two_graphs(), layers(&model));
    let input = SanInput::new(&batch);
    assert_eq!((input.edges.0.len(), input.others.0.len()), (14, 12));
    let x = node_values().require_grad();
    let missing = san.missing.as_ref().unwrap().val();
    let out = san.layers[0].forward(x.clone(), edge_values(&batch), missing, &input, 0, TRAIN);
    let found = values(&out);
    assert_near(
        "out",
        &[found[0], found[4 * 8 + 3], found[7 * 8 + 7]],
        &[-1.106_962_151_519, 0.174_518_673_637, 2.579_827_965_543],
    );
    let loss = weighted(out);
    assert_near("loss", &values(&loss), &[-0.150_412_768_766]);
    let gradients = loss.backward();
    let gradient = x.grad(&gradients).unwrap();
    assert_near("gradient of x", &values(&gradient)[8..9], &[0.922_586_648_638]);
    assert_gradients(
        &model,
        &gradients,
        &[
            ("body.layers.0.Q.weight", 0, -0.037_611_628_768, 0.291_964_339_356),
            ("body.layers.0.Q2.weight", 10, 0.044_536_182_094, 0.166_383_064_997),
            ("body.layers.0.K.weight", 3 * 8 + 4, 0.049_615_527_341, 0.307_520_923_351),
            ("body.layers.0.E.weight", 17, -0.002_918_191_358, 0.262_674_403_332),
            ("body.layers.0.E2.weight", 5, -0.018_637_623_726, 0.137_620_348_184),
            ("body.layers.0.V.weight", 36, 0.185_531_133_469, 7.761_698_658_498),
        ],
    );
}

#[test]
fn the_spectral_encoder_meets_the_numbers_of_the_independent_implementation() {
    let own = SpectrumConfig {
        width: 4,
        pairs: 4,
        layers: 2,
        heads: 2,
        feed_forward: 6,
        dropout: 0.0,
        unit_rows: false,
        random_signs: false,
    };
    let mut rule: Vec<(String, f64, f64)> = Vec::new();
    let mut part = |name: &str, base: f64| {
        rule.push((format!("positions.{name}.weight"), 0.5, base));
        rule.push((format!("positions.{name}.bias"), 0.5, 0.0));
    };
    part("input", 0.0);
    for layer in 0..2 {
        for (name, base) in [
            ("in_projection", 0.0),
            ("out_projection", 0.0),
            ("ff1", 0.0),
            ("ff2", 0.0),
            ("ln1", 1.0),
            ("ln2", 1.0),
        ] {
            part(&format!("layers.{layer}.{name}"), base);
        }
    }
    let config = config(MissingPair::Learned, Positions::Spectrum(own));
    let model = filled(System::new(&config, 0, &recorded()).unwrap(), 0, &rule);
    let Some(PositionEncoder::Spectrum(encoder)) = model.positions() else { panic!("{config:?}") };
    // Behind the eigenvalues stands which of them exist: the last one not in the second graph.
    let spectrum = |graph: usize, at: usize| match at {
        0..4 => 0.3 * at as f64,
        7 if graph == 1 => 0.0,
        _ => 1.0,
    };
    let input = SpectrumInput {
        eigenvectors: table(8, 4, |u, i| 0.4 * (u as f64 + 2.0 * i as f64).sin()),
        eigenvalues: table(2, 8, spectrum),
    };
    let out = encoder.forward(&input, &Structure::new(two_graphs().layout), TRAIN);
    let found = values(&out);
    assert_near("out", &[found[0], found[6 * 4 + 2]], &[1.034_706_896_998, 3.584_381_473_696]);
    let loss = weighted(out);
    assert_near("loss", &values(&loss), &[29.875_759_983_872]);
    let gradients = weights::named_gradients(&model, &loss.backward());
    for (name, at, expected) in [
        ("positions.input.weight", 1, 9.731_848_568_102),
        ("positions.layers.0.in_projection.weight", 2 * 4 + 3, 0.003_168_926_567),
        ("positions.layers.1.ff1.weight", 4 + 2, 6.534_679_184_716),
        ("positions.layers.1.ln2.weight", 3, 14.005_273_793_893),
    ] {
        let (_, gradient) = gradients.iter().find(|(found, _)| found == name).unwrap();
        assert_near(name, &gradient.as_ref().unwrap()[at..=at], &[expected]);
    }
}

fn with_spectrum(missing: MissingPair) -> SystemConfig {
    let own = SpectrumConfig {
        width: 4,
        pairs: 3,
        layers: 1,
        heads: 2,
        feed_forward: 5,
        dropout: 0.0,
        unit_rows: true,
        random_signs: false,
    };
    SystemConfig { layers: 2, ..config(missing, Positions::Spectrum(own)) }
}

fn prepared(config: &SystemConfig, graph: &Graph) -> PreparedGraph {
    let mut prepared = prepare_graph(&Arc::new(graph.clone()), &PrepareOptions::default()).unwrap();
    config.prepare_graph(&mut prepared, 0, 0).unwrap();
    prepared
}

/// SAN in loops, for one graph with at least as many nodes as eigenpairs.
fn reference(p: &Parameters, prepared: &PreparedGraph, config: &SystemConfig) -> Rows {
    let (Body::San(own), Positions::Spectrum(spectrum)) = (&config.system, &config.positions) else {
        unreachable!()
    };
    let graph = &prepared.graph;
    let (n, d, m, width) = (graph.num_nodes(), config.hidden, spectrum.pairs, spectrum.width);
    let entries = prepared.encodings.nodes.values().next().unwrap();
    let lambda = prepared.encodings.graphs.values().next().unwrap().number_values();
    let (node_table, edge_table) = (p.rows("nodes.weight"), p.rows("edges.weight"));
    let mut x: Rows = Vec::new();
    for u in 0..n {
        let row: Vec<f64> = entries.number_row(u).iter().map(|value| f64::from(*value)).collect();
        let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
        let tokens = (0..m).map(|i| vec![row[i] / length, f64::from(lambda[i])]).collect();
        let mut t = p.linear("positions.input", &tokens);
        for layer in 0..spectrum.layers {
            let name = |part: &str| format!("positions.layers.{layer}.{part}");
            let parts = p.linear(&name("in_projection"), &t);
            let k = width / spectrum.heads;
            let mut mixed = vec![vec![0.0; width]; m];
            for head in 0..spectrum.heads {
                for i in 0..m {
                    let score = |j: usize| {
                        let products =
                            (0..k).map(|c| parts[i][head * k + c] * parts[j][width + head * k + c]);
                        (products.sum::<f64>() / (k as f64).sqrt()).exp()
                    };
                    let weights: Vec<f64> = (0..m).map(score).collect();
                    let total: f64 = weights.iter().sum();
                    for c in head * k..(head + 1) * k {
                        mixed[i][c] = (0..m).map(|j| weights[j] / total * parts[j][2 * width + c]).sum();
                    }
                }
            }
            t = p.layer_norm(&name("ln1"), &plus(&t, &p.linear(&name("out_projection"), &mixed)), 1e-5);
            let inner = p.linear(&name("ff2"), &relu(&p.linear(&name("ff1"), &t)));
            t = p.layer_norm(&name("ln2"), &plus(&t, &inner), 1e-5);
        }
        let mut row = node_table[graph.node_features().category_values()[u] as usize].clone();
        row.extend((0..width).map(|c| t.iter().map(|token| token[c]).sum::<f64>()));
        x.push(row);
    }
    let missing = match own.missing {
        MissingPair::Learned => p.get("body.missing").to_vec(),
        MissingPair::FirstCategory => edge_table[0].clone(),
    };
    let k = d / own.heads;
    for layer in 0..config.layers {
        let name = |part: &str| format!("body.layers.{layer}.{part}");
        let maps = ["Q", "K", "Q2", "K2", "V"].map(|map| p.linear(&name(map), &x));
        let [q, key, q2, key2, v] = maps;
        let mut a = vec![vec![0.0; d]; n];
        for i in 0..n {
            for head in 0..own.heads {
                let mut total = 1e-6;
                let mut sums = vec![0.0; k];
                for j in (0..n).filter(|&j| j != i) {
                    let edge = graph.edges().iter().position(|ends| *ends == [j as u32, i as u32]);
                    let (factor, q, key, share) = match edge {
                        Some(at) => {
                            let kind = graph.edge_features().category_values()[at] as usize;
                            (p.linear(&name("E"), &vec![edge_table[kind].clone()]), &q, &key, 1.0)
                        }
                        None => (p.linear(&name("E2"), &vec![missing.clone()]), &q2, &key2, own.gamma),
                    };
                    let score: f64 =
                        (head * k..(head + 1) * k).map(|c| key[j][c] * q[i][c] * factor[0][c]).sum();
                    let weight =
                        (score / (k as f64).sqrt()).clamp(-5.0, 5.0).exp() * share / (1.0 + own.gamma);
                    (0..k).for_each(|c| sums[c] += weight * v[j][head * k + c]);
                    total += weight;
                }
                (0..k).for_each(|c| a[i][head * k + c] = sums[c] / total);
            }
        }
        let h = p.batch_norm(&name("bn1"), &plus(&x, &p.linear(&name("O"), &a)));
        let mixed = p.linear(&name("F2"), &relu(&p.linear(&name("F1"), &h)));
        x = p.batch_norm(&name("bn2"), &plus(&h, &mixed));
    }
    p.head(x, false)
}

#[test]
fn a_plain_loop_in_64_bits_agrees_in_values_and_gradients() {
    for missing in [MissingPair::Learned, MissingPair::FirstCategory] {
        let config = with_spectrum(missing);
        let prepared = prepared(&config, &random_graph(6, 9, 13, [5, 3]));
        let model = System::new(&config, 3, &recorded()).unwrap();
        let batch = Batch::collate(&[&prepared]).unwrap();
        assert_like_reference(&model, &batch, |parameters| reference(parameters, &prepared, &config));
    }
}

#[test]
fn renumbering_the_nodes_renumbers_the_answers() {
    let config = with_spectrum(MissingPair::FirstCategory);
    let model = System::new(&config, 4, &recorded()).unwrap();
    let graph = random_graph(7, 11, 16, [5, 3]);
    assert_equivariant(&model, |graph| Batch::collate(&[&prepared(&config, graph)]).unwrap(), &graph);
}

#[test]
fn counts_are_the_expected_ones() {
    for (dataset, count) in [
        ("zinc", 508_577),
        ("molhiv", 528_265),
        ("pattern", 507_202),
        ("cluster", 519_186),
        ("pascalvoc-sp", 467_989),
        ("peptides-func", 499_902),
        ("peptides-struct", 500_003),
    ] {
        let recipe = SystemRecipe::named("san", dataset).unwrap().unwrap();
        let model = System::new(&recipe.model, 0, &recorded()).unwrap();
        assert_eq!(weights::count_parameters(&model), count, "{dataset}");
    }
}
