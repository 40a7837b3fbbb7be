//! The bonds of a molecule: lines, wedges, and where they stop.

use super::layout::Place;
use super::molecule::Skeleton;
use super::selection::Selection;
use super::shapes::{line, moved, polygon};
use super::untangle::Tangle;
use super::wedges::{Drawing, Wedge};
use crate::theme::Paint;
use graphminnet_data::smiles::SketchOrder;

/// Draws every bond; `unit` is the length of one.
pub(super) fn draw(
    out: &mut String,
    skeleton: &Skeleton,
    selection: &Selection,
    places: &[Place],
    unit: f64,
) {
    let around = selection.neighbours();
    let bonds: Vec<(usize, usize)> = selection.edges.iter().map(|edge| edge.ends).collect();
    let tangle = Tangle { bonds: &bonds, neighbours: &around };
    let in_ring: Vec<bool> = bonds.iter().map(|&(a, b)| tangle.is_joined_without(a, b)).collect();
    let (orders, centres) = (&skeleton.orders, &skeleton.centres);
    let wedges = Drawing { places, bonds: &bonds, orders, in_ring: &in_ring, centres }.wedges();
    let pen = Pen::new(unit);
    for edge in &selection.joins {
        line(out, places[edge.ends.0], places[edge.ends.1], &pen.dotted);
    }
    for ((&(first, second), order), wedge) in bonds.iter().zip(orders).zip(wedges) {
        // Lines stop before an atom that is written out.
        let stop = |at: usize| if skeleton.labels[at].is_some() { 0.24 * unit } else { 0.0 };
        let bond = Bond::between(places[first], places[second], [stop(first), stop(second)]);
        let others = around[first].iter().chain(&around[second]).filter(|at| **at != first && **at != second);
        // The second line of a double bond is on the side of most neighbours: inside a ring.
        let side: f64 = others.map(|&at| bond.side(places[at])).sum();
        match (order, wedge) {
            (_, Some(wedge)) => pen.wedge(out, &bond, wedge, wedge.centre == second),
            (SketchOrder::Single, None) => pen.line(out, bond.from, bond.to),
            // Two lines that cross say that nothing is said about the sides.
            (SketchOrder::Double, None) if skeleton.unsettled.contains(&(first, second)) => {
                for shift in [0.5 * pen.gap, -0.5 * pen.gap] {
                    let at = |place: Place, shift: f64| moved(place, bond.across, shift);
                    pen.line(out, at(bond.from, shift), at(bond.to, -shift));
                }
            }
            (SketchOrder::Aromatic | SketchOrder::Double, None) => {
                pen.line(out, bond.from, bond.to);
                let (from, to) = bond.beside(if side < 0.0 { -pen.gap } else { pen.gap }, 0.12);
                line(out, from, to, if *order == SketchOrder::Double { &pen.plain } else { &pen.dashed });
            }
            (SketchOrder::Triple, None) => {
                pen.line(out, bond.from, bond.to);
                for shift in [pen.gap, -pen.gap] {
                    let (from, to) = bond.beside(shift, 0.08);
                    pen.line(out, from, to);
                }
            }
        }
    }
}

/// A bond on paper.
struct Bond {
    from: Place,
    to: Place,
    length: f64,
    along: Place,
    across: Place,
}

impl Bond {
    /// From one place to another, without what is left free at the ends.
    fn between(a: Place, b: Place, stops: [f64; 2]) -> Self {
        let length = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9);
        let along = ((b.0 - a.0) / length, (b.1 - a.1) / length);
        let [first, second] = stops.map(|stop| stop.min(length / 3.0));
        let (from, to) = (moved(a, along, first), moved(b, along, -second));
        Self { from, to, length, along, across: (-along.1, along.0) }
    }

    /// On which side a place is, and how far.
    fn side(&self, place: Place) -> f64 {
        (place.0 - self.from.0) * self.across.0 + (place.1 - self.from.1) * self.across.1
    }

    /// A line beside the bond, shorter by a share of its length at both ends.
    fn beside(&self, shift: f64, inset: f64) -> (Place, Place) {
        let inset = inset * self.length;
        let shifted = |place: Place| moved(place, self.across, shift);
        (moved(shifted(self.from), self.along, inset), moved(shifted(self.to), self.along, -inset))
    }
}

/// How bonds are drawn at one size.
struct Pen {
    plain: String,
    dashed: String,
    /// Between atoms that are joined by something other than a bond.
    dotted: String,
    /// Between the lines of a double bond.
    gap: f64,
    /// Half the width of a wedge at its wide end.
    wide: f64,
    /// Between the lines of a hashed wedge.
    hatch: f64,
}

impl Pen {
    fn new(unit: f64) -> Self {
        let width = (0.04 * unit).clamp(0.6, 1.6);
        let plain = format!("{} stroke-width=\"{width:.1}\" stroke-linecap=\"round\"", Paint::Ink.stroke());
        let dashed = format!("{plain} stroke-dasharray=\"{:.1}\"", 0.1 * unit);
        let dotted = format!(
            "{} stroke-width=\"{:.1}\" stroke-opacity=\"0.6\" stroke-dasharray=\"1 {:.1}\"",
            Paint::Muted.stroke(),
            0.7 * width,
            0.12 * unit
        );
        Self { plain, dashed, dotted, gap: 0.13 * unit, wide: 0.11 * unit, hatch: (0.1 * unit).max(2.0) }
    }

    fn line(&self, out: &mut String, from: Place, to: Place) {
        line(out, from, to, &self.plain);
    }

    /// A wedge, narrow at the start of the bond or, `reversed`, at its end.
    fn wedge(&self, out: &mut String, bond: &Bond, wedge: Wedge, reversed: bool) {
        let (narrow, broad) = if reversed { (bond.to, bond.from) } else { (bond.from, bond.to) };
        let corner = |shift: f64| moved(broad, bond.across, shift);
        if wedge.is_solid {
            polygon(out, &[narrow, corner(self.wide), corner(-self.wide)], &Paint::Ink.fill());
            return;
        }
        let length = (broad.0 - narrow.0).hypot(broad.1 - narrow.1);
        let count = (length / self.hatch).floor().max(3.0);
        let mut step = 1.0;
        while step <= count {
            let share = step / count;
            let middle = (narrow.0 + share * (broad.0 - narrow.0), narrow.1 + share * (broad.1 - narrow.1));
            let half = share * self.wide;
            self.line(out, moved(middle, bond.across, half), moved(middle, bond.across, -half));
            step += 1.0;
        }
    }
}
