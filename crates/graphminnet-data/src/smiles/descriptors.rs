//! Numbers about whole molecules, which join the graph's vector before the head: a dozen that chemists know, and the
//! counts of a fingerprint.

use super::atomic_weights::atomic_weight;
use super::fingerprint::Fingerprint;
use crate::graph::Graph;

/// The dozen, in the order in which a graph has them.
pub const BASIC_DESCRIPTORS: [&str; 12] = [
    "molecular_weight",
    "heavy_atoms",
    "hydrogens",
    "heteroatoms",
    "halogens",
    "hydrogen_donors",
    "hydrogen_acceptors",
    "rotatable_bonds",
    "rings",
    "aromatic_atoms",
    "fraction_sp3",
    "formal_charge",
];

/// Places of the atom and bond columns of the Open Graph Benchmark, and what their categories stand for.
const ATOMIC_NUMBER: usize = 0;
const FORMAL_CHARGE: usize = 3;
const HYDROGENS: usize = 4;
const HYBRIDIZATION: usize = 6;
const IS_AROMATIC: usize = 7;
const BOND_TYPE: usize = 0;
const NEUTRAL: i64 = 5;
const SP3: u32 = 2;
const SINGLE: u32 = 0;

/// The dozen of a graph with the columns of the Open Graph Benchmark.
///
/// Donors are nitrogen and oxygen atoms with a hydrogen, acceptors all of them (Lipinski's counts); a bond is rotatable
/// if it is single, in no ring, and both its ends have another neighbour besides hydrogen; rings are those that are
/// independent of each other (bonds − atoms + fragments).
pub(super) fn basic(graph: &Graph) -> Vec<f32> {
    let nodes = graph.node_features();
    let at = |node: usize, column: usize| nodes.category_row(node).get(column).copied().unwrap_or(0);
    let element = |node: usize| at(node, ATOMIC_NUMBER) + 1;
    let heavy: Vec<usize> = (0..graph.num_nodes()).filter(|&node| element(node) != 1).collect();
    let count = |holds: &dyn Fn(usize) -> bool| heavy.iter().filter(|&&node| holds(node)).count() as f64;
    let bonds = Bonds::of(graph);
    // Hydrogens may be atoms of the graph.
    let hydrogens = heavy.iter().map(|&node| f64::from(at(node, HYDROGENS))).sum::<f64>()
        + (graph.num_nodes() - heavy.len()) as f64;
    let neighbours = |node: usize, hydrogen: bool| {
        let around = bonds.neighbours[node].iter();
        around.filter(|(other, _)| (element(*other as usize) == 1) == hydrogen).count()
    };
    let is_polar = |node: usize| matches!(element(node), 7 | 8);
    let has_hydrogen = |node: usize| at(node, HYDROGENS) > 0 || neighbours(node, true) > 0;
    let carbons = count(&|node| element(node) == 6);
    let rotatable = bonds.all.iter().enumerate().filter(|(bond, (ends, edge))| {
        let kind = graph.edge_features().category_row(*edge).get(BOND_TYPE).copied();
        kind == Some(SINGLE)
            && bonds.is_bridge[*bond]
            && ends.iter().all(|&end| element(end as usize) != 1 && neighbours(end as usize, false) >= 2)
    });
    let charge = (0..graph.num_nodes()).map(|node| i64::from(at(node, FORMAL_CHARGE)) - NEUTRAL).sum::<i64>();
    let rings = (bonds.all.len() + bonds.components).saturating_sub(graph.num_nodes());
    let numbers: [f64; 12] = [
        heavy.iter().map(|&node| atomic_weight(element(node))).sum::<f64>() + hydrogens * atomic_weight(1),
        heavy.len() as f64,
        hydrogens,
        count(&|node| element(node) != 6),
        count(&|node| matches!(element(node), 9 | 17 | 35 | 53 | 85)),
        count(&|node| is_polar(node) && has_hydrogen(node)),
        count(&is_polar),
        rotatable.count() as f64,
        rings as f64,
        count(&|node| at(node, IS_AROMATIC) == 1),
        count(&|node| element(node) == 6 && at(node, HYBRIDIZATION) == SP3) / carbons.max(1.0),
        charge as f64,
    ];
    numbers.map(|number| number as f32).to_vec()
}

/// How often each kind of surroundings occurs, as logarithms: the tenth of a kind says less than the second.
pub(super) fn morgan(graph: &Graph) -> Vec<f32> {
    Fingerprint::of_columns(graph).counts().iter().map(|count| (*count as f32).ln_1p()).collect()
}

/// Every bond once, with the edge that it was first met as.
struct Bonds {
    all: Vec<([u32; 2], usize)>,
    /// Neighbours of every atom, each with the number of its bond.
    neighbours: Vec<Vec<(u32, usize)>>,
    /// Whether a bond is in no ring.
    is_bridge: Vec<bool>,
    components: usize,
}

impl Bonds {
    fn of(graph: &Graph) -> Self {
        let mut all = Vec::with_capacity(graph.num_edges() / 2);
        let mut neighbours = vec![Vec::new(); graph.num_nodes()];
        for (edge, &[source, target]) in graph.edges().iter().enumerate() {
            if source < target {
                neighbours[source as usize].push((target, all.len()));
                neighbours[target as usize].push((source, all.len()));
                all.push(([source, target], edge));
            }
        }
        let mut bonds = Self { is_bridge: vec![false; all.len()], all, neighbours, components: 0 };
        bonds.find_bridges();
        bonds
    }

    /// Tarjan's search without recursion: a bond is a bridge if nothing beyond it reaches back past it.
    fn find_bridges(&mut self) {
        let count = self.neighbours.len();
        let (mut order, mut lowest) = (vec![0usize; count], vec![0usize; count]);
        let mut next = 1;
        for root in 0..count {
            if order[root] != 0 {
                continue;
            }
            self.components += 1;
            let mut path: Vec<(usize, usize, usize)> = vec![(root, usize::MAX, 0)];
            (order[root], lowest[root], next) = (next, next, next + 1);
            while let Some((node, through, seen)) = path.pop() {
                if let Some(&(other, bond)) = self.neighbours[node].get(seen) {
                    path.push((node, through, seen + 1));
                    let other = other as usize;
                    if bond == through {
                        continue;
                    }
                    if order[other] == 0 {
                        (order[other], lowest[other], next) = (next, next, next + 1);
                        path.push((other, bond, 0));
                    } else {
                        lowest[node] = lowest[node].min(order[other]);
                    }
                } else if let Some(&(parent, ..)) = path.last() {
                    lowest[parent] = lowest[parent].min(lowest[node]);
                    self.is_bridge[through] = lowest[node] > order[parent];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Featurizer, Limits, MoleculeForm, MoleculeReading};

    fn of(smiles: &str, form: MoleculeForm) -> Vec<f32> {
        let reading = MoleculeReading { featurizer: Featurizer::Cip, form, ..MoleculeReading::default() };
        basic(&reading.graph(smiles, &Limits::default()).unwrap())
    }

    /// The numbers are those of RDKit 2026.09.1: `MolWt`, `HeavyAtomCount`, `NOCount`, `CalcNumRings`,
    /// `CalcFractionCSP3`, `GetFormalCharge`, and counts over its atoms and bonds by the definitions above.
    #[test]
    fn the_dozen_is_that_of_rdkit() {
        for (smiles, expected) in [
            ("CCO", [46.069, 3.0, 6.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
            ("CC(=O)Oc1ccccc1C(=O)O", [180.159, 13.0, 8.0, 4.0, 0.0, 1.0, 4.0, 3.0, 1.0, 6.0, 0.111, 0.0]),
            (
                "CN1CCC23C4C1CC5=C2C(=C(C=C5)O)OC3C(C=C4)O",
                [285.343, 21.0, 19.0, 4.0, 0.0, 2.0, 4.0, 0.0, 5.0, 6.0, 0.529, 0.0],
            ),
            // Three rings are independent of each other; RDKit counts the fourth that looks like them.
            ("C1C2CC3CC1CC(C2)C3", [136.238, 10.0, 16.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 1.0, 0.0]),
            ("C[N+](C)(C)CCO.[Cl-]", [139.626, 8.0, 14.0, 3.0, 1.0, 1.0, 2.0, 2.0, 0.0, 0.0, 1.0, 0.0]),
            (
                "FC(F)(F)c1ccc(Br)cc1S(=O)(=O)N",
                [304.087, 15.0, 5.0, 8.0, 4.0, 1.0, 3.0, 2.0, 1.0, 6.0, 0.143, 0.0],
            ),
            ("c1ccc2[nH]ccc2c1", [117.151, 9.0, 7.0, 1.0, 0.0, 1.0, 1.0, 0.0, 2.0, 9.0, 0.0, 0.0]),
            (
                "CCCC#CC=CCN(C)C(=O)c1ccncc1",
                [242.322, 18.0, 18.0, 3.0, 0.0, 0.0, 3.0, 7.0, 1.0, 6.0, 0.333, 0.0],
            ),
        ] {
            let found = of(smiles, MoleculeForm::default());
            for ((name, found), expected) in BASIC_DESCRIPTORS.iter().zip(found).zip(expected) {
                assert!((f64::from(found) - expected).abs() < 2e-3, "{smiles} {name}: {found} {expected}");
            }
        }
    }

    #[test]
    fn a_ring_is_found_however_deep_the_chain_and_a_biphenyl_turns_at_one_bond() {
        let chain = format!("{}C1CC1", "C".repeat(5_000));
        let form = MoleculeForm::default();
        let found = of(&chain, form);
        assert_eq!((found[7], found[8]), (4_999.0, 1.0));
        assert_eq!(of("c1ccccc1-c1ccccc1", form)[7..9], [1.0, 2.0]);
        assert_eq!(of("[Na+].[Cl-]", form)[8], 0.0, "two parts, no ring");
    }

    #[test]
    fn hydrogens_that_are_atoms_change_no_number() {
        for smiles in ["CC(=O)Oc1ccccc1C(=O)O", "C[N+](C)(C)CCO", "OCC1OC(O)C(O)C1N"] {
            let full = MoleculeForm { add_hydrogens: true, ..MoleculeForm::default() };
            assert_eq!(of(smiles, full), of(smiles, MoleculeForm::default()), "{smiles}");
        }
    }
}
