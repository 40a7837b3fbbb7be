//! Training steps on one graph that nobody has as a whole: every rank makes its own parts of it.
//!
//! The graph is a ring with chords, about five edges into each node; a chord spans `reach` nodes at most, which decides how
//! many edges are between parts. Eigenvectors are made up, as in the other workloads: times, bytes and memory do not
//! depend on them.

use super::BenchError;
use super::timed::{Spent, Timed};
use super::workload::large_graph_recipe;
use graphminnet::config::{EdgeEncoderKind, LocalKind, MetricKind};
use graphminnet::train::{Device, Observer, Settings, TrainError, TrainEvent, TrainingData, train_parts};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::partition::{Connection, part_graph};
use graphminnet_data::preparation::{PreparedDataset, PreparedSample};
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::split::Splits;
use graphminnet_data::{Encodings, Features, Level, Part, Schema, Task};
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeGraph {
    /// Nodes of the whole graph.
    pub nodes: u64,
    /// Parts of equal size.
    pub parts: usize,
    /// Most nodes that a chord spans.
    pub reach: u64,
    /// The local branch.
    pub local: LocalKind,
    /// Layers that the backward pass computes again at a time, as `train.recompute_layers`.
    pub recompute_layers: Option<usize>,
    /// Training steps; at least two, because the first is not counted.
    pub steps: usize,
    /// Whether the same steps are taken once more, to tell communication from waiting.
    pub tell_waiting: bool,
}

/// What a host saw of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PartsMeasured {
    /// Its parts.
    pub parts: Range<usize>,
    /// Nodes that it holds.
    pub nodes: u64,
    /// Edges that it holds.
    pub edges: u64,
    /// Rows that its parts fetch from others in a layer.
    pub border: u64,
    /// Seconds of a step after the first, the least.
    pub step_seconds: f64,
    /// Bytes that it sends to other hosts in a step after the first.
    pub step_bytes: u64,
    /// Seconds of waiting for other hosts, and of sending to them and receiving, in a step after the first; those of its parts
    /// are added up. Measured in steps of their own, where it is asked for.
    pub waiting_and_communication: Option<[f64; 2]>,
    /// Losses of the steps.
    pub losses: Vec<f64>,
}

/// Trains for some steps on the parts of this host, all hosts together.
///
/// # Errors
///
/// [`BenchError`] if the graph cannot be trained in parts like these.
pub fn measure_in_parts(
    graph: LargeGraph,
    hosts: &Arc<dyn Exchange>,
    device: Device,
) -> Result<PartsMeasured, BenchError> {
    let (mut measured, _) = train(graph, Arc::new(Timed::over(hosts, false)), device.clone())?;
    if graph.tell_waiting {
        let (_, spent) = train(graph, Arc::new(Timed::over(hosts, true)), device)?;
        measured.waiting_and_communication =
            Some([spent.waiting, spent.communicating].map(|sum| sum as f64 * 1e-9));
    }
    Ok(measured)
}

/// Trains over an exchange; what a step after the first spends on it.
fn train(graph: LargeGraph, hosts: Arc<Timed>, device: Device) -> Result<(PartsMeasured, Spent), BenchError> {
    let mut recipe = large_graph_recipe()?;
    recipe.model.local = graph.local;
    if graph.local == LocalKind::None {
        recipe.model.edge_encoder = EdgeEncoderKind::None;
    }
    recipe.train.metric = MetricKind::MeanAbsoluteError;
    recipe.train.epochs = graph.steps;
    recipe.train.warmup = 0;
    recipe.train.batch_size = 1;
    recipe.train.accumulate = 1;
    recipe.train.parts = Some(graph.parts);
    recipe.train.recompute_layers = graph.recompute_layers;
    recipe.model.check()?;
    let exchange: Arc<dyn Exchange> = Arc::clone(&hosts) as _;
    let parts = exchange.share(graph.parts);
    let measured = Mutex::new(PartsMeasured { parts, ..PartsMeasured::default() });
    let pairs = recipe.model.stored_eigenpairs();
    let options = recipe.model.prepare_options();
    let make = |member: &Arc<dyn Exchange>| {
        let data = part(graph, pairs, member)?;
        {
            let mut measured = measured.lock().unwrap_or_else(PoisonError::into_inner);
            let part = data.part.as_ref().map_or(0, |part| part.own_nodes);
            measured.nodes += part as u64;
            measured.border += (data.graph.num_nodes() - part) as u64;
            measured.edges += data.graph.num_edges() as u64;
        }
        let targets = (0..data.graph.num_nodes()).map(|node| (node % 7) as f32).collect();
        let schema = schema(recipe.model.node_in);
        let samples = vec![PreparedSample { id: "graph".to_owned(), prepared: data, targets }];
        let name = "large graph".to_owned();
        let dataset = PreparedDataset::new(name, schema.clone(), options.clone(), samples);
        Ok(TrainingData {
            dataset: Arc::new(dataset),
            source_schema: schema,
            splits: Splits { train: vec![0], ..Splits::default() },
            node_parts: None,
            qualifiers: Default::default(),
            fingerprint: format!("{graph:?}"),
            plain: None,
            both_directions: None,
            differences: Vec::new(),
            rows: Vec::new(),
        })
    };
    let interrupt = AtomicBool::new(false);
    let settings =
        Settings { device, ..Settings::new("large graph", &recipe.model, &recipe.train, &interrupt) };
    let mut watch = Watch { hosts, steps: Vec::new() };
    train_parts(&settings, &exchange, (graph.parts, &make), None, &mut watch)?;
    let mut measured = measured.into_inner().unwrap_or_else(PoisonError::into_inner);
    measured.losses = watch.steps.iter().map(|(_, _, loss)| *loss).collect();
    let between = watch.steps.windows(2).map(|two| (two[1].0 - two[0].0).as_secs_f64());
    measured.step_seconds = between.fold(f64::INFINITY, f64::min);
    let mut spent = Spent::default();
    if let [(_, first, _), .., (_, last, _)] = watch.steps.as_slice() {
        let of_step = |sum: fn(&Spent) -> u64| (sum(last) - sum(first)) / (watch.steps.len() as u64 - 1);
        spent = Spent {
            bytes: of_step(|spent| spent.bytes),
            waiting: of_step(|spent| spent.waiting),
            communicating: of_step(|spent| spent.communicating),
        };
    }
    measured.step_bytes = spent.bytes;
    Ok((measured, spent))
}

struct Watch {
    hosts: Arc<Timed>,
    /// When each step was done, what had been spent by then, and its loss.
    steps: Vec<(Instant, Spent, f64)>,
}

impl Observer for Watch {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Step { loss, .. } = event {
            self.steps.push((Instant::now(), self.hosts.spent(), loss.unwrap_or(f64::NAN)));
        }
    }
}

fn schema(columns: usize) -> Schema {
    let column =
        |at: usize| graphminnet_data::Column::new(format!("x{at}"), graphminnet_data::ColumnKind::Number);
    Schema {
        level: Level::Node,
        task: Task::Regression,
        targets: vec!["y".to_owned()],
        class_names: Vec::new(),
        positive_class: None,
        molecules: None,
        node_columns: (0..columns).map(column).collect(),
        edge_columns: Vec::new(),
    }
}

/// A number that depends on its key alone (SplitMix64).
fn hash(key: u64) -> u64 {
    let mut value = key.wrapping_add(0x9E37_79B9_7F4A_7C15);
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A number in [−1, 1).
fn number(node: u64, column: usize) -> f32 {
    (hash(node.wrapping_mul(64) + column as u64) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// Where the ring and the chords of a node lead.
fn ahead(LargeGraph { nodes, reach, .. }: LargeGraph, node: u64) -> impl Iterator<Item = u64> {
    let chords = if node.is_multiple_of(2) { 2 } else { 1 };
    let chord = move |at: u64| 1 + hash(node * 3 + at) % reach.min(nodes - 1).max(1);
    std::iter::once(1).chain((0..chords).map(chord)).map(move |span| (node + span) % nodes)
}

/// The part that a rank has, connected with the others.
fn part(graph: LargeGraph, pairs: usize, member: &Arc<dyn Exchange>) -> Result<PreparedGraph, TrainError> {
    let LargeGraph { nodes, parts, reach, .. } = graph;
    let cut = |part: usize| (u128::from(nodes) * part as u128 / parts as u128) as u64;
    let own = cut(member.rank())..cut(member.rank() + 1);
    // Both ways: an edge into an own node comes from the node ahead of it, or from a node behind that leads here.
    let mut edges: Vec<[u64; 2]> = Vec::with_capacity(6 * (own.end - own.start) as usize);
    for node in own.clone() {
        edges.extend(ahead(graph, node).map(|other| [other, node]));
    }
    let behind = reach.min(nodes.saturating_sub(own.end - own.start));
    for node in (0..behind).map(|back| (own.start + nodes - 1 - back) % nodes).chain(own.clone()) {
        edges.extend(ahead(graph, node).filter(|other| own.contains(other)).map(|other| [node, other]));
    }
    let columns = 16;
    let count = (own.end - own.start) as usize;
    let values = own.clone().flat_map(|node| (0..columns).map(move |column| number(node, column))).collect();
    let features = Features::numbers(count, columns, values)?;
    let (built, part): (_, Part) = part_graph(own.clone(), &edges, &features, Features::none(edges.len()))?;
    drop((edges, features));
    let scale = 1.0 / (nodes as f32).sqrt();
    let entry = |node: u64| (0..pairs).map(move |pair| scale * number(node, 32 + pair));
    let mut eigenvectors: Vec<f32> = own.flat_map(entry).collect();
    eigenvectors.resize(built.num_nodes() * pairs, 0.0);
    let prepared = PreparedGraph {
        log_degree: vec![1.0; built.num_nodes()],
        graph: Arc::new(built),
        eigenvalues: (0..pairs).map(|pair| 0.1 * pair as f32).collect(),
        eigenvectors,
        num_eigenpairs: pairs,
        usable_eigenpairs: pairs,
        splits_eigenspace: false,
        num_components: 1,
        random_walk: Vec::new(),
        encodings: Encodings::default(),
        part: Some(part),
    };
    Ok(Connection::establish(Arc::clone(member), prepared))
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet_data::exchange::Threads;

    fn on(hosts: usize, graph: LargeGraph) -> Vec<PartsMeasured> {
        std::thread::scope(|scope| {
            let hosts: Vec<_> = Threads::team(hosts)
                .into_iter()
                .map(|host| {
                    scope.spawn(move || {
                        let host: Arc<dyn Exchange> = Arc::new(host);
                        measure_in_parts(graph, &host, Device::flex()).unwrap()
                    })
                })
                .collect();
            hosts.into_iter().map(|host| host.join().unwrap()).collect()
        })
    }

    #[test]
    fn the_graph_is_the_same_however_it_is_held_and_only_borders_cost_bytes_per_node() {
        let graph = LargeGraph {
            nodes: 400,
            parts: 4,
            reach: 20,
            local: LocalKind::Gated,
            recompute_layers: None,
            steps: 3,
            tell_waiting: false,
        };
        let alone = on(1, graph);
        let spread = on(4, LargeGraph { tell_waiting: true, ..graph });
        for host in &spread {
            assert_eq!(host.losses, alone[0].losses);
            assert!(host.border > 0 && host.border <= 80, "{host:?}");
            let spent = host.waiting_and_communication.unwrap();
            assert!(spent.iter().all(|seconds| *seconds > 0.0), "{host:?}");
        }
        assert_eq!(spread.iter().map(|host| host.edges).sum::<u64>(), alone[0].edges);
        assert_eq!((alone[0].nodes, alone[0].edges, alone[0].step_bytes), (400, 2000, 0));
        // Without a local branch nothing grows with the graph.
        let bytes = |nodes| {
            on(
                2,
                LargeGraph {
                    nodes,
                    parts: 2,
                    reach: 20,
                    local: LocalKind::None,
                    recompute_layers: Some(1),
                    steps: 3,
                    tell_waiting: false,
                },
            )[0]
            .step_bytes
        };
        assert_eq!(bytes(300), bytes(3_000));
        assert!(bytes(300) > 0);
    }
}
