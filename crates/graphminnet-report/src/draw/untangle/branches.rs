//! What hangs on the rest of a molecule by one bond: set where there is room.

use super::{Tangle, distance, do_cross};
use crate::draw::layout::Place;
use std::f64::consts::TAU;

/// Directions in which a branch may be set on.
const DIRECTIONS: usize = 24;
/// Rounds in which branches that cross something are turned.
const TURNS: usize = 3;
/// Atoms of a molecule up to which branches are turned.
const MOST_ATOMS: usize = 200;

impl Tangle<'_> {
    /// Turns branches that cross something, or sit on it, to where they do not, if there is such a place.
    pub(super) fn free_branches(&self, places: &mut Vec<Place>) {
        for _ in 0..TURNS {
            let before = self.disorder(places);
            if before == 0 || places.len() > MOST_ATOMS {
                return;
            }
            let (mut least, mut found) = (before, None);
            for &(a, b) in self.bonds.iter().filter(|(a, b)| !self.is_joined_without(*a, *b)) {
                // Only the smaller side is turned.
                let (here, there) = (self.branch(b, a), self.branch(a, b));
                let (anchor, first, branch) =
                    if here.len() < there.len() { (b, a, here) } else { (a, b, there) };
                if !self.is_in_the_way(places, &branch) {
                    continue;
                }
                let mut placed = vec![true; places.len()];
                branch.iter().for_each(|&atom| placed[atom] = false);
                let (old, mut tried) = (places.clone(), places.clone());
                self.set_on(anchor, first, &branch, &old, &mut tried, &placed);
                let disorder = self.disorder(&tried);
                if disorder < least {
                    (least, found) = (disorder, Some(tried));
                }
            }
            match found {
                Some(better) => *places = better,
                None => return,
            }
        }
    }

    /// Whether a branch crosses or touches the rest.
    fn is_in_the_way(&self, places: &[Place], branch: &[usize]) -> bool {
        let is_own = |(a, b): &(usize, usize)| branch.contains(a) || branch.contains(b);
        let (own, others): (Vec<_>, Vec<_>) = self.bonds.iter().copied().partition(is_own);
        let touches = |atom: &usize| {
            (0..places.len()).any(|other| {
                !branch.contains(&other) && distance(places[*atom], places[other]) < super::TOUCH
            })
        };
        own.iter().any(|bond| others.iter().any(|other| do_cross(places, *bond, *other)))
            || branch.iter().any(touches)
    }

    /// Puts a system to new places around its old middle, and sets the rest on where there is room.
    pub(super) fn set(&self, system: &[usize], found: &[Place], places: &mut [Place]) {
        let middle = |of: &mut dyn Iterator<Item = Place>| {
            let (count, x, y) = of.fold((0.0, 0.0, 0.0), |(n, x, y), p| (n + 1.0, x + p.0, y + p.1));
            (x / f64::max(count, 1.0), y / f64::max(count, 1.0))
        };
        let old = middle(&mut system.iter().map(|&at| places[at]));
        let new = middle(&mut found.iter().copied());
        let before = places.to_vec();
        for (&atom, place) in system.iter().zip(found) {
            places[atom] = (old.0 + place.0 - new.0, old.1 + place.1 - new.1);
        }
        let mut placed = vec![false; places.len()];
        system.iter().for_each(|&atom| placed[atom] = true);
        let mut anchors: Vec<(usize, usize)> = system
            .iter()
            .flat_map(|&at| self.neighbours[at].iter().map(move |&next| (at, next)))
            .filter(|(_, next)| !placed[*next])
            .collect();
        // The largest first: it needs the most room.
        anchors.sort_by_key(|(anchor, first)| {
            (std::cmp::Reverse(self.branch(*anchor, *first).len()), *anchor, *first)
        });
        for (anchor, first) in anchors {
            let branch = self.branch(anchor, first);
            self.set_on(anchor, first, &branch, &before, places, &placed);
            branch.iter().for_each(|&atom| placed[atom] = true);
        }
    }

    /// The atoms beyond a bond that is in no ring.
    pub(in crate::draw) fn branch(&self, anchor: usize, first: usize) -> Vec<usize> {
        let mut seen = vec![false; self.neighbours.len()];
        (seen[anchor], seen[first]) = (true, true);
        let mut branch = vec![first];
        let mut next = 0;
        while let Some(&at) = branch.get(next) {
            next += 1;
            for &other in &self.neighbours[at] {
                if !seen[other] {
                    seen[other] = true;
                    branch.push(other);
                }
            }
        }
        branch
    }

    /// Turns a branch, in its old shape or mirrored, to where it crosses and touches least.
    fn set_on(
        &self,
        anchor: usize,
        first: usize,
        branch: &[usize],
        before: &[Place],
        places: &mut [Place],
        placed: &[bool],
    ) {
        let away: Place =
            self.neighbours[anchor].iter().filter(|at| placed[**at]).fold((0.0, 0.0), |sum, &at| {
                let length = distance(places[anchor], places[at]).max(1e-9);
                (
                    sum.0 + (places[anchor].0 - places[at].0) / length,
                    sum.1 + (places[anchor].1 - places[at].1) / length,
                )
            });
        let outward = away.1.atan2(away.0);
        let was = (before[first].1 - before[anchor].1).atan2(before[first].0 - before[anchor].0);
        let own: Vec<(usize, usize)> =
            self.bonds.iter().copied().filter(|(a, b)| branch.contains(a) || branch.contains(b)).collect();
        let others: Vec<(usize, usize)> =
            self.bonds.iter().copied().filter(|(a, b)| placed[*a] && placed[*b]).collect();
        let mut best: Option<(f64, Vec<Place>)> = None;
        for direction in 0..DIRECTIONS {
            for mirrored in [1.0, -1.0] {
                let turn = TAU * direction as f64 / DIRECTIONS as f64;
                let angle = outward + turn;
                let mut tried = places.to_vec();
                for &atom in branch {
                    let (x, y) = (before[atom].0 - before[anchor].0, before[atom].1 - before[anchor].1);
                    let (along, across) =
                        (x * was.cos() + y * was.sin(), mirrored * (y * was.cos() - x * was.sin()));
                    tried[atom] = (
                        places[anchor].0 + along * angle.cos() - across * angle.sin(),
                        places[anchor].1 + along * angle.sin() + across * angle.cos(),
                    );
                }
                let crossed = own
                    .iter()
                    .map(|bond| others.iter().filter(|other| do_cross(&tried, *bond, **other)).count())
                    .sum::<usize>();
                let close: f64 = branch
                    .iter()
                    .flat_map(|&atom| {
                        let tried = &tried;
                        (0..tried.len())
                            .filter(|other| placed[*other] && *other != anchor)
                            .map(move |other| (1.3 - distance(tried[atom], tried[other])).max(0.0))
                    })
                    .sum();
                let score = 100.0 * crossed as f64 + 4.0 * close + turn.min(TAU - turn);
                if best.as_ref().is_none_or(|(least, _)| score < *least - 1e-9) {
                    best = Some((score, tried));
                }
            }
        }
        if let Some((_, tried)) = best {
            places.copy_from_slice(&tried);
        }
    }
}
