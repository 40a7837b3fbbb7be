//! A sketch as a molecule of `chematic`, for its layout and its perception of stereo.

use super::super::guard;
use super::{Sketch, SketchAtom, SketchCentre, SketchOrder, SketchSides};
use crate::Limits;
use chematic::core::{
    Atom, AtomIdx, BondIdx, BondOrder, Chirality, Element, Molecule, MoleculeBuilder, STEREO_H_SENTINEL,
};
use std::collections::HashMap;

const HYDROGEN: u8 = 1;

impl Sketch {
    /// The molecule, with its centres and the sides of its double bonds; `None` if it has more atoms or rings than can
    /// be handled in a moment.
    pub fn molecule(&self) -> Option<Molecule> {
        let mut builder = MoleculeBuilder::new();
        for atom in &self.atoms {
            builder.add_atom(built(atom));
        }
        let index = |atom: usize| u32::try_from(atom).ok().map(AtomIdx);
        let mut aromatic = Vec::new();
        for bond in &self.bonds {
            let [first, second] = [index(bond.ends[0])?, index(bond.ends[1])?];
            let order = match bond.order {
                SketchOrder::Single => BondOrder::Single,
                SketchOrder::Double => BondOrder::Double,
                SketchOrder::Triple => BondOrder::Triple,
                SketchOrder::Aromatic => {
                    aromatic.extend([first, second]);
                    BondOrder::Aromatic
                }
            };
            builder.add_bond(first, second, order).ok()?;
        }
        let mut molecule = builder.build();
        guard::check_molecule(&molecule, &Limits::default()).ok()?;
        aromatic.into_iter().for_each(|atom| molecule.set_atom_aromatic(atom, true));
        for centre in &self.centres {
            self.set_centre(&mut molecule, centre)?;
        }
        for (bond, order) in self.directions() {
            molecule.set_bond_order(BondIdx(u32::try_from(bond).ok()?), order);
        }
        Some(molecule)
    }

    fn set_centre(&self, molecule: &mut Molecule, centre: &SketchCentre) -> Option<()> {
        let mut order = Vec::with_capacity(4);
        for &neighbour in &centre.neighbours {
            order.push(u32::try_from(neighbour).ok()?);
        }
        let has_hydrogen = self.atoms.get(centre.atom)?.hydrogens.is_some_and(|count| count > 0);
        if order.len() == 3 && has_hydrogen {
            order.push(STEREO_H_SENTINEL);
        }
        let atom = AtomIdx(u32::try_from(centre.atom).ok()?);
        let turn = if centre.clockwise { Chirality::Clockwise } else { Chirality::CounterClockwise };
        molecule.set_chirality(atom, turn);
        molecule.set_stereo_neighbor_order(atom, order);
        Some(())
    }

    /// The single bonds beside double bonds that are written as `/` or `\`, by number.
    ///
    /// A single bond between two double bonds speaks for both, so double bonds that share one are settled one after the
    /// other, each with what is said already.
    fn directions(&self) -> HashMap<usize, BondOrder> {
        let mut said = Directions { bonds: HashMap::new(), above: HashMap::new() };
        for (number, bond) in self.bonds.iter().enumerate().filter(|(_, b)| b.order == SketchOrder::Single) {
            let [first, second] = bond.ends;
            said.bonds.insert((first, second), (number, BondOrder::Up));
            said.bonds.insert((second, first), (number, BondOrder::Down));
        }
        let mut open: Vec<&SketchSides> = self.sides.iter().collect();
        while !open.is_empty() {
            let known = |sides: &&SketchSides| said.side(sides, 0).or(said.side(sides, 1)).is_some();
            let sides = open.swap_remove(open.iter().position(known).unwrap_or(0));
            said.settle(sides);
        }
        let is_up = |(pair, above): (&(usize, usize), &bool)| {
            let &(number, order) = said.bonds.get(pair)?;
            let turned = if order == BondOrder::Up { BondOrder::Down } else { BondOrder::Up };
            Some((number, if *above { order } else { turned }))
        };
        said.above.iter().filter_map(is_up).collect()
    }
}

/// What is said about single bonds so far.
struct Directions {
    /// Number of the single bond from one atom to another, and how it is written if the other is above.
    bonds: HashMap<(usize, usize), (usize, BondOrder)>,
    /// Whether the second atom is above the first.
    above: HashMap<(usize, usize), bool>,
}

impl Directions {
    fn set(&mut self, from: usize, to: usize, above: bool) {
        self.above.insert((from, to), above);
        self.above.insert((to, from), !above);
    }

    /// Whether the neighbour at one end is above it, if that follows from what is said.
    fn side(&self, sides: &SketchSides, end: usize) -> Option<bool> {
        let (from, to) = (sides.ends[end], sides.neighbours[end]);
        if let Some(above) = self.above.get(&(from, to)) {
            return Some(*above);
        }
        // The other neighbour of this end is on the other side.
        let mut others = self.above.iter().filter(|((at, _), _)| *at == from);
        others.next().map(|(_, above)| !above)
    }

    fn settle(&mut self, sides: &SketchSides) {
        let [first, second] = [0, 1].map(|end| self.side(sides, end));
        let first = first.or(second.map(|second| second == sides.same)).unwrap_or(true);
        self.set(sides.ends[0], sides.neighbours[0], first);
        if second.is_none() {
            self.set(sides.ends[1], sides.neighbours[1], first == sides.same);
        } else if let Some(second) = second {
            self.set(sides.ends[1], sides.neighbours[1], second);
        }
    }
}

fn built(atom: &SketchAtom) -> Atom {
    let Some(element) = Element::from_atomic_number(atom.element) else { return Atom::wildcard() };
    // A hydrogen that is an atom of the graph stays one if nothing is said about its own hydrogens.
    let hydrogen_count = atom.hydrogens.filter(|_| atom.element != HYDROGEN);
    Atom { charge: atom.charge, hydrogen_count, ..Atom::new(element) }
}
