//! What is refused before a string reaches the molecule parser: everything whose cost could grow out of proportion,
//! and everything that is not a SMILES string.

use super::{SmilesError, grammar};
use crate::Limits;
use std::borrow::Cow;

/// Atoms of a molecule for which a canonical form is computed, whose cost grows faster than the molecule.
const MAX_CANONICAL_ATOMS: u64 = 2_000;

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
