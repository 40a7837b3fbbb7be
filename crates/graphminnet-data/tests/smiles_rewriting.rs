//! One molecule, many strings: its graph is the same however it is written, and mirror images are told apart.

mod common;

use chematic::smiles::{parse, rdkit_random_smiles};
use common::{CHIRAL, colours};
use graphminnet_data::split::{GroupBy, read_text_with_groups};
use graphminnet_data::{
    Featurizer, Graph, Limits, MoleculeForm, MoleculeReading, ReadOptions, SmilesError, molecule_graph, open,
    scaffold_key,
};

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

/// Two writings of one molecule, or two molecules that differ in what a scaffold does not know.
const ONE_SCAFFOLD: [[&str; 2]; 10] = [
    // Mirror images, also of centres within the rings.
    ["C[C@H]1CCCN1C(=O)c1ccccc1", "C[C@@H]1CCCN1C(=O)c1ccccc1"],
    ["O=C1N[C@@H]2CCCC[C@H]2N1", "O=C1NC2CCCCC2N1"],
    // The two sides of a double bond between rings, and of one at a ring.
    ["c1ccccc1/C=C/c1ccccc1", "c1ccccc1/C=C\\c1ccccc1"],
    ["c1ccccc1/C=C/c1ccccc1", "c1ccccc1C=Cc1ccccc1"],
    [r"CN(C)CC/C=C1/c2ccccc2Sc3ccc(Cl)cc13", r"CN(C)CC/C=C1\c2ccccc2Sc3ccc(Cl)cc13"],
    // Isotopes, hydrogen's too.
    ["C1C[13CH2]CCN1", "C1CCCCN1"],
    ["[2H]C1CCCCN1", "C1CCCCN1"],
    // Atom-map numbers.
    ["[CH3:1][c:2]1[cH:3][cH:4][cH:5][cH:6][cH:7]1", "Cc1ccccc1"],
    // Brackets.
    [
        "[CH3][N]([CH3])[CH2][CH2][CH]=[C]1[c]2[cH][cH][cH][cH][c]2[S][c]3[cH][cH][c]([Cl])[cH][c]13",
        "CN(C)CCC=C1c2ccccc2Sc3ccc(Cl)cc13",
    ],
    ["[O]=[C]1[NH][C](=[CH][CH3])[CH2][CH2]1", "O=C1NC(=CC)CC1"],
];

#[test]
fn a_scaffold_does_not_depend_on_stereo_isotopes_map_numbers_and_brackets() {
    let key = |smiles: &str| {
        let key = scaffold_key(smiles, &Limits::default());
        key.unwrap_or_else(|error| panic!("{smiles}: {error}"))
    };
    for [one, other] in ONE_SCAFFOLD {
        assert_eq!(key(one), key(other), "{one} and {other}");
        assert!(!key(one).is_empty(), "{one}");
    }
    for smiles in CHIRAL {
        let flat = smiles.replace(['@', '/', '\\'], "");
        for other in rewritten(smiles, 10).into_iter().chain([mirrored(smiles), flat]) {
            assert_eq!(key(&other), key(smiles), "{smiles} as {other}");
        }
    }
    // What is another molecule has another scaffold.
    for [one, other] in
        [["C1CCCCC1", "C1CCCCN1"], ["c1ccccc1C=C", "C1CCCCC1=C"], ["C1CCCCC1=O", "C1CCCCC1=C"]]
    {
        assert_ne!(key(one), key(other), "{one} and {other}");
    }
}

#[test]
fn a_run_of_before_finds_the_scaffolds_that_it_began_with() {
    let text =
        ONE_SCAFFOLD.iter().flatten().fold("smiles,y\n".to_owned(), |text, smiles| text + smiles + ",1\n");
    let groups = |rules: u32| {
        let options = ReadOptions { rules, ..ReadOptions::default() };
        read_text_with_groups(&text, "a.csv", &options, GroupBy::Scaffold, 0).unwrap().1
    };
    let differ = |groups: &[usize]| groups.chunks(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(differ(&groups(7)), 0);
    assert!(differ(&groups(6)) >= 4, "{:?}", groups(6));
}

/// Molecules whose counter-ions are to go.
const PARENTS: [&str; 10] = [
    "C[C@H](N)C(=O)O",
    "C[C@@H](N)C(=O)[O-]",
    "C[C@H](O)[C@@H](N)C(=O)O",
    "C[C@H]1CCCN1C(=O)c1ccccc1",
    "[C@@]12(C)CCC[C@H]1CCCC2",
    "C/C=C/C(=O)[O-]",
    "OC(=O)/C=C\\C(=O)O",
    r"C1(=C/C=C/C)/CCCC[C@H]1O",
    "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
    "C[S@](=O)c1ccccc1",
];

fn largest(smiles: &str, featurizer: Featurizer, rules: u32) -> Result<Graph, SmilesError> {
    let form = MoleculeForm { largest_fragment: true, ..MoleculeForm::default() };
    let reading = MoleculeReading { featurizer, form, rules, ..MoleculeReading::default() };
    reading.graph(smiles, &Limits::default())
}

#[test]
fn the_largest_fragment_is_the_molecule_that_is_written_alone() {
    for parent in PARENTS {
        for featurizer in [Featurizer::Cip, Featurizer::Ogb] {
            let alone = molecule_graph(parent, featurizer, &Limits::default()).unwrap();
            for salt in ["[Na+]", "O", "O.O.[K+]", "[H+].[Cl-]", "C1CC1", "C[C@H](F)Cl"] {
                for written in
                    [format!("{parent}.{salt}"), format!("{salt}.{parent}"), format!("O.{parent}.{salt}")]
                {
                    assert_eq!(largest(&written, featurizer, 8).as_ref(), Ok(&alone), "{written}");
                }
            }
        }
    }
    // Numbers of rings join what dots part.
    let joined = largest("C1(N)=O.O.[C@H]1(C)CC.O2.C2", Featurizer::Cip, 8).unwrap();
    assert_eq!(colours(&joined), read("CC[C@H](C)C(N)=O", Featurizer::Cip));
    // Of two mirror images it is the same one, whichever comes first.
    let [one, other] = ["C[C@H](N)C(=O)O.C[C@@H](N)C(=O)O", "C[C@@H](N)C(=O)O.C[C@H](N)C(=O)O"];
    let [one, other] = [one, other].map(|smiles| colours(&largest(smiles, Featurizer::Cip, 8).unwrap()));
    assert_eq!(one, other);
}

#[test]
fn a_run_of_before_finds_the_fragments_that_it_began_with() {
    for parent in PARENTS {
        let earlier = largest(&format!("{parent}.O"), Featurizer::Cip, 7);
        assert_eq!(earlier.is_err(), parent.contains('@'), "{parent}: {earlier:?}");
    }
    let options = |rules: u32| {
        let form = MoleculeForm { largest_fragment: true, ..MoleculeForm::default() };
        ReadOptions { rules, molecules: form, ..ReadOptions::default() }
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "smiles,y\nC[C@H](N)C(=O)O.O,0.5\nCC.O,1.5\n").unwrap();
    let schema = open(&path, &options(8)).unwrap().dataset.schema;
    assert_eq!(schema.molecules.as_ref().map(|table| table.rules), Some(8));
    assert!(
        open(&path, &ReadOptions::with_schema(schema.clone())).is_ok(),
        "a model reads as its data was read"
    );
    assert!(open(&path, &options(7)).is_err());
    let mut earlier = serde_json::to_value(&schema).unwrap();
    earlier["molecules"].as_object_mut().unwrap().remove("rules");
    let earlier = serde_json::from_value(earlier).unwrap();
    assert!(open(&path, &ReadOptions::with_schema(earlier)).is_err(), "as does a model of before");
}

/// Molecules, and the same with numbers that map some of their atoms.
const MAPPED: [[&str; 2]; 10] = [
    ["C[C@H](N)C(=O)O", "[CH3:5][C@H](N)C(=O)O"],
    ["C[C@H](O)[C@@H](N)C(=O)O", "[CH3:8][C@H:6]([OH:7])[C@@H:3]([NH2:4])[C:1](=[O:5])[OH:2]"],
    ["C[C@H]1CCCN1C(=O)c1ccccc1", "[CH3:5][C@H]1[CH2:10]C[CH2:11]N1[C:2](=O)[c:7]1c[cH:14]c[cH:8]c1"],
    ["C/C=C/C(=O)O", "[CH3:3]/C=[CH:5]/C(=[O:2])O"],
    ["CC/C(C)=C(/C)CO", "[CH3:1]C/[C:2](C)=[C:7](/[CH3:9])[CH2:4]O"],
    ["C[S@](=O)c1ccccc1", "[CH3:9][S@](=[O:8])c1[cH:2]c[cH:1]c[cH:3]1"],
    [
        "CN1CC[C@]23c4c5ccc(O)c4O[C@H]2[C@@H](O)C=C[C@H]3[C@H]1C5",
        "[CH3:18]N1[CH2:11]C[C@:2]23c4[c:8]5c[cH:1]c([OH:4])c4[O:7][C@H]2[C@@H:9](O)[CH:13]=C[C@H:21]3[C@H]1[CH2:14]5",
    ],
    ["C[C@H](C(C)C)[C@@H](C)O", "[CH3:2][C@H:8]([CH:1]([CH3:7])[CH3:3])[C@@H:5]([CH3:6])[OH:4]"],
    // Neighbours that differ in their numbers alone make no centre.
    ["CC(C)O", "[CH3:1][C@H]([CH3:2])O"],
    ["C[C@H]1CC[C@@H](C)CC1", "[CH3:5][C@H:6]1[CH2:8][CH2:4][C@@H:3]([CH3:1])[CH2:2][CH2:7]1"],
];

#[test]
fn numbers_that_map_atoms_say_nothing_about_stereo() {
    for [bare, mapped] in MAPPED {
        let graph = |smiles| molecule_graph(smiles, Featurizer::Cip, &Limits::default());
        assert_eq!(graph(mapped), graph(bare), "{mapped}");
    }
    let swapped = [
        "[CH3:5][C@H]([NH2:1])C(=O)O>>[CH3:5][C@H]([NH2:1])C",
        "[CH3:1][C@H]([NH2:5])C(=O)O>>[CH3:1][C@H]([NH2:5])C",
    ];
    let form = MoleculeForm { reactions: true, ..MoleculeForm::default() };
    let reading = MoleculeReading { featurizer: Featurizer::Cip, form, ..MoleculeReading::default() };
    let [one, other] = swapped.map(|smiles| reading.graph(smiles, &Limits::default()).unwrap());
    assert_eq!(colours(&one), colours(&other));
    assert_eq!(one.edges().len(), 2 * (5 + 3 + 2), "atoms of one number are still joined");
    // With hydrogens, which come after the atoms that are written.
    let form = MoleculeForm { add_hydrogens: true, ..form };
    let full = MoleculeReading { form, ..reading }.graph(swapped[0], &Limits::default()).unwrap();
    let joins = |graph: &Graph| {
        (0..graph.num_edges()).filter(|at| graph.edge_features().category_row(*at)[3] == 1).count()
    };
    assert_eq!((joins(&one), joins(&full)), (4, 4));
}

#[test]
fn models_of_before_heed_numbers_that_map_atoms() {
    let earlier = MoleculeReading { featurizer: Featurizer::Cip, rules: 7, ..MoleculeReading::default() };
    let differ = |[bare, mapped]: &&[&str; 2]| {
        let graph = |smiles| earlier.graph(smiles, &Limits::default()).unwrap();
        graph(mapped) != graph(bare)
    };
    assert!(MAPPED.iter().filter(differ).count() >= 3);
    assert!(differ(&&MAPPED[0]));
}
