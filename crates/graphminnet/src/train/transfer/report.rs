//! What was taken over, in words.

use graphminnet_data::escape;
use graphminnet_data::text::counted;
use std::collections::BTreeMap;
use std::fmt;

/// What a run took over from a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenOver {
    /// The model file.
    pub file: String,
    /// Tensors that were taken over as a whole, of so many.
    pub tensors: (usize, usize),
    /// Categories of every column of nodes and edges.
    pub categories: BTreeMap<String, Columns>,
    /// Numeric columns of nodes (`node`) and edges (`edge`).
    pub numbers: BTreeMap<&'static str, Columns>,
    /// Tensors that the file does not have.
    pub missing: Vec<String>,
    /// Tensors of the file that have no place in the model.
    pub left_out: Vec<String>,
    /// In which ways molecules are read otherwise than those that the model has learnt from.
    pub read_otherwise: Vec<String>,
    /// Why the head is new, if it is.
    pub new_head: Option<String>,
    /// Parameters that keep their weights.
    pub frozen: usize,
    /// Parameters of frozen parts that are trained because they are new, at least in part.
    pub not_frozen: Vec<String>,
}

/// Vectors for the categories of a column, or for numeric columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// Taken over.
    pub taken: usize,
    /// Of so many.
    pub all: usize,
    /// What the model did not know.
    pub new: Vec<String>,
}

/// Names that are listed; the rest is counted.
const LISTED: usize = 5;

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(LISTED).map(|name| escape(name)).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{}, … {more} more", shown.join(", ")),
    }
}

/// All columns in one sentence, which names those that have something new while these are few.
fn of_categories(columns: &BTreeMap<String, Columns>) -> String {
    let sum = |of: fn(&Columns) -> usize| columns.values().map(of).sum::<usize>();
    let (taken, all) = (sum(|column| column.taken), sum(|column| column.all));
    let columns_in_all = counted(columns.len(), "column");
    if taken == all {
        return format!("all {all} categories of {columns_in_all}");
    }
    let with_new: Vec<_> = columns.iter().filter(|(_, column)| !column.new.is_empty()).collect();
    let new = match with_new.len() {
        few if few <= LISTED => {
            let of_column = |(name, column): &(&String, &Columns)| {
                format!("in {}: {}", escape(name), listed(&column.new))
            };
            with_new.iter().map(of_column).collect::<Vec<_>>().join("; ")
        }
        many => format!("in {many} columns"),
    };
    format!("{taken} of {all} categories of {columns_in_all}; new {new}")
}

/// A sentence each, one per line.
impl fmt::Display for TakenOver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (taken, all) = self.tensors;
        write!(formatter, "taken over from {}: {taken} of {all} tensors", escape(&self.file))?;
        if !self.categories.is_empty() {
            write!(formatter, "\n  {}", of_categories(&self.categories))?;
        }
        for (of, Columns { taken, all, new }) in &self.numbers {
            write!(formatter, "\n  {taken} of {} of {of}s", counted(*all, "numeric column"))?;
            if !new.is_empty() {
                write!(formatter, "; new: {}", listed(new))?;
            }
        }
        if !self.read_otherwise.is_empty() {
            let how = self.read_otherwise.join(", ");
            write!(formatter, "\n  molecules are read otherwise than those of the model: {how}")?;
        }
        if let Some(reason) = &self.new_head {
            write!(formatter, "\n  the head is new: {reason}")?;
        }
        if !self.missing.is_empty() {
            write!(formatter, "\n  not in the file, so new: {}", listed(&self.missing))?;
        }
        if !self.left_out.is_empty() {
            write!(formatter, "\n  without a place here, so left out: {}", listed(&self.left_out))?;
        }
        if self.frozen > 0 {
            write!(formatter, "\n  {} parameter tensors stay as they are", self.frozen)?;
        }
        if !self.not_frozen.is_empty() {
            write!(
                formatter,
                "\n  trained although their part is frozen, because they are new: {}",
                listed(&self.not_frozen)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(count: usize, new: &[&str]) -> BTreeMap<String, Columns> {
        let new: Vec<String> = new.iter().map(|name| (*name).to_owned()).collect();
        let column = Columns { taken: 3, all: 3 + new.len(), new };
        (0..count).map(|at| (format!("node column `c{at}`"), column.clone())).collect()
    }

    #[test]
    fn categories_take_one_sentence_however_many_columns_there_are() {
        let said = |categories| {
            let numbers = [("edge", Columns { taken: 1, all: 2, new: vec!["length".to_owned()] })].into();
            let report = TakenOver {
                file: "best.gmn".to_owned(),
                tensors: (7, 9),
                categories,
                numbers,
                ..TakenOver::default()
            };
            report.to_string()
        };
        let rest = "\n  1 of 2 numeric columns of edges; new: length";
        let first = "taken over from best.gmn: 7 of 9 tensors\n  ";
        assert_eq!(said(columns(12, &[])), format!("{first}all 36 categories of 12 columns{rest}"));
        assert_eq!(
            said(columns(2, &["a", "b"])),
            format!(
                "{first}6 of 10 categories of 2 columns; new in node column `c0`: a, b; in node column `c1`: a, b{rest}"
            )
        );
        assert_eq!(
            said(columns(9, &["a"])),
            format!("{first}27 of 36 categories of 9 columns; new in 9 columns{rest}")
        );
    }
}
