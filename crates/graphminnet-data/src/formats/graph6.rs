//! graph6 and sparse6: undirected graphs without features, one per line of printable characters.
//!
//! Both directions of every edge are stored. The number of nodes is stated by the format; a line that is shorter or
//! longer than that number implies is a bad row.

use crate::budget::{Share, bytes_of};
use crate::formats::Lines;
use crate::fs::write_atomically_with;
use crate::limits::within;
use crate::schema::{Collector, Record, Table};
use crate::{DataError, Dataset, EdgeDirection, Limits, Place, Read, ReadOptions};
use std::path::Path;

/// Reads a file of graph6 or sparse6 lines.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    read_lines(&mut Lines::open(path, &options.limits)?, path, options)
}

/// Reads graph6 or sparse6 from any stream of lines.
pub(crate) fn read_lines(lines: &mut Lines, path: &Path, options: &ReadOptions) -> Result<Read, DataError> {
    let mut collector = Collector::new(path, options);
    collector.edges = EdgeDirection::BothWays;
    while lines.advance()? {
        let line = lines.bytes().trim_ascii();
        let line = line.strip_prefix(b">>graph6<<").or(line.strip_prefix(b">>sparse6<<")).unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let place = lines.place();
        let mut held = collector.budget.share();
        let graph = match line.strip_prefix(b":") {
            Some(rest) => sparse6(rest, &place, &options.limits, &mut held),
            None => graph6(line, &place, &options.limits, &mut held),
        };
        let record = graph.map(|(num_nodes, edges)| Record {
            place: place.clone(),
            id: None,
            num_nodes,
            edge_rows: Table { rows: edges.len(), values: Vec::new() },
            edges,
            nodes: Table { rows: num_nodes, values: Vec::new() },
            targets: Table::default(),
            split: None,
            node_split: None,
            pairs: Vec::new(),
            graph: None,
            weight: None,
            bounds: Vec::new(),
        });
        drop(held);
        match record {
            Ok(record) => collector.push(Ok(record))?,
            Err(error) => collector.push(Err(error.into_bad_row(place)?))?,
        }
    }
    collector.finish()
}

type Edges = Vec<[u32; 2]>;

fn malformed(place: &Place, found: impl AsRef<str>, expected: impl Into<String>) -> DataError {
    DataError::malformed(place.clone(), found, expected)
}

/// The stated number of nodes and the remaining characters.
fn size<'a>(line: &'a [u8], place: &Place, limits: &Limits) -> Result<(usize, &'a [u8]), DataError> {
    if let Some(byte) = line.iter().find(|byte| !(63..=126).contains(*byte)) {
        let found = format!("character {:?}", char::from(*byte));
        return Err(malformed(place, found, "characters from `?` to `~`"));
    }
    let (digits, rest) = match line {
        [126, 126, rest @ ..] => rest.split_at_checked(6).ok_or(6),
        [126, rest @ ..] => rest.split_at_checked(3).ok_or(3),
        _ => line.split_at_checked(1).ok_or(1),
    }
    .map_err(|count: usize| {
        malformed(place, "the end of the line", format!("{count} characters of node count"))
    })?;
    let count = digits.iter().fold(0u64, |count, digit| count << 6 | u64::from(digit - 63));
    within("nodes_per_graph", count, limits.nodes_per_graph).map_err(DataError::limit(place.clone()))?;
    Ok((count as usize, rest))
}

fn graph6(
    line: &[u8],
    place: &Place,
    limits: &Limits,
    held: &mut Share,
) -> Result<(usize, Edges), DataError> {
    if line.first() == Some(&b'&') {
        return Err(malformed(place, "a digraph6 line", "graph6 or sparse6"));
    }
    let (num_nodes, rest) = size(line, place, limits)?;
    // Fits: the limit on nodes keeps the product far below 2^64.
    let pairs = (num_nodes as u64).saturating_mul((num_nodes as u64).saturating_sub(1)) / 2;
    if pairs.div_ceil(6) != rest.len() as u64 {
        let found = format!("{} characters", rest.len());
        return Err(malformed(place, found, format!("{} for {num_nodes} nodes", pairs.div_ceil(6))));
    }
    let mut bits = rest.iter().flat_map(|byte| (0..6).rev().map(move |bit| (byte - 63) >> bit & 1 == 1));
    let mut edges = Vec::new();
    for second in 1..num_nodes as u32 {
        for first in 0..second {
            if bits.next() == Some(true) {
                held.grow(bytes_of::<[u32; 2]>(2)).map_err(DataError::limit(place.clone()))?;
                edges.push([first, second]);
            }
        }
    }
    Ok((num_nodes, edges))
}

fn sparse6(
    line: &[u8],
    place: &Place,
    limits: &Limits,
    held: &mut Share,
) -> Result<(usize, Edges), DataError> {
    let (num_nodes, rest) = size(line, place, limits)?;
    let width = usize::BITS - num_nodes.saturating_sub(1).leading_zeros();
    let mut bits = rest.iter().flat_map(|byte| (0..6).rev().map(move |bit| (byte - 63) >> bit & 1));
    let mut edges = Vec::new();
    let mut current = 0usize;
    'edges: while let Some(advance) = bits.next() {
        let mut node = 0usize;
        for _ in 0..width {
            match bits.next() {
                Some(bit) => node = node << 1 | usize::from(bit),
                // Padding at the end of the line.
                None => break 'edges,
            }
        }
        current += usize::from(advance);
        if current >= num_nodes {
            break;
        }
        if node > current {
            current = node;
            if current >= num_nodes {
                break;
            }
        } else {
            within("edges_per_graph", edges.len() as u64 + 1, limits.edges_per_graph)
                .map_err(DataError::limit(place.clone()))?;
            held.grow(bytes_of::<[u32; 2]>(2)).map_err(DataError::limit(place.clone()))?;
            edges.push([node as u32, current as u32]);
        }
    }
    Ok((num_nodes, edges))
}

/// Writes the undirected simple graphs underneath a data set as graph6; features, targets, loops and directions are
/// not part of the format.
///
/// # Errors
///
/// [`DataError::Io`]; [`DataError::Malformed`] for a graph of more than 100,000 nodes, whose line would be too long.
pub fn write_graph6(dataset: &Dataset, path: &Path) -> Result<(), DataError> {
    const MAX_NODES: usize = 100_000;
    if let Some(large) = dataset.samples.iter().find(|sample| sample.graph.num_nodes() > MAX_NODES) {
        let found = format!("a graph of {} nodes ({})", large.graph.num_nodes(), large.id);
        let expected = format!("at most {MAX_NODES} nodes, so that graph6 lines stay readable");
        return Err(DataError::malformed(Place::file(path), found, expected));
    }
    let written = write_atomically_with(path, |out| {
        for sample in &dataset.samples {
            let num_nodes = sample.graph.num_nodes();
            let mut line = Vec::new();
            if num_nodes < 63 {
                line.push(num_nodes as u8 + 63);
            } else {
                line.extend([126, (num_nodes >> 12) as u8 + 63, (num_nodes >> 6 & 63) as u8 + 63]);
                line.push((num_nodes & 63) as u8 + 63);
            }
            let (offsets, neighbours) = sample.graph.undirected_neighbours();
            let (mut bits, mut byte) = (0u32, 0u8);
            for second in 1..num_nodes {
                let range = offsets.get(second).copied().unwrap_or(0) as usize
                    ..offsets.get(second + 1).copied().unwrap_or(0) as usize;
                let mut present = neighbours.get(range).unwrap_or_default().iter().copied().peekable();
                for first in 0..second as u32 {
                    let is_edge = present.next_if_eq(&first).is_some();
                    byte = byte << 1 | u8::from(is_edge);
                    bits += 1;
                    if bits.is_multiple_of(6) {
                        line.push(byte + 63);
                        byte = 0;
                    }
                }
            }
            if !bits.is_multiple_of(6) {
                line.push((byte << (6 - bits % 6)) + 63);
            }
            line.push(b'\n');
            out.write_all(&line)?;
        }
        Ok(())
    });
    Ok(written?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    fn held() -> Share {
        Budget::new(&Limits::default()).share()
    }

    #[test]
    fn the_examples_of_the_format_description_are_read() {
        let (place, limits) = (Place::default(), Limits::default());
        // 5 nodes, edges 0-2, 0-4, 1-3, 3-4.
        let (num_nodes, mut edges) = graph6(b"DQc", &place, &limits, &mut held()).unwrap();
        edges.sort_unstable();
        assert_eq!((num_nodes, edges), (5, vec![[0, 2], [0, 4], [1, 3], [3, 4]]));
        // 7 nodes, edges 0-1, 0-2, 1-2, 5-6.
        let (num_nodes, mut edges) = sparse6(b"Fa@x^", &place, &limits, &mut held()).unwrap();
        edges.sort_unstable();
        assert_eq!((num_nodes, edges), (7, vec![[0, 1], [0, 2], [1, 2], [5, 6]]));
    }

    #[test]
    fn lines_of_the_wrong_length_are_refused() {
        let error =
            graph6(b"DQ", &Place::file("a.g6").at_line(3), &Limits::default(), &mut held()).unwrap_err();
        assert_eq!(error.to_string(), "a.g6, line 3: found 1 characters, expected 2 for 5 nodes");
        assert!(graph6(b"~~??????", &Place::default(), &Limits::default(), &mut held()).is_ok());
        assert!(graph6(b"~~~~~~~~", &Place::default(), &Limits::default(), &mut held()).is_err());
    }
}
