//! Connected components: the zero eigenspace of a Laplacian, exactly.

use super::laplacian::Laplacian;

/// One connected component: its nodes (ascending) and its own Laplacian in the numbering of that list.
#[derive(Debug)]
pub(crate) struct Component {
    /// Nodes of the component in the numbering of the whole graph, ascending.
    pub nodes: Vec<u32>,
    /// Laplacian of the component alone.
    pub laplacian: Laplacian,
}

/// Splits a graph into connected components, ordered by their lowest node.
pub(crate) fn connected_components(whole: Laplacian) -> Vec<Component> {
    let num_nodes = whole.num_nodes();
    const UNSEEN: u32 = u32::MAX;
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
    if count <= 1 {
        let nodes = (0..num_nodes as u32).collect::<Vec<_>>();
        return if count == 0 { Vec::new() } else { vec![Component { nodes, laplacian: whole }] };
    }
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
    let mut local = vec![0u32; num_nodes];
    for node in 0..num_nodes {
        let list = &mut members[component_of[node] as usize];
        local[node] = list.len() as u32;
        list.push(node as u32);
    }
    members
        .into_iter()
        .map(|nodes| {
            let laplacian = whole.restricted_to(&nodes, &local);
            Component { nodes, laplacian }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;

    #[test]
    fn components_come_in_order_of_their_lowest_node() {
        let graph = Graph::from_edges(6, vec![[5, 0], [1, 4], [4, 2]]).unwrap();
        let components = connected_components(Laplacian::of(&graph));
        let nodes: Vec<_> = components.iter().map(|component| component.nodes.clone()).collect();
        assert_eq!(nodes, vec![vec![0, 5], vec![1, 2, 4], vec![3]]);
        assert_eq!(components[1].laplacian.neighbours(2), &[0, 1]);
        assert_eq!(components[2].laplacian.num_nodes(), 1);
    }

    #[test]
    fn an_empty_graph_has_no_component() {
        assert!(connected_components(Laplacian::of(&Graph::from_edges(0, vec![]).unwrap())).is_empty());
    }
}
