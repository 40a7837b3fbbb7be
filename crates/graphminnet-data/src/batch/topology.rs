//! Who is connected to whom in a batch, indexed in both directions.
//!
//! Edges are kept **sorted by target** (stable, so edges with the same target keep their order): the edges that
//! arrive at a node are then one contiguous range, and a sum over them needs neither an index nor an atomic
//! operation. A second index lists the edges that leave each node, for gradients.

/// The edges of one batch, sorted by target, with offsets by target and an index by source.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Topology {
    /// Number of nodes.
    pub num_nodes: usize,
    /// Source node of every edge, edges sorted by target.
    pub source: Vec<u32>,
    /// Target node of every edge, ascending.
    pub target: Vec<u32>,
    /// `incoming[node]..incoming[node + 1]` are the edges that arrive at `node`; length `num_nodes + 1`.
    pub incoming: Vec<u32>,
    /// `outgoing_edges[outgoing[node]..outgoing[node + 1]]` are the edges that leave `node`; length `num_nodes + 1`.
    pub outgoing: Vec<u32>,
    /// Edge positions grouped by source, ascending within a source.
    pub outgoing_edges: Vec<u32>,
    /// For every edge in target order, its position in the list that was given.
    pub given_order: Vec<u32>,
}

impl Topology {
    /// Sorts and indexes the edges of graphs that stand side by side, given as the number of nodes of each graph and its
    /// edges, whose ends are known to be among these nodes.
    ///
    /// The nodes of a graph come after those of the graphs before it, and so do its edges, sorted or not.
    pub(super) fn new<'a>(graphs: impl Iterator<Item = (usize, &'a [[u32; 2]])> + Clone) -> Self {
        let (num_nodes, num_edges) =
            graphs.clone().fold((0, 0), |(n, e), (nodes, edges)| (n + nodes, e + edges.len()));
        let placed = graphs.scan((0u32, 0u32), |first, (nodes, edges)| {
            let (node, edge) = *first;
            *first = (node + nodes as u32, edge + edges.len() as u32);
            Some((node, edge, edges))
        });
        let targets =
            placed.clone().flat_map(|(node, _, edges)| edges.iter().map(move |ends| node + ends[1]));
        let (incoming, given_order) = group(num_nodes, targets);
        let (mut source, mut target) = (Vec::with_capacity(num_edges), Vec::with_capacity(num_edges));
        for (node, edge, edges) in placed {
            for &given in &given_order[edge as usize..edge as usize + edges.len()] {
                let [from, to] = edges[(given - edge) as usize];
                source.push(node + from);
                target.push(node + to);
            }
        }
        let (outgoing, outgoing_edges) = group(num_nodes, source.iter().copied());
        Self { num_nodes, source, target, incoming, outgoing, outgoing_edges, given_order }
    }

    /// Rows of edges in target order, each of `columns` values, in the order in which the edges were given.
    pub fn in_given_order<T: Copy + Default>(&self, rows: &[T], columns: usize) -> Vec<T> {
        let mut given = vec![T::default(); rows.len()];
        for (row, &place) in rows.chunks_exact(columns.max(1)).zip(&self.given_order) {
            given[place as usize * columns..][..columns].copy_from_slice(row);
        }
        given
    }

    /// Number of directed edges.
    pub fn num_edges(&self) -> usize {
        self.source.len()
    }
}

/// Groups item positions by key with a stable counting sort: offsets (`num_keys + 1`) and positions.
fn group(num_keys: usize, keys: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; num_keys + 1];
    for key in keys.clone() {
        offsets[key as usize + 1] += 1;
    }
    for key in 0..num_keys {
        offsets[key + 1] += offsets[key];
    }
    let mut next = offsets.clone();
    let mut items = vec![0u32; offsets[num_keys] as usize];
    for (item, key) in keys.enumerate() {
        let slot = &mut next[key as usize];
        items[*slot as usize] = item as u32;
        *slot += 1;
    }
    (offsets, items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_grouped_by_target_and_by_source() {
        let edges = [[0, 2], [1, 0], [2, 0], [0, 2], [2, 2]];
        let topology = Topology::new([(3, &edges[..])].into_iter());
        assert_eq!(topology.target, vec![0, 0, 2, 2, 2]);
        assert_eq!(topology.source, vec![1, 2, 0, 0, 2]);
        assert_eq!(topology.given_order, vec![1, 2, 0, 3, 4]);
        assert_eq!(topology.incoming, vec![0, 2, 2, 5]);
        assert_eq!(topology.outgoing, vec![0, 2, 3, 5]);
        assert_eq!(topology.outgoing_edges, vec![2, 3, 0, 1, 4]);
    }

    #[test]
    fn no_nodes_and_no_edges_are_fine() {
        assert_eq!(Topology::new([(0, &[][..])].into_iter()).incoming, vec![0]);
        assert_eq!(Topology::new([(2, &[][..])].into_iter()).outgoing, vec![0, 0, 0]);
    }
}
