//! The cycles of a ring system.

/// Independent rings of a system up to which their sums are tried.
const MOST_RINGS: usize = 10;

/// Cycles of a ring system: sums of its independent rings that are one ring.
pub(super) fn of(around: &[Vec<usize>], bonds: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let rings = independent_rings(around, bonds);
    if rings.is_empty() || rings.len() > MOST_RINGS {
        return Vec::new();
    }
    let mut found = Vec::new();
    for chosen in 1usize..1 << rings.len() {
        let mut sum = vec![false; bonds.len()];
        for (_, ring) in rings.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1) {
            ring.iter().for_each(|bond| sum[*bond] ^= true);
        }
        found.extend(as_ring(&sum, around.len(), bonds));
    }
    found
}

/// One ring, by its bonds, for every bond outside of a spanning tree.
fn independent_rings(around: &[Vec<usize>], bonds: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let number = |a: usize, b: usize| {
        bonds.iter().position(|&(c, d)| (a, b) == (c, d) || (a, b) == (d, c)).unwrap_or(0)
    };
    let mut parent = vec![usize::MAX; around.len()];
    let mut order = vec![0];
    parent[0] = 0;
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        for &other in &around[at] {
            if parent[other] == usize::MAX {
                parent[other] = at;
                order.push(other);
            }
        }
    }
    let path = |mut at: usize| {
        let mut path = Vec::new();
        while at != 0 && parent[at] != usize::MAX {
            path.push(number(at, parent[at]));
            at = parent[at];
        }
        path
    };
    let mut rings = Vec::new();
    for (bond, &(a, b)) in bonds.iter().enumerate() {
        if parent[a] == b || parent[b] == a {
            continue;
        }
        let (first, second) = (path(a), path(b));
        let mut ring: Vec<usize> = first.iter().filter(|bond| !second.contains(bond)).copied().collect();
        ring.extend(second.iter().filter(|bond| !first.contains(bond)));
        ring.push(bond);
        rings.push(ring);
    }
    rings
}

/// The atoms of a set of bonds in order, if they form one ring.
fn as_ring(chosen: &[bool], atoms: usize, bonds: &[(usize, usize)]) -> Option<Vec<usize>> {
    let mut around = vec![Vec::new(); atoms];
    for (&(a, b), _) in bonds.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
        around[a].push(b);
        around[b].push(a);
    }
    let members = around.iter().filter(|next| !next.is_empty()).count();
    let start = around.iter().position(|next| !next.is_empty())?;
    if around.iter().any(|next| !next.is_empty() && next.len() != 2) {
        return None;
    }
    let (mut ring, mut before, mut at) = (vec![start], start, around[start][0]);
    while at != start {
        ring.push(at);
        let next = if around[at][0] == before { around[at][1] } else { around[at][0] };
        (before, at) = (at, next);
    }
    (ring.len() == members && members > 2).then_some(ring)
}
