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

/// The inputs of an operation while it is differentiated: flat, beside the shapes that it takes them in.
struct Inputs<'a> {
    tensors: Vec<Tensor<1>>,
    roles: &'a [Role],
}

impl Inputs<'_> {
    /// An input as the operation takes it.
    fn at<const D: usize>(&self, at: usize) -> Tensor<D> {
        let shape: [usize; D] = self.roles[at].shape.as_slice().try_into().expect("an input of this rank");
        self.tensors[at].clone().reshape(shape)
    }
}

/// What an input is called, its shape and its values.
#[derive(Clone)]
struct Role {
    name: &'static str,
    shape: Vec<usize>,
    values: Vec<f32>,
}

type Forward = Box<dyn Fn(&Inputs<'_>) -> Tensor<1>>;

/// An operation as a function of inputs with named roles; its output is made flat.
struct Operation {
    /// Name of the function, then the variant.
    name: &'static str,
    variant: &'static str,
    inputs: Vec<Role>,
    forward: Forward,
}

#[derive(Default)]
struct Operations(Vec<Operation>);

impl Operations {
    fn add<const D: usize>(
        &mut self,
        name: &'static str,
        variant: &'static str,
        inputs: &[(&'static str, &[usize])],
        forward: impl Fn(&Inputs<'_>) -> Tensor<D> + 'static,
    ) {
        let random = &mut rng::stream(self.0.len() as u64 + 1, "operation", &[]);
        let inputs = inputs.iter().map(|&(name, shape)| {
            let values = normals(shape.iter().product(), random);
            Role { name, shape: shape.to_vec(), values }
        });
        let inputs = inputs.collect();
        let forward = move |inputs: &Inputs<'_>| {
            let output = forward(inputs);
            let length = output.shape().num_elements();
            output.reshape([length])
        };
        self.0.push(Operation { name, variant, inputs, forward: Box::new(forward) });
    }
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

fn dropout_half() -> Dropout {
    Dropout { probability: 0.4, seed: 11, first: 0 }
}

fn operations() -> Vec<Operation> {
    let mut list = Operations::default();
    of_rows(&mut list);
    of_graphs(&mut list);
    of_norms(&mut list);
    of_blocks(&mut list);
    of_other_systems(&mut list);
    list.0
}

fn of_rows(list: &mut Operations) {
    for (variant, epilogue) in [
        ("plain", Epilogue::None),
        ("relu", Epilogue::Relu(None)),
        ("relu and dropout", Epilogue::Relu(Some(dropout_half()))),
    ] {
        let inputs: [(_, &[usize]); 3] = [("x", &[7, 9]), ("weight", &[WIDTH, 9]), ("bias", &[WIDTH])];
        list.add("linear", variant, &inputs, move |t| linear(t.at(0), t.at(1), Some(t.at(2)), epilogue));
    }
    list.add("linear", "no bias", &[("x", &[7, 9]), ("weight", &[WIDTH, 9])], |t| {
        linear(t.at(0), t.at(1), None, Epilogue::None)
    });
    for (variant, bound) in [("rms", RowBound::Rms), ("ball", RowBound::Ball)] {
        list.add("bound_rows", variant, &[("x", &[8, WIDTH])], move |t| {
            // Rows well inside and well outside the ball.
            let scale: Tensor<2> =
                common::tensor(&[0.3, 2.0, 0.5, 3.0, 0.1, 1.7, 0.4, 5.0], [8, 1], &tracked());
            bound_rows(t.at::<2>(0) * scale, bound)
        });
    }
    list.add("l2_rows", "", &[("x", &[6, WIDTH])], |t| l2_rows(t.at(0)));
    list.add("dropout", "", &[("x", &[6, WIDTH])], |t| ops::dropout(t.at::<2>(0), Some(dropout_half())));
}

fn of_graphs(list: &mut Operations) {
    let structure = structure();
    let (nodes, edges, graphs) = (structure.num_nodes(), structure.num_edges(), structure.num_graphs());
    let statistics = || Statistics::Given {
        mean: common::tensor(&[0.1; WIDTH], [WIDTH], &tracked()),
        variance: common::tensor(&[0.9; WIDTH], [WIDTH], &tracked()),
    };
    for (variant, update) in
        [("nodes alone", None), ("batch statistics", Some(None)), ("given statistics", Some(Some(())))]
    {
        let s = Arc::clone(&structure);
        let inputs: [(_, &[usize]); 6] = [
            ("edges", &[edges, WIDTH]),
            ("weight", &[WIDTH, WIDTH]),
            ("bias", &[WIDTH]),
            ("nodes", &[nodes, 4 * WIDTH]),
            ("scale", &[WIDTH]),
            ("shift", &[WIDTH]),
        ];
        let inputs = &inputs[..if update.is_some() { 6 } else { 4 }];
        list.add("gated_convolution", variant, inputs, move |t| {
            let update = update.map(|given| EdgeUpdate {
                scale: t.at(4),
                shift: t.at(5),
                statistics: given.map_or(Statistics::Batch, |()| statistics()),
                rate: Some(dropout_half()),
            });
            let result = gated_convolution(t.at(0), t.at(1), t.at(2), t.at(3), &s, update);
            Tensor::cat([Some(result.nodes), result.edges].into_iter().flatten().collect(), 0)
        });
    }
    let s = Arc::clone(&structure);
    let inputs: [(_, &[usize]); 2] = [("nodes", &[nodes, WIDTH]), ("edges", &[edges, WIDTH])];
    list.add("gine_aggregate", "", &inputs, move |t| gine_aggregate(t.at(0), t.at(1), &s));

    for (variant, sizes) in [("one table", vec![4]), ("three tables", vec![4, 3, 2])] {
        let random = &mut rng::stream(6, "categories", &[]);
        let picks: Vec<u32> =
            (0..8 * sizes.len()).map(|at| random.below(sizes[at % sizes.len()]) as u32).collect();
        let categories = CategoryTable::new(picks, &sizes).unwrap();
        let rows: usize = sizes.iter().sum();
        list.add("embedding_sum", variant, &[("table", &[rows, WIDTH])], move |t| {
            embedding_sum(t.at(0), &categories)
        });
    }

    let inputs: [(_, &[usize]); 4] = [
        ("gate and candidate", &[6, 2 * WIDTH]),
        ("similarity", &[6, WIDTH]),
        ("own", &[6, 1]),
        ("beta", &[1]),
    ];
    list.add("gate_product", "no self term", &inputs[..2], |t| gate_product(t.at(0), t.at(1), None));
    list.add("gate_product", "self term", &inputs, |t| {
        gate_product(t.at(0), t.at(1), Some(SelfTerm { own: t.at(2), beta: t.at(3) }))
    });
    let s = Arc::clone(&structure);
    list.add("gather_graphs", "", &[("rows", &[graphs, WIDTH])], move |t| gather_graphs(t.at(0), &s));
    let s = Arc::clone(&structure);
    list.add("sum_per_graph", "", &[("rows", &[nodes, WIDTH])], move |t| sum_per_graph(t.at(0), &s));

    for (variant, signs) in [("eval", None), ("signs", Some(vec![1.0, -1.0, -1.0, 1.0, -1.0]))] {
        let s = Arc::clone(&structure);
        let (pairs, inner, width) = (5, 10, 5);
        let exist: Vec<f32> = (0..graphs * pairs).map(|at| f32::from(u8::from(at % pairs < 4))).collect();
        let inputs: [(_, &[usize]); 6] = [
            ("eigenvectors", &[nodes, pairs]),
            ("eigenvalues", &[graphs, pairs]),
            ("weight1", &[inner, 2]),
            ("bias1", &[inner]),
            ("weight2", &[width, inner]),
            ("bias2", &[width]),
        ];
        list.add("lap_pe", variant, &inputs, move |t| {
            let weights = LapPeWeights { weight1: t.at(2), bias1: t.at(3), weight2: t.at(4), bias2: t.at(5) };
            let exist = common::tensor(&exist, [graphs, pairs], &tracked());
            lap_pe(t.at(0), t.at(1), exist, signs.clone(), weights, &s)
        });
    }
}

fn of_norms(list: &mut Operations) {
    let inputs: [(_, &[usize]); 3] = [("x", &[6, WIDTH]), ("scale", &[WIDTH]), ("shift", &[WIDTH])];
    list.add("layer_norm_silu", "", &inputs, |t| layer_norm_silu(t.at(0), t.at(1), t.at(2)));

    let given = || Statistics::Given {
        mean: common::tensor(&normals(WIDTH, &mut rng::stream(8, "mean", &[])), [WIDTH], &tracked()),
        variance: common::tensor(&[0.7; WIDTH], [WIDTH], &tracked()),
    };
    for batch in [true, false] {
        let statistics = move || if batch { Statistics::Batch } else { given() };
        let inputs: [(_, &[usize]); 4] =
            [("residual", &[9, WIDTH]), ("pre", &[9, WIDTH]), ("scale", &[WIDTH]), ("shift", &[WIDTH])];
        for (variant, rate) in [
            (if batch { "batch" } else { "given" }, None),
            (if batch { "batch, dropout" } else { "given, dropout" }, Some(dropout_half())),
        ] {
            list.add("norm_relu_residual", variant, &inputs, move |t| {
                norm_relu_residual(t.at(0), t.at(1), t.at(2), t.at(3), statistics(), rate).0
            });
        }
        let inputs: [(_, &[usize]); 5] = [
            ("x", &[9, WIDTH]),
            ("scale", &[WIDTH]),
            ("shift", &[WIDTH]),
            ("branch", &[9, WIDTH]),
            ("add", &[9, WIDTH]),
        ];
        list.add("residual_norm", if batch { "batch" } else { "given" }, &inputs[..3], move |t| {
            residual_norm(t.at(0), None, None, t.at(1), t.at(2), statistics()).0
        });
        for (variant, rate) in [
            (if batch { "batch, branch and sum" } else { "given, branch and sum" }, None),
            (if batch { "batch, dropout" } else { "given, dropout" }, Some(dropout_half())),
        ] {
            list.add("residual_norm", variant, &inputs, move |t| {
                let branch = Some((t.at(3), rate));
                residual_norm(t.at(0), branch, Some(t.at(4)), t.at(1), t.at(2), statistics()).0
            });
        }
    }
}

fn of_blocks(list: &mut Operations) {
    let structure = structure();
    let (nodes, graphs) = (structure.num_nodes(), structure.num_graphs());
    let (pairs, channels) = (5, 6);
    for (variant, kind) in [("mean", PoolKind::Mean), ("sum", PoolKind::Sum), ("max", PoolKind::Max)] {
        let s = Arc::clone(&structure);
        list.add("pool", variant, &[("nodes", &[nodes, WIDTH])], move |t| pool(t.at(0), kind, &s));
    }
    let s = Arc::clone(&structure);
    let inputs: [(_, &[usize]); 2] = [("rows", &[nodes, channels]), ("matrices", &[graphs, channels, pairs])];
    list.add("batched_rows", "", &inputs, move |t| batched_rows(t.at(0), t.at(1), &s));
    let s = Arc::clone(&structure);
    let inputs: [(_, &[usize]); 2] = [("left", &[nodes, pairs]), ("right", &[nodes, channels])];
    list.add("outer_sums", "", &inputs, move |t| outer_sums(t.at(0), t.at(1), &s));
    for (variant, pairs, channels, hidden) in [("small", 5, 6, WIDTH), ("wide", 17, 33, 35)] {
        let s = Arc::clone(&structure);
        let inputs: [(_, &[usize]); 4] = [
            ("projected", &[nodes, channels]),
            ("entries", &[nodes, pairs]),
            ("factors", &[graphs, pairs, channels]),
            ("output", &[hidden, channels]),
        ];
        list.add("spectral_product", variant, &inputs, move |t| {
            spectral_product(t.at(0), t.at(1), t.at(2), t.at(3), &s)
        });
    }
    let s = Arc::clone(&structure);
    let inputs: [(_, &[usize]); 2] = [("entries", &[nodes, pairs]), ("weights", &[graphs, pairs])];
    list.add("weighted_squares", "", &inputs, move |t| weighted_squares(t.at(0), t.at(1), &s));
    // Places in order and not, one of them without a row.
    for (variant, place) in [("in order", vec![0, 0, 1, 3, 3, 3]), ("in any order", vec![3, 0, 1, 0, 3, 0])] {
        let (rows, index) = (place.len(), RowIndex::new(4, place));
        let gathered = Arc::clone(&index);
        list.add("gather_rows", variant, &[("x", &[4, WIDTH])], move |t| gather_rows(t.at(0), &gathered));
        list.add("sum_rows", variant, &[("x", &[rows, WIDTH])], move |t| sum_rows(t.at(0), &index));
    }
    let (members, sets) =
        (RowIndex::new(4, vec![3, 0, 0, 2, 1, 3]), RowIndex::new(3, vec![2, 0, 0, 2, 0, 2]));
    list.add("sum_members", "", &[("x", &[4, WIDTH])], move |t| sum_members(t.at(0), &members, &sets));
}

fn of_other_systems(list: &mut Operations) {
    let structure = structure();
    let nodes = structure.num_nodes();
    let (edges, _) = PairList::new(4, &[[0, 1], [2, 1], [3, 0], [1, 3], [3, 1], [1, 1]]);
    let (heads, width) = (2, 18);
    for (variant, rows) in
        [("a row per pair", vec![0, 1, 2, 3, 4, 5]), ("shared rows", vec![5, 0, 0, 2, 5, 1])]
    {
        let (edges, rows) = (Arc::clone(&edges), RowIndex::new(6, rows));
        let inputs: [(_, &[usize]); 4] =
            [("q", &[4, width]), ("k", &[4, width]), ("v", &[4, width]), ("factors", &[6, width])];
        list.add("edge_attention", variant, &inputs, move |t| {
            edge_attention([0, 1, 2, 3].map(|at| t.at(at)), heads, &edges, &rows)
        });
    }
    list.add("full_attention", "", &[("qkv", &[nodes, 3 * width])], move |t| {
        full_attention(t.at(0), heads, &structure)
    });
    let scored = Arc::clone(&edges);
    let inputs: [(_, &[usize]); 3] = [("q", &[4, width]), ("k", &[4, width]), ("wb", &[6, 2 * width])];
    list.add("pair_scores", "", &inputs, move |t| {
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
        let wb: Tensor<2> = t.at(2);
        let wb = away(wb.clone()) * sides.clone() + wb * (sides.powi_scalar(2) - 1.0);
        pair_scores([away(t.at(0)), away(t.at(1)), wb], heads, &scored)
    });
    let inputs: [(_, &[usize]); 3] = [("a", &[6, heads]), ("v", &[4, width]), ("e", &[6, width])];
    list.add("pair_messages", "", &inputs, move |t| pair_messages([0, 1, 2].map(|at| t.at(at)), &edges));
    let offsets = Arc::new(vec![0, 3, 3, 7]);
    let (channels, states) = (6, 3);
    let inputs: [(_, &[usize]); 5] = [
        ("u", &[7, channels]),
        ("delta", &[7, channels]),
        ("a", &[channels, states]),
        ("b", &[7, states]),
        ("c", &[7, states]),
    ];
    list.add("selective_scan", "", &inputs, move |t| {
        // Steps are positive, rates negative.
        let delta = t.at::<2>(1).powi_scalar(2) * 0.3;
        let a = t.at::<2>(2).powi_scalar(2).neg();
        selective_scan([t.at(0), delta, a, t.at(3), t.at(4)], &offsets)
    });
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

/// What became of the coordinates that were looked at.
#[derive(Default)]
struct Verdict {
    /// How many there were since the last count, and how many of them lie at a kink.
    checked: usize,
    skipped: usize,
    worst: (f64, String),
    failures: Vec<String>,
}

impl Verdict {
    /// Compares a gradient with the derivative and its kink; errors are relative to `scale`.
    fn look(&mut self, place: String, found: f32, (expected, kink): (f64, f64), scale: f64, tolerance: f64) {
        self.checked += 1;
        if kink > 0.5 * tolerance * scale {
            self.skipped += 1;
            return;
        }
        let error = (f64::from(found) - expected).abs() / scale;
        if error > tolerance || error.is_nan() {
            self.failures.push(format!("{place} is {found}, differences say {expected}"));
        }
        if error > self.worst.0 {
            self.worst = (error, place);
        }
    }

    /// Fails if more than one in `most` coordinates since the last count lies at a kink.
    fn count(&mut self, name: &str, most: usize) {
        let (checked, skipped) = (std::mem::take(&mut self.checked), std::mem::take(&mut self.skipped));
        println!("{name}: {checked} coordinates, {skipped} at a kink");
        assert!(skipped * most <= checked, "{name}: {skipped} of {checked} coordinates lie at a kink");
    }

    fn end(self) {
        let Self { worst, failures, .. } = self;
        println!("worst {:.1e} ({})", worst.0, worst.1);
        assert!(
            failures.is_empty(),
            "{} of the gradients are wrong:\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
}

/// Positions to look at: all of them, or a random choice.
fn positions(count: usize, samples: usize, random: &mut Stream) -> Vec<usize> {
    let mut all = random.permutation(count);
    all.truncate(samples);
    all
}

#[test]
fn every_operation_has_the_gradient_of_its_forward_pass() {
    let mut verdict = Verdict::default();
    for operation in operations() {
        let Operation { name, variant, inputs, forward } = &operation;
        let random = &mut rng::stream(1, name, &[]);
        let device = tracked();
        let run = |roles: &[Role]| {
            let tensor = |x: &[f32]| common::tensor(x, [x.len()], &device).require_grad();
            let inputs = Inputs { tensors: roles.iter().map(|role| tensor(&role.values)).collect(), roles };
            let output = forward(&inputs);
            (inputs.tensors, output)
        };
        let (tensors, output) = run(inputs);
        let length = output.dims()[0];
        let weights = normals(length, random);
        let centre = weighed(&values(output.clone()), &weights);
        let loss = (output * common::tensor(&weights, [length], &device)).sum();
        let gradients = loss.backward();
        for (which, Role { name: role, values: x, .. }) in inputs.iter().enumerate() {
            let gradient = tensors[which].grad(&gradients).map(values);
            let gradient = gradient.unwrap_or_else(|| panic!("{name} {variant}: no gradient of {role}"));
            let scale = f64::from(common::scale(&gradient, 1e-3));
            for at in positions(x.len(), SAMPLES, random) {
                let mut moved = inputs.clone();
                let expected = derivative(x[at], STEP, centre, |value| {
                    moved[which].values[at] = value;
                    weighed(&values(run(&moved).1), &weights)
                });
                let place = format!("{name} {variant}: {role}[{at}]");
                verdict.look(place, gradient[at], expected, scale, TOLERANCE);
            }
        }
        verdict.count(&format!("{name} {variant}"), 3);
    }
    verdict.end();
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
    let mut verdict = Verdict::default();
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
            for (which, tensor) in tensors.iter().enumerate().filter(|(_, tensor)| tensor.is_parameter()) {
                let (_, gradient) = gradients.iter().find(|(name, _)| *name == tensor.name).unwrap();
                let zeros = vec![0.0; tensor.values.len()];
                let gradient = gradient.as_ref().unwrap_or(&zeros);
                let scale = f64::from(common::scale(gradient, 1e-2 * largest));
                for at in positions(tensor.values.len(), 2, random) {
                    let expected = derivative(tensor.values[at], MODEL_STEP, centre, |value| {
                        let mut moved = tensors.clone();
                        moved[which].values[at] = value;
                        loss_of(moved, &loss_weights)
                    });
                    let place = format!("{name}, {pass:?}: {}[{at}]", tensor.name);
                    verdict.look(place, gradient[at], expected, scale, MODEL_TOLERANCE);
                }
            }
            verdict.count(&format!("{name}, {pass:?}"), 2);
        }
    }
    verdict.end();
}
