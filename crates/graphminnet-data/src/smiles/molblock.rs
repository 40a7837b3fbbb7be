//! MOL blocks (V2000 and V3000) to SMILES strings, so that molecules of SD files go the way of all others.
//!
//! Stereo comes from three-dimensional coordinates, else from wedged bonds; double bonds from coordinates of either kind.
//! What a mark leaves open, a crossed double bond or a wavy bond, stays open. A block that asks for what a molecule cannot
//! be (query atoms and bonds) is refused.

mod elements;
mod v2000;
mod v3000;

use super::contained;
use crate::Limits;
use chematic::core::{Atom, AtomIdx, BondIdx, BondOrder, Chirality, Element, Molecule, MoleculeBuilder};
use chematic::perception::{
    StereoRejectionReason, apply_ctab_local_parity_from_wedges_with_diagnostics,
    apply_ez_directions_from_2d_ex, apply_ez_directions_from_3d,
};
use std::collections::HashSet;

/// A molecule as a block describes it.
#[derive(Debug, Default)]
struct Block {
    atoms: Vec<BlockAtom>,
    bonds: Vec<BlockBond>,
    /// Version of the rules by which it is understood.
    rules: u32,
}

/// One atom of a block.
#[derive(Debug, Default)]
struct BlockAtom {
    symbol: String,
    position: [f64; 3],
    charge: i8,
    /// Mass number; `None` is the natural mixture.
    isotope: Option<u16>,
    /// Unpaired electrons.
    radicals: u8,
    /// Number of bonds, hydrogens included, where the block says so.
    valence: Option<u8>,
}

/// One bond of a block, between atoms counted from 0.
#[derive(Debug)]
struct BlockBond {
    ends: [usize; 2],
    kind: u32,
    mark: Mark,
}

/// How a bond is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Plain,
    Wedge,
    Hash,
    /// A double bond that may be cis or trans.
    Either,
    /// A single bond that leaves open what is at its beginning, and the sides of double bonds at both ends.
    Wavy,
}

/// The first version of the rules under which marks that leave stereo open are heeded also in space, and lone pairs are
/// neighbours there, and places in space count for more than wedges.
const OPEN_STEREO: u32 = 6;

/// The first version of the rules under which hydrogens of all main-group elements are left unsaid, and lines of atoms name isotopes.
const ELEMENTS: u32 = 7;

/// The SMILES string of a block, given by its lines.
pub(crate) fn to_smiles(lines: &[String], rules: u32, limits: &Limits) -> Result<String, String> {
    let counts = lines.get(3).ok_or("a MOL block has at least four lines")?;
    let mut block = if counts.trim_end().ends_with("V3000") {
        v3000::parse(lines.get(4..).unwrap_or_default(), limits)?
    } else if counts.trim_end().ends_with("V2000") || counts.len() >= 6 {
        v2000::parse(counts, lines.get(4..).unwrap_or_default(), rules)?
    } else {
        return Err("the fourth line of a MOL block holds its counts".to_owned());
    };
    block.rules = rules;
    if block.atoms.is_empty() {
        return Err("the MOL block has no atoms".to_owned());
    }
    // A molecule that no SMILES string may describe is not worth building.
    if block.atoms.len() as u64 > limits.smiles_bytes {
        return Err(format!("{} atoms exceed the limit {}", block.atoms.len(), limits.smiles_bytes));
    }
    let written = contained(|| Ok(block.assemble().map(|molecule| chematic::smiles::write(&molecule))));
    written.map_err(|error| error.to_string())?
}

impl Block {
    fn assemble(&self) -> Result<Molecule, String> {
        let mut builder = MoleculeBuilder::new();
        for atom in &self.atoms {
            builder.add_atom(atom.build()?);
        }
        let (wavy, mut either) = (self.wavy().flatten().collect::<HashSet<_>>(), HashSet::new());
        for (number, bond) in self.bonds.iter().enumerate() {
            let index = bond.add(&mut builder).map_err(|reason| format!("bond {}: {reason}", number + 1))?;
            let is_open = || bond.kind == 2 && bond.ends.iter().any(|end| wavy.contains(end));
            if bond.mark == Mark::Either || is_open() {
                either.insert(index);
            }
        }
        let mut molecule = builder.build();
        self.count_hydrogens(&mut molecule);
        self.orient(&mut molecule, &either)?;
        Ok(molecule)
    }

    /// The atoms of every wavy bond, first the one at its beginning.
    fn wavy(&self) -> impl Iterator<Item = [usize; 2]> {
        let heeded = self.bonds.iter().filter(|bond| bond.mark == Mark::Wavy && self.rules >= OPEN_STEREO);
        heeded.map(|bond| bond.ends)
    }

    /// Where a block says how many bonds or unpaired electrons an atom has, its hydrogens follow. Where it says nothing, SMILES knows
    /// those of the organic subset.
    fn count_hydrogens(&self, molecule: &mut Molecule) {
        let aromatic = molecule.bonds().filter(|(_, bond)| bond.order == BondOrder::Aromatic);
        let ends: Vec<AtomIdx> = aromatic.flat_map(|(_, bond)| [bond.atom1, bond.atom2]).collect();
        ends.into_iter().for_each(|atom| molecule.set_atom_aromatic(atom, true));
        for (at, atom) in (0u32..).zip(&self.atoms) {
            let at = AtomIdx(at);
            let is_aromatic = molecule.atom(at).aromatic;
            let is_known = self.rules >= ELEMENTS && !is_aromatic;
            let unsaid = is_known.then(|| elements::hydrogens(molecule, at)).flatten();
            if let Some(valence) = atom.valence.filter(|_| !is_aromatic) {
                let bonds = chematic::core::valence::bond_order_sum(molecule, at);
                molecule.set_hydrogen_count(at, Some(valence.saturating_sub(bonds)));
            } else if atom.radicals > 0 || unsaid.is_some() {
                let usual = unsaid.unwrap_or_else(|| molecule.implicit_hydrogen_count(at));
                molecule.set_hydrogen_count(at, Some(usual.saturating_sub(atom.radicals)));
            }
        }
    }

    /// Finds the configuration of centres and double bonds.
    fn orient(&self, molecule: &mut Molecule, either: &HashSet<BondIdx>) -> Result<(), String> {
        let flat: Vec<(f64, f64)> =
            self.atoms.iter().map(|atom| (atom.position[0], atom.position[1])).collect();
        let is_spatial = self.atoms.iter().any(|atom| atom.position[2] != 0.0);
        let is_wedged = self.bonds.iter().any(|bond| matches!(bond.mark, Mark::Wedge | Mark::Hash));
        if is_wedged {
            let rejected = apply_ctab_local_parity_from_wedges_with_diagnostics(molecule, &flat);
            let contradiction =
                rejected.iter().find(|found| found.reason == StereoRejectionReason::ContradictoryWedges);
            if let Some(found) = contradiction {
                return Err(format!("the wedges at atom {} contradict each other", found.atom.0 + 1));
            }
        }
        // Wedges are of a drawing: what was projected from space may hide what is in front.
        if is_spatial && (!is_wedged || self.rules >= OPEN_STEREO) {
            self.orient_from_space(molecule);
        }
        for [beginning, _] in self.wavy() {
            molecule.set_chirality(AtomIdx(beginning as u32), Chirality::None);
        }
        for bond in (0..molecule.bond_count() as u32).map(BondIdx) {
            if matches!(molecule.bond(bond).order, BondOrder::Up | BondOrder::Down) {
                molecule.set_bond_order(bond, BondOrder::Single);
            }
        }
        if is_spatial {
            let space: Vec<(f64, f64, f64)> = self.atoms.iter().map(|atom| atom.position.into()).collect();
            // In space no bond can be named that is to stay open: for so long it is of an order without sides.
            let open = || either.iter().filter(|_| self.rules >= OPEN_STEREO);
            open().for_each(|bond| molecule.set_bond_order(*bond, BondOrder::Quadruple));
            apply_ez_directions_from_3d(molecule, &space);
            open().for_each(|bond| molecule.set_bond_order(*bond, BondOrder::Double));
        } else if flat.iter().any(|position| *position != (0.0, 0.0)) {
            apply_ez_directions_from_2d_ex(molecule, &flat, either);
        }
        Ok(())
    }

    /// Marks every tetrahedral atom by the side on which its neighbours are; those that are no centres lose it later.
    fn orient_from_space(&self, molecule: &mut Molecule) {
        const CENTRES: [Element; 4] = [Element::C, Element::SI, Element::P, Element::S];
        for at in (0..molecule.atom_count() as u32).map(AtomIdx) {
            let near: Vec<AtomIdx> = molecule.neighbors(at).map(|(near, _)| near).collect();
            let is_single = molecule.neighbors(at).all(|(_, bond)| {
                matches!(molecule.bond(bond).order, BondOrder::Single | BondOrder::Up | BondOrder::Down)
            });
            let has_place = CENTRES.contains(&molecule.atom(at).element)
                && match near.len() {
                    4 => true,
                    3 if is_single && molecule.implicit_hydrogen_count(at) == 1 => true,
                    3 => self.rules >= OPEN_STEREO && has_lone_pair(molecule, at),
                    _ => false,
                };
            let position = |atom: AtomIdx| self.atoms.get(atom.0 as usize).map(|atom| atom.position);
            let Some(centre) = position(at).filter(|_| has_place) else { continue };
            let mut around: Vec<[f64; 3]> = near.iter().filter_map(|near| position(*near)).collect();
            let mut order: Vec<u32> = near.iter().map(|near| near.0).collect();
            if let [a, b, c] = around[..] {
                // The hydrogen, or the lone pair, is opposite to the others.
                around.push(std::array::from_fn(|axis| 4.0 * centre[axis] - a[axis] - b[axis] - c[axis]));
                order.push(chematic::core::STEREO_H_SENTINEL);
            }
            let [first, others @ ..] = around.as_slice() else { continue };
            let arm = |to: &[f64; 3]| -> [f64; 3] { std::array::from_fn(|axis| to[axis] - first[axis]) };
            let [Some(a), Some(b), Some(c)] = [0, 1, 2].map(|at| others.get(at).map(arm)) else { continue };
            let volume = a[0] * (b[1] * c[2] - b[2] * c[1])
                + a[1] * (b[2] * c[0] - b[0] * c[2])
                + a[2] * (b[0] * c[1] - b[1] * c[0]);
            // Seen from the first neighbour, the others turn to the left where the volume is negative.
            if volume.abs() > FLAT {
                let turn = if volume < 0.0 { Chirality::CounterClockwise } else { Chirality::Clockwise };
                molecule.set_chirality(at, turn);
                molecule.set_stereo_neighbor_order(at, order);
            }
        }
    }
}

/// Whether an atom with three neighbours is the sulfur of a sulfoxide or of another group where a lone pair is the fourth.
fn has_lone_pair(molecule: &Molecule, at: AtomIdx) -> bool {
    let (atom, bonds) = (molecule.atom(at), chematic::core::valence::bond_order_sum(molecule, at));
    atom.element == Element::S && i16::from(bonds) + i16::from(atom.charge) == 4
}

/// Neighbours that span less than this (in cubic ångström) are taken to lie in a plane.
const FLAT: f64 = 0.1;

impl BlockAtom {
    fn build(&self) -> Result<Atom, String> {
        let (element, isotope) = match self.symbol.as_str() {
            "*" | "R" | "R#" => return Ok(Atom::wildcard()),
            "D" => (Element::H, Some(2)),
            "T" => (Element::H, Some(3)),
            symbol => {
                let known = Element::from_symbol(symbol);
                let unknown = || format!("`{}` is no element", crate::escape(symbol));
                (known.ok_or_else(unknown)?, self.isotope)
            }
        };
        Ok(Atom { charge: self.charge, isotope: self.isotope.or(isotope), ..Atom::new(element) })
    }
}

impl BlockBond {
    fn add(&self, builder: &mut MoleculeBuilder) -> Result<BondIdx, String> {
        let order = match (self.kind, self.mark) {
            (1, Mark::Wedge) => BondOrder::Up,
            (1, Mark::Hash) => BondOrder::Down,
            (1, _) => BondOrder::Single,
            (2, _) => BondOrder::Double,
            (3, _) => BondOrder::Triple,
            (4, _) => BondOrder::Aromatic,
            (9, _) => BondOrder::Dative,
            (kind, _) => return Err(format!("type {kind} is that of a query, not of a molecule")),
        };
        let end = |at: usize| {
            let found = u32::try_from(at).ok().filter(|_| at < builder.atom_count());
            found.map(AtomIdx).ok_or_else(|| format!("there is no atom {}", at + 1))
        };
        let ends = [end(self.ends[0])?, end(self.ends[1])?];
        builder.add_bond(ends[0], ends[1], order).map_err(|error| crate::escape(&error.to_string()))
    }
}

/// A number in a field of text; `None` where there is none.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}
