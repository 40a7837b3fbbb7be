//! The columns of the ZINC benchmark: one atom type and one bond order, read off the canonical Kekulé form.
//!
//! An atom type is the element with the hydrogens and the sign of the charge that the canonical Kekulé SMILES writes
//! in brackets (so a stereo centre with a hydrogen is `C H1`); nodes are in the order of that SMILES, as in the
//! benchmark.

use super::{SketchAtom, SmilesError, build, chemistry, parse};
use crate::graph::Graph;
use crate::{Column, ColumnKind};
use chematic::core::{BondOrder, Element, Molecule};
use chematic::smiles::rdkit;

/// The benchmark's atom types in the order of its dictionary: element, hydrogens, sign of the charge.
const ATOM_TYPES: [(&str, u8, i8); 28] = [
    ("C", 0, 0),
    ("O", 0, 0),
    ("N", 0, 0),
    ("F", 0, 0),
    ("C", 1, 0),
    ("S", 0, 0),
    ("Cl", 0, 0),
    ("O", 0, -1),
    ("N", 1, 1),
    ("Br", 0, 0),
    ("N", 3, 1),
    ("N", 2, 1),
    ("N", 0, 1),
    ("N", 0, -1),
    ("S", 0, -1),
    ("I", 0, 0),
    ("P", 0, 0),
    ("O", 1, 1),
    ("N", 1, -1),
    ("O", 0, 1),
    ("S", 0, 1),
    ("P", 1, 0),
    ("P", 2, 0),
    ("C", 2, -1),
    ("P", 0, 1),
    ("S", 1, 1),
    ("C", 1, -1),
    ("P", 1, 1),
];

/// Bond orders 0 (never used) to 3.
const BOND_ORDERS: usize = 4;

pub(super) fn node_columns() -> Vec<Column> {
    vec![Column::new("zinc_atom_type", ColumnKind::Category { size: ATOM_TYPES.len(), names: Vec::new() })]
}

pub(super) fn edge_columns() -> Vec<Column> {
    vec![Column::new("zinc_bond_type", ColumnKind::Category { size: BOND_ORDERS, names: Vec::new() })]
}

/// The atom of a type; of unknown kind for a type that the benchmark does not have.
pub(super) fn atom(kind: u32) -> SketchAtom {
    let Some(&(symbol, hydrogens, charge)) = ATOM_TYPES.get(kind as usize) else {
        return SketchAtom { element: 0, charge: 0, hydrogens: None };
    };
    let element = Element::from_symbol(symbol).map_or(0, Element::atomic_number);
    // Hydrogens are written in brackets only, that is with a charge or where there is something unusual.
    let written = hydrogens > 0 || charge != 0;
    SketchAtom { element, charge, hydrogens: written.then_some(hydrogens) }
}

pub(super) fn graph(molecule: &Molecule) -> Result<Graph, SmilesError> {
    let form = rdkit::RdkitSmilesParams { kekule: true, ..Default::default() };
    let kekule = parse(&rdkit::rdkit_smiles(molecule, &form).map_err(chemistry)?)?;
    let mut types = Vec::with_capacity(kekule.atom_count());
    for (_, atom) in kekule.atoms() {
        let symbol = if atom.wildcard { "*" } else { atom.element.symbol() };
        let key = (symbol, atom.hydrogen_count.unwrap_or(0), atom.charge.signum());
        match ATOM_TYPES.iter().position(|known| *known == key) {
            Some(kind) => types.push(kind as u32),
            None => {
                return Err(SmilesError::Unsupported(format!(
                    "atom {symbol} with {} written hydrogens and charge {} is none of the benchmark's 28 types",
                    key.1, atom.charge
                )));
            }
        }
    }
    let mut bonds = Vec::with_capacity(kekule.bond_count());
    for (_, bond) in kekule.bonds() {
        let order = match bond.order {
            BondOrder::Single | BondOrder::Up | BondOrder::Down => 1,
            BondOrder::Double => 2,
            BondOrder::Triple => 3,
            _ => {
                return Err(SmilesError::Unsupported(
                    "a bond is neither single, double nor triple".to_owned(),
                ));
            }
        };
        let (first, second) = (bond.atom1.0, bond.atom2.0);
        bonds.push((first.min(second), first.max(second), order));
    }
    bonds.sort_unstable();
    let edges = bonds.iter().flat_map(|&(first, second, _)| [[first, second], [second, first]]).collect();
    let orders = bonds.iter().flat_map(|&(_, _, order)| [order, order]).collect();
    build(types.len(), edges, (1, types), (1, orders))
}
