//! Ring systems without crossed bonds.
//!
//! The usual drawing puts one regular ring beside the other, which ends in crossed bonds where rings share more than an edge
//! (adamantane, morphine) or are large. The graph of such a ring system can nearly always be drawn without crossings: with
//! one of its cycles as the rim and every other atom in the middle of its neighbours (Tutte 1963). Which cycle becomes the
//! rim is tried out, those first that have every atom with something outside of the system on them; then bonds are brought
//! to one length as far as none crosses another, and what hangs on the system is set on again where there is room.
//!
//! A molecule without crossed bonds, and without atoms on top of each other, is left as it is.

mod branches;
mod cycles;

use super::layout::Place;
use std::f64::consts::TAU;

/// Atoms of a system up to which its cycles are tried.
const MOST_ATOMS: usize = 90;
/// Cycles of each order that are brought to equal bonds before one is chosen.
const TRIED: usize = 6;
/// Rounds of the search for the middle, and of the relaxation.
const MIDDLE_ROUNDS: usize = 400;
const RELAXATIONS: usize = 400;
/// Atoms that are nearer than this sit on each other, and nearer than that to a bond sit on it.
const TOUCH: f64 = 0.3;
const COVERED: f64 = 0.12;

/// A molecule as the places see it.
pub(super) struct Tangle<'a> {
    /// Bonds, each once, by the numbers of their atoms.
    pub(super) bonds: &'a [(usize, usize)],
    /// Neighbours of every atom.
    pub(super) neighbours: &'a [Vec<usize>],
}

impl Tangle<'_> {
    /// Better places, where bonds cross or atoms sit on each other.
    pub(super) fn untangle(&self, places: &mut Vec<Place>) {
        self.free_branches(places);
        for system in self.ring_systems() {
            let is_inside = |(a, b): &(usize, usize)| system.contains(a) && system.contains(b);
            let (inside, outside): (Vec<_>, Vec<_>) = self.bonds.iter().copied().partition(is_inside);
            let crossed = |bond: &(usize, usize)| {
                inside.iter().chain(&outside).any(|other| do_cross(places, *bond, *other))
            };
            if system.len() > MOST_ATOMS || !inside.iter().any(crossed) {
                continue;
            }
            let mut least = self.disorder(places);
            let before = places.clone();
            for found in self.planar(&system, &inside) {
                let mut changed = before.clone();
                self.set(&system, &found, &mut changed);
                self.free_branches(&mut changed);
                let disorder = self.disorder(&changed);
                if disorder < least {
                    (least, *places) = (disorder, changed);
                }
            }
        }
    }

    /// Crossed bonds of the whole molecule and atoms that sit on each other, which count four times, and atoms on bonds.
    fn disorder(&self, places: &[Place]) -> usize {
        let near = |a: usize| (0..a).filter(|b| distance(places[a], places[*b]) < TOUCH).count();
        let covered = |bond: &(usize, usize)| {
            (0..places.len()).filter(|atom| is_on(places[*atom], places[bond.0], places[bond.1])).count()
        };
        4 * crossings(places, self.bonds)
            + 4 * (0..places.len()).map(near).sum::<usize>()
            + self.bonds.iter().map(covered).sum::<usize>()
    }

    /// Atoms that are joined by bonds in rings, each system ascending.
    fn ring_systems(&self) -> Vec<Vec<usize>> {
        let in_ring: Vec<(usize, usize)> =
            self.bonds.iter().copied().filter(|(a, b)| self.is_joined_without(*a, *b)).collect();
        let mut system: Vec<usize> = (0..self.neighbours.len()).collect();
        fn root(system: &[usize], mut at: usize) -> usize {
            while system[at] != at {
                at = system[at];
            }
            at
        }
        for &(a, b) in &in_ring {
            let (a, b) = (root(&system, a), root(&system, b));
            system[a.max(b)] = a.min(b);
        }
        let mut members = vec![Vec::new(); system.len()];
        for at in 0..system.len() {
            members[root(&system, at)].push(at);
        }
        members.retain(|system| system.len() > 2);
        members
    }

    /// Whether two neighbours are connected by more than their bond.
    pub(super) fn is_joined_without(&self, a: usize, b: usize) -> bool {
        let mut seen = vec![false; self.neighbours.len()];
        let mut open = vec![a];
        seen[a] = true;
        while let Some(at) = open.pop() {
            for &next in &self.neighbours[at] {
                if at == a && next == b {
                    continue;
                }
                if next == b {
                    return true;
                }
                if !seen[next] {
                    seen[next] = true;
                    open.push(next);
                }
            }
        }
        false
    }

    /// Places for the atoms of a system, in its order, without crossings: several, the least strained first.
    fn planar(&self, system: &[usize], bonds: &[(usize, usize)]) -> Vec<Vec<Place>> {
        let number = |atom: usize| system.binary_search(&atom).unwrap_or(0);
        let bonds: Vec<(usize, usize)> = bonds.iter().map(|(a, b)| (number(*a), number(*b))).collect();
        let mut around = vec![Vec::new(); system.len()];
        for &(a, b) in &bonds {
            around[a].push(b);
            around[b].push(a);
        }
        // Bonds to the outside must cross the rim where they begin within it.
        let outward = |atom: usize| {
            self.neighbours[system[atom]].iter().filter(|next| system.binary_search(next).is_err()).count()
        };
        let within = |rim: &[usize]| -> usize {
            (0..system.len()).filter(|atom| !rim.contains(atom)).map(outward).sum()
        };
        let mut longest = cycles::of(&around, &bonds);
        longest.sort_by_key(|rim| std::cmp::Reverse(rim.len()));
        let mut open = longest.clone();
        open.sort_by_cached_key(|rim| within(rim));
        let mut found: Vec<(f64, Vec<Place>)> = Vec::new();
        for rims in [open, longest] {
            let is_planar = |rim: &Vec<usize>| {
                in_the_middle(&around, rim).filter(|places| crossings(places, &bonds) == 0)
            };
            for mut places in rims.iter().filter_map(is_planar).take(TRIED) {
                relax(&mut places, &around, &bonds);
                found.push((strain(&places, &bonds), places));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.into_iter().map(|(_, places)| places).collect()
    }
}

/// Whether a place is on the line between two others, and not at its ends.
fn is_on(place: Place, a: Place, b: Place) -> bool {
    let along = (b.0 - a.0, b.1 - a.1);
    let length = distance(a, b).max(1e-9);
    let share = ((place.0 - a.0) * along.0 + (place.1 - a.1) * along.1) / (length * length);
    let foot = (a.0 + share * along.0, a.1 + share * along.1);
    (0.05..0.95).contains(&share) && distance(place, foot) < COVERED
}

fn distance(a: Place, b: Place) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// Pairs of bonds that cross.
pub(super) fn crossings(places: &[Place], bonds: &[(usize, usize)]) -> usize {
    let mut count = 0;
    for (at, &bond) in bonds.iter().enumerate() {
        count += bonds[..at].iter().filter(|other| do_cross(places, bond, **other)).count();
    }
    count
}

fn do_cross(places: &[Place], (a, b): (usize, usize), (c, d): (usize, usize)) -> bool {
    if a == c || a == d || b == c || b == d {
        return false;
    }
    let turn = |p: Place, q: Place, r: Place| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    let [a, b, c, d] = [a, b, c, d].map(|at| places[at]);
    turn(a, b, c) * turn(a, b, d) < 0.0 && turn(c, d, a) * turn(c, d, b) < 0.0
}

/// The rim on a circle, every other atom in the middle of its neighbours.
fn in_the_middle(around: &[Vec<usize>], rim: &[usize]) -> Option<Vec<Place>> {
    let radius = 0.5 / (std::f64::consts::PI / rim.len() as f64).sin();
    let mut places = vec![(0.0, 0.0); around.len()];
    let mut fixed = vec![false; around.len()];
    for (at, &atom) in rim.iter().enumerate() {
        let angle = TAU * at as f64 / rim.len() as f64;
        places[atom] = (radius * angle.cos(), radius * angle.sin());
        fixed[atom] = true;
    }
    for _ in 0..MIDDLE_ROUNDS {
        for atom in (0..around.len()).filter(|atom| !fixed[*atom]) {
            let count = around[atom].len() as f64;
            let sum = around[atom].iter().fold((0.0, 0.0), |s, &at| (s.0 + places[at].0, s.1 + places[at].1));
            places[atom] = (sum.0 / count, sum.1 / count);
        }
    }
    let apart = (0..places.len()).all(|a| (0..a).all(|b| distance(places[a], places[b]) > 1e-3));
    apart.then_some(places)
}

/// How far bonds are from one length, and how near atoms are that are not bonded.
fn strain(places: &[Place], bonds: &[(usize, usize)]) -> f64 {
    let lengths: f64 = bonds.iter().map(|&(a, b)| (distance(places[a], places[b]) - 1.0).powi(2)).sum();
    let near =
        |a: usize| (0..a).map(|b| (0.9 - distance(places[a], places[b])).max(0.0).powi(2)).sum::<f64>();
    lengths + (0..places.len()).map(near).sum::<f64>()
}

/// Moves atoms towards bonds of length 1 and away from others, never across a bond.
fn relax(places: &mut [Place], around: &[Vec<usize>], bonds: &[(usize, usize)]) {
    let own: Vec<Vec<(usize, usize)>> = (0..places.len())
        .map(|atom| bonds.iter().copied().filter(|(a, b)| *a == atom || *b == atom).collect())
        .collect();
    for round in 0..RELAXATIONS {
        let longest = 0.15 * (1.0 - round as f64 / RELAXATIONS as f64) + 0.005;
        for atom in 0..places.len() {
            let (mut x, mut y) = (0.0, 0.0);
            for other in (0..places.len()).filter(|other| *other != atom) {
                let (dx, dy) = (places[atom].0 - places[other].0, places[atom].1 - places[other].1);
                let length = dx.hypot(dy).max(1e-6);
                let force = if around[atom].contains(&other) {
                    1.0 - length
                } else if length < 1.7 {
                    0.25 * (1.7 - length)
                } else {
                    0.0
                };
                x += force * dx / length;
                y += force * dy / length;
            }
            let size = x.hypot(y);
            if size < 1e-6 {
                continue;
            }
            let before = places[atom];
            let step = (0.3 * size).min(longest) / size;
            places[atom] = (before.0 + step * x, before.1 + step * y);
            let crosses =
                own[atom].iter().any(|bond| bonds.iter().any(|other| do_cross(places, *bond, *other)));
            if crosses {
                places[atom] = before;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(atoms: usize, bonds: &[(usize, usize)]) -> Vec<Vec<usize>> {
        let mut around = vec![Vec::new(); atoms];
        for &(a, b) in bonds {
            around[a].push(b);
            around[b].push(a);
        }
        around
    }

    /// C1C2CC3CC1CC(C2)C3
    const ADAMANTANE: [(usize, usize); 12] =
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6), (6, 7), (7, 8), (8, 1), (7, 9), (9, 3)];

    #[test]
    fn a_cage_is_drawn_without_crossed_bonds_and_with_bonds_of_like_length() {
        let around = neighbours(10, &ADAMANTANE);
        let tangle = Tangle { bonds: &ADAMANTANE, neighbours: &around };
        // Everything on one circle: bonds cross.
        let mut places: Vec<Place> =
            (0..10).map(|at| ((at as f64 * 3.7).cos(), (at as f64 * 3.7).sin())).collect();
        assert!(crossings(&places, &ADAMANTANE) > 0);
        tangle.untangle(&mut places);
        assert_eq!(crossings(&places, &ADAMANTANE), 0);
        for (a, b) in ADAMANTANE {
            let length = distance(places[a], places[b]);
            assert!((0.5..1.6).contains(&length), "{a} to {b}: {length}");
        }
    }

    #[test]
    fn branches_follow_their_ring_and_what_does_not_cross_stays() {
        // Adamantane with a chain of three at atom 1.
        let mut bonds = ADAMANTANE.to_vec();
        bonds.extend([(1, 10), (10, 11), (11, 12)]);
        let around = neighbours(13, &bonds);
        let tangle = Tangle { bonds: &bonds, neighbours: &around };
        let mut places: Vec<Place> =
            (0..10).map(|at| ((at as f64 * 3.7).cos(), (at as f64 * 3.7).sin())).collect();
        places.extend([(2.0, 2.0), (3.0, 2.0), (3.5, 2.9)]);
        let shape = |places: &[Place]| (distance(places[10], places[11]), distance(places[10], places[12]));
        let before = shape(&places);
        tangle.untangle(&mut places);
        assert_eq!(crossings(&places, &bonds), 0);
        let after = shape(&places);
        assert!((before.0 - after.0).abs() < 1e-9 && (before.1 - after.1).abs() < 1e-9);
        let settled = places.clone();
        tangle.untangle(&mut places);
        assert_eq!(places, settled);
    }

    #[test]
    fn a_graph_that_cannot_be_drawn_without_crossings_is_left_alone() {
        let bonds: Vec<(usize, usize)> = (0..5).flat_map(|a| (0..a).map(move |b| (b, a))).collect();
        let around = neighbours(5, &bonds);
        let mut places: Vec<Place> = (0..5).map(|at| ((at as f64).cos(), (at as f64).sin())).collect();
        let before = places.clone();
        Tangle { bonds: &bonds, neighbours: &around }.untangle(&mut places);
        assert_eq!(places, before);
        Tangle { bonds: &[], neighbours: &[] }.untangle(&mut Vec::new());
    }
}
