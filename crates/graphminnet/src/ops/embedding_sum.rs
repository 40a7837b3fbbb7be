//! The sum of one embedding per categorical column: `out_u = Σ_t table_t[category_u[t]]`.

use super::generic::gather_rows;
use burn::tensor::{Int, Tensor, TensorData};
use std::sync::Arc;

/// Rows of categories, checked against the sizes of the tables they index, as rows of one concatenated table.
#[derive(Clone)]
pub struct CategoryTable {
    /// Row of the concatenated table for every (item, column), row-major.
    rows: Arc<Vec<u32>>,
    columns: usize,
    table_rows: usize,
}

impl CategoryTable {
    /// Checks `values` (row-major, one column per table) against the table sizes.
    ///
    /// # Errors
    ///
    /// The row, column and value of the first category that has no row in its table.
    pub fn new(values: &[u32], sizes: &[usize]) -> Result<Self, (usize, usize, u32)> {
        let columns = sizes.len();
        let starts: Vec<usize> = sizes
            .iter()
            .scan(0, |total, size| {
                let start = *total;
                *total += size;
                Some(start)
            })
            .collect();
        let rows = values
            .iter()
            .enumerate()
            .map(|(at, &value)| {
                let column = at % columns;
                if (value as usize) < sizes[column] {
                    Ok((starts[column] + value as usize) as u32)
                } else {
                    Err((at / columns, column, value))
                }
            })
            .collect::<Result<Vec<u32>, _>>()?;
        Ok(Self { rows: Arc::new(rows), columns, table_rows: sizes.iter().sum() })
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.rows.len() / self.columns.max(1)
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
            self.columns,
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
    generic(table, categories)
}

fn generic(table: Tensor<2>, categories: &CategoryTable) -> Tensor<2> {
    let [_, width] = table.dims();
    let items = categories.len();
    let index: Vec<i64> = categories.rows.iter().map(|&row| i64::from(row)).collect();
    let length = index.len();
    let index = Tensor::<1, Int>::from_data(TensorData::new(index, [length]), &table.device().inner());
    let rows = gather_rows(table, index);
    if items == 0 {
        return rows.reshape([0, width]);
    }
    rows.reshape([items, categories.columns, width]).sum_dim(1).reshape([items, width])
}
