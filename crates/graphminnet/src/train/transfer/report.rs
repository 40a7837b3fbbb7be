//! What was taken over, in words.

use graphminnet_data::escape;
use std::collections::BTreeMap;
use std::fmt;

/// What a run took over from a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenOver {
    /// The model file.
    pub file: String,
    /// Tensors that were taken over as a whole, of so many.
    pub tensors: (usize, usize),
    /// Vectors of encoders by what they stand for.
    pub columns: BTreeMap<String, Columns>,
    /// Tensors that the file does not have.
    pub missing: Vec<String>,
    /// Tensors of the file that have no place in the model.
    pub left_out: Vec<String>,
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

/// A sentence each, one per line.
impl fmt::Display for TakenOver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (taken, all) = self.tensors;
        write!(formatter, "taken over from {}: {taken} of {all} tensors", escape(&self.file))?;
        for (what, Columns { taken, all, new }) in &self.columns {
            write!(formatter, "\n  {taken} of {all} {}", escape(what))?;
            if !new.is_empty() {
                write!(formatter, "; new: {}", listed(new))?;
            }
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
