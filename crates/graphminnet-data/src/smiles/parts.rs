//! Parts of a string: what dots part and rings do not join again.

use std::collections::{BTreeMap, HashMap};

/// The connected molecules that a string which follows the grammar stands for, each as it is written. Both ends of a ring are in the
/// same of them, so leaving the others out changes none of its bonds.
pub(super) fn of(smiles: &str) -> Vec<String> {
    // No bracket has a dot in it, and a dot in a branch is refused.
    let pieces: Vec<&str> = smiles.split('.').collect();
    // Every piece points towards the first one that rings join it with.
    let mut above: Vec<usize> = (0..pieces.len()).collect();
    let mut open = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        for number in ring_numbers(piece) {
            if let Some(other) = open.remove(&number) {
                let (one, other) = (top(&mut above, at), top(&mut above, other));
                above[one.max(other)] = one.min(other);
            } else {
                open.insert(number, at);
            }
        }
    }
    let mut parts: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (at, piece) in pieces.into_iter().enumerate() {
        parts.entry(top(&mut above, at)).or_default().push(piece);
    }
    parts.into_values().map(|pieces| pieces.join(".")).collect()
}

/// The first of the pieces that one is joined with.
fn top(above: &mut [usize], mut piece: usize) -> usize {
    while above[piece] != piece {
        above[piece] = above[above[piece]];
        piece = above[piece];
    }
    piece
}

/// The numbers of rings, in their order.
fn ring_numbers(piece: &str) -> Vec<u32> {
    let (mut numbers, mut rest) = (Vec::new(), piece);
    while let Some(byte) = rest.bytes().next() {
        let length = match byte {
            b'[' => rest.find(']').map_or(rest.len(), |end| end + 1),
            b'%' if rest.as_bytes().get(1) == Some(&b'(') => rest.find(')').map_or(rest.len(), |end| end + 1),
            b'%' => 3,
            _ => 1,
        };
        let (token, after) = rest.split_at(length.min(rest.len()));
        if byte == b'%' || byte.is_ascii_digit() {
            numbers.extend(token.trim_matches(['%', '(', ')']).parse::<u32>());
        }
        rest = after;
    }
    numbers
}

/// A string without the numbers that map its atoms.
pub(super) fn without_maps(smiles: &str) -> String {
    let mut text = String::with_capacity(smiles.len());
    for piece in smiles.split_inclusive(']') {
        let map = piece.rfind('[').and_then(|start| piece[start..].find(':').map(|colon| start + colon));
        match map {
            Some(colon) => text.extend([&piece[..colon], "]"]),
            None => text.push_str(piece),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_what_rings_do_not_join_again() {
        for (smiles, parts) in [
            ("CCO", &["CCO"][..]),
            ("CC[N+](C)C.[Cl-]", &["CC[N+](C)C", "[Cl-]"]),
            ("C1CC1.C1CC1", &["C1CC1", "C1CC1"]),
            ("C1.O.C1", &["C1.C1", "O"]),
            ("O.C%12.C1.C1CC%(12)", &["O", "C%12.C1.C1CC%(12)"]),
            ("C%123.O3.N%12", &["C%123.O3.N%12"]),
            // What is in brackets closes no ring.
            ("[13CH3:1].[13CH3:1]", &["[13CH3:1]", "[13CH3:1]"]),
            // The first and the second meet in the third.
            ("C1.C2.C12.O", &["C1.C2.C12", "O"]),
        ] {
            assert_eq!(of(smiles), parts, "{smiles}");
        }
    }

    #[test]
    fn atoms_lose_their_numbers_and_bonds_keep_their_colons() {
        for (mapped, bare) in [
            ("[CH3:5][C@@H](N)O", "[CH3][C@@H](N)O"),
            ("C1:C:[cH:12]:C:C:C:1", "C1:C:[cH]:C:C:C:1"),
            ("[NH4+:1].[Cl-]", "[NH4+].[Cl-]"),
            ("CCO", "CCO"),
        ] {
            assert_eq!(without_maps(mapped), bare);
        }
    }
}
