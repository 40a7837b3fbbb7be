//! The 9 atom and 3 bond columns of the Open Graph Benchmark, by name and size.

use crate::{Column, ColumnKind};

/// Atom columns: name and number of categories.
pub(super) const ATOM_COLUMNS: [(&str, u64); 9] = [
    ("atomic_number", 119),
    ("chirality", 5),
    ("degree", 12),
    ("formal_charge", 12),
    ("hydrogens", 10),
    ("radical_electrons", 6),
    ("hybridization", 6),
    ("is_aromatic", 2),
    ("is_in_ring", 2),
];

/// Bond columns: name and number of categories.
pub(super) const BOND_COLUMNS: [(&str, u64); 3] =
    [("bond_type", 5), ("bond_stereo", 6), ("is_conjugated", 2)];

const ATOM_NAMES: [&str; 9] = names(&ATOM_COLUMNS);
const BOND_NAMES: [&str; 3] = names(&BOND_COLUMNS);

const fn names<const N: usize>(columns: &[(&'static str, u64); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = columns[at].0;
        at += 1;
    }
    names
}

/// The atom columns of a molecule read from SMILES.
pub(super) fn atom_columns() -> Vec<Column> {
    of(&ATOM_COLUMNS)
}

/// The bond columns of a molecule read from SMILES.
pub(super) fn bond_columns() -> Vec<Column> {
    of(&BOND_COLUMNS)
}

fn of(columns: &[(&str, u64)]) -> Vec<Column> {
    columns
        .iter()
        .map(|&(name, size)| {
            Column::new(name, ColumnKind::Category { size: size as usize, names: Vec::new() })
        })
        .collect()
}

/// Names for categorical columns of exactly these sizes, if they are the benchmark's.
pub(crate) fn column_names(what: &str, sizes: &[u64]) -> Option<&'static [&'static str]> {
    let is = |columns: &[(&str, u64)]| sizes.iter().eq(columns.iter().map(|(_, size)| size));
    match what {
        "node" if is(&ATOM_COLUMNS) => Some(&ATOM_NAMES),
        "edge" if is(&BOND_COLUMNS) => Some(&BOND_NAMES),
        _ => None,
    }
}

/// The benchmark's full sizes, if observed sizes look like its atoms or bonds: as many columns, each within its size.
pub(crate) fn completed_sizes(observed: &[u64]) -> Option<Vec<u64>> {
    [&ATOM_COLUMNS[..], &BOND_COLUMNS[..]].into_iter().find_map(|columns| {
        let fits = observed.len() == columns.len()
            && observed.iter().zip(columns).all(|(found, (_, size))| found <= size);
        fits.then(|| columns.iter().map(|(_, size)| *size).collect())
    })
}
