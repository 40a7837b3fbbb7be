//! Places for the nodes of a graph without coordinates: distances on paper follow distances in the graph.
//!
//! Classical scaling of the hop distances gives a start, stress majorisation (each node moves to the mean of where the
//! others want it, near ones counting most) the result. Nothing is random: equal graphs give equal pictures.
//! Components are laid out on their own and set side by side.

/// A place on paper; neighbours are about one unit apart.
pub(super) type Place = (f64, f64);

/// Sweeps of stress majorisation; later ones move nothing that can be seen.
const SWEEPS: usize = 60;
const POWER_STEPS: usize = 50;
/// Room between components.
const GAP: f64 = 1.2;

/// Places by hop distance; `neighbours` is undirected. Cost is quadratic in the largest component.
pub(super) fn spread(neighbours: &[Vec<usize>]) -> Vec<Place> {
    let mut places = vec![(0.0, 0.0); neighbours.len()];
    let mut boxes = Vec::new();
    for members in components(neighbours) {
        let distances = hop_distances(neighbours, &members);
        let mut local = classical_scaling(&distances, members.len());
        majorise(&mut local, &distances);
        let (low, high) = bounds(&local);
        for (member, place) in members.iter().zip(&local) {
            places[*member] = (place.0 - low.0, place.1 - low.1);
        }
        boxes.push((members, (high.0 - low.0, high.1 - low.1)));
    }
    pack(&mut places, &boxes);
    places
}

/// Least and largest coordinates.
pub(super) fn bounds(places: &[Place]) -> (Place, Place) {
    let start = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    let (low, high) = places
        .iter()
        .fold(start, |(low, high), p| ((low.0.min(p.0), low.1.min(p.1)), (high.0.max(p.0), high.1.max(p.1))));
    if places.is_empty() { ((0.0, 0.0), (0.0, 0.0)) } else { (low, high) }
}

/// Connected components, each in the order of a breadth-first walk from its first node.
fn components(neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut seen = vec![false; neighbours.len()];
    let mut found = Vec::new();
    for start in 0..neighbours.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let mut members = vec![start];
        let mut next = 0;
        while let Some(&node) = members.get(next) {
            next += 1;
            for &other in &neighbours[node] {
                if !seen[other] {
                    seen[other] = true;
                    members.push(other);
                }
            }
        }
        found.push(members);
    }
    found
}

/// Hop distances between the members of a component, row by row.
fn hop_distances(neighbours: &[Vec<usize>], members: &[usize]) -> Vec<f64> {
    let count = members.len();
    let mut place = vec![usize::MAX; neighbours.len()];
    for (at, &member) in members.iter().enumerate() {
        place[member] = at;
    }
    let mut distances = vec![f64::NAN; count * count];
    for (row, &start) in distances.chunks_mut(count.max(1)).zip(members) {
        row[place[start]] = 0.0;
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            let next = row[place[node]] + 1.0;
            for &other in &neighbours[node] {
                if row[place[other]].is_nan() {
                    row[place[other]] = next;
                    queue.push_back(other);
                }
            }
        }
    }
    distances
}

/// The two leading axes of the doubly centred squared distances, by power iteration.
fn classical_scaling(distances: &[f64], count: usize) -> Vec<Place> {
    if count < 2 {
        return vec![(0.0, 0.0); count];
    }
    let squares: Vec<f64> = distances.iter().map(|d| d * d).collect();
    let means: Vec<f64> = squares.chunks(count).map(|row| row.iter().sum::<f64>() / count as f64).collect();
    let mean = means.iter().sum::<f64>() / count as f64;
    let product = |vector: &[f64]| -> Vec<f64> {
        let rows = squares.chunks(count).zip(&means);
        rows.map(|(row, row_mean)| {
            let parts = row.iter().zip(&means).zip(vector);
            parts.map(|((square, column_mean), v)| -0.5 * (square - row_mean - column_mean + mean) * v).sum()
        })
        .collect()
    };
    let mut axes: Vec<(Vec<f64>, f64)> = Vec::new();
    for axis in 0..2 {
        // Anything irregular will do for a start; this is never symmetric in the nodes.
        let mut vector: Vec<f64> =
            (0..count).map(|at| ((at * 7 + axis * 3 + 1) as f64 * 1.618).sin()).collect();
        let mut value = 0.0;
        for _ in 0..POWER_STEPS {
            for (known, _) in &axes {
                let overlap: f64 = known.iter().zip(&vector).map(|(a, b)| a * b).sum();
                vector.iter_mut().zip(known).for_each(|(v, k)| *v -= overlap * k);
            }
            let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
            vector.iter_mut().for_each(|v| *v /= length);
            let image = product(&vector);
            value = image.iter().zip(&vector).map(|(a, b)| a * b).sum();
            vector = image;
        }
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
        vector.iter_mut().for_each(|v| *v /= length);
        axes.push((vector, value));
    }
    let coordinate = |axis: usize, at: usize| axes[axis].0[at] * axes[axis].1.max(0.0).sqrt();
    // Nodes that the two axes cannot tell apart are moved a little, each its own way.
    let apart = |at: usize| ((at as f64 * 2.399).cos() * 0.05, (at as f64 * 2.399).sin() * 0.05);
    (0..count).map(|at| (coordinate(0, at) + apart(at).0, coordinate(1, at) + apart(at).1)).collect()
}

/// Stress majorisation with weights `1 / distance²`.
fn majorise(places: &mut [Place], distances: &[f64]) {
    let count = places.len();
    if count < 3 {
        if let [first, second] = places {
            (*first, *second) = ((0.0, 0.0), (1.0, 0.0));
        }
        return;
    }
    for _ in 0..SWEEPS {
        for node in 0..count {
            let own = places[node];
            let (mut x, mut y, mut total) = (0.0, 0.0, 0.0);
            let row = distances.get(node * count..(node + 1) * count).unwrap_or_default();
            for (other, (place, &wanted)) in places.iter().zip(row).enumerate() {
                if other == node || wanted <= 0.0 {
                    continue;
                }
                let (dx, dy) = (own.0 - place.0, own.1 - place.1);
                let now = dx.hypot(dy).max(1e-9);
                let weight = 1.0 / (wanted * wanted);
                x += weight * (place.0 + wanted * dx / now);
                y += weight * (place.1 + wanted * dy / now);
                total += weight;
            }
            places[node] = (x / total, y / total);
        }
    }
}

/// Sets components on shelves, in a box about 4 wide and 3 high.
fn pack(places: &mut [Place], boxes: &[(Vec<usize>, Place)]) {
    let area: f64 = boxes.iter().map(|(_, (w, h))| (w + GAP) * (h + GAP)).sum();
    let widest = boxes.iter().map(|(_, (w, _))| *w).fold(0.0, f64::max);
    let width = (area * 4.0 / 3.0).sqrt().max(widest);
    let mut order: Vec<usize> = (0..boxes.len()).collect();
    order.sort_by(|&a, &b| boxes[b].1.1.total_cmp(&boxes[a].1.1).then(a.cmp(&b)));
    let (mut left, mut top, mut shelf) = (0.0, 0.0, 0.0f64);
    for at in order {
        let (members, (w, h)) = &boxes[at];
        if left > 0.0 && left + w > width {
            (left, top, shelf) = (0.0, top + shelf + GAP, 0.0);
        }
        for &member in members {
            places[member].0 += left;
            places[member].1 += top;
        }
        left += w + GAP;
        shelf = shelf.max(*h);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(count: usize) -> Vec<Vec<usize>> {
        (0..count).map(|at| vec![(at + count - 1) % count, (at + 1) % count]).collect()
    }

    fn distance(a: Place, b: Place) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    #[test]
    fn a_ring_becomes_a_round_ring_and_the_same_one_every_time() {
        let places = spread(&ring(12));
        let (low, high) = bounds(&places);
        let centre = ((low.0 + high.0) / 2.0, (low.1 + high.1) / 2.0);
        let radii: Vec<f64> = places.iter().map(|place| distance(*place, centre)).collect();
        let (least, most) = radii.iter().fold((f64::INFINITY, 0f64), |(a, b), &r| (a.min(r), b.max(r)));
        assert!(most / least < 1.1, "{radii:?}");
        assert_eq!(places, spread(&ring(12)));
    }

    #[test]
    fn nodes_never_coincide_even_where_distances_cannot_tell_them_apart() {
        let mut star = vec![vec![0]; 9];
        star[0] = (1..9).collect();
        let complete: Vec<Vec<usize>> =
            (0..6).map(|at| (0..6).filter(|other| *other != at).collect()).collect();
        let lonely = vec![Vec::new(); 7];
        for graph in [star, complete, lonely, vec![vec![1], vec![0]]] {
            let places = spread(&graph);
            for a in 0..places.len() {
                for b in 0..a {
                    assert!(distance(places[a], places[b]) > 0.2, "{a} and {b} in {places:?}");
                }
            }
        }
        assert!(spread(&[]).is_empty());
    }
}
