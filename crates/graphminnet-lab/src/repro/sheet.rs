//! A table as data, written as Markdown, CSV and LaTeX rows.

use super::ReproError;
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::fs::write_atomically;
use std::path::{Path, PathBuf};

/// The side to which a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// A table with a title and notes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sheet {
    /// Title.
    pub title: String,
    /// Names and sides of the columns.
    pub columns: Vec<(String, Side)>,
    /// Rows, one text per column.
    pub rows: Vec<Vec<String>>,
    /// What a reader must know, one paragraph each.
    pub notes: Vec<String>,
}

impl Sheet {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: &[(&str, Side)]) -> Self {
        Self {
            title: title.into(),
            columns: columns.iter().map(|(name, side)| ((*name).to_owned(), *side)).collect(),
            ..Self::default()
        }
    }

    /// Adds a row; missing cells are empty.
    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Adds a note, once.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() && !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Title, table and notes, readable as they are.
    pub fn markdown(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        let length = |text: &str| text.chars().count();
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect();
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, (name, _))| {
                rows.iter().map(|row| length(&row[at])).chain([length(name), 3]).max().unwrap_or(3)
            })
            .collect();
        let line = |cells: &[String]| {
            let padded = cells.iter().zip(&widths).zip(&self.columns).map(|((cell, width), (_, side))| {
                let space = " ".repeat(width - length(cell));
                if *side == Side::Right { format!("{space}{cell}") } else { format!("{cell}{space}") }
            });
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let header: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        let rule: Vec<String> = self
            .columns
            .iter()
            .zip(&widths)
            .map(|((_, side), width)| match side {
                Side::Left => "-".repeat(*width),
                Side::Right => format!("{}:", "-".repeat(width - 1)),
            })
            .collect();
        let mut text = format!("## {}\n\n{}{}", self.title, line(&header), line(&rule));
        rows.iter().for_each(|row| text.push_str(&line(row)));
        if !self.notes.is_empty() {
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
        text
    }

    /// Header and rows.
    pub fn csv(&self) -> String {
        let mut table = CsvWriter::new(Vec::new());
        // A list of bytes takes everything.
        let _ = table.row(self.columns.iter().map(|(name, _)| name));
        for row in &self.rows {
            let _ = table.row(row);
        }
        String::from_utf8_lossy(&table.into_inner()).into_owned()
    }

    /// Rows for a `tabular` environment, the header first.
    pub fn latex(&self) -> String {
        let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
        let mut text = line(self.columns.iter().map(|(name, _)| latex_text(name)).collect());
        text.push_str("\\midrule\n");
        for row in &self.rows {
            text.push_str(&line(row.iter().map(|cell| latex_text(cell)).collect()));
        }
        text
    }

    /// Writes `NAME.md`, `NAME.csv` and `NAME.tex` into a folder.
    ///
    /// # Errors
    ///
    /// [`ReproError::Io`].
    pub fn write(&self, folder: &Path, name: &str) -> Result<Vec<PathBuf>, ReproError> {
        let files = [("md", self.markdown()), ("csv", self.csv()), ("tex", self.latex())];
        files
            .into_iter()
            .map(|(ending, text)| {
                let path = folder.join(format!("{name}.{ending}"));
                write_atomically(&path, text.as_bytes())?;
                Ok(path)
            })
            .collect()
    }
}

fn latex_text(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '%' | '#' | '_' | '$' | '{' | '}' => result.extend(['\\', letter]),
            '±' => result.push_str("$\\pm$"),
            '×' => result.push_str("$\\times$"),
            'ε' => result.push_str("$\\epsilon$"),
            'λ' => result.push_str("$\\lambda$"),
            '∞' => result.push_str("$\\infty$"),
            '–' => result.push_str("--"),
            '\\' => result.push_str("\\textbackslash{}"),
            _ => result.push(letter),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_three_forms() {
        let mut sheet = Sheet::new("Results", &[("data set", Side::Left), ("ours", Side::Right)]);
        sheet.row(["ZINC, 12k", "0.07 ± 0.01"]);
        sheet.row(["a|b_c"]);
        sheet.note("one seed");
        sheet.note("one seed");
        assert_eq!(
            sheet.markdown(),
            "## Results\n\n| data set  |        ours |\n| --------- | ----------: |\n| ZINC, 12k | 0.07 ± 0.01 |\n\
             | a\\|b_c    |             |\n\n- one seed\n"
        );
        assert_eq!(sheet.csv(), "data set,ours\n\"ZINC, 12k\",0.07 ± 0.01\na|b_c,\n");
        assert_eq!(
            sheet.latex(),
            "data set & ours \\\\\n\\midrule\nZINC, 12k & 0.07 $\\pm$ 0.01 \\\\\na|b\\_c &  \\\\\n"
        );
    }
}
