//! The edges of a batch of graphs, sorted by target, with an index by source.
//!
//! Sums over incoming edges walk consecutive edges; sums over outgoing edges go through a list of edge numbers.
//! Either way each node is written by one thread only, in a fixed order.

/// Directed edges `source → target`, sorted by target.
#[derive(Clone, Copy, Debug)]
pub struct Edges<'a> {
    /// Number of nodes.
    pub num_nodes: usize,
    /// Source node of every edge.
    pub source: &'a [u32],
    /// Target node of every edge, ascending.
    pub target: &'a [u32],
    /// Edges `incoming[i]..incoming[i + 1]` point to node `i`; `num_nodes + 1` values.
    pub incoming: &'a [u32],
    /// `outgoing_edges[outgoing[j]..outgoing[j + 1]]` leave node `j`; `num_nodes + 1` values.
    pub outgoing: &'a [u32],
    /// Edge numbers grouped by source, ascending within a group.
    pub outgoing_edges: &'a [u32],
}

impl Edges<'_> {
    /// Number of edges.
    pub fn num_edges(&self) -> usize {
        self.source.len()
    }

    /// Checks the lengths, and that no two nodes share an edge, which two threads would write; values out of range are
    /// caught where they are used.
    pub(crate) fn check(&self) {
        let edges = self.source.len();
        assert_eq!(self.target.len(), edges, "edges: length of target");
        assert_eq!(self.outgoing_edges.len(), edges, "edges: length of outgoing_edges");
        for (offsets, name) in [(self.incoming, "incoming"), (self.outgoing, "outgoing")] {
            assert_eq!(offsets.len(), self.num_nodes + 1, "edges: length of {name}");
            assert!(
                offsets[0] == 0 && offsets[self.num_nodes] as usize == edges,
                "edges: {name} does not span all edges"
            );
            assert!(offsets.is_sorted(), "edges: {name} descends");
        }
    }
}

/// Groups the positions of `keys` by key: offsets of the groups (`groups + 1` values), and the positions.
///
/// # Panics
///
/// If a key is not below `groups`.
pub fn group_by(groups: usize, keys: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; groups + 1];
    for &key in keys {
        offsets[key as usize + 1] += 1;
    }
    for group in 0..groups {
        offsets[group + 1] += offsets[group];
    }
    let mut next = offsets.clone();
    let mut positions = vec![0u32; keys.len()];
    for (position, &key) in keys.iter().enumerate() {
        let slot = &mut next[key as usize];
        positions[*slot as usize] = position as u32;
        *slot += 1;
    }
    (offsets, positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_grouped_by_key_in_their_order() {
        let (offsets, positions) = group_by(4, &[1, 2, 1, 0]);
        assert_eq!(offsets, [0, 1, 3, 4, 4]);
        assert_eq!(positions, [3, 0, 2, 1]);
    }

    /// Three nodes and four edges with the offsets given.
    fn check(incoming: &[u32], outgoing: &[u32]) {
        let (source, target, outgoing_edges) = (&[0, 1, 1, 2], &[0, 0, 1, 2], &[0, 1, 2, 3]);
        Edges { num_nodes: 3, source, target, incoming, outgoing, outgoing_edges }.check();
    }

    #[test]
    fn offsets_that_ascend_are_taken() {
        check(&[0, 2, 3, 4], &[0, 1, 3, 4]);
    }

    #[test]
    #[should_panic(expected = "incoming descends")]
    fn descending_offsets_of_incoming_edges_are_refused() {
        check(&[0, 3, 2, 4], &[0, 1, 3, 4]);
    }

    #[test]
    #[should_panic(expected = "outgoing descends")]
    fn descending_offsets_of_outgoing_edges_are_refused() {
        check(&[0, 2, 3, 4], &[0, 5, 3, 4]);
    }
}
