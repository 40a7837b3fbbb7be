//! What was noticed while reading, for people.

use graphminnet::data::data::Report;

/// Says on standard error what was noticed, how a copy deviates, and which rows were left out.
pub fn say_report(report: &Report) {
    for note in report.notes.iter().chain(&report.deviations) {
        eprintln!("note: {note}");
    }
    for row in &report.bad_rows {
        eprintln!("left out: {row}");
    }
    let more = report.bad_row_count - report.bad_rows.len() as u64;
    if more > 0 {
        eprintln!("left out: {more} more rows");
    }
}
