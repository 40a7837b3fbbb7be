//! SD files: the same molecules as from SMILES, properties as columns, and nothing that a damaged file can do.

mod common;

use chematic::smiles::{parse, rdkit_mol_block_2d};
use common::{CHIRAL, Scratch, colours};
use graphminnet_data::{
    DataError, Featurizer, Limits, MoleculeForm, OnBadRow, Read, ReadOptions, RowReader, molecule_graph, open,
};

fn read(content: &str, options: &ReadOptions) -> Result<Read, DataError> {
    let scratch = Scratch::new("sdf");
    open(&scratch.write("a.sdf", content), options)
}

/// A block with its end of record.
fn record(smiles: &str) -> String {
    format!("{}$$$$\n", rdkit_mol_block_2d(&parse(smiles).unwrap()).unwrap())
}

fn assert_same(content: &str, smiles: &str) {
    let found = read(content, &ReadOptions::default()).unwrap_or_else(|error| panic!("{smiles}: {error}"));
    let graph = molecule_graph(smiles, Featurizer::Cip, &Limits::default()).unwrap();
    assert_eq!(colours(&found.dataset.samples[0].graph), colours(&graph), "{smiles}:\n{content}");
}

/// The same block in the newer form.
fn as_v3000(block: &str) -> String {
    let lines: Vec<&str> = block.lines().collect();
    let count = |from: usize| lines[3][from..from + 3].trim().parse::<usize>().unwrap();
    let (atoms, bonds) = (count(0), count(3));
    let mut charges = vec![0; atoms + 1];
    for line in lines.iter().filter(|line| line.starts_with("M  CHG")) {
        let values: Vec<i32> = line[6..].split_whitespace().map(|word| word.parse().unwrap()).collect();
        values[1..].chunks(2).for_each(|pair| charges[pair[0] as usize] = pair[1]);
    }
    let mut text = format!("{}\n\n\n  0  0  0     0  0            999 V3000\n", lines[0]);
    text += &format!("M  V30 BEGIN CTAB\nM  V30 COUNTS {atoms} {bonds} 0 0 0\nM  V30 BEGIN ATOM\n");
    for (at, line) in lines[4..4 + atoms].iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A line may be broken anywhere.
        text += &format!("M  V30 {} {} {} {} -\n", (at + 1) * 10, words[3], words[0], words[1]);
        text += &format!("M  V30 {} 0 CHG={}\n", words[2], charges[at + 1]);
    }
    text += "M  V30 END ATOM\nM  V30 BEGIN BOND\n";
    for (at, line) in lines[4 + atoms..4 + atoms + bonds].iter().enumerate() {
        let words: Vec<usize> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let mark = match words.get(3) {
            Some(1) => " CFG=1",
            Some(6) => " CFG=3",
            _ => "",
        };
        text += &format!("M  V30 {} {} {} {}{mark}\n", at + 1, words[2], words[0] * 10, words[1] * 10);
    }
    text + "M  V30 END BOND\nM  V30 END CTAB\nM  END\n$$$$\n"
}

#[test]
fn a_molecule_is_the_same_from_both_forms_of_a_block_and_from_smiles() {
    let flat =
        ["C[N+](=O)[O-]", "c1cc[nH]c1", "[Na+].CC(=O)[O-]", "F/C=C/F", "F/C=C\\F", "C#N", "[NH4+].[Cl-]"];
    for smiles in CHIRAL.into_iter().chain(flat).filter(|smiles| !smiles.contains("2H")) {
        let block = record(smiles);
        assert_same(&block, smiles);
        assert_same(&as_v3000(&block), smiles);
    }
}

#[test]
fn the_largest_fragment_of_a_block_keeps_its_stereo() {
    let molecules = MoleculeForm { largest_fragment: true, ..MoleculeForm::default() };
    let options = ReadOptions { molecules, ..ReadOptions::default() };
    for parent in ["C[C@H](N)C(=O)[O-]", "C[C@H](O)[C@@H](N)C(=O)O", "C/C=C/C(=O)[O-]", "C[C@H]1CCCN1C=O"] {
        let alone = molecule_graph(parent, Featurizer::Cip, &Limits::default()).unwrap();
        for salt in [format!("[Na+].{parent}"), format!("{parent}.O.Cl")] {
            for block in [record(&salt), as_v3000(&record(&salt))] {
                let found = read(&block, &options).unwrap_or_else(|error| panic!("{salt}: {error}"));
                assert_eq!(colours(&found.dataset.samples[0].graph), colours(&alone), "{salt}");
            }
        }
    }
}

#[test]
fn isotopes_radicals_and_valences_are_read() {
    let block = |atom: &str, property: &str| {
        format!(
            "\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 {atom}\n{property}M  END\n$$$$\n"
        )
    };
    for (atom, property, smiles) in [
        ("C   0  0  0  0  0  0", "M  ISO  1   1  13\n", "[13CH4]"),
        ("C   0  0  0  0  0  0", "M  RAD  1   1   2\n", "[CH3]"),
        ("C   0  0  0  0  0  0", "M  CHG  1   1  -1\n", "[CH3-]"),
        ("N   0  3  0  0  0  0", "", "[NH4+]"),
        ("Na  0  0  0  0  0 15", "", "[Na]"),
        ("O   0  0  0  0  0  0", "", "O"),
    ] {
        assert_same(&block(atom, property), smiles);
    }
}

#[test]
fn mirror_images_come_from_coordinates_in_space_where_nothing_is_wedged() {
    // Bromine above, and below it fluorine, chlorine and iodine to the left or to the right.
    let block = |second: &str, third: &str| {
        let atom = |x: f64, y: f64, z: f64, symbol: &str| {
            format!("{x:10.4}{y:10.4}{z:10.4} {symbol:<3} 0  0  0  0  0  0\n")
        };
        let atoms = [
            atom(0.0, 0.0, 0.0, "C"),
            atom(0.0, 0.0, 1.9, "Br"),
            atom(1.3, 0.0, -0.4, "F"),
            atom(-0.8, 1.5, -0.6, second),
            atom(-0.8, -1.5, -0.6, third),
        ];
        let bonds = "  1  2  1  0\n  1  3  1  0\n  1  4  1  0\n  1  5  1  0\n";
        format!("\n\n\n  5  4  0  0  0  0  0  0  0  0999 V2000\n{}{bonds}M  END\n$$$$\n", atoms.concat())
    };
    // Seen from bromine: fluorine, chlorine, iodine turn to the left.
    assert_same(&block("Cl", "I"), "Br[C@](F)(Cl)I");
    assert_same(&block("I", "Cl"), "Br[C@@](F)(Cl)I");
}

#[test]
fn properties_are_columns_and_titles_are_names() {
    let ethanol = record("CCO").replacen('\n', "ethanol\n", 1);
    let first = ethanol.replace("$$$$", "> <logS>\n0.5\n\n>  25 <SMILES> (7)\nOCC\n\n$$$$");
    let second = record("CCCO").replace("$$$$", "> <note>\ntwo\nlines\n\n> <logS>\n1.5\n\n$$$$");
    let content = first + &second;
    let found = read(&content, &ReadOptions::default()).unwrap();
    let targets: Vec<f32> = found.dataset.samples.iter().flat_map(|sample| sample.targets.clone()).collect();
    assert_eq!((found.dataset.schema.targets[0].as_str(), targets), ("logS", vec![0.5, 1.5]));
    assert_eq!(found.dataset.samples[0].id, "ethanol");
    let scratch = Scratch::new("sdf");
    let path = scratch.write("a.sdf", &content);
    let options = ReadOptions::with_schema(found.dataset.schema);
    let mut rows = RowReader::open(&path, &options).unwrap();
    assert_eq!(rows.header().unwrap(), b"smiles,id,logS,SMILES (property),note");
    let rows = rows.next_rows(10).unwrap();
    assert_eq!(String::from_utf8_lossy(&rows[0].text), "CCO,ethanol,0.5,OCC,");
    assert_eq!(String::from_utf8_lossy(&rows[1].text), "CCCO,,1.5,,\"two\nlines\"");
}

#[test]
fn damaged_blocks_are_bad_rows_in_their_place() {
    let good = record("CCO");
    for (bad, reason) in [
        ("\n\n\n  3  2  0  0  0  0  0  0  0  0999 V2000\n$$$$\n".to_owned(), "ends before"),
        (good.replace("  1  2  1  0", "  1  9  1  0"), "no atom 9"),
        (good.replace("  1  2  1  0", "  1  2  8  0"), "query"),
        (good.replace(" O   0", " Qq  0"), "`Qq` is no element"),
        ("one\ntwo\n$$$$\n".to_owned(), "at least four lines"),
        (
            "\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN ATOM\nM  V30 x\nM  END\n$$$$\n"
                .to_owned(),
            "cannot be read",
        ),
    ] {
        let options = ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::default() };
        let found = read(&format!("{good}{bad}{good}"), &options).unwrap();
        assert_eq!(found.report.rows, [Some(0), None, Some(1)], "{bad}");
        let said = found.report.bad_rows[0].to_string();
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn no_damage_stops_the_reader() {
    let whole = record(CHIRAL[3]) + &as_v3000(&record(CHIRAL[1]));
    let options = ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::default() };
    let scratch = Scratch::new("sdf");
    let mut random = graphminnet_data::rng::stream(0, "damage", &[]);
    for _ in 0..500 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b"0 9-\n$>MV"[random.below(9)]),
            }
        }
        let path = scratch.write("damaged.sdf", &bytes);
        // Whatever it holds: molecules, bad rows, or an error that says why; never a panic.
        if let Err(error) = open(&path, &options) {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// A block of atoms with their places, and bonds with their kinds and marks.
fn drawn(atoms: &[(&str, [f64; 3])], bonds: &[[usize; 4]]) -> String {
    let mut text = format!("\n\n\n{:3}{:3}  0  0  0  0  0  0  0  0999 V2000\n", atoms.len(), bonds.len());
    for (symbol, [x, y, z]) in atoms {
        text += &format!("{x:10.4}{y:10.4}{z:10.4} {symbol:<3} 0  0  0  0  0  0\n");
    }
    for [from, to, kind, mark] in bonds {
        text += &format!("{from:3}{to:3}{kind:3}{mark:3}\n");
    }
    text + "M  END\n$$$$\n"
}

/// A molecule of 2-butene, flat or in space.
fn butene(depth: f64, marks: [usize; 3]) -> String {
    let places = [[1.46, -0.51, -0.06], [0.71, 0.75, -0.10], [-0.62, 0.84, -0.02], [-1.52, -0.31, 0.11]];
    let atoms = places.map(|[x, y, z]| ("C", [x, y, z * depth]));
    drawn(&atoms, &[[1, 2, 1, marks[0]], [2, 3, 2, marks[1]], [3, 4, 1, marks[2]]])
}

#[test]
fn marks_that_leave_stereo_open_are_heeded_in_both_dimensions() {
    for depth in [0.0, 1.0] {
        assert_same(&butene(depth, [0, 0, 0]), "C/C=C\\C");
        // Crossed, or beside a wavy bond.
        for marks in [[0, 3, 0], [4, 0, 0], [0, 0, 4]] {
            assert_same(&butene(depth, marks), "CC=CC");
        }
    }
    let centre = |mark| {
        let atoms = [
            ("C", [-1.16, -0.37, 0.19]),
            ("C", [0.16, 0.27, -0.18]),
            ("N", [1.20, -0.57, 0.38]),
            ("O", [0.20, 1.56, 0.29]),
        ];
        drawn(&atoms, &[[2, 1, 1, 0], [2, 3, 1, mark], [2, 4, 1, 0]])
    };
    assert_same(&centre(0), "C[C@H](N)O");
    assert_same(&centre(4), "CC(N)O");
    // In space wedges say nothing that the places do not.
    for wedge in [1, 6] {
        assert_same(&centre(wedge), "C[C@H](N)O");
    }
    // In the newer form wavy and crossed are one number.
    let newer = as_v3000(&centre(0)).replace("M  V30 2 1 20 30\n", "M  V30 2 1 20 30 CFG=2\n");
    assert!(newer.contains("CFG=2"), "{newer}");
    assert_same(&newer, "CC(N)O");
    // A run of earlier rules reads what it read.
    let read_as = |rules: u32| {
        let content = butene(1.0, [0, 3, 0]) + &butene(0.0, [4, 0, 0]) + &centre(4);
        let graphs =
            read(&content, &ReadOptions { rules, ..ReadOptions::default() }).unwrap().dataset.samples;
        graphs.into_iter().map(|sample| colours(&sample.graph)).collect::<Vec<_>>()
    };
    let known = ["C/C=C\\C", "C/C=C\\C", "C[C@H](N)O"]
        .map(|smiles| colours(&molecule_graph(smiles, Featurizer::Cip, &Limits::default()).unwrap()));
    assert_eq!(read_as(5), known);
    assert_ne!(read_as(6), known);
}

#[test]
fn the_lone_pair_of_a_sulfoxide_is_a_neighbour_in_space() {
    // As RDKit reads these places.
    let sulfur = |oxygen: &str, charges: &str, side: f64| {
        let atoms = [
            ("C", [-2.03, -0.24, -0.20 * side]),
            ("C", [-0.65, -0.09, 0.40 * side]),
            ("S", [0.56, -0.07, -0.90 * side]),
            ("C", [2.24, 0.10, -0.33 * side]),
            (oxygen, [0.14, 0.97, -1.92 * side]),
        ];
        let kind = if charges.is_empty() && oxygen == "O" { 2 } else { 1 };
        let bonds = [[1, 2, 1, 0], [2, 3, 1, 0], [3, 4, 1, 0], [3, 5, kind, 0]];
        drawn(&atoms, &bonds).replace("M  END", &format!("{charges}M  END"))
    };
    assert_same(&sulfur("O", "", 1.0), "CC[S@](C)=O");
    assert_same(&sulfur("O", "", -1.0), "CC[S@@](C)=O");
    let charged = "M  CHG  2   3   1   5  -1\n";
    assert_same(&sulfur("O", charged, 1.0), "CC[S@+](C)[O-]");
    let earlier = ReadOptions { rules: 5, ..ReadOptions::default() };
    let found = read(&sulfur("O", "", 1.0), &earlier).unwrap();
    let graph = molecule_graph("CCS(C)=O", Featurizer::Cip, &Limits::default()).unwrap();
    assert_eq!(colours(&found.dataset.samples[0].graph), colours(&graph));
}

/// A block of one carbon for each neighbour of an atom that it is bound to, with what its line says after the symbol.
fn methylated(symbol: &str, line: &str, neighbours: usize, properties: &str) -> String {
    let mut text = format!("\n\n\n{:3}{neighbours:3}  0  0  0  0  0  0  0  0999 V2000\n", neighbours + 1);
    text += &format!("    0.0000    0.0000    0.0000 {symbol:<3}{line}\n");
    for at in 0..neighbours {
        text += &format!("{:10.4}    1.5000    0.0000 C   0  0  0  0  0  0\n", at as f64);
    }
    for at in 0..neighbours {
        text += &format!("  1{:3}  1  0\n", at + 2);
    }
    format!("{text}{properties}M  END\n$$$$\n")
}

const PLAIN: &str = " 0  0  0  0  0  0";

#[test]
fn elements_of_the_main_group_have_the_hydrogens_that_blocks_leave_unsaid() {
    let charge = |charge: i8| format!("M  CHG  1   1{charge:4}\n");
    for (symbol, neighbours, properties, smiles) in [
        ("Se", 1, String::new(), "C[SeH]"),
        ("Se", 2, String::new(), "C[Se]C"),
        ("Se", 1, charge(-1), "C[Se-]"),
        ("Se", 3, charge(1), "C[Se+](C)C"),
        ("Te", 1, String::new(), "C[TeH]"),
        ("Si", 3, String::new(), "C[SiH](C)C"),
        ("Si", 4, String::new(), "C[Si](C)(C)C"),
        ("Si", 3, charge(1), "C[Si+](C)C"),
        ("Si", 0, String::new(), "[SiH4]"),
        ("Ge", 3, String::new(), "C[GeH](C)C"),
        ("Sn", 3, String::new(), "C[SnH](C)C"),
        ("Sn", 2, String::new(), "C[Sn]C"),
        ("As", 2, String::new(), "C[AsH]C"),
        ("As", 4, charge(1), "C[As+](C)(C)C"),
        ("Sb", 2, String::new(), "C[SbH]C"),
        ("Si", 3, "M  RAD  1   1   2\n".to_owned(), "C[Si](C)C"),
        // Metals, elements and ions are what is written.
        ("Sn", 0, charge(2), "[Sn+2]"),
        ("As", 0, charge(3), "[As+3]"),
        ("Sn", 0, String::new(), "[Sn]"),
        ("Zn", 1, String::new(), "C[Zn]"),
        ("Na", 0, String::new(), "[Na]"),
        ("Pb", 3, String::new(), "C[Pb](C)C"),
    ] {
        assert_same(&methylated(symbol, PLAIN, neighbours, &properties), smiles);
    }
    // What the block says counts.
    assert_same(&methylated("Se", " 0  0  0  0  0  1", 1, ""), "C[Se]");
    assert_same(&as_v3000(&methylated("Se", PLAIN, 1, "")), "C[SeH]");
    let earlier = ReadOptions { rules: 6, ..ReadOptions::default() };
    let found = read(&methylated("Se", PLAIN, 1, ""), &earlier).unwrap();
    let graph = molecule_graph("C[Se]", Featurizer::Cip, &Limits::default()).unwrap();
    assert_eq!(colours(&found.dataset.samples[0].graph), colours(&graph));
}

#[test]
fn the_mass_difference_of_a_line_names_an_isotope() {
    use graphminnet_data::RowReader;
    let scratch = Scratch::new("masses");
    let smiles = |content: &str, rules: u32| {
        let path = scratch.write("a.sdf", content);
        let mut rows = RowReader::open(&path, &ReadOptions { rules, ..ReadOptions::default() }).unwrap();
        String::from_utf8_lossy(&rows.next_rows(1).unwrap()[0].text).trim_end_matches(',').to_owned()
    };
    for (symbol, difference, properties, expected) in [
        ("C", " 1", "", "[13CH4]"),
        ("N", " 1", "", "[15NH3]"),
        ("H", " 1", "M  CHG  1   1   1\n", "[2H+]"),
        ("Br", " 2", "", "[81BrH]"),
        ("C", "-1", "", "[11CH4]"),
        ("C", " 0", "", "C"),
        // One line of isotopes speaks for all atoms.
        ("C", " 1", "M  ISO  1   1  14\n", "[14CH4]"),
        ("C", " 1", "M  ISO  0\n", "C"),
    ] {
        let block = methylated(symbol, &format!("{difference}  0  0  0  0  0"), 0, properties);
        assert_eq!(smiles(&block, 7), expected, "{block}");
    }
    assert_eq!(smiles(&methylated("C", " 1  0  0  0  0  0", 0, ""), 6), "C");
    let impossible = methylated("H", "-1  0  0  0  0  0", 0, "");
    let said = read(&impossible, &ReadOptions::default()).unwrap_err().to_string();
    assert!(said.contains("atom 1: its line cannot be read"), "{said}");
}

#[test]
fn a_record_that_is_not_utf8_is_refused_and_the_others_are_read() {
    let good = record("CCO");
    let name = record("CC").replace("$$$$", "> <name>\ncaf?\n\n$$$$");
    let mut bytes = (good.clone() + &name + &good).into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'?').unwrap();
    bytes[at] = 0xe9;
    let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
    let scratch = Scratch::new("utf8");
    let path = scratch.write("a.sdf", &bytes);
    let options = ReadOptions { on_bad_row: OnBadRow::Null, ..ReadOptions::default() };
    let found = open(&path, &options).unwrap();
    assert_eq!(found.report.rows, [Some(0), None, Some(1)]);
    let bad = &found.report.bad_rows[0];
    assert_eq!((bad.place.line, bad.place.byte), (Some(line), Some(at as u64)), "{bad}");
    assert!(bad.to_string().contains("not valid UTF-8"), "{bad}");
    let earlier = open(&path, &ReadOptions { rules: 6, ..options }).unwrap();
    assert_eq!(earlier.report.rows, [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_value_that_looks_like_a_header_is_a_value() {
    let content = record("CCO").replace("$$$$", "> <range>\n>5 <10>\n\n> <y>\n2.5\n\n$$$$") + &record("CC");
    let scratch = Scratch::new("headers");
    let path = scratch.write("a.sdf", &content);
    let table = |rules: u32| {
        let mut rows = RowReader::open(&path, &ReadOptions { rules, ..ReadOptions::default() }).unwrap();
        let header = String::from_utf8_lossy(rows.header().unwrap()).into_owned();
        (header, String::from_utf8_lossy(&rows.next_rows(1).unwrap()[0].text).into_owned())
    };
    assert_eq!(table(7), ("smiles,id,range,y".to_owned(), "CCO,,>5 <10>,2.5".to_owned()));
    assert_eq!(table(6).0, "smiles,id,range,10,y");
}
