//! GRIT against the numbers of an independent implementation, a plain loop in 64 bits, and itself renumbered.

// The loops of the references are written with the indices of the formulas.
#![allow(clippy::needless_range_loop)]

use super::{GritConfig, Orientation};
use crate::systems::testing::{
    Parameters, Rows, TRAIN, assert_equivariant, assert_gradients, assert_like_reference, assert_near,
    filled, plus, random_graph, recorded, relu, table, values,
};
use crate::systems::{Body, Encoder, HeadKind, NAMES, Positions, System, SystemConfig, SystemRecipe};
use graphminnet::config::{LevelKind, Pooling};
use graphminnet::model::Model;
use graphminnet::nn::Pass;
use graphminnet::weights;
use graphminnet_data::{Batch, Features, Graph};

fn config(layers: usize, orientation: Orientation) -> SystemConfig {
    SystemConfig {
        hidden: 8,
        layers,
        dropout: 0.0,
        nodes: Encoder::Table(5),
        edges: Some(Encoder::Table(3)),
        positions: Positions::None,
        level: LevelKind::Graph,
        pooling: Pooling::Add,
        head: HeadKind::San,
        outputs: 1,
        system: Body::Grit(GritConfig { heads: 2, steps: 4, attention_dropout: 0.0, orientation }),
    }
}

fn graph(kinds: &[u32], edges: &[[u32; 3]]) -> Graph {
    let ends = edges.iter().map(|[from, to, _]| [*from, *to]).collect();
    let nodes = Features::categories(kinds.len(), 1, kinds.to_vec()).unwrap();
    let types = edges.iter().map(|edge| edge[2]).collect();
    Graph::new(kinds.len(), ends, nodes, Features::categories(edges.len(), 1, types).unwrap()).unwrap()
}

fn batch() -> Batch {
    let first = [[0, 1, 0], [1, 0, 0], [1, 2, 1], [2, 1, 1], [2, 3, 2], [3, 2, 2], [1, 3, 0], [3, 1, 0]];
    let second = [[0, 1, 1], [1, 0, 1], [1, 2, 2], [2, 1, 2], [2, 0, 0]];
    Batch::of_graphs(&[&graph(&[0, 1, 2, 3], &first), &graph(&[4, 0, 1], &second)]).unwrap()
}

fn small(orientation: Orientation) -> System {
    let mut rule: Vec<(String, f64, f64)> =
        ["nodes.weight", "edges.weight", "body.walk_nodes.weight", "body.walk_pairs.weight"]
            .map(|name| (name.to_owned(), 0.3, 0.0))
            .into();
    for layer in 0..2 {
        for name in [
            "Q.weight",
            "Q.bias",
            "K.weight",
            "E.weight",
            "E.bias",
            "V.weight",
            "A",
            "Ve",
            "Oh.weight",
            "Oh.bias",
            "Oe.weight",
            "Oe.bias",
            "degree",
            "bn_h1.weight",
            "bn_h1.bias",
            "bn_e.weight",
            "bn_e.bias",
            "ffn1.weight",
            "ffn1.bias",
            "ffn2.weight",
            "ffn2.bias",
            "bn_h2.weight",
            "bn_h2.bias",
        ] {
            let base = if name.starts_with("bn") && name.ends_with("weight") { 1.0 } else { 0.0 };
            rule.push((format!("body.layers.{layer}.{name}"), if name == "A" { 4.0 } else { 0.3 }, base));
        }
    }
    for at in 0..3 {
        rule.extend(["weight", "bias"].map(|part| (format!("head.lins.{at}.{part}"), 0.3, 0.0)));
    }
    filled(System::new(&config(2, orientation), 0, &recorded()).unwrap(), 1, &rule)
}

#[test]
fn the_numbers_of_the_independent_implementation_are_met() {
    let model = small(Orientation::TargetToSource);
    assert_eq!(weights::count_parameters(&model), 1921);
    let input = model.input(batch(), &recorded()).unwrap();
    let h = model.node_features(&input, TRAIN);
    let answers = model.answers(h.clone(), &input);
    assert_near("h", &values(&h)[..3], &[0.959_942_822_9, 0.569_893_691_8, 0.374_723_270_6]);
    assert_near("answers", &values(&answers), &[-0.101_743_316_8, -0.316_978_537_3]);
    let weight = table(7, 8, |u, c| (1.0 + u as f64 + 3.0 * c as f64).cos());
    let loss = (h * weight).sum() + answers.powi_scalar(2).sum();
    assert_near("J", &values(&loss), &[3.248_854_971]);
    assert_gradients(
        &model,
        &loss.backward(),
        &[
            ("nodes.weight", 2, 3.657_898_673, 28.223_120_48),
            ("edges.weight", 2, 0.173_629_062, 1.558_294_501),
            ("body.walk_nodes.weight", 2, 2.050_844_163, 3.438_571_876),
            ("body.walk_pairs.weight", 2, -0.254_379_405_7, 1.417_740_689),
            ("body.layers.0.Q.weight", 2, 0.010_665_497_35, 0.470_926_228_9),
            ("body.layers.0.Q.bias", 2, 0.201_815_628_8, 0.623_035_738_9),
            ("body.layers.0.K.weight", 2, -0.001_665_542_901, 0.425_690_914_1),
            ("body.layers.0.E.weight", 2, 0.050_545_192_61, 0.932_052_706_8),
            ("body.layers.0.E.bias", 2, -0.051_275_929_61, 1.620_928_62),
            ("body.layers.0.V.weight", 2, -0.133_961_491_6, 0.960_645_082_3),
            ("body.layers.0.A", 2, 0.042_041_370_1, 0.087_567_197_91),
            ("body.layers.0.Ve", 2, 0.392_230_384_3, 0.825_934_33),
            ("body.layers.0.Oh.weight", 2, -0.104_794_083_6, 3.741_930_155),
            ("body.layers.0.Oe.weight", 2, 0.215_753_820_4, 2.322_470_409),
            ("body.layers.0.degree", 2, -0.758_258_432_9, 1.694_280_354),
            ("body.layers.0.bn_h1.weight", 2, 0.748_169_666_3, 1.288_159_468),
            ("body.layers.0.bn_e.weight", 2, -0.037_116_694_64, 0.447_352_869_4),
            ("body.layers.0.ffn1.weight", 2, 0.977_289_231_5, 15.581_093_59),
            ("body.layers.1.Q.weight", 2, -0.151_776_148_3, 1.544_443_226),
            ("body.layers.1.E.bias", 2, 0.198_754_721_6, 1.364_561_615),
            ("head.lins.0.weight", 2, -0.003_051_716_439, 0.075_759_164_79),
        ],
    );
    // The running statistics have moved once.
    let answers = model.forward(&input, Pass::Eval);
    assert_near("after one pass", &values(&answers), &[-0.287_748_666_8, -0.309_682_640_1]);
}

#[test]
fn the_other_orientation_gives_its_own_numbers() {
    let model = small(Orientation::SourceToTarget);
    let input = model.input(batch(), &recorded()).unwrap();
    assert_near("answers", &values(&model.forward(&input, TRAIN)), &[-0.101_486_975_1, -0.316_737_265_4]);
}

/// GRIT in loops, for one graph.
fn reference(p: &Parameters, graph: &Graph, config: &SystemConfig) -> Rows {
    let Body::Grit(own) = &config.system else { unreachable!() };
    let (n, d, heads, k) = (graph.num_nodes(), config.hidden, own.heads, own.steps);
    let dh = d / heads;
    let mut a = vec![vec![0.0; n]; n];
    graph.edges().iter().for_each(|[u, v]| a[*u as usize][*v as usize] = 1.0);
    let degree: Vec<f64> = a.iter().map(|row| row.iter().sum()).collect();
    let mut powers = vec![vec![vec![0.0; n]; n]];
    (0..n).for_each(|u| powers[0][u][u] = 1.0);
    for step in 1..k {
        let mut next = vec![vec![0.0; n]; n];
        for u in 0..n {
            for v in 0..n {
                next[u][v] = (0..n).map(|w| powers[step - 1][u][w] * a[w][v] / degree[w].max(1.0)).sum();
            }
        }
        powers.push(next);
    }
    let walk = |u: usize, v: usize| -> Vec<f64> { powers.iter().map(|power| power[u][v]).collect() };
    let (node_table, edge_table) = (p.rows("nodes.weight"), p.rows("edges.weight"));
    let kinds = graph.node_features().category_values();
    let own_walks: Rows = (0..n).map(|u| walk(u, u)).collect();
    let mut h = plus(
        &kinds.iter().map(|kind| node_table[*kind as usize].clone()).collect(),
        &p.linear("body.walk_nodes", &own_walks),
    );
    // Pair (i, j) is row i·n + j.
    let pair_walks: Rows = (0..n * n).map(|pair| walk(pair / n, pair % n)).collect();
    let mut e = p.linear("body.walk_pairs", &pair_walks);
    for ([u, v], kind) in graph.edges().iter().zip(graph.edge_features().category_values()) {
        let row = &mut e[*v as usize * n + *u as usize];
        row.iter_mut().zip(&edge_table[*kind as usize]).for_each(|(to, from)| *to += from);
    }
    for layer in 0..config.layers {
        let name = |part: &str| format!("body.layers.{layer}.{part}");
        let (q, key, v) = (p.linear(&name("Q"), &h), p.linear(&name("K"), &h), p.linear(&name("V"), &h));
        let wb = p.linear(&name("E"), &e);
        let (score, ve, theta) = (p.get(&name("A")), p.get(&name("Ve")), p.get(&name("degree")));
        let mut t: Rows = vec![vec![0.0; d]; n * n];
        let mut o: Rows = vec![vec![0.0; d]; n];
        for i in 0..n {
            for head in 0..heads {
                let mut weights = Vec::new();
                for j in 0..n {
                    let mut sum = 0.0;
                    for c in 0..dh {
                        let at = head * dh + c;
                        let x: f64 = (q[i][at] + key[j][at]) * wb[i * n + j][2 * head * dh + c];
                        let root = x.max(0.0).sqrt() - (-x).max(0.0).sqrt();
                        let value = (root + wb[i * n + j][2 * head * dh + dh + c]).max(0.0);
                        t[i * n + j][at] = value;
                        sum += value * score[c * heads + head];
                    }
                    weights.push(sum.clamp(-5.0, 5.0).exp());
                }
                let total: f64 = weights.iter().sum();
                for c in 0..dh {
                    let at = head * dh + c;
                    for j in 0..n {
                        let alpha = weights[j] / total;
                        o[i][at] += alpha * v[j][at];
                        for inner in 0..dh {
                            let pair = t[i * n + j][head * dh + inner];
                            o[i][at] += alpha * pair * ve[(inner * heads + head) * dh + c];
                        }
                    }
                }
            }
            for at in 0..d {
                let log = (1.0 + degree[i]).ln();
                o[i][at] = o[i][at] * theta[2 * at] + log * o[i][at] * theta[2 * at + 1];
            }
        }
        let y = p.batch_norm(&name("bn_h1"), &plus(&h, &p.linear(&name("Oh"), &o)));
        e = p.batch_norm(&name("bn_e"), &plus(&e, &p.linear(&name("Oe"), &t)));
        let mixed = p.linear(&name("ffn2"), &relu(&p.linear(&name("ffn1"), &y)));
        h = p.batch_norm(&name("bn_h2"), &plus(&y, &mixed));
    }
    p.head(h, false)
}

#[test]
fn a_plain_loop_in_64_bits_agrees_in_values_and_gradients() {
    // Answers of nodes: the sum over a graph that was normalised alone does not depend on its nodes.
    let config = SystemConfig { level: LevelKind::Node, ..config(2, Orientation::TargetToSource) };
    let graph = random_graph(1, 9, 13, [5, 3]);
    let model = System::new(&config, 3, &recorded()).unwrap();
    let batch = Batch::of_graphs(&[&graph]).unwrap();
    assert_like_reference(&model, &batch, |parameters| reference(parameters, &graph, &config));
}

#[test]
fn renumbering_the_nodes_renumbers_the_answers() {
    let model = System::new(&config(3, Orientation::TargetToSource), 4, &recorded()).unwrap();
    let graph = random_graph(2, 11, 16, [5, 3]);
    assert_equivariant(&model, |graph| Batch::of_graphs(&[graph]).unwrap(), &graph);
}

#[test]
fn counts_are_the_published_ones_where_they_can_be() {
    assert!(NAMES.contains(&"grit"));
    for (dataset, count) in [
        ("zinc", 473_473),
        ("mnist", 102_138),
        ("cifar10", 99_486),
        ("pattern", 477_953),
        ("cluster", 431_670),
        ("peptides-func", 443_338),
        ("peptides-struct", 438_827),
    ] {
        let recipe = SystemRecipe::named("grit", dataset).unwrap().unwrap();
        let model = System::new(&recipe.model, 0, &recorded()).unwrap();
        assert_eq!(weights::count_parameters(&model), count, "{dataset}");
    }
}
