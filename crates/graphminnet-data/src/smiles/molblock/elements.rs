//! What the format knows about elements: the mass from which differences count, and how many hydrogens are left unsaid.

use chematic::core::{AtomIdx, BondOrder, Element, Molecule};

/// Mass number of the most abundant isotope (of the longest-lived one, where none is stable), from hydrogen on; as in RDKit.
const MASSES: [u16; 118] = [
    1, 4, 7, 9, 11, 12, 14, 16, 19, 20, 23, 24, 27, 28, 31, 32, 35, 40, 39, 40, 45, 48, 51, 52, 55, 56, 59,
    58, 63, 64, 69, 74, 75, 80, 79, 84, 85, 88, 89, 90, 93, 98, 97, 102, 103, 106, 107, 114, 115, 120, 121,
    130, 127, 132, 133, 138, 139, 140, 141, 142, 145, 152, 153, 158, 159, 164, 165, 166, 169, 174, 175, 180,
    181, 184, 187, 192, 193, 195, 197, 202, 205, 208, 209, 209, 210, 222, 223, 226, 227, 232, 231, 238, 236,
    238, 241, 243, 247, 249, 252, 257, 258, 259, 262, 267, 268, 271, 270, 269, 278, 281, 281, 285, 284, 289,
    288, 293, 292, 294,
];

/// Atomic number, outer electrons and usual valences of main-group elements beyond the organic subset of SMILES; as in RDKit. Of
/// metals only those are here whose compounds have covalent bonds: germanium, tin and antimony.
const MAIN_GROUP: [(u8, i16, &[i16]); 8] = [
    (14, 4, &[4]),
    (32, 4, &[4]),
    (33, 5, &[3, 5]),
    (34, 6, &[2, 4, 6]),
    (50, 4, &[2, 4]),
    (51, 5, &[3, 5]),
    (52, 6, &[2, 4, 6]),
    (85, 7, &[1, 3, 5]),
];

/// Germanium, tin and antimony.
const METALS: [u8; 3] = [32, 50, 51];

/// The mass number from which the difference in the line of an atom counts.
pub(super) fn mass(element: Element) -> Option<u16> {
    MASSES.get(usize::from(element.atomic_number()).checked_sub(1)?).copied()
}

/// Hydrogens of an atom of the main group beyond the organic subset; `None` for all other atoms. As in the organic subset, a charge
/// moves the valences, and an atom with fewer than four outer electrons binds with all of them.
pub(super) fn hydrogens(molecule: &Molecule, at: AtomIdx) -> Option<u8> {
    let atom = molecule.atom(at);
    let number = atom.element.atomic_number();
    let (_, electrons, valences) =
        MAIN_GROUP.iter().find(|(known, ..)| *known == number && !atom.wildcard)?;
    let charge = i16::from(atom.charge);
    // Alone it is an element or an ion, such as Sn2+.
    if molecule.degree(at) == 0 && (charge > 0 || METALS.contains(&number)) {
        return None;
    }
    // The donor of a dative bond has its valences still.
    let counts = |order: BondOrder, first: AtomIdx| order != BondOrder::Dative || first != at;
    let near = molecule.neighbors(at).map(|(_, bond)| molecule.bond(bond));
    let orders = near.filter(|bond| counts(bond.order, bond.atom1)).map(|bond| bond.order.order_int());
    let bonds: i16 = orders.map(i16::from).sum();
    let left = electrons - charge;
    let valence = match left {
        0..4 => Some(left),
        _ => valences.iter().map(|valence| valence + charge).find(|valence| *valence >= bonds),
    };
    Some(u8::try_from(valence.unwrap_or(0) - bonds).unwrap_or(0))
}
