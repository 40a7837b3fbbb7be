//! Back from a molecule's columns to what a picture of it needs: elements, charges, hydrogens, bond orders, and how
//! neighbours are arranged in space.

mod arrangement;
mod molecule;

use super::{Featurizer, chemistry, contained, guard, zinc};
use crate::graph::Graph;
use chematic::smiles::rdkit;
use std::collections::HashSet;

/// One atom of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchAtom {
    /// Atomic number; 0 for an atom of unknown kind.
    pub element: u8,
    /// Formal charge.
    pub charge: i8,
    /// Hydrogens that belong to it; `None` where the columns leave them to the rules of valence.
    pub hydrogens: Option<u8>,
}

/// The order of a bond in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SketchOrder {
    /// One line; also a bond of unknown kind.
    Single,
    /// Two lines.
    Double,
    /// Three lines.
    Triple,
    /// Part of an aromatic ring.
    Aromatic,
}

/// A bond of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchBond {
    /// Its atoms.
    pub ends: [usize; 2],
    /// Its order.
    pub order: SketchOrder,
}

/// A tetrahedral centre.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SketchCentre {
    /// The atom.
    pub atom: usize,
    /// Its three or four neighbours. A hydrogen or lone pair that is no atom of the graph comes after them.
    pub neighbours: Vec<usize>,
    /// Whether the others turn clockwise, in their order, seen from the first.
    pub clockwise: bool,
}

/// A double bond whose ends have two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SketchSides {
    /// Its atoms.
    pub ends: [usize; 2],
    /// A neighbour of each.
    pub neighbours: [usize; 2],
    /// Whether the two neighbours are on the same side.
    pub same: bool,
}

/// A molecule as far as its columns tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sketch {
    /// The atoms, one per node.
    pub atoms: Vec<SketchAtom>,
    /// Every bond once, in the order of the edges of the graph.
    pub bonds: Vec<SketchBond>,
    /// The centres whose arrangement is known.
    pub centres: Vec<SketchCentre>,
    /// The double bonds whose sides are known.
    pub sides: Vec<SketchSides>,
}

impl Sketch {
    /// The part with these atoms, which are counted in the order of the list.
    pub fn part(&self, atoms: &[usize]) -> Self {
        let mut number = vec![None; self.atoms.len()];
        for (new, &old) in atoms.iter().enumerate() {
            if let Some(number) = number.get_mut(old) {
                *number = Some(new);
            }
        }
        let renumbered = |old: usize| number.get(old).copied().flatten();
        let both = |ends: [usize; 2]| Some([renumbered(ends[0])?, renumbered(ends[1])?]);
        Self {
            atoms: atoms.iter().filter_map(|&old| self.atoms.get(old).copied()).collect(),
            bonds: self
                .bonds
                .iter()
                .filter_map(|bond| Some(SketchBond { ends: both(bond.ends)?, ..*bond }))
                .collect(),
            centres: self
                .centres
                .iter()
                .filter_map(|centre| {
                    let neighbours = centre.neighbours.iter().map(|&old| renumbered(old));
                    let neighbours = neighbours.collect::<Option<Vec<_>>>()?;
                    Some(SketchCentre { atom: renumbered(centre.atom)?, neighbours, ..*centre })
                })
                .collect(),
            sides: self
                .sides
                .iter()
                .filter_map(|sides| {
                    let (ends, neighbours) = (both(sides.ends)?, both(sides.neighbours)?);
                    Some(SketchSides { ends, neighbours, ..*sides })
                })
                .collect(),
        }
    }

    /// Neighbours of every atom, in the order of the bonds.
    pub fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut around = vec![Vec::new(); self.atoms.len()];
        for SketchBond { ends: [a, b], .. } in &self.bonds {
            around[*a].push(*b);
            around[*b].push(*a);
        }
        around
    }
}

impl Featurizer {
    /// Reads a graph with this featurizer's columns; `None` if the columns are others.
    pub fn sketch(self, graph: &Graph) -> Option<Sketch> {
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        // Several molecules and reactions have a column more.
        let further = |found: usize, own: usize| found.checked_sub(own).filter(|further| *further <= 1);
        further(nodes.category_columns(), self.node_columns().len())?;
        let has_joins = further(edges.category_columns(), self.edge_columns().len())? == 1;
        let is_bond = |edge: usize| !has_joins || edges.category_row(edge).last() == Some(&0);
        let atoms = (0..graph.num_nodes()).map(|node| self.atom(nodes.category_row(node))).collect();
        let (mut bonds, mut sources, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for (edge, &[from, to]) in graph.edges().iter().enumerate() {
            if from != to && is_bond(edge) && seen.insert([from.min(to), from.max(to)]) {
                let order = self.order(edges.category_row(edge));
                bonds.push(SketchBond { ends: [from as usize, to as usize], order });
                sources.push(edge);
            }
        }
        let mut sketch = Sketch { atoms, bonds, ..Sketch::default() };
        if self != Self::Zinc {
            arrangement::find(self, graph, &sources, &mut sketch);
        }
        Some(sketch)
    }

    /// The canonical SMILES string of a graph with this featurizer's columns, with the stereo marks that the columns
    /// keep; `None` if the columns are others, or tell too little of the molecule, and for several molecules.
    pub fn smiles(self, graph: &Graph) -> Option<String> {
        if graph.node_features().category_columns() != self.node_columns().len() {
            return None;
        }
        let sketch = self.sketch(graph)?;
        guard::check_canonical(sketch.atoms.len()).ok()?;
        if sketch.atoms.iter().any(|atom| atom.element == 0) {
            return None;
        }
        let molecule = sketch.molecule()?;
        contained(|| rdkit::rdkit_canonical_smiles(&molecule).map_err(chemistry)).ok()
    }

    fn atom(self, row: &[u32]) -> SketchAtom {
        match (self, row) {
            // Element, charge and hydrogens are counted from 1, −5 and 0; the last category of each is "other".
            (Self::Ogb | Self::Cip, &[number, _, _, charge, hydrogens, ..]) => SketchAtom {
                element: if number < 118 { number as u8 + 1 } else { 0 },
                charge: if charge < 11 { charge as i8 - 5 } else { 0 },
                hydrogens: (hydrogens < 9).then_some(hydrogens as u8),
            },
            (Self::Zinc, &[kind]) => zinc::atom(kind),
            _ => SketchAtom { element: 0, charge: 0, hydrogens: None },
        }
    }

    fn order(self, row: &[u32]) -> SketchOrder {
        match (self, row.first()) {
            (Self::Ogb | Self::Cip, Some(1)) | (Self::Zinc, Some(2)) => SketchOrder::Double,
            (Self::Ogb | Self::Cip, Some(2)) | (Self::Zinc, Some(3)) => SketchOrder::Triple,
            (Self::Ogb | Self::Cip, Some(3)) => SketchOrder::Aromatic,
            _ => SketchOrder::Single,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, molecule_graph};

    #[test]
    fn a_graph_is_written_as_the_molecule_that_it_was_read_from() {
        for smiles in
            ["CCO", "c1cc[nH]c1", "CC(=O)[O-].[Na+]", "C[N+](=O)[O-]", "[CH3]", "CC#N", "O=c1cc[nH]cc1"]
        {
            let graph = molecule_graph(smiles, Featurizer::Cip, &Limits::default()).unwrap();
            let written = Featurizer::Cip.smiles(&graph).unwrap();
            let again = molecule_graph(&written, Featurizer::Cip, &Limits::default()).unwrap();
            assert_eq!(Featurizer::Cip.smiles(&again), Some(written.clone()), "{smiles}");
            let rows = |graph: &Graph| {
                let row = |node| graph.node_features().category_row(node).to_vec();
                let mut rows: Vec<_> = (0..graph.num_nodes()).map(row).collect();
                rows.sort();
                rows
            };
            assert_eq!(rows(&again), rows(&graph), "{smiles} as {written}");
            assert_eq!(Featurizer::Zinc.smiles(&graph), None);
        }
    }

    #[test]
    fn the_columns_of_both_featurizers_read_back_to_the_same_molecule() {
        let smiles = "C#CC(=O)[O-]";
        for featurizer in [Featurizer::Ogb, Featurizer::Zinc] {
            let graph = molecule_graph(smiles, featurizer, &Limits::default()).unwrap();
            let sketch = featurizer.sketch(&graph).unwrap();
            let mut elements: Vec<(u8, i8)> =
                sketch.atoms.iter().map(|atom| (atom.element, atom.charge)).collect();
            elements.sort_unstable();
            assert_eq!(elements, [(6, 0), (6, 0), (6, 0), (8, -1), (8, 0)], "{featurizer:?}");
            let count = |order| sketch.bonds.iter().filter(|bond| bond.order == order).count();
            assert_eq!([SketchOrder::Single, SketchOrder::Double, SketchOrder::Triple].map(count), [2, 1, 1]);
            let other = if featurizer == Featurizer::Ogb { Featurizer::Zinc } else { Featurizer::Ogb };
            assert_eq!(other.sketch(&graph), None);
        }
        let benzene = molecule_graph("c1ccccc1", Featurizer::Ogb, &Limits::default()).unwrap();
        let sketch = Featurizer::Ogb.sketch(&benzene).unwrap();
        assert!(sketch.bonds.iter().all(|bond| bond.order == SketchOrder::Aromatic));
        assert_eq!(sketch.atoms[0], SketchAtom { element: 6, charge: 0, hydrogens: Some(1) });
    }
}
