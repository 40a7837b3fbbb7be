//! What is refused before a string reaches the molecule parser, and a molecule the perception of rings: everything
//! whose cost could grow out of proportion, and everything that is not a SMILES string.

use super::{SmilesError, grammar};
use crate::Limits;
use chematic::core::{BondOrder, Molecule};
use std::borrow::Cow;

/// Atoms of a molecule for which a canonical form is computed, whose cost grows faster than the molecule.
const MAX_CANONICAL_ATOMS: u64 = 2_000;

/// Atoms `*` between others of a molecule with aromatic bonds: any of them may or may not have a double bond, and all ways are tried.
const MAX_WILDCARDS: u64 = 12;

/// Fails for molecules whose canonical form would take too long.
pub(super) fn check_canonical(atoms: usize) -> Result<(), SmilesError> {
    let found = atoms as u64;
    if found > MAX_CANONICAL_ATOMS {
        let what = "atoms (of a molecule that needs a canonical form)";
        return Err(SmilesError::TooLarge { what, found, limit: MAX_CANONICAL_ATOMS });
    }
    Ok(())
}

/// The string without blanks around it, if its length is within bounds and it follows the grammar.
pub(super) fn check<'a>(smiles: &'a str, limits: &Limits) -> Result<Cow<'a, str>, SmilesError> {
    let smiles = smiles.trim();
    if smiles.is_empty() {
        return Err(SmilesError::Empty);
    }
    if smiles.len() as u64 > limits.smiles_bytes {
        let found = smiles.len() as u64;
        return Err(SmilesError::TooLarge { what: "bytes", found, limit: limits.smiles_bytes });
    }
    if let Some(at) = smiles.bytes().position(|byte| !byte.is_ascii_graphic()) {
        let reason = "blanks and characters beyond ASCII have no place in it".to_owned();
        return Err(SmilesError::Syntax { character: at + 1, reason });
    }
    grammar::check(smiles, limits)?;
    // The grammar takes a doubled backslash for one; the molecule parser does not.
    let is_doubled = smiles.contains(r"\\");
    Ok(if is_doubled { Cow::Owned(smiles.replace(r"\\", r"\")) } else { Cow::Borrowed(smiles) })
}

/// Fails for molecules with too many atoms, or with more rings than can be told apart or wildcards than can be tried in a moment.
pub(super) fn check_molecule(molecule: &Molecule, limits: &Limits) -> Result<(), SmilesError> {
    let atoms = molecule.atom_count() as u64;
    let most_atoms = limits.molecule_atoms.min(limits.nodes_per_graph);
    if atoms > most_atoms {
        return Err(SmilesError::TooLarge { what: "atoms", found: atoms, limit: most_atoms });
    }
    let rings = most_rings(molecule);
    if rings > limits.molecule_rings {
        let what = "rings (of one connected molecule)";
        return Err(SmilesError::TooLarge { what, found: rings, limit: limits.molecule_rings });
    }
    let wildcards = open_wildcards(molecule);
    if wildcards > MAX_WILDCARDS {
        let what = "wildcards `*` between other atoms (of a molecule with aromatic bonds)";
        return Err(SmilesError::TooLarge { what, found: wildcards, limit: MAX_WILDCARDS });
    }
    Ok(())
}

/// Atoms `*` between others, where a bond or an atom is aromatic.
fn open_wildcards(molecule: &Molecule) -> u64 {
    let is_aromatic = molecule.atoms().any(|(_, atom)| atom.aromatic)
        || molecule.bonds().any(|(_, bond)| bond.order == BondOrder::Aromatic);
    let open = molecule.atoms().filter(|(at, atom)| atom.wildcard && molecule.degree(*at) > 1);
    if is_aromatic { open.count() as u64 } else { 0 }
}

/// The most independent rings that a connected part has: its bonds beyond those of a tree.
fn most_rings(molecule: &Molecule) -> u64 {
    // Every atom points towards the atom that stands for its part.
    let mut above: Vec<usize> = (0..molecule.atom_count()).collect();
    fn top(above: &mut [usize], mut atom: usize) -> usize {
        while above[atom] != atom {
            above[atom] = above[above[atom]];
            atom = above[atom];
        }
        atom
    }
    let ends = || molecule.bonds().map(|(_, bond)| (bond.atom1.0 as usize, bond.atom2.0 as usize));
    let mut rings = vec![0u64; above.len()];
    for (first, second) in ends() {
        let (first, second) = (top(&mut above, first), top(&mut above, second));
        rings[first] += u64::from(first == second);
        if first != second {
            above[second] = first;
            rings[first] += rings[second];
        }
    }
    rings.into_iter().max().unwrap_or(0)
}
