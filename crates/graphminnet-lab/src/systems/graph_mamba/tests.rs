//! Graph-Mamba against the numbers of an independent implementation, a plain loop in 64 bits, and itself renumbered.

// The loops of the references are written with the indices of the formulas.
#![allow(clippy::needless_range_loop)]

use super::{EvaluationOrder, GraphMamba, GraphMambaConfig, MambaInput};
use crate::systems::model::Layers;
use crate::systems::san::tests::{edge_values, node_values, two_graphs, weighted};
use crate::systems::testing::{
    Parameters, Rows, TRAIN, assert_gradients, assert_like_reference, assert_near, filled, gated_gcn, plus,
    random_graph, recorded, relu, renumbered, sigmoid, values,
};
use crate::systems::{Body, Encoder, HeadKind, Positions, System, SystemConfig, SystemRecipe};
use graphminnet::config::{LevelKind, Pooling};
use graphminnet::model::Model;
use graphminnet::nn::Pass;
use graphminnet::ops::Structure;
use graphminnet::weights;
use graphminnet_data::rng;
use graphminnet_data::{Batch, Graph};

fn config(buckets: usize, layers: usize, evaluation_order: EvaluationOrder) -> SystemConfig {
    let own = GraphMambaConfig { states: 3, buckets, evaluation_draws: 5, evaluation_order };
    SystemConfig {
        hidden: 8,
        layers,
        dropout: 0.0,
        nodes: Encoder::Table(5),
        edges: Some(Encoder::Table(3)),
        positions: Positions::None,
        level: LevelKind::Node,
        pooling: Pooling::Mean,
        head: HeadKind::San,
        outputs: 2,
        system: Body::GraphMamba(own),
    }
}

fn layers(model: &System) -> &GraphMamba {
    match model.body() {
        Layers::GraphMamba(mamba) => mamba,
        other => panic!("{other:?}"),
    }
}

/// A layer filled by rule. `A_log` starts from the logarithms of 1, 2, 3.
fn small() -> System {
    let mut rule: Vec<(String, f64, f64)> = Vec::new();
    let mut push = |name: &str, base: f64| rule.push((format!("body.layers.0.{name}"), 0.5, base));
    for letter in ["A", "B", "C", "D", "E"] {
        push(&format!("local.{letter}.weight"), 0.0);
        push(&format!("local.{letter}.bias"), 0.0);
    }
    for name in ["local.bn_node", "local.bn_edge"] {
        push(&format!("{name}.weight"), 1.0);
        push(&format!("{name}.bias"), 0.0);
    }
    for (name, base) in [
        ("W_in.weight", 0.0),
        ("conv_weight", 0.0),
        ("conv_bias", 0.0),
        ("W_x.weight", 0.0),
        ("W_dt.weight", 0.0),
        ("W_dt.bias", -2.0),
        ("A_log", 0.0),
        ("D", 1.0),
        ("W_out.weight", 0.0),
    ] {
        push(&format!("mamba.{name}"), base);
    }
    for (name, base) in [("bn_local", 1.0), ("bn_global", 1.0), ("F1", 0.0), ("F2", 0.0), ("bn_ffn", 1.0)] {
        push(&format!("{name}.weight"), base);
        push(&format!("{name}.bias"), 0.0);
    }
    let model = System::new(&config(1, 1, EvaluationOrder::Seeded), 0, &recorded()).unwrap();
    let model = filled(model, 0, &rule);
    let mut tensors = weights::named_tensors(&model);
    for tensor in tensors.iter_mut().filter(|tensor| tensor.name == "body.layers.0.mamba.A_log") {
        let logs = [1f32, 2.0, 3.0].map(f32::ln);
        tensor.values.iter_mut().enumerate().for_each(|(at, value)| *value += logs[at % 3]);
    }
    weights::replace(model, tensors).unwrap()
}

const NOISE: [f64; 8] = [0.9, 0.2, 0.5, 0.7, 0.1, 0.3, 0.6, 0.8];

#[test]
fn a_layer_meets_the_numbers_of_the_independent_implementation() {
    let (model, batch) = (small(), two_graphs());
    let layer = &layers(&model).layers[0];
    let (input, structure) = (MambaInput::new(&batch), Structure::new(batch.layout.clone()));
    let one_draw = input.sequences(&NOISE, &[0; 8], 1);
    let buckets = input.sequences(&NOISE, &[0, 1, 0, 2, 1, 2, 1, 0], 3);
    let other = input.sequences(&[0.1, 0.8, 0.5, 0.2, 0.9, 0.8, 0.6, 0.3], &[0; 8], 1);
    let run = |draws: &[_]| {
        let (x, edges) = (node_values().require_grad(), edge_values(&batch));
        let (near, updated) = layer.near(x.clone(), edges, &structure, TRAIN);
        let g = layer.scan(x.clone(), draws);
        let out = layer.mix(x.clone(), near, g.clone(), 0, TRAIN);
        (x, values(&g), out.clone(), weighted(out), updated.unwrap())
    };
    let (x, g, out, loss, edges) = run(std::slice::from_ref(&one_draw));
    assert_near("g", &[g[0], g[26], g[55]], &[0.005_609_475_774, 0.038_987_175_183, 0.064_460_285_901]);
    assert_near("sum of g", &[g.iter().sum()], &[0.228_193_658_868]);
    let found = values(&out);
    assert_near(
        "out",
        &[found[0], found[35], found[63]],
        &[0.030_498_607_641, 1.234_358_083_399, 0.455_273_018_038],
    );
    let fifth = batch.layout.topology().given_order.iter().position(|&given| given == 5).unwrap();
    assert_near("edges", &values(&edges)[8 * fifth + 1..][..1], &[-0.261_896_149_666]);
    assert_near("loss", &values(&loss), &[-1.995_956_140_683]);
    let gradients = loss.backward();
    let gradient = x.grad(&gradients).unwrap();
    assert_near("gradient of x", &values(&gradient)[8..9], &[1.264_569_265_109]);
    assert_gradients(
        &model,
        &gradients,
        &[
            ("body.layers.0.mamba.A_log", 5, -0.000_076_826_338, 0.003_538_759_47),
            ("body.layers.0.mamba.W_dt.bias", 3, 0.011_834_565_555, 0.015_574_139_804),
            ("body.layers.0.mamba.W_dt.weight", 2, -0.000_487_739_302, 0.002_227_652_748),
            ("body.layers.0.mamba.W_x.weight", 2 * 8 + 5, 0.005_972_179_391, 0.067_887_927_507),
            ("body.layers.0.mamba.D", 6, 0.116_258_351_106, 0.410_711_695_71),
            ("body.layers.0.mamba.W_in.weight", 9 * 8 + 1, -0.006_538_765_297, 0.724_241_916_12),
            ("body.layers.0.mamba.W_out.weight", 7 * 8 + 3, -0.089_462_704_12, 0.615_560_655_784),
        ],
    );
    let (_, g, out, loss, _) = run(&[buckets]);
    assert_near("g of buckets", &[g[0], g[33]], &[0.019_863_124_544, -0.017_669_799_937]);
    assert_near("out of buckets", &values(&out)[..1], &[0.069_107_438_193]);
    assert_near("loss of buckets", &values(&loss), &[-2.117_883_568_982]);
    let (_, g, out, loss, _) = run(&[one_draw, other]);
    assert_near("mean g", &g[..1], &[0.012_736_300_159]);
    assert_near("out of the mean", &values(&out)[..1], &[0.055_250_921_983]);
    assert_near("loss of the mean", &values(&loss), &[-2.059_916_924_866]);
}

/// The block in loops over one sequence.
fn block(p: &Parameters, name: &str, h: &Rows) -> Rows {
    let part = |part: &str| format!("{name}.{part}");
    let both = p.linear(&part("W_in"), h);
    let c = both[0].len() / 2;
    let (taps, bias, d) = (p.rows(&part("conv_weight")), p.get(&part("conv_bias")), p.get(&part("D")));
    let a_log = p.rows(&part("A_log"));
    let states = a_log[0].len();
    let mut state = vec![vec![0.0; states]; c];
    let mut out = Vec::new();
    for t in 0..h.len() {
        let u: Vec<f64> = (0..c)
            .map(|i| {
                let before = |j: usize| if t + j >= 3 { both[t + j - 3][i] } else { 0.0 };
                let mixed = bias[i] + (0..4).map(|j| taps[i][j] * before(j)).sum::<f64>();
                mixed * sigmoid(mixed)
            })
            .collect();
        let maps = &p.linear(&part("W_x"), &vec![u.clone()])[0];
        let rank = maps.len() - 2 * states;
        let delta = &p.linear(&part("W_dt"), &vec![maps[..rank].to_vec()])[0];
        let mut y = vec![0.0; c];
        for i in 0..c {
            let step = delta[i].exp().ln_1p();
            for n in 0..states {
                state[i][n] = (-step * a_log[i][n].exp()).exp() * state[i][n] + step * maps[rank + n] * u[i];
                y[i] += state[i][n] * maps[rank + states + n];
            }
            let z = both[t][c + i];
            y[i] = (y[i] + d[i] * u[i]) * z * sigmoid(z);
        }
        out.push(y);
    }
    p.linear(&part("W_out"), &out)
}

/// The order of the nodes of one graph in a layer of a training pass: degree, and the numbers drawn for it.
fn order(graph: &Graph, layer: u64, seed: u64, buckets: usize) -> Vec<Vec<usize>> {
    let mut random = rng::stream(seed, "node order", &[layer, 0, 0]);
    let mut sequences = vec![Vec::new(); buckets];
    for node in 0..graph.num_nodes() {
        let degree = graph.edges().iter().filter(|ends| ends[0] as usize == node).count();
        let noise = random.uniform();
        sequences[random.below(buckets)].push((degree as f64 + noise, node));
    }
    let sorted = |mut sequence: Vec<(f64, usize)>| {
        sequence.sort_by(|a, b| a.0.total_cmp(&b.0));
        sequence.into_iter().map(|(_, node)| node).collect()
    };
    sequences.into_iter().map(sorted).collect()
}

/// Graph-Mamba in loops, for one graph.
fn reference(p: &Parameters, graph: &Graph, config: &SystemConfig) -> Rows {
    let Body::GraphMamba(own) = &config.system else { unreachable!() };
    let pick = |name: &str, kinds: &[u32]| -> Rows {
        let table = p.rows(name);
        kinds.iter().map(|kind| table[*kind as usize].clone()).collect()
    };
    let mut x = pick("nodes.weight", graph.node_features().category_values());
    let mut edges = pick("edges.weight", graph.edge_features().category_values());
    for layer in 0..config.layers {
        let name = |part: &str| format!("body.layers.{layer}.{part}");
        let (near, updated) = gated_gcn(p, &name("local"), &x, &edges, graph.edges(), None);
        let mut g = x.clone();
        let sequences = order(graph, layer as u64, 1, own.buckets);
        for sequence in sequences.into_iter().filter(|sequence| !sequence.is_empty()) {
            let rows = sequence.iter().map(|node| x[*node].clone()).collect();
            for (node, row) in sequence.iter().zip(block(p, &name("mamba"), &rows)) {
                g[*node] = row;
            }
        }
        let far = p.batch_norm(&name("bn_global"), &plus(&x, &g));
        let y = plus(&p.batch_norm(&name("bn_local"), &near), &far);
        let mixed = p.linear(&name("F2"), &relu(&p.linear(&name("F1"), &y)));
        x = p.batch_norm(&name("bn_ffn"), &plus(&y, &mixed));
        edges = updated;
    }
    p.head(x, false)
}

#[test]
fn a_plain_loop_in_64_bits_agrees_in_values_and_gradients() {
    for buckets in [1, 3] {
        let config = config(buckets, 2, EvaluationOrder::Seeded);
        let graph = random_graph(10, 12, 17, [5, 3]);
        let model = System::new(&config, 3, &recorded()).unwrap();
        let batch = Batch::of_graphs(&[&graph]).unwrap();
        assert_like_reference(&model, &batch, |parameters| reference(parameters, &graph, &config));
    }
}

#[test]
fn renumbering_nodes_and_their_noise_renumbers_the_scan() {
    // The order of equal degrees is drawn, so the answers agree where the noise moves with the nodes.
    let graph = random_graph(11, 10, 15, [5, 3]);
    let model = System::new(&config(1, 1, EvaluationOrder::Seeded), 4, &recorded()).unwrap();
    let mut order: Vec<u32> = (0..10).collect();
    rng::stream(5, "order", &[]).shuffle(&mut order);
    let other = renumbered(&graph, &order);
    let noise: Vec<f64> = (0..10).map(|node| f64::from(node) / 10.0).collect();
    let moved: Vec<f64> = (0..10).map(|new| noise[order.iter().position(|&to| to == new).unwrap()]).collect();
    let run = |graph: &Graph, noise: &[f64]| {
        let batch = Batch::of_graphs(&[graph]).unwrap();
        let input = MambaInput::new(&batch);
        let x = model.nodes_of(&model.input(batch, &recorded()).unwrap());
        let sequences = input.sequences(noise, &[0; 10], 1);
        values(&layers(&model).layers[0].scan(x, &[sequences]))
    };
    let (before, after) = (run(&graph, &noise), run(&other, &moved));
    for node in 0..10 {
        let expected: Vec<f64> = before[node * 8..][..8].iter().map(|value| f64::from(*value)).collect();
        assert_near(&format!("node {node}"), &after[order[node] as usize * 8..][..8], &expected);
    }
}

#[test]
fn answers_outside_of_training_are_repeatable_unless_asked_otherwise() {
    // A ring: all degrees are equal, so the order is drawn alone.
    let edges = (0..12u32).flat_map(|node| [[node, (node + 1) % 12], [(node + 1) % 12, node]]).collect();
    let ring = random_graph(12, 12, 12, [5, 3]);
    let ring = Graph::new(12, edges, ring.node_features().clone(), ring.edge_features().clone()).unwrap();
    let twice = |order| {
        let model = System::new(&config(1, 2, order), 4, &recorded()).unwrap();
        let run = || {
            let input = model.input(Batch::of_graphs(&[&ring]).unwrap(), &recorded()).unwrap();
            values(&model.forward(&input, Pass::Eval))
        };
        (run(), run())
    };
    let (first, second) = twice(EvaluationOrder::Seeded);
    assert_eq!(first, second);
    let (first, second) = twice(EvaluationOrder::Random);
    assert_ne!(first, second);
}

#[test]
fn counts_are_the_expected_ones() {
    for (dataset, count) in [
        ("zinc", 547_877),
        ("molhiv", 555_473),
        ("mnist", 116_486),
        ("cifar10", 113_818),
        ("pattern", 335_281),
        ("cluster", 508_966),
        ("malnet-tiny", 284_997),
        ("pascalvoc-sp", 497_781),
        ("peptides-func", 373_018),
        ("peptides-struct", 491_867),
    ] {
        let recipe = SystemRecipe::named("graph-mamba", dataset).unwrap().unwrap();
        let model = System::new(&recipe.model, 0, &recorded()).unwrap();
        assert_eq!(weights::count_parameters(&model), count, "{dataset}");
    }
}
