//! How many pairs of rows are alike.

use super::families::Pairs;

/// Rows of numbers, one per graph, in units of the largest entry of their column.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    columns: usize,
    values: Vec<f64>,
}

impl Rows {
    /// Scales columns to a largest entry of 1; a column of zeros stays.
    pub(super) fn new(columns: usize, values: &[f32]) -> Self {
        let mut largest = vec![f64::MIN_POSITIVE; columns];
        for row in values.chunks_exact(columns.max(1)) {
            for (most, value) in largest.iter_mut().zip(row) {
                *most = most.max(f64::from(value.abs()));
            }
        }
        let scaled = values.iter().enumerate().map(|(at, value)| f64::from(*value) / largest[at % columns]);
        Self { columns, values: scaled.collect() }
    }

    fn row(&self, at: usize) -> &[f64] {
        &self.values[at * self.columns..(at + 1) * self.columns]
    }

    /// Largest difference of two rows; infinite if a value is not a number.
    pub(super) fn difference(&self, a: usize, b: usize) -> f64 {
        let differences = self.row(a).iter().zip(self.row(b)).map(|(a, b)| (a - b).abs());
        differences.fold(0.0, |most, value| if value.is_nan() { f64::INFINITY } else { most.max(value) })
    }

    /// The first rows only.
    pub(super) fn first(&self, rows: usize) -> Self {
        Self { columns: self.columns, values: self.values[..rows * self.columns].to_vec() }
    }

    /// Pairs that differ by at most `tolerance`.
    pub(super) fn alike(&self, pairs: &Pairs, tolerance: f64) -> usize {
        match pairs {
            Pairs::Listed(pairs) => {
                pairs.iter().filter(|[a, b]| self.difference(*a, *b) <= tolerance).count()
            }
            Pairs::All => {
                let mut order: Vec<usize> = (0..self.values.len() / self.columns.max(1)).collect();
                order.sort_by(|a, b| self.row(*a)[0].total_cmp(&self.row(*b)[0]));
                let mut count = 0;
                for (at, &a) in order.iter().enumerate() {
                    // Beyond the tolerance in the first column no pair can be alike.
                    let near =
                        order[at + 1..].iter().take_while(|&&b| self.row(b)[0] - self.row(a)[0] <= tolerance);
                    count += near.filter(|&&b| self.difference(a, b) <= tolerance).count();
                }
                count
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_search_finds_what_comparing_all_pairs_finds() {
        let values: Vec<f32> = (0..60).map(|at| ((at * 7919) % 13) as f32).collect();
        let rows = Rows::new(2, &values);
        for tolerance in [0.0, 0.1, 0.4] {
            let all: Vec<[usize; 2]> = (0..30).flat_map(|a| (0..a).map(move |b| [a, b])).collect();
            assert_eq!(rows.alike(&Pairs::All, tolerance), rows.alike(&Pairs::Listed(all), tolerance));
        }
        assert_eq!(rows.alike(&Pairs::All, 2.0), 30 * 29 / 2);
    }
}
