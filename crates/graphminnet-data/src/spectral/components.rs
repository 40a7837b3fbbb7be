//! Connected components: the zero eigenspace of a Laplacian, exactly.

use super::laplacian::Laplacian;

/// The connected components of a graph, ordered by their lowest node; nothing is allocated for a single one.
#[derive(Debug)]
pub(crate) struct Components {
    /// Where the nodes of each component start in `nodes`, and the end.
    offsets: Vec<usize>,
    /// Nodes by component, ascending in each.
    nodes: Vec<u32>,
    /// The number of every node in its component.
    local: Vec<u32>,
}

impl Components {
    /// Finds the components of a graph.
    pub(crate) fn of(whole: &Laplacian) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let num_nodes = whole.num_nodes();
        let mut component_of = vec![UNSEEN; num_nodes];
        let mut count = 0u32;
        let mut stack = Vec::new();
        for start in 0..num_nodes {
            if component_of[start] != UNSEEN {
                continue;
            }
            component_of[start] = count;
            stack.push(start as u32);
            while let Some(node) = stack.pop() {
                for &neighbour in whole.neighbours(node as usize) {
                    if component_of[neighbour as usize] == UNSEEN {
                        component_of[neighbour as usize] = count;
                        stack.push(neighbour);
                    }
                }
            }
            count += 1;
        }
        let mut sizes = vec![0u32; count as usize];
        let local = component_of.iter().map(|&component| {
            let size = &mut sizes[component as usize];
            *size += 1;
            *size - 1
        });
        let local: Vec<u32> = local.collect();
        let mut offsets = vec![0];
        offsets.extend(sizes.iter().scan(0, |end, &size| {
            *end += size as usize;
            Some(*end)
        }));
        let mut nodes = vec![0u32; num_nodes];
        for (node, (&component, &local)) in component_of.iter().zip(&local).enumerate() {
            nodes[offsets[component as usize] + local as usize] = node as u32;
        }
        Self { offsets, nodes, local }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The nodes of one, ascending.
    pub(crate) fn nodes(&self, component: usize) -> &[u32] {
        &self.nodes[self.offsets[component]..self.offsets[component + 1]]
    }

    /// The Laplacian of one alone, in the order of its nodes.
    pub(crate) fn laplacian(&self, whole: &Laplacian, component: usize) -> Laplacian {
        whole.restricted_to(self.nodes(component), &self.local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn components_come_in_order_of_their_lowest_node() {
        let graph = Graph::from_edges(6, vec![[5, 0], [1, 4], [4, 2]]).unwrap();
        let whole = Laplacian::of(&graph);
        let components = Components::of(&whole);
        let nodes: Vec<_> = (0..components.len()).map(|component| components.nodes(component)).collect();
        assert_eq!(nodes, [&[0, 5][..], &[1, 2, 4], &[3]]);
        assert_eq!(components.laplacian(&whole, 1).neighbours(2), &[0, 1]);
        assert_eq!(components.laplacian(&whole, 2).num_nodes(), 1);
    }

    #[test]
    fn an_empty_graph_has_no_component() {
        assert_eq!(Components::of(&Laplacian::of(&Graph::from_edges(0, vec![]).unwrap())).len(), 0);
    }
}
