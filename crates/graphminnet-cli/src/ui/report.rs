//! What was noticed while reading, for people.

use super::say::say_line;
use graphminnet_data::Report;

/// What was noticed, how a copy differs from the published data, and which rows were left out, a line each.
pub fn report_lines(report: &Report) -> Vec<String> {
    let notes = report.notes.iter().map(|note| format!("note: {note}"));
    let differences = report.differences.iter().map(|difference| format!("difference: {difference}"));
    let rows = report.bad_rows.iter().map(|row| format!("left out: {row}"));
    let more = report.bad_row_count - report.bad_rows.len() as u64;
    let more = (more > 0).then(|| format!("left out: {more} more rows"));
    notes.chain(differences).chain(rows).chain(more).collect()
}

/// Says them on standard error.
pub fn say_report(report: &Report) {
    report_lines(report).iter().for_each(say_line);
}
