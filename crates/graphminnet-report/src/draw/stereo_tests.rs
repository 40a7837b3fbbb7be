//! What is drawn is what was written: the arrangement in space, read off places and wedges, is that of the SMILES string.

use super::layout::Place;
use super::molecule::Skeleton;
use super::selection::Selection;
use super::untangle::{Tangle, crossings};
use super::wedges::{Drawing, Wedge};
use chematic::core::{AtomIdx, BondOrder, Chirality, Molecule, STEREO_H_SENTINEL};
use graphminnet_data::{Featurizer, Limits, molecule_graph};

const CENTRES: [&str; 36] = [
    "N[C@@H](C)C(=O)O",
    "[C@H](F)(Cl)Br",
    "F[C@](Cl)(Br)I",
    "[C@](F)(Cl)(Br)I",
    "C[C@@H](O)[C@H](N)C(=O)O",
    "OC(=O)[C@H](O)[C@@H](O)C(=O)O",
    "C[C@H](NC)[C@@H](O)c1ccccc1",
    "OC[C@H]1OC(O)[C@H](O)[C@@H](O)[C@@H]1O",
    "OC[C@H]1O[C@@](CO)(O[C@H]2O[C@H](CO)[C@@H](O)[C@H](O)[C@H]2O)[C@@H](O)[C@@H]1O",
    "C[C@@H]1CC[C@H]([C@@H](C1)O)C(C)C",
    "CC1=CC[C@H](CC1=O)C(C)=C",
    "C[C@@]12CC[C@@H](C1(C)C)CC2=O",
    "CC1=CC[C@H]2C[C@@H]1C2(C)C",
    "CN1CCC[C@H]1c1cccnc1",
    "COc1ccc2nccc([C@@H](O)[C@@H]3C[C@@H]4CCN3C[C@@H]4C=C)c2c1",
    "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]1[C@H]2CC=C2[C@@]1(CC[C@@H](C2)O)C)C",
    "C[C@]12CC[C@H]3[C@H]([C@@H]1CC[C@@H]2O)CCC1=CC(=O)CC[C@]31C",
    "CN1CC[C@]23[C@@H]4[C@H]1CC1=C2C(=C(C=C1)O)O[C@H]3[C@H](C=C4)O",
    "O=C1C[C@@H]2OCC=C3CN4CC[C@]56[C@@H]4C[C@H]3[C@H]2[C@H]5N1c1ccccc16",
    "CC1([C@@H](N2[C@H](S1)[C@@H](C2=O)NC(=O)Cc1ccccc1)C(=O)O)C",
    "OC(=O)CCCC[C@@H]1SC[C@@H]2NC(=O)N[C@H]12",
    "OC[C@H](O)[C@H]1OC(=O)C(O)=C1O",
    "C[C@@H]1CC[C@H]2[C@H](C(=O)O[C@H]3[C@@]24[C@H]1CC[C@](O3)(OO4)C)C",
    "CN1[C@H]2CC[C@@H]1[C@H]([C@H](C2)OC(=O)c1ccccc1)C(=O)OC",
    "Cc1cnc(C[S@](=O)c2[nH]c3ccc(OC)cc3n2)c(C)c1OC",
    "C[P@](=O)(OC)c1ccccc1",
    "C[S@+]([O-])c1ccccc1",
    "CC[C@H](C)[C@H](NC(=O)[C@@H](N)Cc1ccc(O)cc1)C(=O)N[C@@H](CO)C(=O)N1CCC[C@H]1C(=O)O",
    "CC(C)C[C@H](NC(=O)[C@H](Cc1ccccc1)NC(=O)[C@@H]1CCCN1)B(O)O",
    "C1C[C@H]2CC[C@@H]1C2",
    "O=C1[C@H]2CC=CC[C@H]2C(=O)N1",
    "C[C@H]1O[C@H](C)[C@@H](C)O1",
    "CC1=C2[C@H](C(=O)[C@@]3([C@H](C[C@@H]4[C@]([C@H]3[C@@H]([C@@](C2(C)C)(C[C@@H]1OC(=O)[C@@H]([C@H](C1=CC=CC=C1)NC(=O)C1=CC=CC=C1)O)O)OC(=O)C1=CC=CC=C1)(CO4)OC(=O)C)O)C)OC(=O)C",
    "CC[C@@H]1[C@@]([C@@H]([C@H](C(=O)[C@@H](C[C@@]([C@@H]([C@H]([C@@H]([C@H](C(=O)O1)C)O[C@H]1C[C@@]([C@H]([C@@H](O1)C)O)(C)OC)C)O[C@H]1[C@@H]([C@H](C[C@H](O1)C)N(C)C)O)(C)O)C)C)O)(C)O",
    "O[C@@H]1C[C@H](O)C[C@@H](O)C1",
    "Cl.CN[C@@H](C)[C@H](O)c1ccccc1",
];

const SIDES: [&str; 14] = [
    "C/C=C/C",
    r"C/C=C\C",
    r"F/C(Cl)=C(F)/Cl",
    "OC(=O)/C=C/C(=O)O",
    r"OC(=O)/C=C\C(=O)O",
    "c1ccccc1/N=N/c1ccccc1",
    r"c1ccccc1/C=C\c1ccccc1",
    r"CCCCCCCC/C=C\CCCCCCCC(=O)O",
    r"CCCCC/C=C\C/C=C\C/C=C\C/C=C\CCCC(=O)O",
    "CC1=C(C(CCC1)(C)C)/C=C/C(=C/C=C/C(=C/CO)/C)/C",
    r"CC/C(=C(\c1ccccc1)/c1ccc(OCCN(C)C)cc1)/c1ccccc1",
    r"C/C(=N\O)/CC",
    r"C/C=C\C=C\C=C/C",
    "C[C@H](O)/C=C/[C@@H](C)O",
];

/// A molecule as it is drawn.
struct Drawn {
    places: Vec<Place>,
    bonds: Vec<(usize, usize)>,
    wedges: Vec<Option<Wedge>>,
}

fn drawn(smiles: &str, featurizer: Featurizer) -> Drawn {
    let graph = molecule_graph(smiles, featurizer, &Limits::default()).unwrap();
    let mut selection = Selection::of(&graph, &[], &[], (500, 4000));
    let skeleton = Skeleton::of(&featurizer.sketch(&graph).unwrap(), &mut selection);
    let bonds: Vec<(usize, usize)> = selection.edges.iter().map(|edge| edge.ends).collect();
    let neighbours = selection.neighbours();
    let tangle = Tangle { bonds: &bonds, neighbours: &neighbours };
    let in_ring: Vec<bool> = bonds.iter().map(|&(a, b)| tangle.is_joined_without(a, b)).collect();
    let Skeleton { places, orders, centres, .. } = skeleton;
    let drawing =
        Drawing { places: &places, bonds: &bonds, orders: &orders, in_ring: &in_ring, centres: &centres };
    let wedges = drawing.wedges();
    Drawn { places, bonds, wedges }
}

impl Drawn {
    /// Whether the neighbours of an atom turn clockwise, seen from the first, by the volume that they span where wedges
    /// are taken out of the plane; `None` without a wedge.
    fn is_clockwise(&self, atom: usize, order: &[u32]) -> Option<bool> {
        let wedge_to = |neighbour: usize| {
            let ends = (atom.min(neighbour), atom.max(neighbour));
            let bond = self.bonds.iter().position(|bond| *bond == ends)?;
            self.wedges[bond].filter(|wedge| wedge.centre == atom)
        };
        let named = || order.iter().filter(|at| **at != STEREO_H_SENTINEL).map(|at| *at as usize);
        named().find_map(wedge_to)?;
        let (x, y) = self.places[atom];
        let arm = |neighbour: usize| {
            let (dx, dy) = (self.places[neighbour].0 - x, y - self.places[neighbour].1);
            let length = dx.hypot(dy);
            let height = wedge_to(neighbour).map_or(0.0, |wedge| if wedge.is_solid { 1.0 } else { -1.0 });
            [dx / length, dy / length, height]
        };
        let sum =
            named().map(arm).fold([0.0; 3], |sum, arm| std::array::from_fn(|axis| sum[axis] + arm[axis]));
        let missing = sum.map(|axis: f64| -axis);
        let mut arms: Vec<[f64; 3]> = order
            .iter()
            .map(|at| if *at == STEREO_H_SENTINEL { missing } else { arm(*at as usize) })
            .collect();
        if arms.len() == 3 {
            arms.push(missing);
        }
        let from_first =
            |at: usize| -> [f64; 3] { std::array::from_fn(|axis| arms[at][axis] - arms[0][axis]) };
        let [a, b, c] = [1, 2, 3].map(from_first);
        let volume = a[0] * (b[1] * c[2] - b[2] * c[1])
            + a[1] * (b[2] * c[0] - b[0] * c[2])
            + a[2] * (b[0] * c[1] - b[1] * c[0]);
        Some(volume > 0.0)
    }
}

/// The same string with the turn of one centre the other way round, for every centre.
fn with_one_turned(smiles: &str) -> Vec<String> {
    let plain = smiles.replace("@@", "%");
    let marks: Vec<usize> = plain.match_indices(['@', '%']).map(|(at, _)| at).collect();
    let turned = |at: &usize| {
        let other = if plain.as_bytes()[*at] == b'@' { "%" } else { "@" };
        let mut changed = plain.clone();
        changed.replace_range(*at..at + 1, other);
        changed.replace('%', "@@")
    };
    std::iter::once(smiles.to_owned()).chain(marks.iter().map(turned)).collect()
}

/// The order in which the neighbours of an atom are written.
fn written_order(molecule: &Molecule, atom: AtomIdx) -> Vec<u32> {
    molecule.stereo_neighbor_order(atom).unwrap().to_vec()
}

#[test]
fn wedges_read_back_to_the_turn_of_every_centre_as_it_was_written() {
    let (mut read, mut written) = ([0; 2], [0; 2]);
    for smiles in CENTRES.iter().flat_map(|smiles| with_one_turned(smiles)) {
        let molecule = chematic::smiles::parse(&smiles).unwrap();
        for (which, featurizer) in [Featurizer::Ogb, Featurizer::Cip].into_iter().enumerate() {
            let drawn = drawn(&smiles, featurizer);
            for (at, atom) in molecule.atoms().filter(|(_, atom)| atom.chirality.is_tetrahedral()) {
                written[which] += 1;
                let order = written_order(&molecule, at);
                let Some(is_clockwise) = drawn.is_clockwise(at.0 as usize, &order) else { continue };
                read[which] += 1;
                assert_eq!(is_clockwise, atom.chirality == Chirality::Clockwise, "{smiles}: atom {}", at.0);
            }
        }
    }
    // R and S have no name for centres that differ by other centres only, such as those of cis-1,3,5-cyclohexanetriol.
    assert_eq!(written[0], written[1]);
    let share = read.map(|read| f64::from(read) / f64::from(written[0]));
    assert!(share[0] > 0.97 && share[1] > 0.95, "{share:?} of {}", written[0]);
}

#[test]
fn the_neighbours_of_double_bonds_are_on_the_sides_on_which_they_were_written() {
    let mut read = 0;
    for smiles in SIDES {
        let molecule = chematic::smiles::parse(smiles).unwrap();
        // Whether a neighbour is above an atom, for the bond between them that is written with a direction.
        let directed = |from: AtomIdx| {
            molecule.neighbors(from).find_map(|(to, bond)| {
                let bond = molecule.bond(bond);
                let is_up = match bond.order {
                    BondOrder::Up => true,
                    BondOrder::Down => false,
                    _ => return None,
                };
                Some((to.0 as usize, is_up == (bond.atom1 == from)))
            })
        };
        for featurizer in [Featurizer::Ogb, Featurizer::Cip] {
            let Drawn { places, bonds, .. } = drawn(smiles, featurizer);
            assert_eq!(crossings(&places, &bonds), 0, "{smiles}");
            for (_, bond) in molecule.bonds().filter(|(_, bond)| bond.order == BondOrder::Double) {
                let (Some(first), Some(second)) = (directed(bond.atom1), directed(bond.atom2)) else {
                    continue;
                };
                let [a, b] = [bond.atom1, bond.atom2].map(|at| places[at.0 as usize]);
                let side =
                    |at: usize| (b.0 - a.0) * (places[at].1 - a.1) - (b.1 - a.1) * (places[at].0 - a.0) > 0.0;
                let expected = first.1 == second.1;
                assert_eq!(side(first.0) == side(second.0), expected, "{smiles} ({featurizer:?})");
                read += 1;
            }
        }
    }
    assert!(read >= 40, "{read} double bonds");
}

#[test]
fn a_molecule_whose_columns_keep_no_stereo_has_no_wedge() {
    let drawn = drawn("N[C@@H](C)C(=O)O", Featurizer::Zinc);
    assert!(drawn.wedges.iter().all(Option::is_none));
}
