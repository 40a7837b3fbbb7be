//! Results of preparation that stay in the cache: a batch reads those of its graphs, and nobody has all of them in memory.
//!
//! Every rank computes those of a part of the graphs, some at a time, and writes them to an entry of its own. Rank 0 puts
//! these together into the entry that a preparation in memory would have written, number by number.

use super::codec::{Codec, agree};
use super::{Origin, PreparedDataset, Progress, Transform};
use crate::batch::LoaderError;
use crate::cache::{Cache, CacheError, CacheKey, OpenEntry};
use crate::exchange::Exchange;
use crate::graph::Graph;
use crate::spectral::{PreparedGraph, SpectralError, StoredEigenpairs, for_each_graph};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

/// Graphs whose results are in memory at a time while they are computed.
const AT_A_TIME: usize = 1024;

/// Eigenpairs and random walks in the cache, from which those of single graphs are read. Empty where they are in memory.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct OnDisk {
    pub(super) eigenpairs: Option<Stored<StoredEigenpairs>>,
    pub(super) walks: Option<Stored<Vec<f32>>>,
}

/// The results of one transform for all graphs, in a file.
pub(super) struct Stored<T> {
    entry: OpenEntry,
    codec: Codec<T>,
    parameter: usize,
    /// Where the results of each graph begin, and where those of the last one end.
    starts: Vec<u64>,
}

impl<T> std::fmt::Debug for Stored<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Stored").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// The same file.
impl<T> PartialEq for Stored<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entry == other.entry
    }
}

impl<T> Stored<T> {
    /// Those of one graph.
    fn of(&self, at: usize, graph: &Graph) -> Result<T, CacheError> {
        let place = |at: usize| self.starts.get(at).copied().unwrap_or(u64::MAX);
        let bytes = self.entry.bytes(place(at)..place(at + 1))?;
        let decoded = (self.codec.decode)(graph, self.parameter, &mut bytes.as_slice());
        decoded.map_err(|_| self.entry.damaged("a graph has other nodes"))
    }
}

impl PreparedDataset {
    /// A graph with everything that was computed for it, which is read from the disk if it is there.
    ///
    /// # Errors
    ///
    /// [`LoaderError::NoSuchSample`]; [`LoaderError::OnDisk`] if it cannot be read.
    pub fn complete(&self, at: usize) -> Result<Cow<'_, PreparedGraph>, LoaderError> {
        let samples = self.samples.len();
        let sample = self.samples.get(at).ok_or(LoaderError::NoSuchSample { index: at, samples })?;
        let OnDisk { eigenpairs, walks } = &*self.on_disk;
        if eigenpairs.is_none() && walks.is_none() {
            return Ok(Cow::Borrowed(&sample.prepared));
        }
        let mut prepared = sample.prepared.clone();
        if let Some(walks) = walks {
            prepared.random_walk = walks.of(at, &prepared.graph)?;
        }
        if let Some(eigenpairs) = eigenpairs {
            let found = eigenpairs.of(at, &prepared.graph)?;
            prepared = prepared.with_eigenpairs(found, &self.options);
        }
        Ok(Cow::Owned(prepared))
    }
}

/// What is prepared, and who takes part.
pub(super) struct Work<'a> {
    pub(super) graphs: &'a [Arc<Graph>],
    pub(super) cache: &'a Cache,
    pub(super) exchange: &'a dyn Exchange,
    pub(super) progress: &'a dyn Progress,
}

impl Work<'_> {
    /// Computes a transform of all graphs unless it is in the cache, and opens it there. Rank 0 is shown every result once, in
    /// the order of the graphs: it checks the entry by that.
    pub(super) fn store<T: Send>(
        &self,
        transform: Transform,
        (name, version, parameter): (&'static str, u32, usize),
        codec: Codec<T>,
        mut show: impl FnMut(usize, T),
    ) -> Result<(Stored<T>, Origin), SpectralError> {
        let Self { graphs, cache, exchange, progress } = *self;
        let key = CacheKey::new(name, version, &[parameter as u64], graphs);
        let mut starts = vec![0];
        for graph in graphs {
            starts.push(starts[starts.len() - 1] + (codec.bytes)(graph, parameter as u64));
        }
        let payload = starts[graphs.len()];
        let mut look = || match exchange.rank() {
            0 => cache.read(&key, payload, |from| {
                let mut one = |(at, graph): (usize, &Arc<Graph>)| {
                    (codec.decode)(graph, parameter, from).map(|result| show(at, result))
                };
                graphs.iter().enumerate().try_for_each(&mut one)
            }),
            _ => Ok(None),
        };
        let (found, mut origin) = match look() {
            Ok(Some(())) => (true, Origin::Cached),
            Ok(None) => (false, Origin::Computed),
            Err(problem) => (false, Origin::Rebuilt { problem }),
        };
        if exchange.tell(0, vec![u8::from(found)]) == [1] {
            origin = Origin::Cached;
            progress.update(transform, graphs.len(), graphs.len());
        } else {
            // The parts of the ranks, each an entry; one that is alone writes the whole at once.
            let part = |rank: usize| {
                let share = exchange.share_of(rank, graphs.len());
                let bytes = starts[share.end] - starts[share.start];
                match exchange.is_alone() {
                    true => (share, key.clone(), bytes),
                    false => {
                        let numbers = [share.start as u64, share.end as u64];
                        (share, key.within(numbers.into_iter()), bytes)
                    }
                }
            };
            let (share, own, bytes) = part(exchange.rank());
            let computed = self.compute(share, transform, parameter, &codec, (&own, bytes));
            agree(exchange, computed.map(|()| Vec::new()))?;
            let joined = match exchange.rank() == 0 && !exchange.is_alone() {
                true => {
                    let parts: Vec<_> =
                        (0..exchange.size()).map(part).map(|(_, key, bytes)| (key, bytes)).collect();
                    join(&parts, cache, cache, (&key, payload)).map_err(|error| match error {
                        CacheError::Missing { .. } => self.missing(),
                        error => on_disk(&error),
                    })
                }
                false => Ok(()),
            };
            agree(exchange, joined.map(|()| Vec::new()))?;
            if !exchange.is_alone() {
                cache.forget(&own);
            }
            let checked = match (exchange.rank(), look()) {
                (0, Ok(None)) => Err(self.missing()),
                (_, checked) => checked.map(|_| ()).map_err(|error| on_disk(&error)),
            };
            agree(exchange, checked.map(|()| Vec::new()))?;
        }
        let opened = match cache.open(&key, payload) {
            Ok(Some(entry)) => Ok(entry),
            Ok(None) => Err(self.missing()),
            Err(error) => Err(on_disk(&error)),
        };
        let told = agree(exchange, opened.as_ref().map(|_| Vec::new()).map_err(Clone::clone));
        let entry = opened?;
        told?;
        Ok((Stored { entry, codec, parameter, starts }, origin))
    }

    /// Computes some graphs and writes the results to an entry.
    fn compute<T: Send>(
        &self,
        share: Range<usize>,
        transform: Transform,
        parameter: usize,
        codec: &Codec<T>,
        (key, bytes): (&CacheKey, u64),
    ) -> Result<(), SpectralError> {
        let own = &self.graphs[share.clone()];
        let stop = || self.progress.should_stop();
        let mut failed = None;
        let mut done = 0;
        let mut write = |some: &[Arc<Graph>], out: &mut dyn Write| {
            let tell = |more: usize| self.progress.update(transform, done + more, own.len());
            let computed =
                for_each_graph(some, &tell, &stop, |graph| (codec.compute)(graph, parameter, &stop));
            let results = computed.map_err(|error| {
                failed = Some(error.after(share.start + done));
                io::Error::other("a graph could not be prepared")
            })?;
            done += some.len();
            results.iter().try_for_each(|result| (codec.encode)(result, out))
        };
        let written =
            self.cache.write(key, bytes, |out| own.chunks(AT_A_TIME).try_for_each(|some| write(some, out)));
        match failed {
            Some(error) => Err(error),
            None => written.map_err(|error| on_disk(&error)),
        }
    }

    fn missing(&self) -> SpectralError {
        let message = format!(
            "{}: what was prepared is not there; on several machines the cache must be in a folder that all of them share \
             (GRAPHMINNET_CACHE)",
            self.cache.directory().display()
        );
        SpectralError::OnDisk { message }
    }
}

fn on_disk(error: &CacheError) -> SpectralError {
    SpectralError::OnDisk { message: error.to_string() }
}

/// Writes one entry that is some others after each other.
pub(super) fn join(
    parts: &[(CacheKey, u64)],
    from: &Cache,
    to: &Cache,
    (key, payload): (&CacheKey, u64),
) -> Result<(), CacheError> {
    let mut problem = None;
    let joined = to.write(key, payload, |out| {
        for (part, (key, bytes)) in parts.iter().enumerate() {
            let found = from.read(key, *bytes, |from| io::copy(&mut from.take(*bytes), out));
            let missing = || CacheError::Missing { path: from.directory().to_owned(), part: part + 1 };
            if let Err(error) = found.and_then(|found| found.ok_or_else(missing)) {
                problem = Some(error);
                return Err(io::Error::other("a part is missing"));
            }
        }
        Ok(())
    });
    // The part that is missing says more than that the whole could not be written.
    problem.map_or(joined, Err)
}
