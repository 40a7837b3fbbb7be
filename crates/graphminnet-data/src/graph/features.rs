//! Feature tables: rows of categories (embedded by the model) and of numbers (used as they are), side by side.

use super::GraphError;

/// One row of features per node or per edge: `category_columns` integers and `number_columns` floats.
///
/// Either part may have no columns; a table with neither still knows its number of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Features {
    rows: usize,
    category_columns: usize,
    categories: Vec<u32>,
    number_columns: usize,
    numbers: Vec<f32>,
}

impl Features {
    /// A table with `rows` rows and no columns.
    pub fn none(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    /// A table of categories, row-major.
    ///
    /// # Errors
    ///
    /// [`GraphError::ValueCount`] unless there are `rows · columns` values.
    pub fn categories(rows: usize, columns: usize, values: Vec<u32>) -> Result<Self, GraphError> {
        Self::mixed(rows, columns, values, 0, Vec::new())
    }

    /// A table of numbers, row-major.
    ///
    /// # Errors
    ///
    /// [`GraphError::ValueCount`] unless there are `rows · columns` values.
    pub fn numbers(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self, GraphError> {
        Self::mixed(rows, 0, Vec::new(), columns, values)
    }

    /// A table with both parts, each row-major.
    ///
    /// # Errors
    ///
    /// [`GraphError::ValueCount`] unless each part has `rows · columns` values.
    pub fn mixed(
        rows: usize,
        category_columns: usize,
        categories: Vec<u32>,
        number_columns: usize,
        numbers: Vec<f32>,
    ) -> Result<Self, GraphError> {
        for (columns, found) in [(category_columns, categories.len()), (number_columns, numbers.len())] {
            if rows.checked_mul(columns) != Some(found) {
                return Err(GraphError::ValueCount { found, rows, columns });
            }
        }
        Ok(Self { rows, category_columns, categories, number_columns, numbers })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of categorical columns.
    pub fn category_columns(&self) -> usize {
        self.category_columns
    }

    /// All categories, row-major.
    pub fn category_values(&self) -> &[u32] {
        &self.categories
    }

    /// Number of numeric columns.
    pub fn number_columns(&self) -> usize {
        self.number_columns
    }

    /// All numbers, row-major.
    pub fn number_values(&self) -> &[f32] {
        &self.numbers
    }

    /// The categories of one row.
    pub fn category_row(&self, row: usize) -> &[u32] {
        &self.categories[row * self.category_columns..(row + 1) * self.category_columns]
    }

    /// The numbers of one row.
    pub fn number_row(&self, row: usize) -> &[f32] {
        &self.numbers[row * self.number_columns..(row + 1) * self.number_columns]
    }

    /// A table with the same columns holding the given rows in the given order.
    pub fn select_rows(&self, rows: impl ExactSizeIterator<Item = usize>) -> Self {
        let count = rows.len();
        let mut categories = Vec::with_capacity(count * self.category_columns);
        let mut numbers = Vec::with_capacity(count * self.number_columns);
        for row in rows {
            categories.extend_from_slice(self.category_row(row));
            numbers.extend_from_slice(self.number_row(row));
        }
        Self {
            rows: count,
            category_columns: self.category_columns,
            categories,
            number_columns: self.number_columns,
            numbers,
        }
    }

    /// Fails unless the table has one row for each of `rows` nodes or edges and all numbers are finite.
    pub(super) fn check(&self, what: &'static str, rows: usize) -> Result<(), GraphError> {
        if self.rows != rows {
            return Err(GraphError::RowCount { what, found: self.rows, expected: rows });
        }
        match self.numbers.iter().position(|value| !value.is_finite()) {
            None => Ok(()),
            Some(at) => Err(GraphError::NonFinite {
                what,
                row: at / self.number_columns,
                column: at % self.number_columns,
                value: self.numbers[at],
            }),
        }
    }
}
