//! One molecule, many strings: its graph is the same however it is written, and mirror images are told apart.

mod common;

use chematic::smiles::{parse, rdkit_random_smiles};
use common::{CHIRAL, colours};
use graphminnet_data::{Featurizer, Limits, molecule_graph};

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
