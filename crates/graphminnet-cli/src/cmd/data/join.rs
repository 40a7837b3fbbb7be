//! `graphminnet data join`: checks what the shards of a work left behind, and puts it together.

use crate::cmd::keep_inputs;
use crate::failure::Failure;
use crate::ui::output::Output;
use crate::ui::say::say;
use clap::Args;
use graphminnet::export::NpyWriter;
use graphminnet_data::formats::parquet::join_files;
use graphminnet_data::fs::{IoError, open};
use graphminnet_data::parts::{Part, PartFolder};
use graphminnet_data::text::grouped;
use graphminnet_data::{DataError, escape};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What to put together.
#[derive(Args)]
pub struct Arguments {
    /// Folder with the parts that `predict --shard` or `embed --shard` wrote.
    folder: PathBuf,
    /// The file to write; without it the parts are checked, and the manifest is written.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folder = PartFolder::new(&arguments.folder);
    let parts = collect(&folder)?;
    let command = parts.first().map_or("", |part| &part.work.command);
    let name = escape(&arguments.folder.to_string_lossy());
    match command {
        "predict" | "embed" => {}
        "evaluate" => {
            return Err(Failure::usage(format!(
                "these are answers to labelled graphs; `graphminnet evaluate --model MODEL --join {name}` evaluates them"
            )));
        }
        "prepare" => {
            return Err(Failure::usage(format!(
                "these are prepared graphs; `graphminnet prepare --data FILE --join {name}` puts them into the cache"
            )));
        }
        other => {
            return Err(Failure::usage(format!(
                "{name}: parts of `{}`, which cannot be joined",
                escape(other)
            )));
        }
    }
    let (rows, without) = totals(&parts);
    if let Some(output) = &arguments.output {
        keep_inputs(output, [&*arguments.folder])?;
        write(&folder, &parts, output)?;
        say!("{}", escape(&output.to_string_lossy()));
    }
    Ok(ExitCode::from(u8::from(rows > 0 && without == rows)))
}

/// Checks that all parts are there, and writes the manifest.
///
/// # Errors
///
/// What is missing or does not fit.
pub fn check(folder: &Path) -> Result<ExitCode, Failure> {
    run(&Arguments { folder: folder.to_owned(), output: None })
}

/// The parts of a work in order; they are whole and belong together, and a manifest says so.
///
/// # Errors
///
/// What is missing or does not fit.
pub fn collect(folder: &PartFolder) -> Result<Vec<Part>, Failure> {
    let parts = folder.collect()?;
    folder.write_manifest(&parts)?;
    let (rows, without) = totals(&parts);
    let without =
        if without > 0 { format!(", {} of them without a result", grouped(without)) } else { String::new() };
    say!("{} parts, {} rows{without}", grouped(parts.len()), grouped(rows));
    Ok(parts)
}

fn totals(parts: &[Part]) -> (usize, usize) {
    (parts.iter().map(|part| part.rows).sum(), parts.iter().map(|part| part.without).sum())
}

/// Opens the files of some parts, in their order.
///
/// # Errors
///
/// If one cannot be opened.
pub fn files<'a>(
    folder: &'a PartFolder,
    parts: &'a [Part],
) -> impl Iterator<Item = Result<(PathBuf, impl Read), IoError>> + 'a {
    parts.iter().filter_map(|part| part.file.as_ref()).map(|file| {
        let path = folder.path().join(&file.name);
        let reader = BufReader::with_capacity(1 << 16, open(&path)?);
        Ok((path, reader))
    })
}

fn write(folder: &PartFolder, parts: &[Part], output: &Path) -> Result<(), Failure> {
    let name = parts.iter().find_map(|part| part.file.as_ref()).map_or("", |file| &file.name);
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let given = output.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if given != extension && (extension != "csv" || ["npy", "parquet"].contains(&given)) {
        return Err(Failure::usage(format!(
            "--output {}: the parts are .{extension} files, and so is what they give together",
            escape(&output.to_string_lossy())
        )));
    }
    let mut out = Output::create(output)?;
    match extension {
        "npy" => {
            let columns = parts.first().and_then(|part| part.work.settings.get("width")?.as_u64());
            let columns = columns.and_then(|columns| usize::try_from(columns).ok()).unwrap_or_default();
            let mut matrix = NpyWriter::new(out, columns)?;
            for file in files(folder, parts) {
                let (path, mut file) = file?;
                matrix.write_file(&mut file).map_err(damaged(&path))?;
            }
            matrix.finish()?.finish()
        }
        "parquet" => {
            let names = parts.iter().filter_map(|part| part.file.as_ref());
            let files = names.map(|file| open(&folder.path().join(&file.name)).map_err(|error| error.source));
            join_files(files, out).map_err(damaged(folder.path()))?.finish()
        }
        _ => {
            // The first part alone has a header, so that parts in a row are a table.
            for file in files(folder, parts) {
                io::copy(&mut file?.1, &mut out)?;
            }
            out.finish()
        }
    }
}

/// A part that is not what its record says.
pub fn damaged(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => DataError::Missing {
            path: path.to_owned(),
            what: format!("what the record promises ({error})"),
            expected: "the file that the shard wrote; run it again".to_owned(),
        }
        .into(),
        _ => IoError::at("read", path)(error).into(),
    }
}
