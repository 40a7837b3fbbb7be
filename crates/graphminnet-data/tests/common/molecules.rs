//! Chiral molecules, and when two graphs are the same molecule.

use graphminnet_data::Graph;
use std::collections::HashMap;

/// Chiral molecules: amino acids, sugars, drugs, spiro and bridged rings, sulfoxides, phosphates, ring openings at
/// the centre, double bonds beside centres.
pub const CHIRAL: [&str; 14] = [
    "C[C@H](N)C(=O)O",
    "C[C@@H](C(=O)O)c1ccc(CC(C)C)cc1",
    "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O",
    "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
    "CC(C)[C@@H](C)/C=C/[C@@H](C)[C@H]1CC[C@@H]2[C@@]1(C)CCCC2=O",
    "C[S@](=O)c1ccccc1",
    "O[P@](=S)(C)OCC",
    "C[C@]12CC[C@H](C1)C(C)(C)C2=O",
    "N[C@@H](Cc1c[nH]c2ccccc12)C(=O)O",
    "C[C@H]1CCC[C@H](C)N1",
    "[C@@H]1(F)CC[C@H](Cl)O1",
    "F[C@](Cl)(Br)I",
    "CC[N@+]1(C)CC[C@@H](O)C1",
    "[2H][C@](C)(O)c1ccccc1",
];

/// A text that equal graphs share however their nodes are numbered: colours of nodes, refined by their neighbours'.
pub fn colours(graph: &Graph) -> Vec<String> {
    let row = |node: usize| format!("{:?}", graph.node_features().category_row(node));
    let mut colours: Vec<String> = (0..graph.num_nodes()).map(row).collect();
    for _ in 0..4 {
        let mut around: HashMap<u32, Vec<String>> = HashMap::new();
        for (edge, [from, to]) in graph.edges().iter().enumerate() {
            let bond = graph.edge_features().category_row(edge);
            around.entry(*to).or_default().push(format!("{bond:?}{}", colours[*from as usize]));
        }
        let refined = (0..colours.len()).map(|node| {
            let mut near = around.remove(&(node as u32)).unwrap_or_default();
            near.sort();
            let all = format!("{}|{}", colours[node], near.join(","));
            graphminnet_data::fs::sha256(all.as_bytes())
        });
        colours = refined.collect();
    }
    colours.sort();
    colours
}
