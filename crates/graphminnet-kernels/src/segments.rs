//! Graphs of a batch as consecutive ranges of nodes, cut in pieces for parallel work.

use std::ops::Range;

/// Part of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub graph: usize,
    pub nodes: Range<usize>,
}

/// Checks that `offsets` describes `nodes` nodes, none of them in two graphs, and returns the number of graphs.
pub(crate) fn check_offsets(operation: &str, offsets: &[u32], nodes: usize) -> usize {
    assert!(offsets.is_sorted(), "{operation}: offsets descend");
    match (offsets.first(), offsets.last()) {
        (Some(0), Some(&end)) => {
            assert_eq!(end as usize, nodes, "{operation}: offsets do not span all nodes");
            offsets.len() - 1
        }
        (None, None) => {
            assert_eq!(nodes, 0, "{operation}: nodes without a graph");
            0
        }
        _ => panic!("{operation}: offsets must start at 0"),
    }
}

/// Every graph in order, cut in pieces of at most `limit` nodes; an empty graph is one empty piece.
pub(crate) fn pieces(offsets: &[u32], limit: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (graph, ends) in offsets.windows(2).enumerate() {
        let nodes = ends[0] as usize..ends[1] as usize;
        let size = nodes.len().div_ceil(nodes.len().div_ceil(limit).max(1)).max(1);
        if nodes.is_empty() {
            pieces.push(Piece { graph, nodes });
            continue;
        }
        for start in nodes.clone().step_by(size) {
            pieces.push(Piece { graph, nodes: start..(start + size).min(nodes.end) });
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_graphs_apart_and_in_order() {
        let found = pieces(&[0, 3, 3, 8], 3);
        let expected =
            [(0, 0..3), (1, 3..3), (2, 3..6), (2, 6..8)].map(|(graph, nodes)| Piece { graph, nodes });
        assert_eq!(found, expected);
        assert!(pieces(&[], 3).is_empty());
    }

    #[test]
    fn graphs_are_counted_with_the_empty_ones() {
        assert_eq!(check_offsets("test", &[0, 3, 3, 8], 8), 3);
        assert_eq!(check_offsets("test", &[], 0), 0);
    }

    #[test]
    #[should_panic(expected = "offsets descend")]
    fn graphs_that_overlap_are_refused() {
        check_offsets("test", &[0, 6, 3, 8], 8);
    }
}
