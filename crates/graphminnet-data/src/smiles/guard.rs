//! What is refused before a string reaches the molecule parser: everything whose cost could grow out of proportion.

use super::SmilesError;
use crate::Limits;

/// Nested branches that the parser follows on the stack.
const MAX_DEPTH: u64 = 500;

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

/// The trimmed string, if its length, nesting and number of open rings are within bounds.
pub(super) fn check<'a>(smiles: &'a str, limits: &Limits) -> Result<&'a str, SmilesError> {
    let smiles = smiles.trim();
    if smiles.is_empty() {
        return Err(SmilesError::Empty);
    }
    let too_large = |what, found, limit| Err(SmilesError::TooLarge { what, found, limit });
    if smiles.len() as u64 > limits.smiles_bytes {
        return too_large("bytes", smiles.len() as u64, limits.smiles_bytes);
    }
    if let Some(at) = smiles.bytes().position(|byte| !byte.is_ascii_graphic()) {
        return Err(SmilesError::Syntax(format!("unexpected character at byte {at}")));
    }
    let max_depth = limits.smiles_depth.min(MAX_DEPTH);
    let (mut depth, mut deepest) = (0u64, 0u64);
    for byte in smiles.bytes() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if deepest > max_depth {
        return too_large("nested branches", deepest, max_depth);
    }
    Ok(smiles)
}
