//! Feature tables: rows of categories (embedded by the model) and of numbers (used as they are), side by side.

use super::GraphError;
use crate::budget::bytes_of;

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

    /// Bytes of all values.
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of::<u32>(self.categories.len()) + bytes_of::<f32>(self.numbers.len())
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

    /// The categories and the numbers, both row-major, without a copy.
    #[doc(hidden)] // For the library, which makes tensors of the values as they are.
    pub fn into_values(self) -> (Vec<u32>, Vec<f32>) {
        (self.categories, self.numbers)
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

    /// All rows of several tables, one table after the other.
    pub(crate) fn concatenate(tables: &[&Self]) -> Result<Self, Mismatch> {
        let mut all = Self::room_for(tables)?;
        for table in tables {
            all.rows += table.rows;
            all.categories.extend_from_slice(&table.categories);
            all.numbers.extend_from_slice(&table.numbers);
        }
        Ok(all)
    }

    /// The same with the rows of each table in another order: `order` gives that of the table at a position.
    pub(crate) fn concatenate_in_order<Rows: Iterator<Item = usize>>(
        tables: &[&Self],
        order: impl Fn(usize) -> Rows,
    ) -> Result<Self, Mismatch> {
        let mut all = Self::room_for(tables)?;
        for (position, table) in tables.iter().enumerate() {
            all.rows += table.rows;
            for row in order(position) {
                all.categories.extend_from_slice(table.category_row(row));
                all.numbers.extend_from_slice(table.number_row(row));
            }
        }
        Ok(all)
    }

    /// A table without rows that has room for those of several tables with the same columns.
    fn room_for(tables: &[&Self]) -> Result<Self, Mismatch> {
        let Some(first) = tables.first() else { return Ok(Self::none(0)) };
        for (table, other) in tables.iter().enumerate() {
            let columns = [
                (other.category_columns, first.category_columns),
                (other.number_columns, first.number_columns),
            ];
            if let Some((found, expected)) = columns.into_iter().find(|(found, expected)| found != expected) {
                return Err(Mismatch { table, found, expected });
            }
        }
        let total = |values: fn(&Self) -> usize| tables.iter().map(|table| values(table)).sum();
        Ok(Self {
            rows: 0,
            category_columns: first.category_columns,
            categories: Vec::with_capacity(total(|table| table.categories.len())),
            number_columns: first.number_columns,
            numbers: Vec::with_capacity(total(|table| table.numbers.len())),
        })
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

/// Tables that cannot be joined, because their columns differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Position of the first table with other columns than the table at position 0.
    pub(crate) table: usize,
    /// Its columns, categorical or numeric.
    pub(crate) found: usize,
    /// Those of the first table.
    pub(crate) expected: usize,
}
