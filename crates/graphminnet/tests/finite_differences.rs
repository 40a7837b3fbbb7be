//! Gradients against central differences: every operation on its own, and the whole model parameter by parameter.
//!
//! The loss is `Σ weights ⊙ output`, summed in 64 bits. A derivative is Richardson's combination of the central
//! differences with steps `h` and `h/2`. Where a kink (ReLU, maximum, clamp) lies between the points, the coordinate
//! says nothing and is left out; few may.

mod common;

use burn::tensor::Tensor;
use common::{
    dressed, input_of, lively_model, normals, path, prepared, random_graph, side_by_side, tracked, values,
};
use graphminnet::nn::Pass;
use graphminnet::ops::{self, *};
use graphminnet::{ModelConfig, weights};
use graphminnet_data::rng::{self, Stream};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Graph, Layout};
use std::sync::Arc;

/// Step of the differences for operations.
const STEP: f32 = 1.0 / 64.0;

/// Largest error relative to the largest gradient of the input that rounding may cause.
const TOLERANCE: f64 = 1e-3;

/// The same for the whole model, whose rounding errors are larger.
const MODEL_STEP: f32 = 1.0 / 64.0;
const MODEL_TOLERANCE: f64 = 5e-3;

/// Coordinates of one input that are checked.
const SAMPLES: usize = 40;

type Forward = Box<dyn Fn(&[Tensor<1>]) -> Vec<Tensor<1>>>;

/// An operation as a function of flat inputs with named roles.
struct Operation {
    /// Name of the function, then the variant.
    name: &'static str,
    variant: &'static str,
    inputs: Vec<(&'static str, Vec<f32>)>,
    forward: Forward,
}

/// Every output made flat.
fn flat<const D: usize>(tensor: Tensor<D>) -> Vec<Tensor<1>> {
    let length = tensor.shape().num_elements();
    vec![tensor.reshape([length])]
}

/// A batch with ordinary, single-node, empty and disconnected graphs.
fn structure() -> Arc<Structure> {
    let random = &mut rng::stream(4, "structure", &[]);
    let graphs = [
        random_graph(5, 0.6, random),
        path(1),
        Graph::from_edges(0, vec![]).unwrap(),
        side_by_side(&path(3), &path(2)),
        Graph::from_edges(3, vec![[0, 1], [1, 2], [1, 2], [2, 2]]).unwrap(),
    ];
    Structure::new(Layout::new(&graphs.iter().collect::<Vec<_>>()).unwrap())
}

/// Widths beyond one vector register, with a rest.
const WIDTH: usize = 19;

#[allow(clippy::too_many_lines)]
fn operations() -> Vec<Operation> {
    let structure = structure();
    let (nodes, edges, graphs) = (structure.num_nodes(), structure.num_edges(), structure.num_graphs());
    let (pairs, channels) = (5, 6);
    let mut list_of_operations = Vec::new();
    let mut number = 0;
    let mut add = |name, variant, inputs: &[(&'static str, usize)], forward: Forward| {
        number += 1;
        let random = &mut rng::stream(number, "operation", &[]);
        let inputs = inputs.iter().map(|&(role, count)| (role, normals(count, random))).collect();
        list_of_operations.push(Operation { name, variant, inputs, forward });
    };
    let dropout_half = Dropout { probability: 0.4, seed: 11, first: 0 };

    for (variant, epilogue) in [
        ("plain", Epilogue::None),
        ("relu", Epilogue::Relu(None)),
        ("relu and dropout", Epilogue::Relu(Some(dropout_half))),
    ] {
        let inputs = [("x", 7 * 9), ("weight", WIDTH * 9), ("bias", WIDTH)];
        add(
            "linear",
            variant,
            &inputs,
            Box::new(move |t| {
                let (x, weight) = (t[0].clone().reshape([7, 9]), t[1].clone().reshape([WIDTH, 9]));
                flat(linear(x, weight, Some(t[2].clone()), epilogue))
            }),
        );
    }
    add(
        "linear",
        "no bias",
        &[("x", 7 * 9), ("weight", WIDTH * 9)],
        Box::new(|t| {
            flat(linear(t[0].clone().reshape([7, 9]), t[1].clone().reshape([WIDTH, 9]), None, Epilogue::None))
        }),
    );

    for (variant, bound) in [("rms", RowBound::Rms), ("ball", RowBound::Ball)] {
        add(
            "bound_rows",
            variant,
            &[("x", 8 * WIDTH)],
            Box::new(move |t| {
                // Rows well inside and well outside the ball.
                let scale: Tensor<2> =
                    common::tensor(&[0.3, 2.0, 0.5, 3.0, 0.1, 1.7, 0.4, 5.0], [8, 1], &tracked());
                flat(bound_rows(t[0].clone().reshape([8, WIDTH]) * scale, bound))
            }),
        );
    }
    add("l2_rows", "", &[("x", 6 * WIDTH)], Box::new(|t| flat(l2_rows(t[0].clone().reshape([6, WIDTH])))));
    add(
        "dropout",
        "",
        &[("x", 6 * WIDTH)],
        Box::new(move |t| flat(ops::dropout(t[0].clone().reshape([6, WIDTH]), Some(dropout_half)))),
    );

    let statistics = || Statistics::Given {
        mean: common::tensor(&[0.1; WIDTH], [WIDTH], &tracked()),
        variance: common::tensor(&[0.9; WIDTH], [WIDTH], &tracked()),
    };
    for (variant, update) in
        [("nodes alone", None), ("batch statistics", Some(None)), ("given statistics", Some(Some(())))]
    {
        let s = Arc::clone(&structure);
        let mut inputs = vec![
            ("edges", edges * WIDTH),
            ("weight", WIDTH * WIDTH),
            ("bias", WIDTH),
            ("nodes", nodes * 4 * WIDTH),
        ];
        if update.is_some() {
            inputs.extend([("scale", WIDTH), ("shift", WIDTH)]);
        }
        add(
            "gated_convolution",
            variant,
            &inputs,
            Box::new(move |t| {
                let update = update.map(|given| EdgeUpdate {
                    scale: t[4].clone(),
                    shift: t[5].clone(),
                    statistics: given.map_or(Statistics::Batch, |()| statistics()),
                    rate: Some(dropout_half),
                });
                let (edge, weight) =
                    (t[0].clone().reshape([edges, WIDTH]), t[1].clone().reshape([WIDTH, WIDTH]));
                let nodes = t[3].clone().reshape([nodes, 4 * WIDTH]);
                let result = gated_convolution(edge, weight, t[2].clone(), nodes, &s, update);
                let parts = [Some(result.nodes), result.edges];
                flat(Tensor::cat(parts.into_iter().flatten().collect(), 0))
            }),
        );
    }
    let s = Arc::clone(&structure);
    let inputs = [("nodes", nodes * WIDTH), ("edges", edges * WIDTH)];
    add(
        "gine_aggregate",
        "",
        &inputs,
        Box::new(move |t| {
            flat(gine_aggregate(
                t[0].clone().reshape([nodes, WIDTH]),
                t[1].clone().reshape([edges, WIDTH]),
                &s,
            ))
        }),
    );

    for (variant, sizes) in [("one table", vec![4]), ("three tables", vec![4, 3, 2])] {
        let random = &mut rng::stream(6, "categories", &[]);
        let picks: Vec<u32> =
            (0..8 * sizes.len()).map(|at| random.below(sizes[at % sizes.len()]) as u32).collect();
        let categories = CategoryTable::new(picks, &sizes).unwrap();
        let rows: usize = sizes.iter().sum();
        add(
            "embedding_sum",
            variant,
            &[("table", rows * WIDTH)],
            Box::new(move |t| flat(embedding_sum(t[0].clone().reshape([rows, WIDTH]), &categories))),
        );
    }

    let inputs = [("gate and candidate", 6 * 2 * WIDTH), ("similarity", 6 * WIDTH)];
    add(
        "gate_product",
        "no self term",
        &inputs,
        Box::new(|t| {
            flat(gate_product(t[0].clone().reshape([6, 2 * WIDTH]), t[1].clone().reshape([6, WIDTH]), None))
        }),
    );
    let inputs = [("gate and candidate", 6 * 2 * WIDTH), ("similarity", 6 * WIDTH), ("own", 6), ("beta", 1)];
    add(
        "gate_product",
        "self term",
        &inputs,
        Box::new(|t| {
            let own = Some(SelfTerm { own: t[2].clone().reshape([6, 1]), beta: t[3].clone() });
            flat(gate_product(t[0].clone().reshape([6, 2 * WIDTH]), t[1].clone().reshape([6, WIDTH]), own))
        }),
    );

    let s = Arc::clone(&structure);
    add(
        "gather_graphs",
        "",
        &[("rows", graphs * WIDTH)],
        Box::new(move |t| flat(gather_graphs(t[0].clone().reshape([graphs, WIDTH]), &s))),
    );
    let s = Arc::clone(&structure);
    add(
        "sum_per_graph",
        "",
        &[("rows", nodes * WIDTH)],
        Box::new(move |t| flat(sum_per_graph(t[0].clone().reshape([nodes, WIDTH]), &s))),
    );

    for (variant, signs) in [("eval", None), ("signs", Some(vec![1.0, -1.0, -1.0, 1.0, -1.0]))] {
        let s = Arc::clone(&structure);
        let (inner, width) = (10, 5);
        let exist: Vec<f32> = (0..graphs * pairs).map(|at| f32::from(u8::from(at % pairs < 4))).collect();
        let inputs = [
            ("eigenvectors", nodes * pairs),
            ("eigenvalues", graphs * pairs),
            ("weight1", inner * 2),
            ("bias1", inner),
            ("weight2", width * inner),
            ("bias2", width),
        ];
        add(
            "lap_pe",
            variant,
            &inputs,
            Box::new(move |t| {
                let weights = LapPeWeights {
                    weight1: t[2].clone().reshape([inner, 2]),
                    bias1: t[3].clone(),
                    weight2: t[4].clone().reshape([width, inner]),
                    bias2: t[5].clone(),
                };
                let exist = common::tensor(&exist, [graphs, pairs], &tracked());
                let (vectors, values) =
                    (t[0].clone().reshape([nodes, pairs]), t[1].clone().reshape([graphs, pairs]));
                flat(lap_pe(vectors, values, exist, signs.clone(), weights, &s))
            }),
        );
    }

    let inputs = [("x", 6 * WIDTH), ("scale", WIDTH), ("shift", WIDTH)];
    add(
        "layer_norm_silu",
        "",
        &inputs,
        Box::new(|t| flat(layer_norm_silu(t[0].clone().reshape([6, WIDTH]), t[1].clone(), t[2].clone()))),
    );

    let given = || Statistics::Given {
        mean: common::tensor(&normals(WIDTH, &mut rng::stream(8, "mean", &[])), [WIDTH], &tracked()),
        variance: common::tensor(&[0.7; WIDTH], [WIDTH], &tracked()),
    };
    for batch in [true, false] {
        let statistics = move || if batch { Statistics::Batch } else { given() };
        let inputs = [("residual", 9 * WIDTH), ("pre", 9 * WIDTH), ("scale", WIDTH), ("shift", WIDTH)];
        for (variant, rate) in [
            (if batch { "batch" } else { "given" }, None),
            (if batch { "batch, dropout" } else { "given, dropout" }, Some(dropout_half)),
        ] {
            add(
                "norm_relu_residual",
                variant,
                &inputs,
                Box::new(move |t| {
                    let (residual, pre) =
                        (t[0].clone().reshape([9, WIDTH]), t[1].clone().reshape([9, WIDTH]));
                    flat(norm_relu_residual(residual, pre, t[2].clone(), t[3].clone(), statistics(), rate).0)
                }),
            );
        }
        let inputs = [("x", 9 * WIDTH), ("scale", WIDTH), ("shift", WIDTH)];
        add(
            "residual_norm",
            if batch { "batch" } else { "given" },
            &inputs,
            Box::new(move |t| {
                let x = t[0].clone().reshape([9, WIDTH]);
                flat(residual_norm(x, None, None, t[1].clone(), t[2].clone(), statistics()).0)
            }),
        );
        let inputs =
            [("x", 9 * WIDTH), ("scale", WIDTH), ("shift", WIDTH), ("branch", 9 * WIDTH), ("add", 9 * WIDTH)];
        for (variant, rate) in [
            (if batch { "batch, branch and sum" } else { "given, branch and sum" }, None),
            (if batch { "batch, dropout" } else { "given, dropout" }, Some(dropout_half)),
        ] {
            add(
                "residual_norm",
                variant,
                &inputs,
                Box::new(move |t| {
                    let [x, branch, sum] = [0, 3, 4].map(|at| t[at].clone().reshape([9, WIDTH]));
                    let branch = Some((branch, rate));
                    flat(residual_norm(x, branch, Some(sum), t[1].clone(), t[2].clone(), statistics()).0)
                }),
            );
        }
    }

    for (variant, kind) in [("mean", PoolKind::Mean), ("sum", PoolKind::Sum), ("max", PoolKind::Max)] {
        let s = Arc::clone(&structure);
        add(
            "pool",
            variant,
            &[("nodes", nodes * WIDTH)],
            Box::new(move |t| flat(pool(t[0].clone().reshape([nodes, WIDTH]), kind, &s))),
        );
    }

    let s = Arc::clone(&structure);
    let inputs = [("rows", nodes * channels), ("matrices", graphs * channels * pairs)];
    add(
        "batched_rows",
        "",
        &inputs,
        Box::new(move |t| {
            let matrices = t[1].clone().reshape([graphs, channels, pairs]);
            flat(batched_rows(t[0].clone().reshape([nodes, channels]), matrices, &s))
        }),
    );
    let s = Arc::clone(&structure);
    add(
        "outer_sums",
        "",
        &[("left", nodes * pairs), ("right", nodes * channels)],
        Box::new(move |t| {
            flat(outer_sums(
                t[0].clone().reshape([nodes, pairs]),
                t[1].clone().reshape([nodes, channels]),
                &s,
            ))
        }),
    );
    for (variant, pairs, channels, hidden) in [("small", 5, 6, WIDTH), ("wide", 17, 33, 35)] {
        let s = Arc::clone(&structure);
        let inputs = [
            ("projected", nodes * channels),
            ("entries", nodes * pairs),
            ("factors", graphs * pairs * channels),
            ("output", hidden * channels),
        ];
        add(
            "spectral_product",
            variant,
            &inputs,
            Box::new(move |t| {
                let (w, p) = (t[0].clone().reshape([nodes, channels]), t[1].clone().reshape([nodes, pairs]));
                let factors = t[2].clone().reshape([graphs, pairs, channels]);
                flat(spectral_product(w, p, factors, t[3].clone().reshape([hidden, channels]), &s))
            }),
        );
    }
    let s = Arc::clone(&structure);
    add(
        "weighted_squares",
        "",
        &[("entries", nodes * pairs), ("weights", graphs * pairs)],
        Box::new(move |t| {
            flat(weighted_squares(
                t[0].clone().reshape([nodes, pairs]),
                t[1].clone().reshape([graphs, pairs]),
                &s,
            ))
        }),
    );
    // Places in order and not, one of them without a row.
    for (variant, place) in [("in order", vec![0, 0, 1, 3, 3, 3]), ("in any order", vec![3, 0, 1, 0, 3, 0])] {
        let (rows, index) = (place.len(), RowIndex::new(4, place));
        let gathered = Arc::clone(&index);
        add(
            "gather_rows",
            variant,
            &[("x", 4 * WIDTH)],
            Box::new(move |t| flat(gather_rows(t[0].clone().reshape([4, WIDTH]), &gathered))),
        );
        add(
            "sum_rows",
            variant,
            &[("x", rows * WIDTH)],
            Box::new(move |t| flat(sum_rows(t[0].clone().reshape([rows, WIDTH]), &index))),
        );
    }
    let (members, sets) =
        (RowIndex::new(4, vec![3, 0, 0, 2, 1, 3]), RowIndex::new(3, vec![2, 0, 0, 2, 0, 2]));
    add(
        "sum_members",
        "",
        &[("x", 4 * WIDTH)],
        Box::new(move |t| flat(sum_members(t[0].clone().reshape([4, WIDTH]), &members, &sets))),
    );

    let (list, _) = PairList::new(4, &[[0, 1], [2, 1], [3, 0], [1, 3], [3, 1], [1, 1]]);
    let (heads, width) = (2, 18);
    for (variant, rows) in
        [("a row per pair", vec![0, 1, 2, 3, 4, 5]), ("shared rows", vec![5, 0, 0, 2, 5, 1])]
    {
        let (list, rows) = (Arc::clone(&list), RowIndex::new(6, rows));
        add(
            "edge_attention",
            variant,
            &[("q", 4 * width), ("k", 4 * width), ("v", 4 * width), ("factors", 6 * width)],
            Box::new(move |t| {
                let [q, k, v] = [0, 1, 2].map(|at| t[at].clone().reshape([4, width]));
                flat(edge_attention([q, k, v, t[3].clone().reshape([6, width])], heads, &list, &rows))
            }),
        );
    }
    let s = Arc::clone(&structure);
    add(
        "full_attention",
        "",
        &[("qkv", nodes * 3 * width)],
        Box::new(move |t| {
            let qkv = t[0].clone().reshape([nodes, 3 * width]);
            flat(full_attention(qkv, heads, &s))
        }),
    );
    let pairs_of_scores = Arc::clone(&list);
    add(
        "pair_scores",
        "",
        &[("q", 4 * width), ("k", 4 * width), ("wb", 6 * 2 * width)],
        Box::new(move |t| {
            // The root is steep around 0: sums are kept at a distance from it, on either side.
            let away = |x: Tensor<2>| x.powi_scalar(2) + 0.5;
            let signs: Vec<f32> = (0..6 * 2 * width)
                .map(|at| match at % width < width / 2 {
                    true if at % 2 == 0 => 1.0,
                    true => -1.0,
                    false => 0.0,
                })
                .collect();
            let sides: Tensor<2> = common::tensor(&signs, [6, 2 * width], &tracked());
            let wb = t[2].clone().reshape([6, 2 * width]);
            let wb = away(wb.clone()) * sides.clone() + wb * (sides.powi_scalar(2) - 1.0);
            let [q, k] = [0, 1].map(|at| away(t[at].clone().reshape([4, width])));
            flat(pair_scores([q, k, wb], heads, &pairs_of_scores))
        }),
    );
    add(
        "pair_messages",
        "",
        &[("a", 6 * heads), ("v", 4 * width), ("e", 6 * width)],
        Box::new(move |t| {
            let a = t[0].clone().reshape([6, heads]);
            flat(pair_messages(
                [a, t[1].clone().reshape([4, width]), t[2].clone().reshape([6, width])],
                &list,
            ))
        }),
    );
    let offsets = Arc::new(vec![0, 3, 3, 7]);
    let (channels, states) = (6, 3);
    add(
        "selective_scan",
        "",
        &[
            ("u", 7 * channels),
            ("delta", 7 * channels),
            ("a", channels * states),
            ("b", 7 * states),
            ("c", 7 * states),
        ],
        Box::new(move |t| {
            // Steps are positive, rates negative.
            let delta = t[1].clone().powi_scalar(2).reshape([7, channels]) * 0.3;
            let a = t[2].clone().powi_scalar(2).neg().reshape([channels, states]);
            let [b, c] = [3, 4].map(|at| t[at].clone().reshape([7, states]));
            flat(selective_scan([t[0].clone().reshape([7, channels]), delta, a, b, c], &offsets))
        }),
    );
    list_of_operations
}

/// `Σ weights ⊙ output` in 64 bits.
fn weighed(output: &[f32], weights: &[f32]) -> f64 {
    output.iter().zip(weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
}

/// The derivative at one place, and how far a kink may have moved it.
///
/// With `D` the central difference and `A` the right-hand minus the left-hand difference, a smooth function has
/// `D(h) ≈ D(h/2)` and `A(h) ≈ 2·A(h/2)`. A kink between the points breaks one or the other by about its error.
fn derivative(value: f32, step: f32, centre: f64, mut loss: impl FnMut(f32) -> f64) -> (f64, f64) {
    let mut differences = |step: f32| {
        let (above, below) = (value + step, value - step);
        let right = (loss(above) - centre) / (f64::from(above) - f64::from(value));
        let left = (centre - loss(below)) / (f64::from(value) - f64::from(below));
        ((right + left) / 2.0, right - left)
    };
    let ((wide, wide_bend), (narrow, narrow_bend)) = (differences(step), differences(step / 2.0));
    let kink = (wide - narrow).abs().max((wide_bend - 2.0 * narrow_bend).abs());
    ((4.0 * narrow - wide) / 3.0, kink)
}

/// Positions to look at: all of them, or a random choice.
fn positions(count: usize, samples: usize, random: &mut Stream) -> Vec<usize> {
    let mut all = random.permutation(count);
    all.truncate(samples);
    all
}

#[test]
fn every_operation_has_the_gradient_of_its_forward_pass() {
    let (mut worst, mut failures) = ((0.0, String::new()), Vec::new());
    for operation in operations() {
        let Operation { name, variant, inputs, forward } = &operation;
        let random = &mut rng::stream(1, name, &[]);
        let device = tracked();
        let run = |inputs: &[(&'static str, Vec<f32>)]| {
            let tensors: Vec<Tensor<1>> =
                inputs.iter().map(|(_, x)| common::tensor(x, [x.len()], &device).require_grad()).collect();
            let output = Tensor::cat(forward(&tensors), 0);
            (tensors, output)
        };
        let (tensors, output) = run(inputs);
        let length = output.dims()[0];
        let weights = normals(length, random);
        let centre = weighed(&values(output.clone()), &weights);
        let loss = (output * common::tensor(&weights, [length], &device)).sum();
        let gradients = loss.backward();
        let (mut checked, mut skipped) = (0, 0);
        for (which, (role, x)) in inputs.iter().enumerate() {
            let gradient = tensors[which].grad(&gradients).map(values);
            let gradient = gradient.unwrap_or_else(|| panic!("{name} {variant}: no gradient of {role}"));
            let scale = f64::from(common::scale(&gradient, 1e-3));
            for at in positions(x.len(), SAMPLES, random) {
                let mut moved = inputs.clone();
                let (expected, kink) = derivative(x[at], STEP, centre, |value| {
                    moved[which].1[at] = value;
                    weighed(&values(run(&moved).1), &weights)
                });
                checked += 1;
                if kink > 0.5 * TOLERANCE * scale {
                    skipped += 1;
                    continue;
                }
                let error = (f64::from(gradient[at]) - expected).abs() / scale;
                let place = format!("{name} {variant}: {role}[{at}]");
                if error > TOLERANCE || error.is_nan() {
                    failures.push(format!("{place} is {}, differences say {expected}", gradient[at]));
                }
                if error > worst.0 {
                    worst = (error, place);
                }
            }
        }
        assert!(skipped * 3 <= checked, "{name} {variant}: {skipped} of {checked} coordinates lie at a kink");
    }
    println!("worst {:.1e} ({})", worst.0, worst.1);
    assert!(failures.is_empty(), "{} of the gradients are wrong:\n{}", failures.len(), failures.join("\n"));
}

/// The list above must grow with the library.
#[test]
fn every_public_operation_is_in_the_list() {
    let names: Vec<&str> = operations().iter().map(|operation| operation.name).collect();
    let exported = include_str!("../src/ops/mod.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("pub use "))
        .filter_map(|line| line.split_once("::"))
        .flat_map(|(_, list)| list.split([',', '{', '}', ';', ' ']))
        .filter(|name| name.starts_with(char::is_lowercase));
    let mut count = 0;
    for name in exported {
        count += 1;
        assert!(names.contains(&name), "{name} has no test of its gradient");
    }
    assert!(count > 15, "the list of exports was not found");
}

/// Small models that between them use every part.
fn models() -> Vec<(&'static str, ModelConfig)> {
    let picked = ["zinc", "mnist", "malnet-tiny", "peptides-struct", "pattern"];
    common::small_recipes().into_iter().filter(|(name, _)| picked.contains(name)).collect()
}

#[test]
fn the_whole_model_has_the_gradient_of_its_forward_pass() {
    let device = tracked();
    let (mut worst, mut failures) = ((0.0, String::new()), Vec::new());
    for (name, config) in models() {
        let random = &mut rng::stream(2, name, &[]);
        let graphs: Vec<PreparedGraph> =
            [random_graph(6, 0.5, random), path(4), random_graph(7, 0.4, random)]
                .iter()
                .map(|graph| prepared(dressed(graph, &config, random), &config))
                .collect();
        let input = input_of(&config, &graphs, &device);
        let original = lively_model(&config, 3, &device);
        // The differences run on the device without recording: both must compute the same function.
        let (plain_input, plain_original) =
            (input_of(&config, &graphs, &common::plain()), lively_model(&config, 3, &common::plain()));
        let tensors = weights::named_tensors(&original);
        // Dropout masks and signs depend on the seed alone: the training pass is a function like any other.
        for pass in [Pass::Eval, Pass::Train { seed: 5 }] {
            let loss_of = |tensors: Vec<weights::NamedTensor>, loss_weights: &[f32]| {
                let model = weights::replace(plain_original.clone(), tensors).unwrap();
                weighed(&values(model.forward(&plain_input, pass)), loss_weights)
            };
            let model = weights::replace(original.clone(), tensors.clone()).unwrap();
            let output = model.forward(&input, pass);
            let shape = output.dims();
            let loss_weights = normals(shape[0] * shape[1], random);
            let centre = loss_of(tensors.clone(), &loss_weights);
            let gradients = (output * common::tensor(&loss_weights, shape, &device)).sum().backward();
            let gradients = weights::named_gradients(&model, &gradients);
            let largest = gradients
                .iter()
                .filter_map(|(_, gradient)| gradient.as_ref())
                .fold(0f32, |largest, gradient| common::scale(gradient, largest));
            let (mut checked, mut skipped) = (0, 0);
            for (which, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| tensor.is_parameter()) {
                let (_, gradient) = gradients.iter().find(|(name, _)| *name == tensor.name).unwrap();
                let zeros = vec![0.0; tensor.values.len()];
                let gradient = gradient.as_ref().unwrap_or(&zeros);
                let scale = f64::from(common::scale(gradient, 1e-2 * largest));
                for at in positions(tensor.values.len(), 2, random) {
                    let (expected, kink) = derivative(tensor.values[at], MODEL_STEP, centre, |value| {
                        let mut moved = tensors.clone();
                        moved[which].values[at] = value;
                        loss_of(moved, &loss_weights)
                    });
                    checked += 1;
                    if kink > 0.5 * MODEL_TOLERANCE * scale {
                        skipped += 1;
                        continue;
                    }
                    let error = (f64::from(gradient[at]) - expected).abs() / scale;
                    let place = format!("{name}, {pass:?}: {}[{at}]", tensor.name);
                    if error > MODEL_TOLERANCE || error.is_nan() {
                        failures.push(format!("{place} is {}, differences say {expected}", gradient[at]));
                    }
                    if error > worst.0 {
                        worst = (error, place);
                    }
                }
            }
            println!("{name}, {pass:?}: {checked} parameters, {skipped} at a kink");
            assert!(skipped * 2 <= checked, "{name}: {skipped} of {checked} coordinates lie at a kink");
        }
    }
    println!("worst {:.1e} ({})", worst.0, worst.1);
    assert!(failures.is_empty(), "{} of the gradients are wrong:\n{}", failures.len(), failures.join("\n"));
}
