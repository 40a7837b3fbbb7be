//! The preparation of a graph in parts, of which every host keeps its own alone.

use super::codec::{decode_eigenpairs, encode_eigenpairs};
use super::{EIGENPAIRS_VERSION, Origin, Progress, Transform, eigenpair_bytes};
use crate::cache::{Cache, CacheKey, Structure};
use crate::exchange::{Exchange, Number, Team};
use crate::graph::GraphError;
use crate::partition::{Connection, Cut, Partition};
use crate::spectral::{PrepareOptions, PreparedGraph, SpectralError, eigenpairs_of_part, unless_stopped};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The parts of a graph that a host keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphInParts {
    partition: Partition,
    /// Which of the parts are here.
    here: Range<usize>,
    /// These, not connected with the others.
    own: Vec<PreparedGraph>,
    /// That of the whole graph, where it is known.
    structure: Option<Structure>,
}

impl GraphInParts {
    /// Takes the parts of a host out of a graph, which may then be forgotten.
    ///
    /// # Errors
    ///
    /// As [`Partition::part`].
    pub fn cut(
        whole: &PreparedGraph,
        partition: Partition,
        hosts: &dyn Exchange,
    ) -> Result<Self, GraphError> {
        let here = hosts.share(partition.parts());
        let own = here.clone().map(|part| partition.part(whole, part)).collect::<Result<_, _>>()?;
        Ok(Self { partition, here, own, structure: Some(Structure::of(&whole.graph)) })
    }

    /// Parts that were read as such.
    pub(crate) fn of_parts(
        partition: Partition,
        here: Range<usize>,
        own: Vec<PreparedGraph>,
        structure: Option<Structure>,
    ) -> Self {
        Self { partition, here, own, structure }
    }

    /// Which nodes belong to which part.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Edges of the whole graph, and what is between its parts. All hosts call this together.
    pub fn edges(&self, hosts: &dyn Exchange) -> (usize, Cut) {
        let counts = self.own.iter().map(|own| {
            let own_nodes = own.part.as_ref().map_or(own.graph.num_nodes(), |part| part.own_nodes);
            let edges = own.graph.edges();
            let across = edges.iter().filter(|[source, _]| *source as usize >= own_nodes).count();
            [edges.len(), across, own.graph.num_nodes() - own_nodes].map(|count| count as u64)
        });
        let counts: Vec<u64> = counts.flatten().collect();
        let all = u64::of_bytes(&hosts.collect(u64::to_bytes(&counts)).concat());
        let all: Vec<usize> = all.into_iter().map(|count| count as usize).collect();
        let (mut edges, mut cut) = (0, Cut { edges: 0, border: Vec::new() });
        for [of_part, across, border] in all.as_chunks::<3>().0 {
            edges += of_part;
            cut.edges += across;
            cut.border.push(*border);
        }
        (edges, cut)
    }

    /// The names of the eigenpairs of the parts here in a cache: the iteration in parts gives other bits than that of one
    /// process, and other parts give others again.
    fn keys(&self, stored: usize) -> Option<Vec<CacheKey>> {
        let partition = &self.partition;
        let order = (0..partition.nodes() as u64).map(|number| partition.node(number) as u64);
        let parameters = [u64::from(EIGENPAIRS_VERSION), stored as u64].into_iter();
        let of_cut = parameters.chain(partition.offsets().iter().copied()).chain(order);
        let of_cut = self.structure?.key("eigenpairs_part").within(of_cut);
        Some(self.here.clone().map(|part| of_cut.within(std::iter::once(part as u64))).collect())
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
        let own = &self.own;
        let cached = cache.and_then(|cache| Some((cache, self.keys(options.eigenpairs)?)));
        let work = |member: &Arc<dyn Exchange>| {
            let at = member.rank() - first;
            let connected = Connection::establish(Arc::clone(member), own[at].clone());
            let cached = cached.as_ref().map(|(cache, keys)| (*cache, &keys[at]));
            let (found, origin) = find(connected, options, (cached, member), progress)?;
            origins.lock().unwrap_or_else(PoisonError::into_inner).push(origin);
            Ok::<_, SpectralError>(found)
        };
        let found = Team::run(hosts, self.partition.parts(), work, work)?;
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
    options: &PrepareOptions,
    (cached, member): (Option<(&Cache, &CacheKey)>, &Arc<dyn Exchange>),
    progress: &dyn Progress,
) -> Result<(PreparedGraph, Origin), SpectralError> {
    let (graph, stored) = (&connected.graph, options.eigenpairs);
    let bytes = eigenpair_bytes(graph, stored as u64);
    let mut origin = Origin::Computed;
    let read = |(cache, key): (&Cache, &CacheKey)| {
        cache.read(key, bytes, |from| decode_eigenpairs(graph, stored, from))
    };
    let found = match cached.map(read) {
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
    if let Some((cache, key)) = cached
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
                        let mut parts = GraphInParts::cut(whole, partition.clone(), &*host).unwrap();
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
