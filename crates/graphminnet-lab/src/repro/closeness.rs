//! Which pairs of graphs have outputs that are alike, measured by each pair's own size.

use super::families::Pairs;

/// Outputs of graphs, and how much renumbering the nodes of each graph changes them.
#[derive(Debug, Clone)]
pub(super) struct Closeness {
    columns: usize,
    values: Vec<f64>,
    /// Largest entry of every row.
    sizes: Vec<f64>,
    /// For every graph, the difference to its renumbered copy, or the largest such difference where it has none.
    controls: Vec<f64>,
}

/// A difference that counts as none, whatever renumbering changes.
const SMALLEST: f64 = 1e-6;
/// How many times what renumbering changes counts as none.
const TIMES: f64 = 10.0;

impl Closeness {
    /// Of outputs in rows of `columns`: those of the graphs, then those of the copies of some of them.
    pub(super) fn new(columns: usize, values: &[f32], originals: &[usize]) -> Self {
        let values: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        let size = |row: &[f64]| row.iter().fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let sizes: Vec<f64> = values.chunks_exact(columns.max(1)).map(size).collect();
        let graphs = sizes.len().saturating_sub(originals.len());
        let mut all = Self { columns, values, sizes, controls: Vec::new() };
        let measured: Vec<f64> =
            originals.iter().zip(graphs..).map(|(&graph, copy)| all.difference(graph, copy)).collect();
        all.controls = vec![measured.iter().copied().fold(0.0, f64::max); graphs];
        originals.iter().zip(measured).for_each(|(&graph, difference)| all.controls[graph] = difference);
        all
    }

    fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }

    /// Largest difference of two rows in units of the largest entry of both; infinite if a value is not a number.
    pub(super) fn difference(&self, a: usize, b: usize) -> f64 {
        let differences = self.row(a).iter().zip(self.row(b)).map(|(a, b)| (a - b).abs());
        let largest =
            differences.fold(0.0, |most, value| if value.is_nan() { f64::INFINITY } else { most.max(value) });
        largest / self.sizes[a].max(self.sizes[b])
    }

    /// What renumbering changes in either graph.
    pub(super) fn control(&self, a: usize, b: usize) -> f64 {
        self.controls[a].max(self.controls[b])
    }

    /// The largest control of all graphs.
    pub(super) fn largest_control(&self) -> f64 {
        self.controls.iter().copied().fold(0.0, f64::max)
    }

    /// Whether two graphs are alike: no more different than ten times what renumbering changes in either.
    pub(super) fn are_alike(&self, a: usize, b: usize) -> bool {
        self.difference(a, b) <= tolerance(self.control(a, b))
    }

    /// Pairs that are alike.
    pub(super) fn alike(&self, pairs: &Pairs) -> usize {
        match pairs {
            Pairs::Listed(pairs) => pairs.iter().filter(|[a, b]| self.are_alike(*a, *b)).count(),
            Pairs::All => {
                let mut order: Vec<usize> = (0..self.controls.len()).collect();
                order.sort_by(|a, b| self.row(*a)[0].total_cmp(&self.row(*b)[0]));
                // Beyond this difference in the first column no pair can be alike.
                let largest = order.iter().map(|&at| self.sizes[at]).fold(0.0, f64::max);
                let reach = tolerance(self.largest_control()) * largest;
                let mut count = 0;
                for (at, &a) in order.iter().enumerate() {
                    let near =
                        order[at + 1..].iter().take_while(|&&b| self.row(b)[0] - self.row(a)[0] <= reach);
                    count += near.filter(|&&b| self.are_alike(a, b)).count();
                }
                count
            }
        }
    }
}

fn tolerance(control: f64) -> f64 {
    (TIMES * control).max(SMALLEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_search_finds_what_comparing_all_pairs_finds() {
        let values: Vec<f32> = (0..60).map(|at| ((at * 7919) % 13) as f32).collect();
        for copy in [0.0, 0.2, 0.5] {
            let with_copy: Vec<f32> = values.iter().copied().chain([copy, 12.0]).collect();
            let rows = Closeness::new(2, &with_copy, &[0]);
            let all: Vec<[usize; 2]> = (0..30).flat_map(|a| (0..a).map(move |b| [a, b])).collect();
            assert_eq!(rows.alike(&Pairs::All), rows.alike(&Pairs::Listed(all)), "{copy}");
        }
    }

    #[test]
    fn a_large_graph_does_not_drown_small_ones() {
        // Two small graphs that differ, a large one, and a copy of each; renumbering changes the large one a little.
        let values = [0.001, 0.0015, 1000.0, 0.001, 0.0015, 1000.01];
        let rows = Closeness::new(1, &values, &[0, 1, 2]);
        assert!(!rows.are_alike(0, 1), "{}", rows.difference(0, 1));
        assert_eq!(rows.alike(&Pairs::All), 0);
        // Graphs without a copy of their own are judged by the worst of the others.
        let rows = Closeness::new(1, &[1.0, 1.05, 2.0, 2.02], &[2]);
        assert!(rows.are_alike(0, 1));
    }
}
