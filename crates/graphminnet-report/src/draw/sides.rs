//! The sides of double bonds: cis is drawn as cis.

use super::layout::Place;
use super::untangle::Tangle;
use graphminnet_data::smiles::SketchSides;

/// Puts the neighbours of double bonds on the sides on which they belong, by turning over what hangs on one end. In a ring
/// nothing can be turned over: the double bonds are returned whose neighbours stay on the wrong sides.
pub(super) fn settle(places: &mut [Place], tangle: &Tangle<'_>, all: &[SketchSides]) -> Vec<(usize, usize)> {
    let mut wrong = Vec::new();
    for sides in all {
        let [first, second] = sides.ends;
        if is_right(places, sides) {
            continue;
        }
        if tangle.is_joined_without(first, second) {
            wrong.push((first.min(second), first.max(second)));
            continue;
        }
        let (here, there) = (tangle.branch(second, first), tangle.branch(first, second));
        let (a, b) = (places[first], places[second]);
        // Turning over one end or the other gives mirror images: the smaller one is turned.
        let smaller = if here.len() < there.len() { here } else { there };
        for atom in smaller {
            places[atom] = mirrored(places[atom], a, b);
        }
    }
    wrong
}

/// Whether the neighbours of a double bond are on the sides on which they belong.
fn is_right(places: &[Place], sides: &SketchSides) -> bool {
    let [a, b] = sides.ends.map(|end| places[end]);
    let [c, d] = sides.neighbours.map(|neighbour| places[neighbour]);
    let side = |place: Place| (b.0 - a.0) * (place.1 - a.1) - (b.1 - a.1) * (place.0 - a.0);
    (side(c) * side(d) > 0.0) == sides.same
}

/// A place on the other side of the line through two others.
fn mirrored(place: Place, a: Place, b: Place) -> Place {
    let along = (b.0 - a.0, b.1 - a.1);
    let length = (along.0 * along.0 + along.1 * along.1).max(1e-12);
    let share = ((place.0 - a.0) * along.0 + (place.1 - a.1) * along.1) / length;
    let foot = (a.0 + share * along.0, a.1 + share * along.1);
    (2.0 * foot.0 - place.0, 2.0 * foot.1 - place.1)
}
