//! Scaffolds: what molecules have in common that belong into one part of a split.

use super::{SmilesError, chemistry, guard, parse};
use chematic::core::{Atom, BondOrder, Chirality, Molecule, MoleculeBuilder};
use chematic::smiles::rdkit;

/// The first version of the rules under which the scaffold is that of the bare molecule.
pub(super) const BARE: u32 = 7;

/// The canonical SMILES of the ring systems and what links them.
pub(super) fn of(molecule: &Molecule) -> Result<String, SmilesError> {
    guard::check_canonical(molecule.atom_count())?;
    rdkit::rdkit_murcko_scaffold(molecule).map_err(chemistry)
}

/// The molecule without stereo marks, isotopes and map numbers, read again from its canonical form: the hydrogens of an atom in brackets
/// count as fixed where others follow what is cut away, so brackets must not be those of whoever wrote the string.
pub(super) fn bare(molecule: &Molecule) -> Result<Molecule, SmilesError> {
    guard::check_canonical(molecule.atom_count())?;
    let mut builder = MoleculeBuilder::with_capacity(molecule.atom_count(), molecule.bond_count());
    for (_, atom) in molecule.atoms() {
        let (chirality, cip_code, isotope, atom_map) = (Chirality::None, None, None, None);
        builder.add_atom(Atom { chirality, cip_code, isotope, atom_map, ..atom.clone() });
    }
    for (_, bond) in molecule.bonds() {
        let order = match bond.order {
            BondOrder::Up | BondOrder::Down => BondOrder::Single,
            order => order,
        };
        builder
            .add_bond(bond.atom1, bond.atom2, order)
            .map_err(|error| SmilesError::Unsupported(crate::escape(&error.to_string())))?;
    }
    parse(&rdkit::rdkit_canonical_smiles(&builder.build()).map_err(chemistry)?)
}
