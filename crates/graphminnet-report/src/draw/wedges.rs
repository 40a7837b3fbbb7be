//! Wedges: one bond of every tetrahedral centre comes towards the reader or goes away.
//!
//! A wedge is narrow at its centre. It goes to a neighbour that is no centre itself, outside of rings and at the end of
//! the molecule where there is one, so that it is read as what it is.

use super::layout::Place;
use graphminnet_data::smiles::{SketchCentre, SketchOrder};
use std::f64::consts::{PI, TAU};

/// A single bond that leaves the plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wedge {
    /// The centre: its narrow end.
    pub(super) centre: usize,
    /// Solid, towards the reader; otherwise hashed, away.
    pub(super) is_solid: bool,
}

/// A laid-out molecule.
pub(super) struct Drawing<'a> {
    /// Places; down is positive.
    pub(super) places: &'a [Place],
    /// Its bonds.
    pub(super) bonds: &'a [(usize, usize)],
    /// Their orders.
    pub(super) orders: &'a [SketchOrder],
    /// Whether they are in rings.
    pub(super) in_ring: &'a [bool],
    /// Its centres.
    pub(super) centres: &'a [SketchCentre],
}

/// Three bonds within this angle of a half turn: which is the middle one is hard to see.
const FAN: f64 = PI * 190.0 / 180.0;

impl Drawing<'_> {
    /// The wedge of every bond, if it is one.
    pub(super) fn wedges(&self) -> Vec<Option<Wedge>> {
        let mut found = vec![None; self.bonds.len()];
        let mut is_centre = vec![false; self.places.len()];
        self.centres.iter().for_each(|centre| is_centre[centre.atom] = true);
        let beside = |centre: &SketchCentre| centre.neighbours.iter().filter(|at| is_centre[**at]).count();
        // Centres among centres have the least choice.
        let mut order: Vec<&SketchCentre> = self.centres.iter().collect();
        order.sort_by_key(|centre| (std::cmp::Reverse(beside(centre)), centre.atom));
        for centre in order {
            let free = (0..self.bonds.len()).filter(|&bond| {
                found[bond].is_none()
                    && self.orders[bond] == SketchOrder::Single
                    && self.beyond(bond, centre.atom).is_some()
            });
            let Some(bond) = free.min_by_key(|&bond| self.cost(bond, centre, &is_centre)) else { continue };
            let Some(neighbour) = self.beyond(bond, centre.atom) else { continue };
            found[bond] = Some(Wedge { centre: centre.atom, is_solid: self.is_solid(centre, neighbour) });
        }
        found
    }

    /// The other end of a bond.
    fn beyond(&self, bond: usize, atom: usize) -> Option<usize> {
        match self.bonds[bond] {
            (a, b) if a == atom => Some(b),
            (a, b) if b == atom => Some(a),
            _ => None,
        }
    }

    /// What speaks against a bond, the weightiest first.
    fn cost(&self, bond: usize, centre: &SketchCentre, is_centre: &[bool]) -> impl Ord + use<> {
        let neighbour = self.beyond(bond, centre.atom).unwrap_or(centre.atom);
        let own = |at: &usize| self.beyond(*at, neighbour).is_some();
        let bonds: Vec<usize> = (0..self.bonds.len()).filter(own).collect();
        let is_middle = matches!(self.turn(centre, neighbour).as_slice(), [_, a, b] if b.0 - a.0 > TAU - FAN);
        (
            is_middle,
            is_centre[neighbour],
            self.in_ring[bond],
            bonds.iter().any(|at| self.in_ring[*at]),
            bonds.iter().any(|at| self.orders[*at] != SketchOrder::Single),
            bonds.len(),
            bond,
        )
    }

    /// The neighbours of a centre as they follow each other to the left, from one of them on: angle and neighbour.
    fn turn(&self, centre: &SketchCentre, first: usize) -> Vec<(f64, usize)> {
        let (x, y) = self.places[centre.atom];
        let angle = |at: usize| (y - self.places[at].1).atan2(self.places[at].0 - x);
        let start = angle(first);
        let from_start = |at: usize| if at == first { 0.0 } else { (angle(at) - start).rem_euclid(TAU) };
        let mut turn: Vec<(f64, usize)> = centre.neighbours.iter().map(|&at| (from_start(at), at)).collect();
        turn.sort_by(|a, b| a.0.total_cmp(&b.0).then((b.1 == first).cmp(&(a.1 == first))));
        turn
    }

    /// Whether the bond to this neighbour must be solid.
    fn is_solid(&self, centre: &SketchCentre, neighbour: usize) -> bool {
        let turn = self.turn(centre, neighbour);
        let order: Vec<usize> = turn.iter().map(|(_, at)| *at).collect();
        // Seen from a neighbour that comes towards the reader, the others turn to the left.
        let mut is_left = !centre.clockwise ^ is_odd(&centre.neighbours, &order);
        // The middle one of three bonds in one half of the plane: the missing fourth is on the reader's side of it.
        if let [_, a, b] = turn.as_slice()
            && b.0 - a.0 > PI
        {
            is_left = !is_left;
        }
        is_left
    }
}

/// Whether it takes an odd number of exchanges to make one order of the other.
fn is_odd(from: &[usize], to: &[usize]) -> bool {
    let order: Vec<Option<usize>> = to.iter().map(|at| from.iter().position(|other| other == at)).collect();
    let inversions = |at: usize| order[..at].iter().filter(|before| **before > order[at]).count();
    (0..order.len()).map(inversions).sum::<usize>() % 2 == 1
}
