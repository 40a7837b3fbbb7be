//! The rows of an input: what they are called, and what became of them.

use super::shards::SharedWork;
use crate::failure::Failure;
use crate::ui::say::say;
use graphminnet::bundle::Description;
use graphminnet_data::formats::csv::fields_of;
use graphminnet_data::text::counted;
use graphminnet_data::{DataError, Graph, InputRow, RowReader};
use std::ops::Deref;
use std::process::ExitCode;
use std::time::Instant;

/// Graphs that list edges in one direction, for a model that was trained on both.
pub struct Directions {
    matter: bool,
    graphs: usize,
    one_way: usize,
}

impl Directions {
    pub fn new(about: &Description) -> Self {
        Self { matter: about.data.both_directions == Some(true), graphs: 0, one_way: 0 }
    }

    /// Looks at a graph.
    pub fn see(&mut self, graph: &Graph) {
        if self.matter {
            self.graphs += 1;
            self.one_way += usize::from(!graph.is_undirected());
        }
    }

    /// Warns of what was seen.
    pub fn say(&self) {
        if self.one_way > 0 {
            say!(
                "warning: {} of {} have edges without their reverse, and the model was trained on graphs with both directions of every \
                 edge: to it these are other graphs (`graphminnet data convert INPUT OUTPUT --edges both-ways` adds the reverse)",
                self.one_way,
                counted(self.graphs, "graph")
            );
        }
    }
}

/// The rows of an input for a model; what is to be said about all of them is said at their end.
pub struct Input {
    reader: RowReader,
    directions: Directions,
}

impl Input {
    pub fn new(reader: RowReader, about: &Description) -> Self {
        Self { reader, directions: Directions::new(about) }
    }

    /// Up to so many further rows; none at the end.
    ///
    /// # Errors
    ///
    /// As [`RowReader::next_rows`].
    pub fn next_rows(&mut self, count: usize) -> Result<Vec<InputRow>, DataError> {
        let rows = self.reader.next_rows(count)?;
        rows.iter().flat_map(|row| &row.graph).for_each(|graph| self.directions.see(graph));
        if rows.is_empty() {
            self.directions.say();
        }
        Ok(rows)
    }
}

impl Deref for Input {
    type Target = RowReader;

    fn deref(&self) -> &RowReader {
        &self.reader
    }
}

/// What the rows of an input are called: the same as in training.
pub struct RowNames {
    /// The column of a table that has the names.
    column: Option<usize>,
}

impl RowNames {
    /// The names of a table are in the column that the training named, or in `id`; other formats know their own.
    pub fn of(reader: &RowReader, about: &Description) -> Self {
        let named = about.schema.molecules.as_ref().and_then(|table| table.id_column.as_deref());
        let place = |wanted: &str| reader.columns().iter().position(|name| name.eq_ignore_ascii_case(wanted));
        Self { column: named.and_then(place).or_else(|| place("id")) }
    }

    /// The name of a row, or its number where it has none.
    pub fn name(&self, row: &InputRow, number: usize) -> String {
        let cell = self.column.and_then(|column| fields_of(&row.text).into_iter().nth(column));
        let name = cell.unwrap_or_else(|| row.id.clone());
        if name.is_empty() { number.to_string() } else { name }
    }
}

/// What became of the rows of an input.
#[derive(Default)]
pub struct Tally {
    /// Rows of the input.
    pub rows: usize,
    /// Rows of the output, where a graph has several or none.
    pub written: Option<usize>,
    /// Rows of the input that there is no answer for.
    pub bad: usize,
}

impl Tally {
    /// Ends a command: says how much was done and how fast, and fails if there is an answer for nothing.
    ///
    /// A shard (with the extension of its file) without a single answer is done all the same; whoever joins the shards sees
    /// them all.
    pub fn end(
        self,
        answer: &str,
        start: Instant,
        shared: Option<(SharedWork, &str)>,
    ) -> Result<ExitCode, Failure> {
        let Self { rows, written, bad } = self;
        let seconds = start.elapsed().as_secs_f64();
        let missing = match bad {
            0 => String::new(),
            bad => format!(", {bad} of them without {answer}"),
        };
        let thing = if written.is_some() { "graph" } else { "row" };
        let written = written.map_or_else(String::new, |rows| format!(", {} written", counted(rows, "row")));
        let (done, speed) = (counted(rows, thing), rows as f64 / seconds.max(1e-9));
        say!("{done}{missing}{written}; {seconds:.1} s, {speed:.0} {thing}s/s");
        match shared {
            Some((shared, extension)) => {
                shared.finish(Some(extension), rows, bad).map(|()| ExitCode::SUCCESS)
            }
            None => Ok(ExitCode::from(u8::from(rows > 0 && bad == rows))),
        }
    }
}
