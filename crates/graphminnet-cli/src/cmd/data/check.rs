//! `graphminnet data check`: is this file usable, and what is in it?

use crate::cmd::limit_args::LimitArguments;
use crate::cmd::read_args::Columns;
use crate::failure::Failure;
use crate::ui::card::{card_json, write_card};
use crate::ui::say::say;
use clap::Args;
use graphminnet_data::text::counted;
use graphminnet_data::{DataCard, OnBadRow, escape, formats, open};
use serde_json::{Value, json};
use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to check.
#[derive(Args)]
pub struct Arguments {
    /// A file or folder of graphs.
    file: PathBuf,
    #[command(flatten)]
    columns: Columns,
    #[command(flatten)]
    limits: LimitArguments,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    // Every bad row is wanted, not the first ones only.
    let mut options = arguments.limits.on(arguments.columns.options(OnBadRow::Skip));
    let format = match options.format {
        Some(format) => format,
        None => formats::detect(&arguments.file)?,
    };
    options.format = Some(format);
    let read = open(&arguments.file, &options)?;
    let card = DataCard::new(&read.dataset);
    let report = &read.report;
    let is_sound = report.bad_row_count == 0;
    let mut out = stdout().lock();
    if arguments.json {
        let rows: Vec<Value> = report.bad_rows.iter().map(bad_row).collect();
        let mut object = card_json(&read.dataset.schema, &card);
        object["file"] = json!(arguments.file);
        object["format"] = json!(format.name());
        object["sound"] = json!(is_sound);
        object["bad_row_count"] = json!(report.bad_row_count);
        object["bad_rows"] = json!(rows);
        object["notes"] = json!(report.notes);
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
    } else {
        writeln!(out, "{} ({})\n", escape(&arguments.file.to_string_lossy()), format.name())?;
        write_card(&mut out, &read.dataset.schema, &card)?;
        if !is_sound {
            writeln!(out, "\n{} cannot be used:", counted(report.bad_row_count as usize, "row"))?;
            for row in &report.bad_rows {
                writeln!(out, "  {row}")?;
            }
            let more = report.bad_row_count - report.bad_rows.len() as u64;
            if more > 0 {
                writeln!(out, "  … and {more} more")?;
            }
        }
        for note in &report.notes {
            say!("note: {note}");
        }
    }
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn bad_row(row: &graphminnet_data::BadRow) -> Value {
    json!({
        "file": row.place.file,
        "member": row.place.member,
        "line": row.place.line,
        "column": row.place.column,
        "byte": row.place.byte,
        "value": row.value,
        "reason": row.reason,
    })
}
