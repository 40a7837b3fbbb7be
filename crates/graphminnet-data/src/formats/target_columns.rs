//! Which columns of a table of molecules are targets, and which of their cells are bounds, such as `>3.5`.

use super::value_lists as lists;
use crate::schema::{ColumnSet, is_missing};
use crate::{Bound, DataError, Level, Place, ReadOptions, Side, Task};

/// A column that is used as a target.
pub(super) struct TargetColumn {
    /// Position among the cells of a row.
    pub(super) cell: usize,
    pub(super) name: String,
    /// Whether a cell may be a bound.
    has_bounds: bool,
}

/// The first version of the rules that knows bounds.
const BOUNDS: u32 = 4;

/// The bound that a cell is; `None` for anything else.
pub(super) fn bound(text: &str) -> Option<(Side, f64)> {
    let text = text.trim();
    let signs = [
        (">=", Side::AtLeast),
        ("≥", Side::AtLeast),
        (">", Side::AtLeast),
        ("<=", Side::AtMost),
        ("≤", Side::AtMost),
        ("<", Side::AtMost),
    ];
    let (number, side) = signs.iter().find_map(|(sign, side)| Some((text.strip_prefix(sign)?, *side)))?;
    let number = number.trim().parse::<f64>().ok().filter(|number| !number.is_nan())?;
    Some((side, number))
}

/// The columns that are used, of those that may be: all that were asked for by name, else those that hold numbers.
/// `cells` gives all cells of a column.
pub(super) fn usable<'a, C: Iterator<Item = &'a str>>(
    names: impl Iterator<Item = &'a String>,
    (explicit, has_rows): (bool, bool),
    cells: impl Fn(usize) -> C,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Vec<TargetColumn> {
    let mut used = Vec::new();
    // Under the first rules a column without values counts as one of numbers.
    let is_empty = options.rules < 2 || !has_rows;
    let is_missing = |cell: &str| match options.rules {
        ..2 => cell.trim().is_empty() || cell.trim().eq_ignore_ascii_case("nan"),
        2.. => is_missing(cell),
    };
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let are_lists = matches!(options.asked_level(), Some(Level::Node | Level::Edge));
    for (cell, name) in names.enumerate() {
        let values = || cells(cell).filter(|text| !is_missing(text));
        let has_bounds = !are_lists && may_be_bounds(name, options) && {
            let is_regression = options.asked_task() == Some(Task::Regression);
            let fits = |text: &str| is_number(text.trim()) || bound(text).is_some();
            values().any(|text| bound(text).is_some())
                && (is_regression || values().any(|text| is_number(text.trim())) && values().all(fits))
        };
        let is_numeric = |text: &str| match are_lists {
            true => lists::items(text).all(|item| is_missing(item) || is_number(item)),
            false => is_number(text.trim()) || has_bounds && bound(text).is_some(),
        };
        let has_values = is_empty || values().next().is_some();
        if explicit || (has_values && values().all(is_numeric)) {
            used.push(TargetColumn { cell, name: name.clone(), has_bounds });
            continue;
        }
        let name = crate::escape(name);
        notes.push(match has_values {
            true => format!("column `{name}` is not numeric and was ignored (name it as a target to use it)"),
            false => format!("column `{name}` has no values and was ignored"),
        });
    }
    used
}

/// Whether nothing says that the column holds classes or text.
pub(super) fn may_be_bounds(name: &str, options: &ReadOptions) -> bool {
    options.rules >= BOUNDS
        && !options.text.iter().any(|text| text == name)
        && options.asked_task().is_none_or(|task| task == Task::Regression)
}

/// The labels of a molecule; a bound is no label, but is kept beside them.
pub(super) fn labels<'a>(
    cells: impl Iterator<Item = (&'a str, &'a TargetColumn)>,
    columns: &mut ColumnSet,
    place: &Place,
) -> Result<(Vec<f64>, Vec<Bound>), DataError> {
    let (mut labels, mut bounds) = (Vec::new(), Vec::new());
    for (at, (text, column)) in cells.enumerate() {
        labels.push(match bound(text).filter(|_| column.has_bounds) {
            None => columns.label(at, text, place)?,
            Some((side, value)) => {
                let value = columns.bound(at, (value, text.trim()), place)? as f32;
                bounds.push(Bound { place: at, value, side });
                f64::NAN
            }
        });
    }
    Ok((labels, bounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_sign_and_a_number() {
        assert_eq!(bound(">3.5"), Some((Side::AtLeast, 3.5)));
        assert_eq!(bound(" >= -2 "), Some((Side::AtLeast, -2.0)));
        assert_eq!(bound("<1e-3"), Some((Side::AtMost, 1e-3)));
        assert_eq!(bound("≤ 7"), Some((Side::AtMost, 7.0)));
        for other in ["3.5", ">", "<>3", ">>3", "=>3", ">x", ">nan", "> 3 4", "", "3>"] {
            assert_eq!(bound(other), None, "{other}");
        }
    }
}
