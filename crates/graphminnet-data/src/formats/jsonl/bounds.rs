//! Texts such as `">3.5"` among the targets of graphs: bounds in a column of numbers, names of classes in one of text.

use crate::formats::target_columns::{bound, may_be_bounds};
use crate::schema::Collector;
use crate::{Bound, DataError, Level, Place, Task};

/// What a text among targets is.
pub(super) enum Said {
    /// A bound, whose column holds numbers.
    Bound(Bound),
    /// A bound or the name of a class: nothing has said yet what its column holds.
    Either(Bound),
    /// Text.
    Text,
}

/// Reads a text of a target column.
pub(super) fn read(
    column: usize,
    text: &str,
    collector: &mut Collector<'_>,
    place: &Place,
) -> Result<Said, DataError> {
    let options = collector.options;
    let found = bound(text).filter(|(_, value)| (*value as f32).is_finite());
    let (Some((side, value)), Level::Graph) = (found, collector.level) else { return Ok(Said::Text) };
    if !may_be_bounds(collector.target_columns.name(column), options) {
        return Ok(Said::Text);
    }
    let bound = Bound { place: column, value: value as f32, side };
    match collector.target_columns.holds_text(column) {
        Some(true) => Ok(Said::Text),
        None if options.asked_task() != Some(Task::Regression) => Ok(Said::Either(bound)),
        _ => {
            // Whatever it looks like, it says that the column holds measurements.
            collector.target_columns.bound(column, (value, text), place)?;
            Ok(Said::Bound(bound))
        }
    }
}

/// Texts that may be bounds or names of classes, until all lines are read.
#[derive(Default)]
pub(super) struct Undecided(Vec<Waiting>);

struct Waiting {
    /// The record among those of the collector.
    record: usize,
    bound: Bound,
    text: String,
    place: Place,
}

impl Undecided {
    /// Remembers texts of the record that is collected next.
    pub(super) fn add(&mut self, texts: Vec<(Bound, String)>, collector: &Collector<'_>, place: &Place) {
        let record = collector.len();
        let waiting = |(bound, text)| Waiting { record, bound, text, place: place.clone() };
        self.0.extend(texts.into_iter().map(waiting));
    }

    /// Makes them names of classes where no number says that their column holds numbers.
    pub(super) fn settle(self, collector: &mut Collector<'_>) -> Result<(), DataError> {
        for Waiting { record, bound, text, place } in self.0 {
            let columns = &mut collector.target_columns;
            if columns.holds_text(bound.place) == Some(false) {
                columns.bound(bound.place, (f64::from(bound.value), &text), &place)?;
            } else {
                let label = columns.text(bound.place, &text, &place)?;
                collector.make_label(record, bound.place, label);
            }
        }
        Ok(())
    }
}
