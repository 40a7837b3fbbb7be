//! Molecules: coordinates from `chematic`, atom labels, bond orders.

use super::layout::Place;
use super::selection::Selection;
use super::untangle::Tangle;
use chematic::core::{
    Atom, AtomIdx, BondOrder, Chirality, Element, Molecule, MoleculeBuilder, implicit_hcount,
};
use chematic_depict::{BOND_LEN, compute_layout};
use graphminnet_data::smiles::{Sketch, SketchAtom, SketchBond};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a molecule adds to the picture of a graph.
pub(super) struct Skeleton {
    /// Places, in bond lengths; `None` if no layout was found.
    pub(super) places: Option<Vec<Place>>,
    /// Label of every atom; empty for a plain carbon.
    pub(super) labels: Vec<String>,
    /// Symbol of every atom.
    pub(super) symbols: Vec<&'static str>,
    /// Order of every drawn edge.
    pub(super) orders: Vec<SketchBond>,
}

impl Skeleton {
    pub(super) fn of(sketch: &Sketch, selection: &Selection) -> Self {
        let atom = |at: &usize| {
            sketch.atoms.get(*at).copied().unwrap_or(SketchAtom { element: 0, charge: 0, hydrogens: None })
        };
        let atoms: Vec<SketchAtom> = selection.nodes.iter().map(atom).collect();
        let orders: Vec<SketchBond> = selection
            .edges
            .iter()
            .map(|edge| sketch.bonds.get(edge.source).copied().unwrap_or(SketchBond::Single))
            .collect();
        let molecule = molecule(&atoms, selection, &orders);
        // The layout is foreign code: if it fails, the picture is drawn with our own.
        let places = molecule.as_ref().and_then(|molecule| {
            let coordinates = catch_unwind(AssertUnwindSafe(|| compute_layout(molecule).coords)).ok()?;
            let places: Vec<Place> = coordinates.iter().map(|p| (p.x / BOND_LEN, p.y / BOND_LEN)).collect();
            let is_usable =
                places.len() == atoms.len() && places.iter().all(|(x, y)| x.is_finite() && y.is_finite());
            is_usable.then(|| untangled(places, selection))
        });
        let degrees = selection.neighbours().iter().map(Vec::len).collect::<Vec<_>>();
        let symbols = atoms.iter().map(|atom| element(atom).map_or("*", Element::symbol)).collect::<Vec<_>>();
        let labels = atoms
            .iter()
            .enumerate()
            .map(|(at, atom)| {
                if atom.element == 6 && atom.charge == 0 && degrees[at] > 0 {
                    return String::new();
                }
                let implied = || {
                    let count = |molecule| {
                        catch_unwind(AssertUnwindSafe(|| implicit_hcount(molecule, AtomIdx(at as u32))))
                    };
                    molecule.as_ref().and_then(|molecule| count(molecule).ok()).unwrap_or(0)
                };
                label(symbols[at], atom.hydrogens.unwrap_or_else(implied), atom.charge)
            })
            .collect();
        Self { places, labels, symbols, orders }
    }
}

fn untangled(mut places: Vec<Place>, selection: &Selection) -> Vec<Place> {
    let bonds: Vec<(usize, usize)> = selection.edges.iter().map(|edge| edge.ends).collect();
    Tangle { bonds: &bonds, neighbours: &selection.neighbours() }.untangle(&mut places);
    places
}

fn element(atom: &SketchAtom) -> Option<Element> {
    Element::from_atomic_number(atom.element)
}

fn molecule(atoms: &[SketchAtom], selection: &Selection, orders: &[SketchBond]) -> Option<Molecule> {
    let mut builder = MoleculeBuilder::new();
    for atom in atoms {
        builder.add_atom(match (element(atom), atom.hydrogens) {
            (None, _) => Atom::wildcard(),
            (Some(element), Some(hydrogens)) => {
                Atom::bracket(element, None, Chirality::None, hydrogens, atom.charge, None)
            }
            (Some(element), None) => Atom { charge: atom.charge, ..Atom::organic(element) },
        });
    }
    for (edge, order) in selection.edges.iter().zip(orders) {
        let order = match order {
            SketchBond::Single => BondOrder::Single,
            SketchBond::Double => BondOrder::Double,
            SketchBond::Triple => BondOrder::Triple,
            SketchBond::Aromatic => BondOrder::Aromatic,
        };
        builder.add_bond(AtomIdx(edge.ends.0 as u32), AtomIdx(edge.ends.1 as u32), order).ok()?;
    }
    Some(builder.build())
}

/// `NH₃⁺`, `O⁻`, `Cl`.
fn label(symbol: &str, hydrogens: u8, charge: i8) -> String {
    let mut text = symbol.to_owned();
    if hydrogens > 0 {
        text.push('H');
        if hydrogens > 1 {
            text.extend(
                hydrogens
                    .to_string()
                    .chars()
                    .filter_map(|digit| char::from_u32(0x2080 + digit.to_digit(10)?)),
            );
        }
    }
    if charge != 0 {
        if charge.unsigned_abs() > 1 {
            const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
            text.extend(RAISED.get(usize::from(charge.unsigned_abs())));
        }
        text.push(if charge > 0 { '⁺' } else { '⁻' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_carry_hydrogens_and_charge() {
        assert_eq!([label("N", 3, 1), label("O", 0, -1), label("Fe", 0, 3)], ["NH₃⁺", "O⁻", "Fe³⁺"]);
    }
}
