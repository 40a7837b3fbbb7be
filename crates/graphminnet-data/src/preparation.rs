//! Preparation of a whole data set, part by part, through the cache.
//!
//! ```
//! use graphminnet_data::generate::CircularSkipLinks;
//! use graphminnet_data::preparation::prepare_dataset;
//! use graphminnet_data::spectral::PrepareOptions;
//!
//! let rings = CircularSkipLinks { nodes: 11, skips: vec![2, 3], copies: 2 }.generate(0)?;
//! let options = PrepareOptions { eigenpairs: 4, random_walk_steps: 8, ..Default::default() };
//! let (prepared, report) = prepare_dataset(&rings, &options, None, &())?;
//! assert_eq!(prepared.samples[0].prepared.eigenvalues.len(), 4);
//! assert_eq!(report.graphs.disconnected, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Eigenpairs and random walks are separate entries: another number of steps computes no eigenpairs again. Degrees
//! and degree profiles are not stored, because computing them takes less time than reading them.

mod codec;
mod in_parts;
mod on_disk;

pub use in_parts::GraphInParts;

use super::cache::{Cache, CacheError, CacheKey};
use super::dataset::{Column, ColumnKind, Dataset, Schema, Split};
use super::exchange::{Alone, Exchange};
use crate::graph::Graph;
use crate::spectral::Eigensolver;
use crate::spectral::{
    PreparationCounts, PrepareOptions, PreparedGraph, SpectralError, StoredEigenpairs,
    return_probabilities_unless,
};
use codec::{Codec, decode_eigenpairs, encode_eigenpairs, read_floats, write_floats};
use on_disk::{OnDisk, Work, join};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Raise it whenever the numbers of a transform can change.
const EIGENPAIRS_VERSION: u32 = 1;
const RANDOM_WALK_VERSION: u32 = 2;

/// One sample with everything that was computed for its graph.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedSample {
    /// Name of the graph in its source.
    pub id: String,
    /// The graph and what was computed for it.
    pub prepared: PreparedGraph,
    /// Targets as in the data set.
    pub targets: Vec<f32>,
}

/// A data set whose graphs are prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedDataset {
    /// Name, for people.
    pub name: String,
    /// What all graphs have in common (with other node columns if the degree profile replaced them).
    pub schema: Schema,
    /// What was computed.
    pub options: PrepareOptions,
    /// The samples, in the order of the data set. [`PreparedDataset::complete`] has what is not in memory.
    pub samples: Vec<PreparedSample>,
    /// The source's own split, where it has one.
    pub official_split: Option<Vec<Split>>,
    /// What is on disk and missing in the samples; see [`prepare_dataset_on_disk`].
    pub(crate) on_disk: Arc<OnDisk>,
}

impl PreparedDataset {
    /// All in memory, without a split of its own.
    pub fn new(name: String, schema: Schema, options: PrepareOptions, samples: Vec<PreparedSample>) -> Self {
        Self { name, schema, options, samples, official_split: None, on_disk: Arc::default() }
    }

    /// Other samples in the place of these, all in memory.
    pub fn with_samples(&self, samples: Vec<PreparedSample>) -> Self {
        Self::new(self.name.clone(), self.schema.clone(), self.options.clone(), samples)
    }
}

/// Something that is computed once per graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transform {
    /// Laplacian eigenpairs.
    Eigenpairs,
    /// Random-walk return probabilities.
    RandomWalk,
}

/// Receives the progress of a preparation, from any thread.
pub trait Progress: Sync {
    /// `done` of `total` graphs have gone through `transform`.
    fn update(&self, transform: Transform, done: usize, total: usize);

    /// Whether the preparation is to stop; asked often.
    fn should_stop(&self) -> bool {
        false
    }
}

/// Says nothing, and stops a preparation once it is set.
impl Progress for AtomicBool {
    fn update(&self, _: Transform, _: usize, _: usize) {}

    fn should_stop(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// Says nothing.
impl Progress for () {
    fn update(&self, _: Transform, _: usize, _: usize) {}
}

impl<F: Fn(Transform, usize, usize) + Sync> Progress for F {
    fn update(&self, transform: Transform, done: usize, total: usize) {
        self(transform, done, total);
    }
}

/// Where a result came from.
#[derive(Debug)]
pub enum Origin {
    /// Read from the cache.
    Cached,
    /// Computed; stored if there is a cache.
    Computed,
    /// The entry was damaged, so the result was computed and stored anew.
    Rebuilt {
        /// What was wrong with the entry.
        problem: CacheError,
    },
    /// Computed, but the cache could not be written.
    NotStored {
        /// Why.
        problem: CacheError,
    },
}

/// What a preparation did.
#[derive(Debug)]
pub struct PreparationReport {
    /// Counts over the graphs, and the whole time.
    pub graphs: PreparationCounts,
    /// Where each part came from and how long it took.
    pub parts: Vec<(Transform, Origin, Duration)>,
    /// How the eigenpairs of a graph in parts are computed.
    pub eigensolver: Option<Eigensolver>,
}

/// Prepares all graphs of a data set, taking from the cache what is there and storing what is not.
///
/// # Errors
///
/// [`SpectralError::InGraph`] for the first graph that fails; [`SpectralError::Interrupted`] soon after the progress
/// says that it should stop, with nothing but whole parts in the cache. Trouble with the cache is no error: the result is
/// computed, and the report says what happened.
pub fn prepare_dataset(
    dataset: &Dataset,
    options: &PrepareOptions,
    cache: Option<&Cache>,
    progress: &dyn Progress,
) -> Result<(PreparedDataset, PreparationReport), SpectralError> {
    prepare_dataset_among(dataset, options, cache, progress, &Alone)
}

/// The same on every rank of an exchange, each of which prepares a part of the graphs and gets the rest from the others.
/// All have the same data set. If rank 0 finds a part in its cache, it is not computed; what is computed, rank 0 stores.
///
/// # Errors
///
/// As [`prepare_dataset`], on all ranks if on one: [`SpectralError::OnRank`] says what happened on another.
pub fn prepare_dataset_among(
    dataset: &Dataset,
    options: &PrepareOptions,
    cache: Option<&Cache>,
    progress: &dyn Progress,
    exchange: &dyn Exchange,
) -> Result<(PreparedDataset, PreparationReport), SpectralError> {
    let start = Instant::now();
    let graphs = graphs_of(dataset);
    let mut parts = Vec::new();
    let stored = options.eigenpairs;
    let eigenpairs = if stored == 0 {
        vec![StoredEigenpairs::default(); graphs.len()]
    } else {
        let key = ("eigenpairs", EIGENPAIRS_VERSION, stored);
        let codec = eigenpair_codec();
        through_cache(&graphs, Transform::Eigenpairs, key, codec, (cache, exchange), progress, &mut parts)?
    };
    let steps = options.random_walk_steps;
    let walks = if steps == 0 {
        vec![Vec::new(); graphs.len()]
    } else {
        let key = ("random_walk", RANDOM_WALK_VERSION, steps);
        through_cache(
            &graphs,
            Transform::RandomWalk,
            key,
            walk_codec(),
            (cache, exchange),
            progress,
            &mut parts,
        )?
    };
    let prepared = join_transforms(&graphs, options, eigenpairs, walks)?;
    Ok(finish(dataset, options, prepared, OnDisk::default(), parts, start))
}

/// The same, but eigenpairs and random walks stay in the cache, where a batch reads those of its graphs: the samples are without them,
/// and [`PreparedDataset::complete`] has them. Every rank prepares a part of the graphs; the cache must be in a folder that all
/// ranks see. Counts of the report are those of rank 0.
///
/// # Errors
///
/// As [`prepare_dataset`], on all ranks if on one; [`SpectralError::OnDisk`] if the cache cannot be written or read.
pub fn prepare_dataset_on_disk(
    dataset: &Dataset,
    options: &PrepareOptions,
    cache: &Cache,
    progress: &dyn Progress,
    exchange: &dyn Exchange,
) -> Result<(PreparedDataset, PreparationReport), SpectralError> {
    let start = Instant::now();
    let graphs = graphs_of(dataset);
    let work = Work { graphs: &graphs, cache, exchange, progress };
    let (mut parts, mut on_disk) = (Vec::new(), OnDisk::default());
    // What stays in memory is how many there are.
    let mut eigenpairs = vec![StoredEigenpairs::default(); graphs.len()];
    if options.eigenpairs > 0 {
        let key = ("eigenpairs", EIGENPAIRS_VERSION, options.eigenpairs);
        let show = |at: usize, found: StoredEigenpairs| {
            eigenpairs[at] = StoredEigenpairs { values: Vec::new(), vectors: Vec::new(), ..found };
        };
        let (stored, origin) = work.store(Transform::Eigenpairs, key, eigenpair_codec(), show)?;
        on_disk.eigenpairs = Some(stored);
        parts.push((Transform::Eigenpairs, origin, start.elapsed()));
    }
    if options.random_walk_steps > 0 {
        let start = Instant::now();
        let key = ("random_walk", RANDOM_WALK_VERSION, options.random_walk_steps);
        let (stored, origin) = work.store(Transform::RandomWalk, key, walk_codec(), |_, _| ())?;
        on_disk.walks = Some(stored);
        parts.push((Transform::RandomWalk, origin, start.elapsed()));
    }
    let prepared = join_transforms(&graphs, options, eigenpairs, vec![Vec::new(); graphs.len()])?;
    Ok(finish(dataset, options, prepared, on_disk, parts, start))
}

fn graphs_of(dataset: &Dataset) -> Vec<Arc<Graph>> {
    dataset.samples.iter().map(|sample| Arc::clone(&sample.graph)).collect()
}

/// Prepared graphs with the rest of their data set.
fn finish(
    dataset: &Dataset,
    options: &PrepareOptions,
    prepared: Vec<PreparedGraph>,
    on_disk: OnDisk,
    parts: Vec<(Transform, Origin, Duration)>,
    start: Instant,
) -> (PreparedDataset, PreparationReport) {
    let graphs = PreparationCounts::new(&prepared, options, start.elapsed());
    let report = PreparationReport { graphs, parts, eigensolver: None };
    let samples = dataset.samples.iter().zip(prepared).map(|(sample, prepared)| PreparedSample {
        id: sample.id.clone(),
        prepared,
        targets: sample.targets.clone(),
    });
    let prepared = PreparedDataset {
        name: dataset.name.clone(),
        schema: prepared_schema(&dataset.schema, options),
        options: options.clone(),
        samples: samples.collect(),
        official_split: dataset.official_split.clone(),
        on_disk: Arc::new(on_disk),
    };
    (prepared, report)
}

fn eigenpair_codec() -> Codec<StoredEigenpairs> {
    Codec {
        bytes: eigenpair_bytes,
        encode: encode_eigenpairs,
        decode: decode_eigenpairs,
        compute: StoredEigenpairs::compute_unless,
    }
}

fn walk_codec() -> Codec<Vec<f32>> {
    Codec {
        bytes: walk_bytes,
        encode: |values: &Vec<f32>, out: &mut dyn Write| write_floats(values, out),
        decode: |graph, steps, from: &mut dyn Read| read_floats(graph.num_nodes() * steps, from),
        compute: return_probabilities_unless,
    }
}

/// The schema of graphs after preparation: the degree profile replaces all node columns.
pub(crate) fn prepared_schema(schema: &Schema, options: &PrepareOptions) -> Schema {
    let mut schema = schema.clone();
    if options.degree_profile {
        schema.node_columns = ["out_degree", "min", "max", "mean", "deviation"]
            .map(|name| Column::new(format!("degree_profile_{name}"), ColumnKind::Number))
            .into();
    }
    schema
}

fn join_transforms(
    graphs: &[Arc<Graph>],
    options: &PrepareOptions,
    eigenpairs: Vec<StoredEigenpairs>,
    walks: Vec<Vec<f32>>,
) -> Result<Vec<PreparedGraph>, SpectralError> {
    use rayon::prelude::*;
    let joined: Vec<_> = graphs
        .par_iter()
        .zip(eigenpairs)
        .zip(walks)
        .map(|((graph, eigenpairs), walk)| PreparedGraph::from_parts(graph, options, eigenpairs, walk))
        .collect();
    let named = |(graph, result): (usize, Result<_, SpectralError>)| {
        result.map_err(|source| SpectralError::InGraph { graph, source: Box::new(source) })
    };
    joined.into_iter().enumerate().map(named).collect()
}

fn through_cache<T: Send>(
    graphs: &[Arc<Graph>],
    transform: Transform,
    (name, version, parameter): (&'static str, u32, usize),
    codec: Codec<T>,
    (cache, exchange): (Option<&Cache>, &dyn Exchange),
    progress: &dyn Progress,
    parts: &mut Vec<(Transform, Origin, Duration)>,
) -> Result<Vec<T>, SpectralError> {
    let start = Instant::now();
    let payload = graphs.iter().map(|graph| (codec.bytes)(graph, parameter as u64)).sum();
    let key = cache.map(|cache| (cache, CacheKey::new(name, version, &[parameter as u64], graphs)));
    let mut origin = Origin::Computed;
    let mut found = None;
    if let Some((cache, key)) = &key {
        match cache.read(key, payload, |from| codec.decode_all(graphs, parameter, from)) {
            Ok(entry) => found = entry,
            Err(problem) => origin = Origin::Rebuilt { problem },
        }
    }
    if let Some(found) = codec.found_by_rank_0(graphs, parameter, found, exchange)? {
        progress.update(transform, graphs.len(), graphs.len());
        parts.push((transform, Origin::Cached, start.elapsed()));
        return Ok(found);
    }
    let computed = codec.compute_among(graphs, transform, parameter, exchange, progress)?;
    if let (Some((cache, key)), 0) = (&key, exchange.rank()) {
        let encode = |out: &mut dyn Write| computed.iter().try_for_each(|part| (codec.encode)(part, out));
        if let Err(problem) = cache.write(key, payload, encode) {
            origin = Origin::NotStored { problem };
        }
    }
    parts.push((transform, origin, start.elapsed()));
    Ok(computed)
}

/// Puts what was prepared for the parts of a data set together, as if it had been prepared as a whole.
///
/// The parts are runs of so many graphs, in their order; what was computed for each is read from the cache `parts`, and
/// the whole goes to `cache`, number by number, without taking memory.
///
/// # Errors
///
/// [`CacheError::Missing`] for a part that was not prepared with these options, or of other graphs.
pub fn join_prepared(
    dataset: &Dataset,
    options: &PrepareOptions,
    counts: &[usize],
    parts: &Cache,
    cache: &Cache,
) -> Result<(), CacheError> {
    type Bytes = fn(&Graph, u64) -> u64;
    let transforms: [(&'static str, u32, usize, Bytes); 2] = [
        ("eigenpairs", EIGENPAIRS_VERSION, options.eigenpairs, eigenpair_bytes),
        ("random_walk", RANDOM_WALK_VERSION, options.random_walk_steps, walk_bytes),
    ];
    let graphs = graphs_of(dataset);
    for (name, version, parameter, bytes) in
        transforms.into_iter().filter(|(_, _, parameter, _)| *parameter > 0)
    {
        let key = |graphs: &[Arc<Graph>]| CacheKey::new(name, version, &[parameter as u64], graphs);
        let payload = |graphs: &[Arc<Graph>]| graphs.iter().map(|graph| bytes(graph, parameter as u64)).sum();
        let mut rest = graphs.as_slice();
        let keys = counts.iter().map(|count| {
            let (some, others) = rest.split_at_checked(*count).unwrap_or((rest, &[]));
            rest = others;
            (key(some), payload(some))
        });
        join(&keys.collect::<Vec<_>>(), parts, cache, (&key(&graphs), payload(&graphs)))?;
    }
    Ok(())
}

fn eigenpair_bytes(graph: &Graph, stored: u64) -> u64 {
    12 + 4 * (stored + graph.num_nodes() as u64 * stored)
}

fn walk_bytes(graph: &Graph, steps: u64) -> u64 {
    4 * graph.num_nodes() as u64 * steps
}
