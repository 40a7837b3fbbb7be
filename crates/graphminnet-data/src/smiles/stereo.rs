//! The configuration of stereo centres by Cahn, Ingold and Prelog: R or S, whichever atom is written first.
//!
//! OGB's column `chirality` says whether the neighbours of an atom turn clockwise in the order in which they are written,
//! so that one molecule has as many descriptions as it has SMILES strings. Here a centre is R or S, or, where its
//! neighbours differ only by other centres (as in 1,4-dimethylcyclohexane), a centre without a letter of its own.
//! Which of cis and trans such a ring is, is not kept.

use super::{SmilesError, chemistry, columns};
use crate::Column;
use chematic::core::Molecule;
use chematic::smiles::rdkit::{self, OgbGraphFeatures};

/// Position of the column among those of atoms, and of the stereo column among those of bonds.
const AT: usize = 1;

/// The categories: no centre, R, S, a centre without a letter; 4 is a centre that is no tetrahedron, as OGB has it.
const R: i64 = 1;
const S: i64 = 2;
const UNLABELLED: i64 = 3;

/// OGB's atom columns with `configuration` in place of `chirality`.
pub(super) fn atom_columns() -> Vec<Column> {
    let mut columns = columns::atom_columns();
    if let Some(column) = columns.get_mut(AT) {
        "configuration".clone_into(&mut column.name);
    }
    columns
}

/// Replaces the direction in which neighbours are written by the configuration.
pub(super) fn label(molecule: &Molecule, features: &mut OgbGraphFeatures) -> Result<(), SmilesError> {
    let is_tetrahedral = |row: &[i64; 9]| matches!(row[AT], 1 | 2);
    if !features.node_feat.iter().any(is_tetrahedral) {
        return Ok(());
    }
    let centres = rdkit::rdkit_chiral_centers(molecule, false).map_err(chemistry)?;
    for (node, row) in features.node_feat.iter_mut().enumerate().filter(|(_, row)| is_tetrahedral(row)) {
        let letter = centres.iter().find(|(at, _)| *at == node).map(|(_, letter)| letter.as_str());
        row[AT] = match letter {
            Some("R") => R,
            Some("S") => S,
            _ => UNLABELLED,
        };
    }
    Ok(())
}

/// Forgets the configuration of atoms and of double bonds.
pub(super) fn forget(features: &mut OgbGraphFeatures) {
    features.node_feat.iter_mut().for_each(|row| row[AT] = 0);
    features.edge_feat.iter_mut().for_each(|row| row[AT] = 0);
}
