//! Back from a molecule's columns to what a picture of it needs: elements, charges, hydrogens and bond orders.

use super::{Featurizer, zinc};
use crate::graph::Graph;

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
pub enum SketchBond {
    /// One line; also a bond of unknown kind.
    Single,
    /// Two lines.
    Double,
    /// Three lines.
    Triple,
    /// Part of an aromatic ring.
    Aromatic,
}

/// A molecule as far as its columns tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    /// The atoms, one per node.
    pub atoms: Vec<SketchAtom>,
    /// The order of every edge of the graph, in its order.
    pub bonds: Vec<SketchBond>,
}

impl Featurizer {
    /// Reads a graph with this featurizer's columns; `None` if the columns are others.
    pub fn sketch(self, graph: &Graph) -> Option<Sketch> {
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        let expected = (self.node_columns().len(), self.edge_columns().len());
        if (nodes.category_columns(), edges.category_columns()) != expected {
            return None;
        }
        let atoms = (0..graph.num_nodes()).map(|node| self.atom(nodes.category_row(node))).collect();
        let bonds = (0..graph.num_edges()).map(|edge| self.bond(edges.category_row(edge))).collect();
        Some(Sketch { atoms, bonds })
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

    fn bond(self, row: &[u32]) -> SketchBond {
        match (self, row.first()) {
            (Self::Ogb | Self::Cip, Some(1)) | (Self::Zinc, Some(2)) => SketchBond::Double,
            (Self::Ogb | Self::Cip, Some(2)) | (Self::Zinc, Some(3)) => SketchBond::Triple,
            (Self::Ogb | Self::Cip, Some(3)) => SketchBond::Aromatic,
            _ => SketchBond::Single,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, molecule_graph};

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
            let count = |order| sketch.bonds.iter().filter(|bond| **bond == order).count();
            assert_eq!([SketchBond::Single, SketchBond::Double, SketchBond::Triple].map(count), [4, 2, 2]);
            let other = if featurizer == Featurizer::Ogb { Featurizer::Zinc } else { Featurizer::Ogb };
            assert_eq!(other.sketch(&graph), None);
        }
        let benzene = molecule_graph("c1ccccc1", Featurizer::Ogb, &Limits::default()).unwrap();
        let sketch = Featurizer::Ogb.sketch(&benzene).unwrap();
        assert!(sketch.bonds.iter().all(|bond| *bond == SketchBond::Aromatic));
        assert_eq!(sketch.atoms[0], SketchAtom { element: 6, charge: 0, hydrogens: Some(1) });
    }
}
