//! One row per pair of graphs: how different the outputs of every system are, beside what renumbering changes.

use super::ReproError;
use super::closeness::Closeness;
use super::families::{Family, Pairs};
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::fs;
use std::io::{self, Write};
use std::path::Path;

/// Writes the table: `first`, `second`, whether 1-WL tells them apart, and for every system the difference, the control
/// and the verdict.
///
/// # Errors
///
/// [`ReproError::Io`].
pub(super) fn write(
    path: &Path,
    family: &Family,
    systems: &[(&'static str, Closeness)],
) -> Result<(), ReproError> {
    fs::write_atomically_with(path, |out| table(out, family, systems))?;
    Ok(())
}

fn table(out: &mut dyn Write, family: &Family, systems: &[(&'static str, Closeness)]) -> io::Result<()> {
    let mut table = CsvWriter::new(out);
    let mut head = vec!["first".to_owned(), "second".to_owned(), "1-WL distinguished".to_owned()];
    for (name, _) in systems {
        head.extend(["difference", "renumbered", "distinguished"].map(|what| format!("{name}: {what}")));
    }
    table.row(head.iter().map(String::as_str))?;
    let colours = family.colours();
    let mut row = |a: usize, b: usize| -> io::Result<()> {
        table.field(a)?;
        table.field(b)?;
        table.field(colours[a] != colours[b])?;
        for (_, system) in systems {
            table.field(format_args!("{:e}", system.difference(a, b)))?;
            table.field(format_args!("{:e}", system.control(a, b)))?;
            table.field(!system.are_alike(a, b))?;
        }
        table.end_row()
    };
    match &family.pairs {
        Pairs::Listed(pairs) => pairs.iter().try_for_each(|[a, b]| row(*a, *b)),
        Pairs::All => (0..family.graphs.len()).try_for_each(|b| (0..b).try_for_each(|a| row(a, b))),
    }
}
