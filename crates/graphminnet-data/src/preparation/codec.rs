//! How the result of a transform is computed, written and read, and how ranks share the work of it.

use super::{Progress, Transform};
use crate::exchange::Exchange;
use crate::graph::Graph;
use crate::spectral::{SpectralError, Stop, StoredEigenpairs, for_each_graph};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// How the result of a transform with one number as its parameter is computed, written and read for one graph.
pub(super) struct Codec<T> {
    pub(super) bytes: fn(&Graph, u64) -> u64,
    pub(super) encode: fn(&T, &mut dyn Write) -> io::Result<()>,
    pub(super) decode: fn(&Graph, usize, &mut dyn Read) -> io::Result<T>,
    pub(super) compute: fn(&Graph, usize, Stop<'_>) -> Result<T, SpectralError>,
}

/// How a rank's message about its part of the graphs begins; the rest is the results, nothing, or a text.
const DONE: u8 = 0;
const STOPPED: u8 = 1;
const FAILED: u8 = 2;

impl<T: Send> Codec<T> {
    pub(super) fn decode_all(
        &self,
        graphs: &[Arc<Graph>],
        parameter: usize,
        from: &mut dyn Read,
    ) -> io::Result<Vec<T>> {
        graphs.iter().map(|graph| (self.decode)(graph, parameter, from)).collect()
    }

    fn encode_all(&self, results: &[T], out: &mut Vec<u8>) {
        // Nothing fails that is written to memory.
        let _ = results.iter().try_for_each(|result| (self.encode)(result, out));
    }

    /// What rank 0 found in its cache, on every rank; `None` if it found nothing.
    pub(super) fn found_by_rank_0(
        &self,
        graphs: &[Arc<Graph>],
        parameter: usize,
        found: Option<Vec<T>>,
        exchange: &dyn Exchange,
    ) -> Result<Option<Vec<T>>, SpectralError> {
        if exchange.is_alone() || exchange.tell(0, vec![u8::from(found.is_some())]) == [0] {
            return Ok(found.filter(|_| exchange.is_alone()));
        }
        if !exchange.any(found.is_none()) {
            return Ok(found);
        }
        let mut bytes = Vec::new();
        if let (Some(found), 0) = (&found, exchange.rank()) {
            self.encode_all(found, &mut bytes);
        }
        let bytes = exchange.tell(0, bytes);
        match found {
            Some(found) => Ok(Some(found)),
            None => self.decode_all(graphs, parameter, &mut bytes.as_slice()).map(Some).map_err(unlike(0)),
        }
    }

    /// Computes a part of the graphs on every rank, and gives all ranks the whole.
    pub(super) fn compute_among(
        &self,
        graphs: &[Arc<Graph>],
        transform: Transform,
        parameter: usize,
        exchange: &dyn Exchange,
        progress: &dyn Progress,
    ) -> Result<Vec<T>, SpectralError> {
        let share = exchange.share(graphs.len());
        let own = &graphs[share.clone()];
        let tell = |done: usize| progress.update(transform, done, own.len());
        let stop = || progress.should_stop();
        let computed = for_each_graph(own, &tell, &stop, |graph| (self.compute)(graph, parameter, &stop));
        if exchange.is_alone() {
            return computed;
        }
        let encoded = computed.map_err(|error| error.after(share.start)).map(|results| {
            let mut bytes = Vec::new();
            self.encode_all(&results, &mut bytes);
            bytes
        });
        let heard = agree(exchange, encoded)?;
        let mut all = Vec::with_capacity(graphs.len());
        for (rank, message) in heard.iter().enumerate() {
            let theirs = &graphs[exchange.share_of(rank, graphs.len())];
            all.extend(self.decode_all(theirs, parameter, &mut message.as_slice()).map_err(unlike(rank))?);
        }
        Ok(all)
    }
}

/// What every rank has to say, or an error on all ranks if there is one on any.
pub(super) fn agree(
    exchange: &dyn Exchange,
    own: Result<Vec<u8>, SpectralError>,
) -> Result<Vec<Vec<u8>>, SpectralError> {
    let mut message = Vec::new();
    match &own {
        Ok(said) => {
            message.push(DONE);
            message.extend(said);
        }
        Err(SpectralError::Interrupted) => message.push(STOPPED),
        Err(error) => {
            message.push(FAILED);
            message.extend(error.to_string().bytes());
        }
    }
    let heard = exchange.collect(message);
    own?;
    let said = |(rank, mut message): (usize, Vec<u8>)| match message.first() {
        Some(&DONE) => Ok(message.split_off(1)),
        Some(&STOPPED) | None => Err(SpectralError::Interrupted),
        Some(_) => {
            let message = String::from_utf8_lossy(&message[1..]).into_owned();
            Err(SpectralError::OnRank { rank, message })
        }
    };
    heard.into_iter().enumerate().map(said).collect()
}

/// The results of a rank do not go with the graphs of this one.
fn unlike(rank: usize) -> impl Fn(io::Error) -> SpectralError {
    move |_| SpectralError::OnRank {
        rank,
        message: "its graphs are not those of the other ranks; give all of them the same data".to_owned(),
    }
}

pub(super) fn encode_eigenpairs(pairs: &StoredEigenpairs, out: &mut dyn Write) -> io::Result<()> {
    for number in [pairs.count, pairs.count_in_whole_eigenspaces, pairs.num_components] {
        out.write_all(&(number as u32).to_le_bytes())?;
    }
    write_floats(&pairs.values, out)?;
    write_floats(&pairs.vectors, out)
}

pub(super) fn decode_eigenpairs(
    graph: &Graph,
    stored: usize,
    from: &mut dyn Read,
) -> io::Result<StoredEigenpairs> {
    let mut number = || {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes) as usize)
    };
    let (count, count_in_whole_eigenspaces, num_components) = (number()?, number()?, number()?);
    let values = read_floats(stored, from)?;
    let vectors = read_floats(graph.num_nodes() * stored, from)?;
    Ok(StoredEigenpairs { values, vectors, count, count_in_whole_eigenspaces, num_components })
}

/// Floats that are converted at a time.
const FLOATS: usize = 16 * 1024;

pub(super) fn write_floats(values: &[f32], out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(4 * FLOATS.min(values.len()));
    for chunk in values.chunks(FLOATS) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

pub(super) fn read_floats(count: usize, from: &mut dyn Read) -> io::Result<Vec<f32>> {
    let mut values = Vec::with_capacity(count);
    let mut bytes = vec![0; 4 * FLOATS.min(count)];
    while values.len() < count {
        let wanted = FLOATS.min(count - values.len());
        let bytes = &mut bytes[..4 * wanted];
        from.read_exact(bytes)?;
        values.extend(bytes.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)));
    }
    Ok(values)
}
