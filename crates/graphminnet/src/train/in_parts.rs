//! The data of a run on a single graph in parts: a host keeps the rows of its own parts, and of the whole what is written down.

use super::doubts::doubts;
use super::event::{Observer, TrainEvent};
use super::run::DataCard;
use super::{TrainError, TrainingData};
use crate::config::{TrainConfig, no_parts};
use graphminnet_data::exchange::Exchange;
use graphminnet_data::partition::{Cut, Partition};
use graphminnet_data::preparation::{GraphInParts, PreparedSample};
use graphminnet_data::spectral::{PrepareOptions, PreparedGraph, prepare_graph};
use graphminnet_data::{ContentHash, Graph, NodeParts};
use std::sync::Arc;

/// What a host keeps of the only graph.
#[derive(Debug)]
pub(super) struct DataInParts {
    /// Parts of the whole graph.
    pub(super) parts: usize,
    /// The data of each part that this host has, not connected with the others.
    pub(super) own: Vec<TrainingData>,
    /// Of all of it, on rank 0.
    pub(super) outline: Option<Outline>,
    doubts: Vec<String>,
    cut: Cut,
    edges: usize,
}

/// The whole graph without its edges, features and eigenvectors: targets, and who trains and who reports.
#[derive(Debug)]
pub(super) struct Outline {
    /// The nodes in the order of the data.
    pub(super) data: TrainingData,
    pub(super) card: DataCard,
    partition: Partition,
}

impl Outline {
    fn of(
        whole: &TrainingData,
        sample: &PreparedSample,
        edges: usize,
        partition: Partition,
    ) -> Result<Self, TrainError> {
        let nodes = Graph::from_edges(sample.prepared.graph.num_nodes(), Vec::new())?;
        let prepared = prepare_graph(&Arc::new(nodes), &PrepareOptions::default())?;
        let data = with_sample(whole, prepared, sample.id.clone(), sample.targets.clone());
        Ok(Self { data, card: DataCard { edges, ..DataCard::of(whole) }, partition })
    }

    /// Rows of all parts, of `columns` each, in the order of the nodes.
    pub(super) fn in_order(&self, rows: &[f32], columns: usize) -> Vec<f32> {
        self.partition.rows_in_order(rows, columns)
    }
}

impl DataInParts {
    /// Cuts the only graph, of which this host needs nothing but its own parts afterwards.
    ///
    /// # Errors
    ///
    /// [`TrainError`], the same on all hosts that have the same data.
    pub(super) fn cut(
        whole: &TrainingData,
        train: &TrainConfig,
        hosts: &dyn Exchange,
    ) -> Result<(Self, GraphInParts), TrainError> {
        let graph = &only_graph(whole, train)?.prepared;
        let partition = train.partition.cut(&graph.graph, train.parts.unwrap_or(1))?;
        let graphs = GraphInParts::cut(graph, partition, hosts)?;
        Ok((Self::of(whole, &graphs, train, hosts)?, graphs))
    }

    /// The data of parts that this host has already; of the whole graph, the nodes with their targets are enough.
    ///
    /// # Errors
    ///
    /// [`TrainError`], the same on all hosts that have the same data.
    pub(super) fn of(
        whole: &TrainingData,
        graphs: &GraphInParts,
        train: &TrainConfig,
        hosts: &dyn Exchange,
    ) -> Result<Self, TrainError> {
        let only = only_graph(whole, train)?;
        let parts = graphs.partition().parts();
        if train.parts != Some(parts) {
            let found = train.parts.map_or_else(|| "none".to_owned(), |parts| parts.to_string());
            return Err(no_parts("train.parts", found, &format!("{parts}, as the data was read")).into());
        }
        let doubts = doubts(whole, train)?;
        let partition = graphs.partition();
        let (edges, cut) = graphs.edges(hosts);
        let fingerprint = fingerprint(whole, partition);
        let own = graphs.here().zip(graphs.own());
        let own =
            own.map(|(part, graph)| part_of(whole, only, partition.nodes_of(part), graph, &fingerprint));
        let own = own.collect();
        let outline = match hosts.rank() {
            0 => Some(Outline::of(whole, only, edges, partition.clone())?),
            _ => None,
        };
        Ok(Self { parts, own, outline, doubts, cut, edges })
    }

    /// The same with the graphs of its parts as they were prepared since.
    pub(super) fn with_graphs(mut self, graphs: Vec<PreparedGraph>) -> Self {
        for (data, graph) in self.own.iter_mut().zip(graphs) {
            if let Some(sample) = Arc::make_mut(&mut data.dataset).samples.first_mut() {
                sample.prepared = graph;
            }
        }
        self
    }

    /// Says how the graph is cut, and what a person should know before training.
    pub(super) fn tell(&self, observer: &mut dyn Observer) {
        for doubt in &self.doubts {
            observer.event(&TrainEvent::Doubt(doubt.clone()));
        }
        let (parts, edges, cut) = (self.parts, self.edges, self.cut.clone());
        observer.event(&TrainEvent::InParts { parts, edges, cut });
    }
}

/// The only graph of the data.
fn only_graph<'a>(data: &'a TrainingData, train: &TrainConfig) -> Result<&'a PreparedSample, TrainError> {
    match data.dataset.samples.as_slice() {
        [only] => Ok(only),
        samples => {
            let found = format!("{} for {} graphs", train.parts.unwrap_or(1), samples.len());
            let expected = "a single graph; several are trained by accumulate";
            Err(no_parts("train.parts", found, expected).into())
        }
    }
}

/// The data of a part.
fn part_of(
    whole: &TrainingData,
    sample: &PreparedSample,
    nodes: impl Iterator<Item = usize> + Clone,
    graph: &PreparedGraph,
    fingerprint: &str,
) -> TrainingData {
    let columns = whole.target_columns();
    let rows = nodes.clone().flat_map(|node| &sample.targets[node * columns..(node + 1) * columns]);
    let mut targets: Vec<f32> = rows.copied().collect();
    // Border nodes have none here.
    targets.resize(graph.graph.num_nodes() * columns, f32::NAN);
    let node_parts = whole.node_parts.as_ref().map(|parts| {
        let all = parts.graph(0);
        NodeParts::new(vec![nodes.map(|node| all.get(node).copied().flatten()).collect()])
    });
    let data = with_sample(whole, graph.clone(), sample.id.clone(), targets);
    TrainingData { node_parts, fingerprint: fingerprint.to_owned(), ..data }
}

/// Other rows in the place of the only graph.
fn with_sample(whole: &TrainingData, prepared: PreparedGraph, id: String, targets: Vec<f32>) -> TrainingData {
    let samples = vec![PreparedSample { id, prepared, targets }];
    TrainingData { dataset: Arc::new(whole.dataset.with_samples(samples)), rows: Vec::new(), ..whole.clone() }
}

/// The same graph in other parts has other sums.
fn fingerprint(whole: &TrainingData, partition: &Partition) -> String {
    let mut hash = ContentHash::default();
    for number in 0..partition.nodes() as u64 {
        hash.update(&(partition.node(number) as u64).to_le_bytes());
    }
    partition.offsets().iter().for_each(|offset| hash.update(&offset.to_le_bytes()));
    format!("{} in parts {}", whole.fingerprint, hash.finish())
}
