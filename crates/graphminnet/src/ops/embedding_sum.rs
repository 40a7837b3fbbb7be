//! The sum of one embedding per categorical column: `out_u = Σ_t table_t[category_u[t]]`.

use super::engine::{self, Array, Kernel};
use super::generic::gather_rows;
use burn::tensor::{Int, Tensor, TensorData};
use graphminnet_kernels::embedding_sum::{self as kernels, Lookup};
use std::sync::Arc;

/// Rows of categories, checked against the sizes of the tables they index, as rows of one concatenated table.
#[derive(Clone)]
pub struct CategoryTable {
    /// Category of every (item, column), row-major.
    categories: Arc<Vec<u32>>,
    /// First row of each column's table in the concatenated table.
    first_row: Arc<Vec<u32>>,
    table_rows: usize,
}

impl CategoryTable {
    /// Checks `values` (row-major, one column per table) against the table sizes.
    ///
    /// # Errors
    ///
    /// The row, column and value of the first category that has no row in its table.
    pub fn new(values: Vec<u32>, sizes: &[usize]) -> Result<Self, (usize, usize, u32)> {
        if let Some(unknown) = Self::first_unknown(&values, sizes) {
            return Err(unknown);
        }
        let first_row =
            sizes.iter().scan(0, |next, size| Some(std::mem::replace(next, *next + *size as u32))).collect();
        Ok(Self {
            categories: Arc::new(values),
            first_row: Arc::new(first_row),
            table_rows: sizes.iter().sum(),
        })
    }

    /// The row, column and value of the first category that has no row in its table.
    pub(crate) fn first_unknown(values: &[u32], sizes: &[usize]) -> Option<(usize, usize, u32)> {
        let columns = sizes.len();
        let unknown = values.iter().enumerate().find(|&(at, &value)| value as usize >= sizes[at % columns]);
        unknown.map(|(at, &value)| (at / columns, at % columns, value))
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.categories.len() / self.first_row.len().max(1)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::fmt::Debug for CategoryTable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "CategoryTable({} items, {} columns, {} rows)",
            self.len(),
            self.first_row.len(),
            self.table_rows
        )
    }
}

/// Sum of the table rows of each item.
///
/// # Shapes
///
/// * `table`: `[all table rows, width]`, the tables one below the other
/// * returns `[items, width]`
pub fn embedding_sum(table: Tensor<2>, categories: &CategoryTable) -> Tensor<2> {
    if !engine::on_cpu(&table.device()) {
        return generic(table, categories);
    }
    engine::run(Fused { categories: categories.clone() }, [table.into()])
}

/// The kernel; operand `table`.
#[derive(Debug, Clone)]
struct Fused {
    categories: CategoryTable,
}

impl Fused {
    fn lookup(&self) -> Lookup<'_> {
        Lookup { first_row: &self.categories.first_row, index: &self.categories.categories }
    }
}

impl Kernel<1> for Fused {
    /// Width of the table.
    type Saved = usize;

    fn forward(&self, [table]: &[Array; 1], keep: bool) -> (Array, Option<usize>) {
        let width = table.dim(1);
        let output = Array::written([self.categories.len(), width], |out| {
            kernels::embedding_sum(self.lookup(), width, table.values(), out);
        });
        (output, keep.then_some(width))
    }

    fn backward(&self, width: usize, gradient: Array, _: [bool; 1]) -> [Option<Array>; 1] {
        let d_table = Array::written([self.categories.table_rows, width], |out| {
            kernels::embedding_sum_backward(self.lookup(), width, gradient.values(), out);
        });
        [Some(d_table)]
    }
}

fn generic(table: Tensor<2>, categories: &CategoryTable) -> Tensor<2> {
    let [_, width] = table.dims();
    let items = categories.len();
    let columns = categories.first_row.len();
    let index: Vec<i64> = (categories.categories.iter().enumerate())
        .map(|(at, &category)| i64::from(categories.first_row[at % columns] + category))
        .collect();
    let length = index.len();
    let index = Tensor::<1, Int>::from_data(TensorData::new(index, [length]), &table.device().inner());
    let rows = gather_rows(table, index);
    if items == 0 {
        return rows.reshape([0, width]);
    }
    rows.reshape([items, columns, width]).sum_dim(1).reshape([items, width])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_same_bodies;

    #[test]
    fn kernel_and_generic_body_agree() {
        let categories = CategoryTable::new(vec![0, 3, 2, 1, 0, 0, 1, 3], &[3, 4]).unwrap();
        assert_same_bodies(
            &[[7, 5]],
            |t| embedding_sum(t[0].clone(), &categories),
            |t| generic(t[0].clone(), &categories),
        );
    }

    #[test]
    fn a_category_outside_its_table_is_named() {
        assert_eq!(CategoryTable::new(vec![0, 3, 3, 0], &[3, 4]).unwrap_err(), (1, 0, 3));
    }
}
