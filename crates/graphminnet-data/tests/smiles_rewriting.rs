//! One molecule, many strings: its graph is the same however it is written, and mirror images are told apart.

mod common;

use chematic::smiles::{parse, rdkit_random_smiles};
use graphminnet_data::{Featurizer, Graph, Limits, molecule_graph};
use std::collections::HashMap;

/// Chiral molecules: amino acids, sugars, drugs, spiro and bridged rings, sulfoxides, phosphates, ring openings at
/// the centre, double bonds beside centres.
const CHIRAL: [&str; 14] = [
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
fn colours(graph: &Graph) -> Vec<String> {
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

fn read(smiles: &str, featurizer: Featurizer) -> Vec<String> {
    let graph = molecule_graph(smiles, featurizer, &Limits::default());
    colours(&graph.unwrap_or_else(|error| panic!("{smiles}: {error}")))
}

fn rewritten(smiles: &str, count: usize) -> Vec<String> {
    let molecule = parse(smiles).unwrap();
    rdkit_random_smiles(&molecule, count, 7, &Default::default()).unwrap()
}

/// Every centre turned round.
fn mirrored(smiles: &str) -> String {
    smiles.replace("@@", "?").replace('@', "@@").replace('?', "@")
}

#[test]
fn a_molecule_has_one_graph_however_it_is_written() {
    let mut depended = 0;
    for smiles in CHIRAL {
        let (ours, ogb) = (read(smiles, Featurizer::Cip), read(smiles, Featurizer::Ogb));
        for other in rewritten(smiles, 20) {
            assert_eq!(read(&other, Featurizer::Cip), ours, "{smiles} as {other}");
            depended += usize::from(read(&other, Featurizer::Ogb) != ogb);
        }
    }
    assert!(depended > 100, "OGB's column depends on the writing: else this test shows nothing ({depended})");
}

#[test]
fn mirror_images_differ_and_what_is_no_centre_does_not() {
    for smiles in CHIRAL {
        assert_ne!(read(smiles, Featurizer::Cip), read(&mirrored(smiles), Featurizer::Cip), "{smiles}");
    }
    // Two equal neighbours are no centre, and a meso form is its own mirror image.
    for smiles in ["C[C@H](C)O", "C[C@H]1CCC[C@@H](C)N1"] {
        assert_eq!(read(smiles, Featurizer::Cip), read(&mirrored(smiles), Featurizer::Cip), "{smiles}");
    }
}

#[test]
#[ignore = "needs real data"]
fn no_molecule_of_two_sets_depends_on_its_writing() {
    use std::io::Read;
    let (mut chiral, mut dependent) = (0, Vec::new());
    for set in ["bbbp", "lipo"] {
        let path = common::real_data().join(format!("moleculenet/{set}.csv.gz"));
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        for smiles in text.lines().skip(1).filter_map(|line| line.split(',').next()) {
            if !smiles.contains('@') {
                continue;
            }
            chiral += 1;
            let ours = read(smiles, Featurizer::Cip);
            if let Some(other) =
                rewritten(smiles, 3).iter().find(|other| read(other, Featurizer::Cip) != ours)
            {
                dependent.push(format!("{smiles} as {other}"));
            }
        }
    }
    println!("{} of {chiral} depend on the writing:\n{}", dependent.len(), dependent.join("\n"));
    assert!(chiral > 1_000, "{chiral}");
    assert_eq!(dependent.len(), 0);
}
