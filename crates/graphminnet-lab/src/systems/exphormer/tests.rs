//! Exphormer against the numbers of an independent implementation, a plain loop in 64 bits, and itself renumbered.

// The loops of the references are written with the indices of the formulas.
#![allow(clippy::needless_range_loop)]

use super::{EXPANDER, ExphormerConfig};
use crate::systems::spectrum::give_eigenvectors;
use crate::systems::testing::{
    Parameters, Rows, TRAIN, assert_equivariant, assert_gradients, assert_like_reference, assert_near,
    filled, gated_gcn, plus, random_graph, recorded, relu, sigmoid, table, values,
};
use crate::systems::{Body, Encoder, HeadKind, Positions, System, SystemConfig, SystemRecipe};
use burn::tensor::{Tensor, activation};
use graphminnet::config::{LevelKind, Pooling};
use graphminnet::model::Model;
use graphminnet::nn::Pass;
use graphminnet::weights;
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, prepare_graph};
use graphminnet_data::{Batch, Features, Graph, Pairs};
use std::sync::Arc;

fn config() -> SystemConfig {
    SystemConfig {
        hidden: 8,
        layers: 2,
        dropout: 0.0,
        nodes: Encoder::Linear(3),
        edges: Some(Encoder::Linear(1)),
        positions: Positions::None,
        level: LevelKind::Graph,
        pooling: Pooling::Mean,
        head: HeadKind::Mlp(2),
        outputs: 2,
        system: Body::Exphormer(ExphormerConfig {
            heads: 2,
            virtual_nodes: 2,
            expander: 3,
            gate_eigenvectors: 3,
        }),
    }
}

fn graph(nodes: usize, first_node: usize, edges: &[[u32; 2]], first_edge: usize) -> Graph {
    let x = (0..nodes).flat_map(|u| (0..3).map(move |c| (0.3 * (first_node + u) as f32 + c as f32).cos()));
    let e = (0..edges.len()).map(|k| 0.1 * (first_edge + k + 1) as f32).collect();
    let edge_features = Features::numbers(edges.len(), 1, e).unwrap();
    Graph::new(nodes, edges.to_vec(), Features::numbers(nodes, 3, x.collect()).unwrap(), edge_features)
        .unwrap()
}

fn batch() -> Batch {
    let first = [[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2], [1, 3], [3, 1]];
    let second = [[0, 1], [1, 0], [1, 2], [2, 1], [2, 0]];
    let mut batch = Batch::of_graphs(&[&graph(4, 0, &first, 0), &graph(3, 4, &second, 8)]).unwrap();
    let expander = [
        [0, 2],
        [2, 0],
        [1, 3],
        [3, 1],
        [0, 3],
        [3, 0],
        [1, 1],
        [0, 2],
        [2, 0],
        [4, 6],
        [6, 4],
        [5, 5],
        [5, 5],
    ];
    let pairs = Pairs::new(expander.to_vec(), Features::none(expander.len())).unwrap();
    batch.encodings.pairs.insert(EXPANDER.to_owned(), pairs);
    let entries = (0..7).flat_map(|u| (0..3).map(move |c| 0.5 * (1.0 + u as f32 + 2.0 * c as f32).cos()));
    give_eigenvectors(&mut batch, 3, entries.collect());
    batch
}

fn small() -> System {
    let mut rule: Vec<(String, f64, f64)> = Vec::new();
    let mut push = |name: &str, scale: f64, base: f64| rule.push((name.to_owned(), scale, base));
    for name in ["nodes", "body.spectral", "edges"] {
        push(&format!("{name}.weight"), 0.3, 0.0);
        push(&format!("{name}.bias"), 0.3, 0.0);
    }
    for name in ["exp_edge", "virtual_nodes.node", "virtual_nodes.outwards", "virtual_nodes.inwards"] {
        push(&format!("body.{name}"), 1.0, 0.0);
    }
    for layer in 0..2 {
        let mut part = |name: &str, scale: f64, base: f64, has_bias: bool| {
            push(&format!("body.layers.{layer}.{name}.weight"), scale, base);
            if has_bias {
                push(&format!("body.layers.{layer}.{name}.bias"), 0.3, 0.0);
            }
        };
        ["local.A", "local.B", "local.C", "local.D", "local.E", "r1", "r2"]
            .into_iter()
            .for_each(|name| part(name, 0.3, 0.0, true));
        ["local.bn_node", "local.bn_edge", "bn_local"]
            .into_iter()
            .for_each(|name| part(name, 0.3, 1.0, true));
        ["Q", "K", "E", "V"].into_iter().for_each(|name| part(name, 1.0, 0.0, false));
        part("bn_att", 0.3, 1.0, true);
        part("ff1", 0.3, 0.0, true);
        part("ff2", 0.3, 0.0, true);
        part("bn_ff", 0.3, 1.0, true);
    }
    for at in 0..2 {
        push(&format!("head.lins.{at}.weight"), 0.3, 0.0);
        push(&format!("head.lins.{at}.bias"), 0.3, 0.0);
    }
    filled(System::new(&config(), 0, &recorded()).unwrap(), 1, &rule)
}

#[test]
fn the_numbers_of_the_independent_implementation_are_met() {
    let model = small();
    assert_eq!(weights::count_parameters(&model), 2228);
    let input = model.input(batch(), &recorded()).unwrap();
    let x = model.node_features(&input, TRAIN);
    let answers = model.answers(x.clone(), &input);
    assert_near("x", &values(&x)[..3], &[0.758_346_124_7, -0.653_680_609_5, 1.896_769_679]);
    let logits = [0.284_784_160_7, -0.508_695_543_3, 0.235_168_241_4, -0.196_293_011_3];
    assert_near("answers", &values(&answers), &logits);
    let chosen = table(2, 2, |row, column| if row != column { -0.5 } else { 0.0 });
    let cross_entropy: Tensor<1> = (activation::log_softmax(answers, 1) * chosen).sum();
    assert_near("cross entropy", &values(&cross_entropy), &[0.833_557_249_1]);
    let weight = table(7, 8, |u, c| (1.0 + u as f64 + 3.0 * c as f64).cos());
    let loss = (x * weight).sum() + cross_entropy;
    assert_near("J", &values(&loss), &[2.473_494_643]);
    assert_gradients(
        &model,
        &loss.backward(),
        &[
            ("nodes.weight", 5, 14.284_190_32, 54.548_112_53),
            ("body.spectral.weight", 5, 0.040_733_187_5, 0.465_040_035_7),
            ("edges.weight", 5, 0.626_702_762_8, 1.367_502_533),
            ("body.exp_edge", 5, -0.046_309_549_22, 0.364_303_827_1),
            ("body.virtual_nodes.node", 5, 0.655_702_070_2, 3.239_269_009),
            ("body.virtual_nodes.outwards", 5, -0.082_562_297_93, 2.106_282_306),
            ("body.virtual_nodes.inwards", 5, -0.001_149_344_533, 0.033_130_198_32),
            ("body.layers.0.local.A.weight", 5, 2.334_384_2, 126.534_622_7),
            ("body.layers.0.local.B.weight", 5, -2.414_312_57, 118.451_234_4),
            ("body.layers.0.local.C.weight", 5, -0.012_556_560_02, 0.783_100_383_7),
            ("body.layers.0.local.D.weight", 5, 0.019_659_339_41, 0.216_331_526_2),
            ("body.layers.0.r1.weight", 5, -0.020_578_644_55, 0.143_785_963_1),
            ("body.layers.0.r2.weight", 5, 0.031_914_567_33, 0.079_325_047_69),
            ("body.layers.0.local.bn_edge.weight", 5, -0.040_063_151_63, 0.078_344_727_13),
            ("body.layers.0.bn_local.weight", 5, 0.177_577_131_9, 1.963_346_21),
            ("body.layers.0.Q.weight", 5, 2.021_465_645, 18.150_688_5),
            ("body.layers.0.K.weight", 5, -0.557_829_541_8, 6.853_051_947),
            ("body.layers.0.E.weight", 5, -0.617_364_697_2, 3.472_645_406),
            ("body.layers.0.V.weight", 5, 0.073_945_808_31, 5.169_677_644),
            ("body.layers.0.bn_att.bias", 5, -0.120_658_849_3, 0.291_498_887_2),
            ("body.layers.0.ff1.weight", 5, -0.966_339_75, 17.088_678_89),
            ("body.layers.0.bn_ff.weight", 5, 2.606_278_907, 6.801_417_07),
            ("body.layers.1.Q.weight", 5, 0.173_230_145_1, 3.712_193_845),
            ("head.lins.0.weight", 5, 0.0, 0.519_807_761_6),
        ],
    );
    let logits = [0.200_318_990_4, -0.145_937_516_6, 0.184_905_867_8, -0.075_091_779_87];
    assert_near("after one pass", &values(&model.forward(&input, Pass::Eval)), &logits);
}

/// Exphormer in loops, for one graph.
fn reference(p: &Parameters, prepared: &PreparedGraph, config: &SystemConfig) -> Rows {
    let Body::Exphormer(own) = &config.system else { unreachable!() };
    let graph = &prepared.graph;
    let (n, d, v) = (graph.num_nodes(), config.hidden, own.virtual_nodes);
    let dh = d / own.heads;
    let node_table = p.rows("nodes.weight");
    let edge_table = p.rows("edges.weight");
    let kinds = |kinds: &[u32], table: &Rows| -> Rows {
        kinds.iter().map(|&kind| table[kind as usize].clone()).collect()
    };
    let mut x = kinds(graph.node_features().category_values(), &node_table);
    let mut eps = kinds(graph.edge_features().category_values(), &edge_table);
    let entries = prepared.encodings.nodes.values().next().unwrap();
    let entries: Rows =
        (0..n).map(|u| entries.number_row(u).iter().map(|value| f64::from(*value)).collect()).collect();
    let q = p.linear("body.spectral", &entries);
    // Attention edges with their features; virtual node m is number n + m.
    let mut pairs: Vec<(usize, usize, Vec<f64>)> = Vec::new();
    for (ends, feature) in graph.edges().iter().zip(&eps) {
        pairs.push((ends[0] as usize, ends[1] as usize, feature.clone()));
    }
    for ends in prepared.encodings.pairs[EXPANDER].ends() {
        pairs.push((ends[0] as usize, ends[1] as usize, p.get("body.exp_edge").to_vec()));
    }
    let (inwards, outwards) = (p.rows("body.virtual_nodes.inwards"), p.rows("body.virtual_nodes.outwards"));
    for m in 0..v {
        for u in 0..n {
            pairs.push((u, n + m, inwards[m].clone()));
            pairs.push((n + m, u, outwards[m].clone()));
        }
    }
    let mut z = p.rows("body.virtual_nodes.node");
    for layer in 0..config.layers {
        let name = |part: &str| format!("body.layers.{layer}.{part}");
        let distance = |ends: &[u32; 2]| -> Vec<f64> {
            let [j, i] = ends.map(|node| node as usize);
            vec![q[i].iter().zip(&q[j]).map(|(a, b)| (a - b).powi(2)).sum()]
        };
        let distances: Rows = graph.edges().iter().map(distance).collect();
        let near = p.linear(&name("r2"), &relu(&p.linear(&name("r1"), &distances)));
        let near: Vec<f64> = near.iter().map(|row| sigmoid(row[0])).collect();
        let (local, updated) = gated_gcn(p, &name("local"), &x, &eps, graph.edges(), Some(&near));
        let local = p.batch_norm(&name("bn_local"), &local);
        let y: Rows = x.iter().chain(&z).cloned().collect();
        let maps = ["Q", "K", "V"].map(|map| p.linear(&name(map), &y));
        let [query, key, value] = maps;
        let (mut sums, mut totals) = (vec![vec![0.0; d]; n + v], vec![vec![1e-6; own.heads]; n + v]);
        for (j, i, feature) in &pairs {
            let factor = &p.linear(&name("E"), &vec![feature.clone()])[0];
            for head in 0..own.heads {
                let at = |c: usize| head * dh + c;
                let score: f64 = (0..dh).map(|c| key[*j][at(c)] * query[*i][at(c)] * factor[at(c)]).sum();
                let weight = (score / (dh as f64).sqrt()).clamp(-5.0, 5.0).exp();
                (0..dh).for_each(|c| sums[*i][at(c)] += weight * value[*j][at(c)]);
                totals[*i][head] += weight;
            }
        }
        for (sums, totals) in sums.iter_mut().zip(&totals) {
            (0..d).for_each(|c| sums[c] /= totals[c / dh]);
        }
        z = sums.split_off(n);
        let u = plus(&local, &p.batch_norm(&name("bn_att"), &plus(&x, &sums)));
        let mixed = p.linear(&name("ff2"), &relu(&p.linear(&name("ff1"), &u)));
        x = p.batch_norm(&name("bn_ff"), &plus(&u, &mixed));
        eps = updated;
    }
    p.head(x, true)
}

fn by_category() -> SystemConfig {
    let (nodes, edges) = (Encoder::Table(5), Some(Encoder::Table(3)));
    SystemConfig { nodes, edges, level: LevelKind::Node, ..config() }
}

fn prepared(config: &SystemConfig, graph: &Graph) -> PreparedGraph {
    let mut prepared = prepare_graph(&Arc::new(graph.clone()), &PrepareOptions::default()).unwrap();
    config.prepare_graph(&mut prepared, 1, 0).unwrap();
    prepared
}

#[test]
fn a_plain_loop_in_64_bits_agrees_in_values_and_gradients() {
    let config = by_category();
    let prepared = prepared(&config, &random_graph(3, 12, 17, [5, 3]));
    let model = System::new(&config, 3, &recorded()).unwrap();
    let batch = Batch::collate(&[&prepared]).unwrap();
    assert_like_reference(&model, &batch, |parameters| reference(parameters, &prepared, &config));
}

#[test]
fn renumbering_the_nodes_renumbers_the_answers() {
    // Up to ten nodes the expander has all pairs, whatever the numbers of the nodes.
    let config = by_category();
    let model = System::new(&config, 4, &recorded()).unwrap();
    let graph = random_graph(4, 9, 14, [5, 3]);
    assert_equivariant(&model, |graph| Batch::collate(&[&prepared(&config, graph)]).unwrap(), &graph);
}

#[test]
fn a_batch_that_was_not_prepared_is_refused() {
    let model = System::new(&by_category(), 0, &recorded()).unwrap();
    let batch = Batch::of_graphs(&[&random_graph(4, 9, 14, [5, 3])]).unwrap();
    let error = model.input(batch, &recorded()).unwrap_err().to_string();
    assert!(error.contains("expander") && error.contains("prepared"), "{error}");
}

#[test]
fn counts_are_the_expected_ones() {
    for (dataset, count) in [
        ("mnist", 111_015),
        ("cifar10", 111_095),
        ("pattern", 91_045),
        ("cluster", 282_970),
        ("malnet-tiny", 286_149),
        ("pascalvoc-sp", 509_013),
        ("peptides-func", 445_866),
        ("peptides-struct", 425_899),
    ] {
        let recipe = SystemRecipe::named("exphormer", dataset).unwrap().unwrap();
        let model = System::new(&recipe.model, 0, &recorded()).unwrap();
        assert_eq!(weights::count_parameters(&model), count, "{dataset}");
    }
}
