//! Parts chosen in one pass over the nodes: linear deterministic greedy (Stanton and Kliot 2012).
//!
//! A node goes to the part that has most of its neighbours so far, each part counting the less the fuller it is. That
//! leaves a graph in a good order as it is, cuts one with clusters far better than chance, and takes the time of reading it.

use super::Partition;
use crate::graph::Graph;

impl Partition {
    /// Parts of about equal size with few edges between them.
    pub fn greedy(graph: &Graph, parts: usize) -> Self {
        let (nodes, parts) = (graph.num_nodes(), parts.max(1));
        let capacity = nodes.div_ceil(parts).max(1);
        let (offsets, neighbours) = graph.undirected_neighbours();
        let mut part_of_node = vec![u32::MAX; nodes];
        let (mut sizes, mut near) = (vec![0usize; parts], vec![0usize; parts]);
        for node in 0..nodes {
            let around = &neighbours[offsets[node] as usize..offsets[node + 1] as usize];
            let placed =
                || around.iter().map(|&other| part_of_node[other as usize]).filter(|&part| part != u32::MAX);
            placed().for_each(|part| near[part as usize] += 1);
            // In whole numbers, so that the choice is the same everywhere. Of equally good parts the first that is least full.
            let worth = |part: usize| near[part] * capacity.saturating_sub(sizes[part]);
            let open = (0..parts).filter(|&part| sizes[part] < capacity);
            let best =
                open.max_by_key(|&part| (worth(part), capacity - sizes[part], parts - part)).unwrap_or(0);
            placed().for_each(|part| near[part as usize] = 0);
            part_of_node[node] = best as u32;
            sizes[best] += 1;
        }
        Self::of(&part_of_node, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn clusters_stay_together_better_than_by_chance_and_parts_are_full() {
        // Four clusters of 50 whose nodes are numbered at random.
        let mut random = stream(0, "clusters", &[]);
        let place = random.permutation(200);
        let mut edges = Vec::new();
        for _ in 0..1500 {
            let (a, b) = (random.below(200), random.below(200));
            if a / 50 == b / 50 || random.chance(0.02) {
                edges.extend([[place[a] as u32, place[b] as u32], [place[b] as u32, place[a] as u32]]);
            }
        }
        let graph = Graph::from_edges(200, edges).unwrap();
        let [given, greedy] = [Partition::in_order(200, 4), Partition::greedy(&graph, 4)];
        assert!(3 * greedy.cut(&graph).edges < 2 * given.cut(&graph).edges, "{:?}", greedy.cut(&graph));
        assert_eq!(greedy.offsets(), [0, 50, 100, 150, 200]);
    }

    #[test]
    fn there_may_be_more_parts_than_nodes_and_no_edges() {
        let graph = Graph::from_edges(2, vec![]).unwrap();
        assert_eq!(Partition::greedy(&graph, 3).nodes(), 2);
        assert_eq!(Partition::greedy(&Graph::from_edges(0, vec![]).unwrap(), 3).nodes(), 0);
    }
}
