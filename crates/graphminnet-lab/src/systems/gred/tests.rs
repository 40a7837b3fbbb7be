//! GRED against the numbers of an independent implementation, a plain loop in 64 bits, and itself renumbered.

// The loops of the references are written with the indices of the formulas.
#![allow(clippy::needless_range_loop)]

use super::{Gred, GredConfig, GredInput, largest_distance};
use crate::systems::model::Layers;
use crate::systems::testing::{
    Parameters, Rows, TRAIN, assert_equivariant, assert_gradients, assert_like_reference, assert_near,
    filled, gelu, plus, random_graph, recorded, sigmoid, table, values,
};
use crate::systems::{Body, Encoder, HeadKind, Positions, System, SystemConfig, SystemRecipe};
use graphminnet::config::{LevelKind, Pooling};
use graphminnet::train::Architecture;
use graphminnet::weights;
use graphminnet_data::{Batch, Graph};

fn config(hidden: usize, layers: usize, shells: usize) -> SystemConfig {
    SystemConfig {
        hidden,
        layers,
        dropout: 0.0,
        nodes: Encoder::Table(5),
        edges: Some(Encoder::Table(3)),
        positions: Positions::None,
        level: LevelKind::Node,
        pooling: Pooling::Mean,
        head: HeadKind::Gelu,
        outputs: 2,
        system: Body::Gred(GredConfig { shells, state: 3, smallest_rate: 0.5 }),
    }
}

fn small_graph() -> Graph {
    let pairs = [[0, 1], [1, 2], [2, 3], [1, 3], [3, 4]];
    Graph::from_edges(5, pairs.iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]]).collect()).unwrap()
}

fn layers(model: &System) -> &Gred {
    match model.body() {
        Layers::Gred(gred) => gred,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_layer_meets_the_numbers_of_the_independent_implementation() {
    let rule: Vec<(String, f64, f64)> = [
        ("mlp_norm.weight", 1.0),
        ("mlp_norm.bias", 0.0),
        ("W1.weightᵀ", 0.0),
        ("W1.bias", 0.0),
        ("W2.weightᵀ", 0.0),
        ("W2.bias", 0.0),
        ("norm.weight", 1.0),
        ("norm.bias", 0.0),
        ("nu_log", -1.0),
        ("theta_log", 0.0),
        ("gamma_log", 0.0),
        ("B_re", 0.0),
        ("B_im", 0.0),
        ("C_re", 0.0),
        ("C_im", 0.0),
        ("Wa.weightᵀ", 0.0),
        ("Wa.bias", 0.0),
        ("Wg.weightᵀ", 0.0),
        ("Wg.bias", 0.0),
    ]
    .map(|(name, base)| (format!("body.layers.0.{name}"), 0.5, base))
    .into();
    let x = || table(5, 4, |u, c| 0.5 * (0.7 * u as f64 + 1.3 * c as f64).sin());
    let batch = Batch::of_graphs(&[&small_graph()]).unwrap();
    let model = filled(System::new(&config(4, 1, 5), 0, &recorded()).unwrap(), 0, &rule);
    let start = x().require_grad();
    let out = layers(&model).layers[0].forward(start.clone(), &GredInput::new(&batch, 5), 0, TRAIN);
    let found = values(&out);
    assert_near(
        "out",
        &[found[0], found[9], found[19], found.iter().sum()],
        &[0.096_183_575_492, 0.427_957_185_082, 0.008_416_275_041, 1.266_529_129_305],
    );
    let loss = (out * table(5, 4, |u, c| (0.2 * u as f64 + 0.5 * c as f64).cos())).sum();
    assert_near("loss", &values(&loss), &[2.029_121_408_413]);
    let gradients = loss.backward();
    let gradient = start.grad(&gradients).unwrap();
    assert_near("gradient of x", &values(&gradient)[4..5], &[1.665_740_594_319]);
    assert_gradients(
        &model,
        &gradients,
        &[
            ("body.layers.0.nu_log", 0, 0.044_747_016_416, 0.177_404_242_766),
            ("body.layers.0.theta_log", 1, 0.541_160_582_099, 0.844_253_959_795),
            ("body.layers.0.gamma_log", 2, -0.303_521_783_035, 0.679_698_047_55),
            ("body.layers.0.B_im", 3 + 2, -0.039_895_063_121, 2.081_459_786_897),
            ("body.layers.0.C_im", 2 * 4 + 1, -1.111_567_369_826, 2.415_261_065_757),
            // Entry [0, 1] of the matrix with inputs as rows.
            ("body.layers.0.W1.weight", 4, 1.613_288_812_264, 5.435_861_146_716),
            ("body.layers.0.Wg.weight", 3, 0.041_548_351_054, 0.306_681_569_044),
        ],
    );
    // A shell without nodes counts: leaving it out gives other numbers.
    let fewer = layers(&model).layers[0].forward(x(), &GredInput::new(&batch, 4), 0, TRAIN);
    assert_near("four shells", &values(&fewer)[..1], &[0.103_644_761_094]);
}

/// GRED in loops, for one graph.
fn reference(p: &Parameters, graph: &Graph, config: &SystemConfig) -> Rows {
    let Body::Gred(own) = &config.system else { unreachable!() };
    let (n, h, v, shells) = (graph.num_nodes(), config.hidden, own.state, own.shells);
    let smooth =
        |x: &Rows| -> Rows { x.iter().map(|row| row.iter().map(|value| gelu(*value)).collect()).collect() };
    let encoded = |name: &str, kinds: &[u32]| -> Rows {
        let table = p.rows(&format!("{name}.0.tables.0.weight"));
        let rows = kinds.iter().map(|kind| table[*kind as usize].clone()).collect();
        p.linear(&format!("{name}.1"), &smooth(&rows))
    };
    let mut distance = vec![vec![usize::MAX; n]; n];
    (0..n).for_each(|u| distance[u][u] = 0);
    graph.edges().iter().for_each(|[a, b]| distance[*a as usize][*b as usize] = 1);
    for w in 0..n {
        for a in 0..n {
            for b in 0..n {
                distance[a][b] = distance[a][b].min(distance[a][w].saturating_add(distance[w][b]));
            }
        }
    }
    let mut x = encoded("nodes", graph.node_features().category_values());
    let edges = encoded("edges", graph.edge_features().category_values());
    for (u, row) in x.iter_mut().enumerate() {
        let degree = distance[u].iter().filter(|far| **far == 1).count() as f64;
        for (ends, edge) in graph.edges().iter().zip(&edges).filter(|(ends, _)| ends[1] as usize == u) {
            assert_eq!(distance[ends[0] as usize][u], 1);
            row.iter_mut().zip(edge).for_each(|(to, from)| *to += from / degree);
        }
    }
    for layer in 0..config.layers {
        let name = |part: &str| format!("body.layers.{layer}.{part}");
        let (nu, theta, gamma) =
            (p.get(&name("nu_log")), p.get(&name("theta_log")), p.get(&name("gamma_log")));
        let maps = ["B_re", "B_im", "C_re", "C_im"].map(|map| p.rows(&name(map)));
        let [b_re, b_im, c_re, c_im] = maps;
        let mut next = Vec::new();
        for u in 0..n {
            let (mut re, mut im) = (vec![0.0; v], vec![0.0; v]);
            let mut base = Vec::new();
            for k in (0..shells).rev() {
                let mut sum = vec![0.0; h];
                for w in (0..n).filter(|&w| distance[u][w] == k) {
                    sum.iter_mut().zip(&x[w]).for_each(|(to, from)| *to += from);
                }
                let a = vec![sum];
                let inner = smooth(&p.linear(&name("W1"), &p.layer_norm(&name("mlp_norm"), &a, 1e-6)));
                let b = plus(&a, &p.linear(&name("W2"), &inner));
                let y = &p.layer_norm(&name("norm"), &b, 1e-6)[0];
                for i in 0..v {
                    let (size, phase) = ((-nu[i].exp()).exp(), theta[i].exp());
                    let (rate_re, rate_im) = (size * phase.cos(), size * phase.sin());
                    let push = |map: &Rows| (0..h).map(|c| y[c] * map[c][i]).sum::<f64>() * gamma[i].exp();
                    let old = (re[i], im[i]);
                    re[i] = rate_re * old.0 - rate_im * old.1 + push(&b_re);
                    im[i] = rate_re * old.1 + rate_im * old.0 + push(&b_im);
                }
                base = b[0].clone();
            }
            let o =
                (0..h).map(|c| gelu((0..v).map(|i| re[i] * c_re[i][c] - im[i] * c_im[i][c]).sum())).collect();
            let o = vec![o];
            let (value, gate) = (p.linear(&name("Wa"), &o), p.linear(&name("Wg"), &o));
            let row = (0..h).map(|c| base[c] + value[0][c] * sigmoid(gate[0][c])).collect::<Vec<_>>();
            next.push(row);
        }
        x = next;
    }
    p.linear("head.1", &smooth(&p.linear("head.0", &x)))
}

#[test]
fn a_plain_loop_in_64_bits_agrees_in_values_and_gradients() {
    let config = config(6, 2, 4);
    let graph = random_graph(8, 9, 11, [5, 3]);
    let model = System::new(&config, 3, &recorded()).unwrap();
    let batch = Batch::of_graphs(&[&graph]).unwrap();
    assert_like_reference(&model, &batch, |parameters| reference(parameters, &graph, &config));
}

#[test]
fn renumbering_the_nodes_renumbers_the_answers() {
    let model = System::new(&config(6, 3, 5), 4, &recorded()).unwrap();
    let graph = random_graph(9, 11, 14, [5, 3]);
    assert_equivariant(&model, |graph| Batch::of_graphs(&[graph]).unwrap(), &graph);
}

#[test]
fn the_number_of_shells_can_follow_the_training_graphs() {
    assert_eq!(largest_distance(&[&small_graph(), &Graph::from_edges(2, vec![]).unwrap()]), 3);
    let fitted = config(6, 1, 0).fitted(&[&small_graph()]);
    assert!(matches!(fitted.system, Body::Gred(GredConfig { shells: 4, .. })));
}

#[test]
fn only_linear_maps_and_the_output_of_the_recurrence_decay() {
    for encoder in [Encoder::Table(5), Encoder::OneHot { columns: 3, rows: 3 }] {
        let config = SystemConfig { nodes: encoder, ..config(6, 1, 3) };
        let model = System::new(&config, 0, &recorded()).unwrap();
        let names = weights::named_tensors(&model).into_iter().map(|tensor| tensor.name);
        let decaying: Vec<String> = names.filter(|name| config.decays(name)).collect();
        let mut expected = vec!["edges.1.weight", "head.0.weight", "head.1.weight"];
        let parts = ["C_im", "C_re", "W1.weight", "W2.weight", "Wa.weight", "Wg.weight"];
        let parts = parts.map(|name| format!("body.layers.0.{name}"));
        expected.extend(parts.iter().map(String::as_str));
        if config.nodes == Encoder::Table(5) {
            expected.push("nodes.1.weight");
        }
        expected.sort_unstable();
        assert_eq!(sorted(decaying), expected);
    }
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn counts_are_the_expected_ones() {
    for (dataset, count) in [
        ("zinc", 483_049),
        ("mnist", 482_314),
        ("cifar10", 510_058),
        ("pattern", 400_010),
        ("cluster", 536_390),
        ("peptides-func", 535_226),
        ("peptides-struct", 520_715),
    ] {
        let recipe = SystemRecipe::named("gred", dataset).unwrap().unwrap();
        let model = System::new(&recipe.model, 0, &recorded()).unwrap();
        assert_eq!(weights::count_parameters(&model), count, "{dataset}");
    }
}
