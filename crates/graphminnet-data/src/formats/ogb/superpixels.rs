//! Edges between superpixels, which image data sets do not store but compute from coordinates.
//!
//! For coordinates `c`: with `d` the Euclidean distances and `s_i = (sum of the 9 smallest d_ij, self included) / 8 +
//! 1e-8`, the similarity is `A_ij = exp(−(d_ij / s_i)²)`, made symmetric as `(A + Aᵀ) / 2` with a zero diagonal. Every
//! node gets directed edges to its `k` most similar nodes (ties: the lower index), most similar first, and `A_ij` is
//! the edge's feature. A graph of at most `k + 1` nodes is complete.
//!
//! Only candidates get an exponential. With `m_ij = (d_ij / max(s_i, s_j))²` the similarity lies in
//! `[e^−m / 2, e^−m]`. At least 8 nodes are within the distance `R` of the 8th neighbour, and their `m` is at most
//! `(R / s_i)²`; so for `k ≤ 8` a node whose `m` exceeds that by more than `ln 2` is not among the `k` most similar.

/// Neighbours that enter the scale of a node, itself included.
const SCALE_NEIGHBOURS: usize = 9;

/// `ln 2` and a margin for rounding.
const CANDIDATE_MARGIN: f64 = std::f64::consts::LN_2 + 1e-6;

/// Memory that is used again for every graph.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Squared distances of all pairs, row-major.
    squared: Vec<f64>,
    /// Scale of every node, one over its square, and the largest `m` of a candidate.
    scale: Vec<f64>,
    inverse: Vec<f64>,
    bound: Vec<f64>,
    candidates: Vec<(f64, u32)>,
}

/// Edges and their similarities for points in the plane.
pub(super) fn nearest_neighbours(
    points: &[[f32; 2]],
    k: usize,
    work: &mut Workspace,
) -> (Vec<[u32; 2]>, Vec<f32>) {
    let count = points.len();
    work.measure(points);
    let per_node = k.min(count.saturating_sub(1));
    let mut edges = Vec::with_capacity(count.saturating_mul(per_node));
    let mut features = Vec::with_capacity(count.saturating_mul(per_node));
    let Workspace { squared, scale, inverse, bound, candidates, .. } = work;
    let own = scale.iter().zip(inverse.iter()).zip(bound.iter());
    for (node, (row, ((own_scale, own_inverse), bound))) in
        squared.chunks_exact(count.max(1)).zip(own).enumerate()
    {
        let bound = if k < SCALE_NEIGHBOURS { *bound } else { f64::INFINITY };
        candidates.clear();
        for (other, ((squared, inverse), other_scale)) in
            row.iter().zip(inverse.iter()).zip(scale.iter()).enumerate()
        {
            if squared * own_inverse.min(*inverse) <= bound && other != node {
                let distance = squared.sqrt();
                let similarity = |scale: f64| (-(distance / scale) * (distance / scale)).exp();
                // The lower index first: the same pair gives the same bits from both ends.
                let (first, second) =
                    if node < other { (*own_scale, *other_scale) } else { (*other_scale, *own_scale) };
                candidates.push(((similarity(first) + similarity(second)) / 2.0, other as u32));
            }
        }
        candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(similarity, other) in candidates.iter().take(per_node) {
            edges.push([node as u32, other]);
            features.push(similarity as f32);
        }
    }
    (edges, features)
}

impl Workspace {
    fn measure(&mut self, points: &[[f32; 2]]) {
        let Self { x, y, squared, scale, inverse, bound, .. } = self;
        for list in [&mut *x, &mut *y, &mut *squared, &mut *scale, &mut *inverse, &mut *bound] {
            list.clear();
        }
        x.extend(points.iter().map(|point| f64::from(point[0])));
        y.extend(points.iter().map(|point| f64::from(point[1])));
        for (node, (own_x, own_y)) in x.iter().zip(y.iter()).enumerate() {
            let start = squared.len();
            squared.extend(x.iter().zip(y.iter()).map(|(other_x, other_y)| {
                let (dx, dy) = (own_x - other_x, own_y - other_y);
                dx * dx + dy * dy
            }));
            let nearest = smallest(squared.get(start..).unwrap_or_default(), node);
            let existing = nearest.iter().filter(|squared| squared.is_finite());
            let own_scale = existing.clone().map(|squared| squared.sqrt()).sum::<f64>()
                / (SCALE_NEIGHBOURS - 1) as f64
                + 1e-8;
            let own_inverse = 1.0 / (own_scale * own_scale);
            scale.push(own_scale);
            inverse.push(own_inverse);
            let farthest = existing.fold(0.0, |farthest: f64, squared| farthest.max(*squared));
            bound.push(farthest * own_inverse + CANDIDATE_MARGIN);
        }
    }
}

/// The smallest values, tried outwards from `centre`: nodes are numbered line by line, so near ones come early and most
/// of the rest are turned away by one comparison.
fn smallest(values: &[f64], centre: usize) -> [f64; SCALE_NEIGHBOURS] {
    let mut kept = [f64::INFINITY; SCALE_NEIGHBOURS];
    let mut worst = f64::INFINITY;
    let mut offer = |value: f64| {
        if value < worst {
            let mut carried = value;
            for slot in &mut kept {
                let larger = slot.max(carried);
                *slot = slot.min(carried);
                carried = larger;
            }
            worst = kept.last().copied().unwrap_or(worst);
        }
    };
    let (before, after) = values.split_at(centre.min(values.len()));
    after.iter().for_each(|value| offer(*value));
    before.iter().rev().for_each(|value| offer(*value));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_graphs_are_complete_without_loops() {
        let (edges, features) =
            nearest_neighbours(&[[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]], 8, &mut Workspace::default());
        assert_eq!(edges, [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]);
        assert!(features.iter().all(|value| (0.0..=1.0).contains(value)));
        assert_eq!(nearest_neighbours(&[], 8, &mut Workspace::default()).0.len(), 0);
        assert_eq!(nearest_neighbours(&[[0.5, 0.5]], 8, &mut Workspace::default()).0.len(), 0);
    }

    /// The rule as it is written, without shortcuts.
    fn by_definition(points: &[[f32; 2]], k: usize) -> Vec<[u32; 2]> {
        let count = points.len();
        let distance = |i: usize, j: usize| {
            let (dx, dy) =
                (points[i][0] as f64 - points[j][0] as f64, points[i][1] as f64 - points[j][1] as f64);
            (dx * dx + dy * dy).sqrt()
        };
        let scale = |i: usize| {
            let mut all: Vec<f64> = (0..count).map(|j| distance(i, j)).collect();
            all.sort_by(f64::total_cmp);
            all.iter().take(9).sum::<f64>() / 8.0 + 1e-8
        };
        let one_way = |i: usize, j: usize| (-(distance(i, j) / scale(i)).powi(2)).exp();
        let mut edges = Vec::new();
        for i in 0..count {
            let mut others: Vec<usize> = (0..count).filter(|&j| j != i).collect();
            let similarity = |j: usize| (one_way(i.min(j), i.max(j)) + one_way(i.max(j), i.min(j))) / 2.0;
            others.sort_by(|&a, &b| similarity(b).total_cmp(&similarity(a)).then(a.cmp(&b)));
            edges.extend(others.iter().take(k).map(|&j| [i as u32, j as u32]));
        }
        edges
    }

    #[test]
    fn the_shortcut_gives_what_the_definition_gives() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1u64 << 24) as f32
        };
        for count in [2, 9, 10, 40] {
            let points: Vec<[f32; 2]> = (0..count).map(|_| [next(), next()]).collect();
            assert_eq!(
                nearest_neighbours(&points, 8, &mut Workspace::default()).0,
                by_definition(&points, 8)
            );
        }
    }

    #[test]
    fn every_node_has_k_edges_to_its_neighbours_on_a_line() {
        let points: Vec<[f32; 2]> = (0..20).map(|x| [x as f32, 0.0]).collect();
        let (edges, _) = nearest_neighbours(&points, 8, &mut Workspace::default());
        assert_eq!(edges.len(), 160);
        let mut of_ten: Vec<u32> = edges.iter().filter(|edge| edge[0] == 10).map(|edge| edge[1]).collect();
        of_ten.sort_unstable();
        assert_eq!(of_ten, [6, 7, 8, 9, 11, 12, 13, 14]);
    }
}
