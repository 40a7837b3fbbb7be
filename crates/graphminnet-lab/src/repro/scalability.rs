//! Operations, time and memory against the number of nodes.
//!
//! Peak memory is a property of a process, so whoever wants it measures every size in a process of its own with
//! [`measure`] and gives the points to [`tabulate`].

use super::{Figure, Line, Outcome, ReproError, Sheet, Side};
use crate::bench::{BenchError, Times, Workload, forward_flops, random_graph, training_flops};
use burn::tensor::Device;
use graphminnet::model::GraphMinNet;
use graphminnet::nn::Pass;
use graphminnet_data::spectral::prepare_graph;
use graphminnet_data::{Graph, rng};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Mean number of neighbours, as in the paper.
pub const MEAN_DEGREE: f64 = 5.0;

/// Numbers of nodes of the paper's figure.
pub const PAPER_NODES: [usize; 5] = [1_000, 5_000, 10_000, 15_000, 20_000];

/// Beyond the paper, up to a million.
pub const MORE_NODES: [usize; 5] = [50_000, 100_000, 200_000, 500_000, 1_000_000];

/// Layers that the backward pass computes again at a time, unless asked otherwise: with two of six, memory is
/// smallest.
pub const RECOMPUTE_LAYERS: usize = 2;

/// From this size on the exponents are also fitted apart: below it, caches hold most of what a pass touches.
const LARGE: usize = 10_000;

/// What was measured on one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Nodes.
    pub nodes: usize,
    /// Directed edges.
    pub edges: usize,
    /// Counted operations of a forward pass.
    pub inference_flops: f64,
    /// Counted operations of a training step.
    pub training_flops: f64,
    /// Fastest forward pass, in seconds.
    pub inference_seconds: f64,
    /// Fastest training step, in seconds.
    pub training_seconds: f64,
    /// Layers that its backward pass computed again at a time; `None` if everything was kept.
    pub recompute_layers: Option<usize>,
    /// Lowest eigenpairs of a graph of the same kind, in seconds; `None` where they were not computed.
    pub preparation_seconds: Option<f64>,
    /// Peak resident memory of the process, in bytes.
    pub peak_bytes: Option<u64>,
    /// Most bytes of large arrays in use at once.
    pub tensor_bytes: Option<u64>,
}

/// What is measured on one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// Nodes.
    pub nodes: usize,
    /// Time to spend on each measurement, at least.
    pub budget: Duration,
    /// Whether the eigenpairs are computed too.
    pub prepare: bool,
    /// Layers that the backward pass computes again at a time; `None` keeps everything.
    pub recompute_layers: Option<usize>,
}

/// Measures one size. Memory is left to the caller.
///
/// # Errors
///
/// [`ReproError`].
pub fn measure(plan: Plan, device: &Device) -> Result<Point, ReproError> {
    let mut workload = Workload::large_graph(plan.nodes, MEAN_DEGREE, 0)?;
    workload.recipe.train.recompute_layers = plan.recompute_layers;
    let (config, edges) = (&workload.recipe.model, workload.batch.layout.num_edges());
    let model = GraphMinNet::new(config, 0, device)?;
    let inference = {
        let input = workload.input(device)?;
        Times::of(plan.budget, || {
            model.forward(&input, Pass::Eval).into_data();
            Ok::<(), BenchError>(())
        })?
    };
    let training = crate::bench::time_training(
        config,
        &workload.recipe.train,
        workload.batch.clone(),
        &workload.targets,
        &device.clone().autodiff(),
        plan.budget,
    )?;
    let preparation_seconds = if plan.prepare {
        let undirected = (plan.nodes as f64 * MEAN_DEGREE / 2.0).round() as usize;
        let graph = random_graph(plan.nodes, undirected, &mut rng::stream(0, "scalability", &[]))?;
        let graph = largest_component(&graph)?;
        let start = Instant::now();
        prepare_graph(&Arc::new(graph), &config.prepare_options())?;
        Some(start.elapsed().as_secs_f64())
    } else {
        None
    };
    Ok(Point {
        nodes: plan.nodes,
        edges,
        inference_flops: forward_flops(config, 1, plan.nodes, edges),
        training_flops: training_flops(config, 1, plan.nodes, edges),
        inference_seconds: inference.min,
        training_seconds: training.min,
        recompute_layers: plan.recompute_layers,
        preparation_seconds,
        peak_bytes: None,
        tensor_bytes: None,
    })
}

/// The largest connected part of a graph. Of a random graph of mean degree 5 about one node in 150 stands alone, and
/// the lowest eigenpairs of the whole graph would all belong to such nodes.
fn largest_component(graph: &Graph) -> Result<Graph, ReproError> {
    let (offsets, neighbours) = graph.undirected_neighbours();
    let mut component = vec![usize::MAX; graph.num_nodes()];
    let (mut sizes, mut stack) = (Vec::new(), Vec::new());
    for start in 0..graph.num_nodes() {
        if component[start] != usize::MAX {
            continue;
        }
        let number = sizes.len();
        sizes.push(0usize);
        component[start] = number;
        stack.push(start);
        while let Some(node) = stack.pop() {
            sizes[number] += 1;
            for &other in &neighbours[offsets[node] as usize..offsets[node + 1] as usize] {
                if component[other as usize] == usize::MAX {
                    component[other as usize] = number;
                    stack.push(other as usize);
                }
            }
        }
    }
    let Some((largest, _)) = sizes.iter().enumerate().max_by_key(|(_, size)| **size) else {
        return Ok(graph.clone());
    };
    let mut place = vec![0u32; graph.num_nodes()];
    let mut count = 0;
    for (node, _) in component.iter().enumerate().filter(|(_, number)| **number == largest) {
        place[node] = count;
        count += 1;
    }
    let inside = graph.edges().iter().filter(|[from, _]| component[*from as usize] == largest);
    let edges = inside.map(|ends| ends.map(|node| place[node as usize])).collect();
    Ok(Graph::from_edges(count as usize, edges)?)
}

/// The table and the two figures.
pub fn tabulate(points: &[Point]) -> Outcome {
    let mut sheet = Sheet::new(
        "Scalability: random graphs of mean degree 5, one pass",
        &[
            ("nodes", Side::Right),
            ("directed edges", Side::Right),
            ("GFLOP", Side::Right),
            ("inference", Side::Right),
            ("GFLOP/s", Side::Right),
            ("training step", Side::Right),
            ("tensors", Side::Right),
            ("peak memory", Side::Right),
            ("eigenpairs", Side::Right),
        ],
    );
    let seconds = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3} s"));
    let mebibytes =
        |value: Option<u64>| value.map_or_else(|| "–".to_owned(), |value| format!("{} MiB", value >> 20));
    for point in points {
        sheet.row([
            point.nodes.to_string(),
            point.edges.to_string(),
            format!("{:.3}", point.inference_flops / 1e9),
            seconds(Some(point.inference_seconds)),
            format!("{:.1}", point.inference_flops / 1e9 / point.inference_seconds),
            seconds(Some(point.training_seconds)),
            mebibytes(point.tensor_bytes),
            mebibytes(point.peak_bytes),
            seconds(point.preparation_seconds),
        ]);
    }
    let large: Vec<Point> = points.iter().filter(|point| point.nodes >= LARGE).copied().collect();
    let mut fits = vec![("", fitted_exponents(points))];
    if large.len() > 2 && large.len() < points.len() {
        fits.push((" from 10,000 nodes on", fitted_exponents(&large)));
    }
    for (range, fits) in fits.into_iter().filter(|(_, fits)| !fits.is_empty()) {
        sheet.note(format!(
            "Fitted exponents b of c·nodes^b{range} (1 is linear, as the paper claims for operations and memory): {}.",
            fits.join(", ")
        ));
    }
    let kept = match points.first().and_then(|point| point.recompute_layers) {
        None => "everything that the backward pass needs is kept".to_owned(),
        Some(layers) => format!("the backward pass computes {layers} layers at a time again"),
    };
    sheet.note(format!(
        "6 layers of width 64, GatedGCN beside the block, 16 eigenpairs, self term. GFLOP: the matrix products of a \
         forward pass, counted. Tensors: most bytes of arrays of 128 KiB or more in use at once in the process, peak \
         memory: largest resident size of the process; both over inference and training steps (forward, backward, \
         clipping, AdamW), in which {kept}. Eigenpairs: the lowest 17 of the largest connected part of a graph of the same kind, once per graph and cached, \
         apart from the passes."
    ));
    let line = |name: &str, value: &dyn Fn(&Point) -> Option<f64>| Line {
        name: name.to_owned(),
        points: points.iter().filter_map(|point| Some((point.nodes as f64, value(point)?))).collect(),
        deviations: Vec::new(),
    };
    let logarithmic = points.iter().any(|point| point.nodes > 20_000);
    let figure = |title: &str, y_label: &str, lines: Vec<Line>| Figure {
        title: title.to_owned(),
        description: format!("{y_label} against the number of nodes of a random graph of mean degree 5."),
        x_label: "nodes".to_owned(),
        y_label: y_label.to_owned(),
        x_log: logarithmic,
        y_log: logarithmic,
        lines,
        ..Figure::default()
    };
    let flops = line("GraphMinNet", &|point| Some(point.inference_flops / 1e9));
    let memory = line("GraphMinNet", &|point| {
        let bytes = point.tensor_bytes.or(point.peak_bytes)?;
        Some(bytes as f64 / f64::from(1 << 20))
    });
    let times = vec![
        line("training step", &|point| Some(point.training_seconds)),
        line("inference", &|point| Some(point.inference_seconds)),
    ];
    let figures = [
        ("scalability-flops", figure("Operations", "GFLOP of a forward pass", vec![flops])),
        ("scalability-memory", figure("Memory", "MiB of tensors in use at once", vec![memory])),
        ("scalability-time", figure("Time", "Seconds", times)),
    ];
    Outcome {
        sheets: vec![("scalability".to_owned(), sheet)],
        figures: figures.map(|(name, figure)| (name.to_owned(), figure)).into(),
    }
}

/// The exponent of every quantity that was measured, in words.
fn fitted_exponents(points: &[Point]) -> Vec<String> {
    let exponent = |value: fn(&Point) -> Option<f64>| {
        let known = points.iter().filter_map(|point| Some((point.nodes as f64, value(point)?)));
        fitted_exponent(&known.collect::<Vec<_>>())
    };
    let fits = [
        ("operations", exponent(|point| Some(point.inference_flops))),
        ("inference", exponent(|point| Some(point.inference_seconds))),
        ("training step", exponent(|point| Some(point.training_seconds))),
        ("tensors", exponent(|point| point.tensor_bytes.map(|bytes| bytes as f64))),
        ("peak memory", exponent(|point| point.peak_bytes.map(|bytes| bytes as f64))),
        ("eigenpairs", exponent(|point| point.preparation_seconds)),
    ];
    fits.iter().filter_map(|(name, fit)| fit.map(|fit| format!("{name} {fit:.2}"))).collect()
}

/// Exponent `b` of the least-squares fit of `c·x^b`; `None` for fewer than two points.
fn fitted_exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| logs.iter().map(part).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let square: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let cross: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (logs.len() > 1 && square > 0.0).then(|| cross / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_part_of_a_graph_is_found() {
        let edges = [[0, 1], [2, 3], [3, 4], [4, 2]].iter().flat_map(|[a, b]| [[*a, *b], [*b, *a]]).collect();
        let part = largest_component(&Graph::from_edges(6, edges).unwrap()).unwrap();
        assert_eq!((part.num_nodes(), part.num_edges()), (3, 6));
    }

    #[test]
    fn a_power_law_gives_its_exponent() {
        let points: Vec<(f64, f64)> = (1..6).map(|x| (f64::from(x), 3.0 * f64::from(x).powf(1.5))).collect();
        assert!((fitted_exponent(&points).unwrap() - 1.5).abs() < 1e-12);
        assert_eq!(fitted_exponent(&points[..1]), None);
    }
}
