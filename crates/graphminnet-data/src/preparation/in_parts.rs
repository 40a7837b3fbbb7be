//! The preparation of a graph in parts, of which every host keeps its own alone.

use super::codec::{decode_eigenpairs, encode_eigenpairs};
use super::{EIGENPAIRS_VERSION, Origin, Progress, Transform, eigenpair_bytes};
use crate::cache::{Cache, CacheKey};
use crate::exchange::{Exchange, Team};
use crate::graph::GraphError;
use crate::partition::{Connection, Partition};
use crate::spectral::{PrepareOptions, PreparedGraph, SpectralError, eigenpairs_of_part, unless_stopped};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The parts of a graph that a host keeps.
#[derive(Debug)]
pub struct GraphInParts {
    /// Parts of the whole graph.
    parts: usize,
    /// Which of them are here.
    here: Range<usize>,
    /// These, not connected with the others.
    own: Vec<PreparedGraph>,
    /// The names of their eigenpairs in a cache.
    keys: Vec<CacheKey>,
}

impl GraphInParts {
    /// Takes the parts of a host out of a graph, which may then be forgotten. `options` are those of
    /// [`GraphInParts::find_eigenpairs`].
    ///
    /// # Errors
    ///
    /// As [`Partition::part`].
    pub fn cut(
        whole: &PreparedGraph,
        partition: &Partition,
        hosts: &dyn Exchange,
        options: &PrepareOptions,
    ) -> Result<Self, GraphError> {
        let (parts, stored) = (partition.parts(), options.eigenpairs as u64);
        let here = hosts.share(parts);
        // The iteration in parts gives other bits than that of one process, and other parts give others again.
        let graphs = std::slice::from_ref(&whole.graph);
        let of_whole = CacheKey::new("eigenpairs", EIGENPAIRS_VERSION, &[stored], graphs);
        let order = || (0..partition.nodes() as u64).map(|number| partition.node(number) as u64);
        let of_cut = of_whole.within("eigenpairs_part", partition.offsets().iter().copied().chain(order()));
        let keys = here.clone().map(|part| of_cut.within("eigenpairs_part", std::iter::once(part as u64)));
        let own = here.clone().map(|part| partition.part(whole, part));
        Ok(Self { parts, keys: keys.collect(), own: own.collect::<Result<_, _>>()?, here })
    }

    /// The parts of this host.
    pub fn here(&self) -> Range<usize> {
        self.here.clone()
    }

    /// These as they are.
    pub fn own(&self) -> &[PreparedGraph] {
        &self.own
    }

    /// The same, for good.
    pub fn into_own(self) -> Vec<PreparedGraph> {
        self.own
    }

    /// Gives the parts their eigenpairs, all hosts together: from the cache if all parts find theirs there, else computed, and
    /// each part's are stored. Bits depend on the parts, not on the number of hosts.
    ///
    /// # Errors
    ///
    /// [`SpectralError`] on all hosts.
    pub fn find_eigenpairs(
        &mut self,
        hosts: &Arc<dyn Exchange>,
        options: &PrepareOptions,
        cache: Option<&Cache>,
        progress: &dyn Progress,
    ) -> Result<(Transform, Origin, Duration), SpectralError> {
        let start = Instant::now();
        let first = self.here.start;
        let origins = Mutex::new(Vec::new());
        let (own, keys) = (&self.own, &self.keys);
        let work = |member: &Arc<dyn Exchange>| {
            let at = member.rank() - first;
            let connected = Connection::establish(Arc::clone(member), own[at].clone());
            let (found, origin) = find(connected, &keys[at], options, (cache, member), progress)?;
            origins.lock().unwrap_or_else(PoisonError::into_inner).push(origin);
            Ok::<_, SpectralError>(found)
        };
        let found = Team::run(hosts, self.parts, work, work)?;
        for (own, found) in self.own.iter_mut().zip(found) {
            *own = PreparedGraph { part: own.part.take(), ..found };
        }
        progress.update(Transform::Eigenpairs, 1, 1);
        let mut origins = origins.into_inner().unwrap_or_else(PoisonError::into_inner);
        // What went wrong for one part is worth more than that nothing did for another.
        let trouble = |origin: &Origin| matches!(origin, Origin::Rebuilt { .. } | Origin::NotStored { .. });
        let at = origins.iter().position(trouble).unwrap_or(0);
        let origin = if origins.is_empty() { Origin::Computed } else { origins.swap_remove(at) };
        Ok((Transform::Eigenpairs, origin, start.elapsed()))
    }
}

/// The eigenpairs of one part.
fn find(
    connected: PreparedGraph,
    key: &CacheKey,
    options: &PrepareOptions,
    (cache, member): (Option<&Cache>, &Arc<dyn Exchange>),
    progress: &dyn Progress,
) -> Result<(PreparedGraph, Origin), SpectralError> {
    let (graph, stored) = (&connected.graph, options.eigenpairs);
    let bytes = eigenpair_bytes(graph, stored as u64);
    let mut origin = Origin::Computed;
    let found = match cache.map(|cache| cache.read(key, bytes, |from| decode_eigenpairs(graph, stored, from)))
    {
        None => None,
        Some(Ok(found)) => found,
        Some(Err(problem)) => {
            origin = Origin::Rebuilt { problem };
            None
        }
    };
    // One part alone cannot be computed.
    if !member.any(found.is_none())
        && let Some(found) = found
    {
        return Ok((connected.with_eigenpairs(found, options), Origin::Cached));
    }
    let stop = || member.any(progress.should_stop());
    unless_stopped(&stop)?;
    let found = eigenpairs_of_part(&connected, stored, &stop)?;
    if let Some(cache) = cache
        && let Err(problem) = cache.write(key, bytes, |out| encode_eigenpairs(&found, out))
    {
        origin = Origin::NotStored { problem };
    }
    Ok((connected.with_eigenpairs(found, options), origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Threads;
    use crate::graph::Graph;
    use crate::rng;
    use crate::spectral::{lowest_eigenpairs, prepare_graph};
    use std::sync::atomic::AtomicBool;

    const PAIRS: usize = 5;

    /// A path with two chords per node, on which the iteration converges.
    fn graph(nodes: usize) -> Arc<Graph> {
        with_chords(nodes, 2 * nodes)
    }

    fn with_chords(nodes: usize, chords: usize) -> Arc<Graph> {
        let mut random = rng::stream(3, "chords", &[]);
        let mut edges: Vec<[u32; 2]> = (1..nodes as u32).map(|node| [node - 1, node]).collect();
        edges.extend((0..chords).map(|_| [random.below(nodes) as u32, random.below(nodes) as u32]));
        Arc::new(Graph::from_edges(nodes, edges).unwrap())
    }

    type Found = Result<(Vec<PreparedGraph>, Origin), SpectralError>;

    fn on(
        hosts: usize,
        graph: &Arc<Graph>,
        partition: &Partition,
        cache: Option<&Cache>,
        stop: bool,
    ) -> Vec<Found> {
        let options = PrepareOptions { eigenpairs: PAIRS, ..Default::default() };
        let whole = prepare_graph(graph, &PrepareOptions::default()).unwrap();
        std::thread::scope(|scope| {
            let (whole, options) = (&whole, &options);
            let hosts: Vec<_> = Threads::team(hosts)
                .into_iter()
                .map(|host| {
                    scope.spawn(move || {
                        let host: Arc<dyn Exchange> = Arc::new(host);
                        let mut parts = GraphInParts::cut(whole, partition, &*host, options).unwrap();
                        // A signal that reaches the last host alone.
                        let stopped = AtomicBool::new(stop && host.rank() + 1 == host.size());
                        let (_, origin, _) = parts.find_eigenpairs(&host, options, cache, &stopped)?;
                        Ok((parts.into_own(), origin))
                    })
                })
                .collect();
            hosts.into_iter().map(|host| host.join().unwrap()).collect()
        })
    }

    fn vectors(found: Vec<Found>) -> (Vec<u32>, Vec<u32>) {
        let own: Vec<PreparedGraph> = found.into_iter().flat_map(|found| found.unwrap().0).collect();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let rows = own
            .iter()
            .flat_map(|part| bits(&part.eigenvectors[..part.part.as_ref().unwrap().own_nodes * PAIRS]));
        (bits(&own[0].eigenvalues), rows.collect())
    }

    /// Any number of hosts comes to the same bits, densely and by the iteration, and these are eigenpairs.
    #[test]
    fn bits_depend_on_the_parts_and_not_on_the_hosts() {
        for nodes in [40, 1_500] {
            let graph = graph(nodes);
            let scattered: Vec<u32> = (0..nodes as u32).map(|node| node * 7 % 4).collect();
            for partition in [Partition::in_order(nodes, 4), Partition::of(&scattered, 4)] {
                let expected = vectors(on(1, &graph, &partition, None, false));
                for hosts in 2..=4 {
                    assert_eq!(
                        vectors(on(hosts, &graph, &partition, None, false)),
                        expected,
                        "{nodes} on {hosts}"
                    );
                }
                let whole = lowest_eigenpairs(&graph, PAIRS).unwrap();
                let entry = |bits: &u32| f64::from(f32::from_bits(*bits));
                for (found, value) in expected.0.iter().zip(&whole.values) {
                    assert!((entry(found) - value).abs() < 1e-6);
                }
                for (number, row) in expected.1.chunks(PAIRS).enumerate() {
                    let node = partition.node(number as u64);
                    for (found, value) in row.iter().zip(&whole.vectors[node * PAIRS..]) {
                        assert!((entry(found) - value).abs() < 1e-5, "{node}: {} {value}", entry(found));
                    }
                }
            }
        }
    }

    /// A path with few chords: the iteration in parts ends without a result, and the solver for whole graphs has one.
    #[test]
    fn what_the_iteration_in_parts_cannot_do_is_done_on_the_whole_graph() {
        let graph = with_chords(750, 20);
        let partition = Partition::in_order(750, 2);
        let found = vectors(on(2, &graph, &partition, None, false)).0;
        let whole = lowest_eigenpairs(&graph, PAIRS).unwrap();
        for (found, value) in found.iter().zip(&whole.values) {
            assert!((f64::from(f32::from_bits(*found)) - value).abs() < 1e-6);
        }
    }

    #[test]
    fn every_part_is_kept_in_the_cache_and_found_by_other_hosts_unless_one_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path());
        let (graph, partition) = (graph(800), Partition::in_order(800, 3));
        let origins = |found: &[Found]| -> Vec<bool> {
            found.iter().map(|found| matches!(found.as_ref().unwrap().1, Origin::Cached)).collect()
        };
        let first = on(2, &graph, &partition, Some(&cache), false);
        assert_eq!(origins(&first), [false; 2]);
        let files = || -> Vec<_> {
            let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
            files.sort();
            files
        };
        assert_eq!(files().len(), 3);
        let again = on(3, &graph, &partition, Some(&cache), false);
        assert_eq!(origins(&again), [true; 3]);
        assert_eq!(vectors(first), vectors(again));
        // Other parts are other entries.
        let other = on(1, &graph, &Partition::in_order(800, 2), Some(&cache), false);
        assert_eq!(origins(&other), [false]);
        std::fs::remove_file(&files()[0]).unwrap();
        std::fs::write(&files()[0], b"damaged").unwrap();
        let parts = [(3, 3), (2, 2)].map(|(hosts, parts)| {
            origins(&on(hosts, &graph, &Partition::in_order(800, parts), Some(&cache), false))
        });
        assert!(parts.iter().flatten().any(|cached| !cached), "{parts:?}");
    }

    #[test]
    fn a_signal_that_reaches_one_host_stops_all() {
        let (graph, partition) = (graph(900), Partition::in_order(900, 3));
        for found in on(3, &graph, &partition, None, true) {
            assert_eq!(found.unwrap_err(), SpectralError::Interrupted);
        }
    }
}
