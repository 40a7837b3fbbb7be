//! One choice among the two signs of an eigenvector.

use super::spread::Spread;

/// Entries this close to the largest magnitude (relatively) count as tied with it, so that rounding noise does not
/// decide which of two equally large entries is the largest.
const TIE: f64 = 1e-6;

/// The sign that makes the largest entry (by magnitude; the first one of those tied) of a vector positive.
pub(crate) fn canonical_sign(entries: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = entries.clone().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    match entries.into_iter().find(|entry| entry.abs() >= largest * (1.0 - TIE)) {
        Some(entry) if entry < 0.0 => -1.0,
        _ => 1.0,
    }
}

/// The same for entries of which every rank has some.
pub(crate) fn canonical_sign_among(entries: impl Iterator<Item = f64> + Clone, spread: &Spread) -> f64 {
    let largest = entries.clone().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    let largest = spread.largest(largest);
    let own = entries.into_iter().find(|entry| entry.abs() >= largest * (1.0 - TIE));
    let mut first = [0.0f64];
    spread.exchange.chain(&mut first, |_, first| match own {
        Some(entry) if first[0] == 0.0 => first[0] = entry,
        _ => {}
    });
    if first[0] < 0.0 { -1.0 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_entry_decides() {
        assert_eq!(canonical_sign([0.1, -0.9, 0.3].into_iter()), -1.0);
        assert_eq!(canonical_sign([0.1, 0.9, -0.3].into_iter()), 1.0);
        assert_eq!(canonical_sign([].into_iter()), 1.0);
        assert_eq!(canonical_sign([0.0, 0.0].into_iter()), 1.0);
    }

    #[test]
    fn rounding_noise_does_not_flip_a_tie() {
        assert_eq!(canonical_sign([-0.5, 0.5 + 1e-12].into_iter()), -1.0);
        assert_eq!(canonical_sign([-0.5 - 1e-12, 0.5].into_iter()), -1.0);
    }
}
