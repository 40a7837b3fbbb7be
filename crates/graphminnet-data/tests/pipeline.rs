//! From a data set through the cache to batches.

use graphminnet_data::batch::{Batch, BatchLimit, Batches, LoaderError, Order, plan_batches};
use graphminnet_data::cache::Cache;
use graphminnet_data::exchange::Alone;
use graphminnet_data::generate::{CircularSkipLinks, Cluster, PartSizes, RingTransfer};
use graphminnet_data::preparation::{
    Origin, PreparedDataset, Transform, prepare_dataset, prepare_dataset_on_disk,
};
use graphminnet_data::spectral::{PrepareOptions, SpectralError};
use graphminnet_data::{Dataset, Level};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn rings() -> Dataset {
    let sizes = PartSizes { train: 30, valid: 5, test: 5 };
    RingTransfer { sizes, ..Default::default() }.generate(0).unwrap()
}

fn options() -> PrepareOptions {
    PrepareOptions { eigenpairs: 18, random_walk_steps: 5, ..Default::default() }
}

fn origins(dataset: &Dataset, options: &PrepareOptions, cache: &Cache) -> (PreparedDataset, String) {
    let (prepared, report) = prepare_dataset(dataset, options, Some(cache), &()).unwrap();
    let name = |origin: &Origin| match origin {
        Origin::Cached => "cached",
        Origin::Computed => "computed",
        Origin::Rebuilt { .. } => "rebuilt",
        Origin::NotStored { .. } => "not stored",
    };
    let names: Vec<_> = report.parts.iter().map(|(_, origin, _)| name(origin)).collect();
    (prepared, names.join(", "))
}

#[test]
fn changing_one_parameter_recomputes_only_what_depends_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path().join("made on demand"));
    let dataset = rings();
    assert!(cache.entries().unwrap().is_empty());
    let (first, origin) = origins(&dataset, &options(), &cache);
    assert_eq!(origin, "computed, computed");
    let (second, origin) = origins(&dataset, &options(), &cache);
    assert!(origin == "cached, cached" && second == first, "{origin}");
    let longer = PrepareOptions { random_walk_steps: 6, ..options() };
    assert_eq!(origins(&dataset, &longer, &cache).1, "cached, computed");
    let fewer = PrepareOptions { eigenpairs: 17, ..options() };
    assert_eq!(origins(&dataset, &fewer, &cache).1, "computed, cached");
    let masked = PrepareOptions { whole_eigenspaces: true, ..options() };
    assert_eq!(origins(&dataset, &masked, &cache).1, "cached, cached");
    // Other features of the same graphs need nothing new; other graphs do.
    let mut relabelled = dataset.clone();
    relabelled.samples.iter_mut().for_each(|sample| sample.targets.fill(0.0));
    assert_eq!(origins(&relabelled, &options(), &cache).1, "cached, cached");
    let mut fewer_graphs = dataset.clone();
    fewer_graphs.samples.pop();
    assert_eq!(origins(&fewer_graphs, &options(), &cache).1, "computed, computed");
    assert!(cache.verify().unwrap().iter().all(|checked| checked.problem.is_none()));
}

#[test]
fn a_damaged_entry_is_noticed_and_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    let dataset = rings();
    let (first, _) = origins(&dataset, &options(), &cache);
    let path =
        cache.entries().unwrap().into_iter().find(|entry| entry.transform == "eigenpairs").unwrap().path;
    let whole = std::fs::read(&path).unwrap();
    let mut damages: Vec<Vec<u8>> = (0..64).map(|part| whole[..whole.len() * part / 64].to_vec()).collect();
    for part in 0..64 {
        let mut flipped = whole.clone();
        flipped[(whole.len() - 1) * part / 63] ^= 1 << (part % 8);
        damages.push(flipped);
    }
    damages.push([whole.clone(), vec![0]].concat());
    for (number, damage) in damages.into_iter().enumerate() {
        std::fs::write(&path, damage).unwrap();
        let verified = cache.verify().unwrap();
        assert_eq!(verified.iter().filter(|checked| checked.problem.is_some()).count(), 1, "damage {number}");
        let (again, origin) = origins(&dataset, &options(), &cache);
        assert_eq!((origin.as_str(), again == first), ("rebuilt, cached", true), "damage {number}");
        assert!(std::fs::read(&path).unwrap() == whole);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_reported_and_does_not_stop_the_work() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a file, not a directory");
    std::fs::write(&file, "").unwrap();
    let (_, origin) = origins(&rings(), &options(), &Cache::new(&file));
    // Opening an entry below a file fails in another way on each system; either way the results are there.
    assert!(origin == "not stored, not stored", "{origin}");
}

#[test]
fn garbage_collection_removes_the_oldest_entries_first() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    let dataset = rings();
    for steps in 1..=4 {
        let options = PrepareOptions { random_walk_steps: steps, ..Default::default() };
        prepare_dataset(&dataset, &options, Some(&cache), &()).unwrap();
    }
    std::fs::write(directory.path().join("not ours.txt"), "kept").unwrap();
    let entries = cache.entries().unwrap();
    assert_eq!(entries.len(), 4);
    let newest_two: u64 = entries[2..].iter().map(|entry| entry.bytes).sum();
    let collected = cache.collect_garbage(newest_two).unwrap();
    assert_eq!((collected.entries, collected.left), (2, newest_two));
    assert_eq!(cache.entries().unwrap(), entries[2..]);
    assert_eq!(cache.collect_garbage(0).unwrap().left, 0);
    assert!(directory.path().join("not ours.txt").exists());
}

#[test]
fn progress_reaches_the_total_for_every_part() {
    let (pairs, walks) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = |transform: Transform, done: usize, total: usize| {
        assert!(done <= total && total == 40);
        let counter = if transform == Transform::Eigenpairs { &pairs } else { &walks };
        counter.fetch_max(done, Ordering::Relaxed);
    };
    prepare_dataset(&rings(), &options(), None, &progress).unwrap();
    assert_eq!((pairs.into_inner(), walks.into_inner()), (40, 40));
}

#[test]
fn the_degree_profile_replaces_the_node_columns() {
    let dataset = Cluster::with_graphs(3).generate(0).unwrap();
    let options = PrepareOptions { degree_profile: true, ..Default::default() };
    let (prepared, _) = prepare_dataset(&dataset, &options, None, &()).unwrap();
    assert_eq!(prepared.schema.node_numbers(), 5);
    assert_eq!(prepared.samples[0].prepared.graph.node_features().number_columns(), 5);
}

#[test]
fn what_stays_on_disk_is_what_would_be_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path());
    // More graphs than are computed at a time.
    let sizes = PartSizes { train: 1100, valid: 5, test: 5 };
    let dataset = RingTransfer { sizes, ..Default::default() }.generate(0).unwrap();
    for options in [options(), PrepareOptions { whole_eigenspaces: true, degree_profile: true, ..options() }]
    {
        let (in_memory, counts) = prepare_dataset(&dataset, &options, None, &()).unwrap();
        let (on_disk, report) = prepare_dataset_on_disk(&dataset, &options, &cache, &(), &Alone).unwrap();
        assert_eq!(report.graphs.split_eigenspaces, counts.graphs.split_eigenspaces);
        assert!(counts.graphs.split_eigenspaces > 0);
        for (at, sample) in in_memory.samples.iter().enumerate() {
            assert_eq!(*on_disk.complete(at).unwrap(), sample.prepared, "graph {at}");
            let held = &on_disk.samples[at].prepared;
            assert!(held.eigenvectors.is_empty() && held.random_walk.is_empty());
        }
        let batch = |dataset| Batch::of_samples(dataset, vec![1107, 3, 500]).unwrap();
        assert_eq!(batch(&on_disk), batch(&in_memory));
        // The entries are the same files.
        assert_eq!(origins(&dataset, &options, &cache).1, "cached, cached");
    }
    let beyond = prepare_dataset_on_disk(&dataset, &options(), &cache, &(), &Alone).unwrap().0;
    assert!(matches!(beyond.complete(1110), Err(LoaderError::NoSuchSample { index: 1110, .. })));
}

#[test]
fn a_damaged_entry_that_stays_on_disk_is_computed_again_and_a_cache_that_cannot_be_written_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::new(directory.path().join("cache"));
    let prepare = |cache: &Cache| prepare_dataset_on_disk(&rings(), &options(), cache, &(), &Alone);
    prepare(&cache).unwrap();
    for entry in cache.entries().unwrap() {
        let mut bytes = std::fs::read(&entry.path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&entry.path, bytes).unwrap();
    }
    let (again, report) = prepare(&cache).unwrap();
    assert!(report.parts.iter().all(|(_, origin, _)| matches!(origin, Origin::Rebuilt { .. })), "{report:?}");
    assert_eq!(*again.complete(7).unwrap(), prepared().samples[7].prepared);
    std::fs::write(directory.path().join("file"), "").unwrap();
    let error = prepare(&Cache::new(directory.path().join("file"))).unwrap_err();
    assert!(matches!(&error, SpectralError::OnDisk { message } if message.contains("file")), "{error}");
}

fn prepared() -> Arc<PreparedDataset> {
    Arc::new(prepare_dataset(&rings(), &options(), None, &()).unwrap().0)
}

#[test]
fn every_sample_comes_once_per_epoch_in_an_order_of_the_seed_and_the_epoch() {
    let dataset = prepared();
    let samples: Vec<usize> = (3..33).collect();
    let plan = |seed, epoch| {
        plan_batches(&dataset, &samples, BatchLimit::graphs(7), Order::Shuffled { seed, epoch })
    };
    let first = plan(1, 0);
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), vec![7, 7, 7, 7, 2]);
    let mut visited = first.concat();
    visited.sort_unstable();
    assert_eq!(visited, samples);
    assert_eq!(first, plan(1, 0));
    assert_ne!(first, plan(1, 1));
    assert_ne!(first, plan(2, 0));
    assert_eq!(
        plan_batches(&dataset, &samples, BatchLimit::graphs(100), Order::Given),
        vec![samples.clone()]
    );
}

#[test]
fn budgets_are_kept_and_a_graph_over_budget_stands_alone() {
    let dataset = prepared();
    let all: Vec<usize> = (0..dataset.samples.len()).collect();
    let nodes = |batch: &[usize]| -> usize {
        batch.iter().map(|&at| dataset.samples[at].prepared.graph.num_nodes()).sum()
    };
    for budget in [1, 20, 50, 100, 10_000] {
        let plan = plan_batches(&dataset, &all, BatchLimit::budget(budget, usize::MAX), Order::Given);
        assert!(plan.iter().all(|batch| nodes(batch) <= budget || batch.len() == 1));
        assert_eq!(plan.concat(), all);
        // Greedy: the first graph of the next batch would not have fitted.
        assert!(plan.windows(2).all(|two| nodes(&two[0]) + nodes(&two[1][..1]) > budget));
        let edges = plan_batches(&dataset, &all, BatchLimit::budget(usize::MAX, 2 * budget), Order::Given);
        assert_eq!(edges, plan, "rings have two directed edges per node");
    }
}

#[test]
fn a_batch_holds_the_arrays_of_its_samples_side_by_side() {
    let dataset = prepared();
    let batch = Batch::of_samples(&dataset, vec![4, 0]).unwrap();
    let [first, second] = [4, 0].map(|at| &dataset.samples[at]);
    let nodes = first.prepared.graph.num_nodes();
    assert_eq!(batch.layout.node_offsets()[1] as usize, nodes);
    assert_eq!(batch.eigenvalues[..18], first.prepared.eigenvalues);
    assert_eq!(batch.eigenvectors[nodes * 18..], second.prepared.eigenvectors);
    assert_eq!(batch.random_walk[..nodes * 5], first.prepared.random_walk);
    assert_eq!(batch.log_degree.len(), batch.layout.num_nodes());
    assert_eq!(batch.targets.unwrap().values, [first.targets[0], second.targets[0]]);
    let pairs = first.prepared.num_eigenpairs;
    assert_eq!(batch.num_eigenpairs[0], pairs);
    assert_eq!(batch.usable_eigenpairs.len(), 2);
}

#[test]
fn node_level_targets_have_a_row_per_node() {
    let sizes = PartSizes { train: 3, valid: 0, test: 0 };
    let dataset = RingTransfer { sizes, level: Level::Node, ..Default::default() }.generate(0).unwrap();
    let (prepared, _) = prepare_dataset(&dataset, &options(), None, &()).unwrap();
    let batch = Batch::of_samples(&prepared, vec![2, 1]).unwrap();
    let targets = batch.targets.unwrap().values;
    assert_eq!(targets.len(), batch.layout.num_nodes());
    assert_eq!(targets.iter().filter(|target| !target.is_nan()).count(), 2);
}

#[test]
fn batches_assembled_ahead_equal_those_assembled_on_the_spot() {
    let dataset = prepared();
    let all: Vec<usize> = (0..40).collect();
    let plan = plan_batches(&dataset, &all, BatchLimit::graphs(6), Order::Shuffled { seed: 0, epoch: 3 });
    for ahead in [0, 1, 4, 100] {
        let batches = Batches::start(Arc::clone(&dataset), plan.clone(), ahead).unwrap();
        let loaded: Vec<_> = batches.map(Result::unwrap).collect();
        let direct: Vec<_> =
            plan.iter().map(|samples| Batch::of_samples(&dataset, samples.clone()).unwrap()).collect();
        assert!(loaded == direct, "{ahead} ahead");
    }
}

#[test]
fn an_error_comes_in_its_place_and_an_early_end_is_clean() {
    let dataset = prepared();
    let plan = vec![vec![0], vec![1, 99], vec![2]];
    let mut batches = Batches::start(Arc::clone(&dataset), plan, 2).unwrap();
    assert!(batches.next().unwrap().is_ok());
    let error = batches.next().unwrap().unwrap_err();
    assert!(matches!(error, LoaderError::NoSuchSample { index: 99, samples: 40 }), "{error}");
    assert!(batches.next().is_none());
    drop(batches);
    // Dropped while the thread waits to deliver; the thread lets go of the data.
    let plan = (0..40).map(|at| vec![at]).collect();
    let mut batches = Batches::start(Arc::clone(&dataset), plan, 1).unwrap();
    assert!(batches.next().unwrap().is_ok());
    drop(batches);
    assert_eq!(Arc::strong_count(&dataset), 1);
}

#[test]
fn graphs_without_edges_or_eigenpairs_make_batches_too() {
    let dataset = CircularSkipLinks { copies: 1, ..Default::default() }.generate(0).unwrap();
    let (prepared, report) = prepare_dataset(&dataset, &PrepareOptions::default(), None, &()).unwrap();
    assert!(report.parts.is_empty());
    let batch = Batch::of_samples(&prepared, vec![0, 1]).unwrap();
    assert!(batch.eigenvalues.is_empty() && batch.random_walk.is_empty());
    assert_eq!(batch.log_degree.len(), 82);
    assert_eq!(Batch::of_samples(&prepared, vec![]).unwrap().layout.num_graphs(), 0);
}

/// Counts how often it is asked, and stops the work at one of the times.
struct StopsAt {
    asked: AtomicUsize,
    at: usize,
}

impl StopsAt {
    fn nth(at: usize) -> Self {
        Self { asked: AtomicUsize::new(0), at }
    }
}

impl graphminnet_data::preparation::Progress for StopsAt {
    fn update(&self, _: Transform, _: usize, _: usize) {}

    fn should_stop(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.at
    }
}

/// One large ring with chords: neither a tree nor small, so its eigenpairs take iterations of a polynomial.
fn large_graph() -> Dataset {
    let nodes = 3_000u32;
    let edges = (0..nodes).flat_map(|node| {
        let others = [(node + 1) % nodes, node * 7919 % nodes, node * 104_729 % nodes];
        others.into_iter().flat_map(move |other| [[node, other], [other, node]])
    });
    let graph = graphminnet_data::Graph::from_edges(nodes as usize, edges.collect()).unwrap();
    let mut dataset = rings();
    dataset.samples.truncate(1);
    dataset.samples[0].graph = Arc::new(graph);
    dataset.samples[0].targets.truncate(1);
    dataset
}

#[test]
fn a_preparation_that_is_told_to_stop_does_so_also_inside_of_a_graph() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path());
    let options = PrepareOptions { eigenpairs: 8, random_walk_steps: 8, ..PrepareOptions::default() };
    let (dataset, whole) = (large_graph(), StopsAt::nth(usize::MAX));
    prepare_dataset(&dataset, &options, None, &whole).unwrap();
    let asked = whole.asked.into_inner();
    // Once before the graph, many times in its iterations, and for every node that walks begin at.
    assert!(asked > 3_000 + 20, "asked {asked} times");
    for at in [0, 1, 2, 10, 20] {
        let progress = StopsAt::nth(at);
        let stopped = prepare_dataset(&dataset, &options, Some(&cache), &progress).unwrap_err();
        assert_eq!(stopped, SpectralError::Interrupted, "at {at}");
        // Everything that runs is let know; nothing goes on for long.
        assert!(progress.asked.into_inner() <= at + 10, "at {at}");
        assert!(cache.entries().unwrap().is_empty(), "at {at}");
    }
    // Stopped during the walks: the eigenpairs are done and kept.
    let stopped =
        prepare_dataset(&dataset, &options, Some(&cache), &StopsAt::nth(asked - 1_000)).unwrap_err();
    assert_eq!(stopped, SpectralError::Interrupted);
    assert_eq!(cache.entries().unwrap().len(), 1);
}
