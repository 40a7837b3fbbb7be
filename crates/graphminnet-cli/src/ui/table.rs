//! Plain text tables.

use super::say::printable;
use std::fmt::{self, Display};

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under a header, printed with aligned columns.
#[derive(Debug)]
pub struct Table {
    header: Vec<(String, Align)>,
    rows: Vec<Option<Vec<String>>>,
}

impl Table {
    /// An empty table.
    pub fn new(header: &[(&str, Align)]) -> Self {
        Self {
            header: header.iter().map(|(name, align)| (printable(name), *align)).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row<T: Display>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(Some(cells.into_iter().map(|cell| printable(&cell.to_string())).collect()));
    }

    /// Adds a rule.
    pub fn rule(&mut self) {
        self.rows.push(None);
    }
}

impl Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = |text: &str| text.chars().count();
        let cell = |row: &'_ Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..self.header.len())
            .map(|column| {
                let cells = self.rows.iter().flatten().map(|row| length(&cell(row, column)));
                cells.chain([length(&self.header[column].0)]).max().unwrap_or(0)
            })
            .collect();
        let line = |formatter: &mut fmt::Formatter<'_>, cells: &dyn Fn(usize) -> String| {
            let mut text = String::new();
            for (column, (_, align)) in self.header.iter().enumerate() {
                let content = cells(column);
                let padding = " ".repeat(widths[column] - length(&content));
                let (before, after) =
                    if *align == Align::Right { (padding, String::new()) } else { (String::new(), padding) };
                text.push_str(&format!("{before}{content}{after}  "));
            }
            writeln!(formatter, "{}", text.trim_end())
        };
        let rule = "─".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1));
        line(formatter, &|column| self.header[column].0.clone())?;
        writeln!(formatter, "{rule}")?;
        for row in &self.rows {
            match row {
                Some(row) => line(formatter, &|column| cell(row, column))?,
                None => writeln!(formatter, "{rule}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&[("part", Align::Left), ("count", Align::Right)]);
        table.row(["β", "1"]);
        table.rule();
        table.row(["total", "1,000"]);
        assert_eq!(
            table.to_string(),
            "part   count\n────────────\nβ          1\n────────────\ntotal  1,000\n"
        );
    }

    #[test]
    fn a_cell_cannot_steer_the_terminal() {
        let mut table = Table::new(&[("na\u{7}me", Align::Left)]);
        table.row(["a\u{1b}[2J"]);
        assert!(!table.to_string().contains(['\u{1b}', '\u{7}']), "{table}");
    }
}
