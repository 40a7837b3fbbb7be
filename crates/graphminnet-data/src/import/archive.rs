//! Archives as trees of files, read in place: nothing is ever unpacked to a disk, no permission is restored, no link is
//! followed.
//!
//! An archive with a name that is absolute, climbs (`..`), repeats, or belongs to a link or device is refused as a
//! whole: no published data set has one, so it is not the published data set.

mod sources;
mod tar;
mod zip;

pub(crate) use sources::{InMemory, Sources, Subtree};
pub(crate) use zip::{Bytes, Zip};

use crate::budget::Budget;
use crate::{DataError, Limits, Place};
use std::io::Read;
use std::path::Path;

/// Reads a whole tar stream, for fuzzing.
pub(crate) fn read_tar(stream: Box<dyn Read + Send>, limits: &Limits) -> Result<usize, DataError> {
    let mut held = Budget::new(limits).share();
    tar::read_stream(stream, Path::new("fuzz.tar"), |_| true, limits, &mut held).map(|members| members.len())
}

/// Fails for names that a well-meant archive does not have.
fn check_name(name: &str, place: &Place) -> Result<(), DataError> {
    let refuse = |reason: &str| {
        Err(DataError::Archive {
            place: place.clone().in_member(name),
            reason: format!("the member's name {reason}"),
        })
    };
    let has_drive = name.as_bytes().get(1) == Some(&b':');
    if name.is_empty() || name.contains('\0') {
        return refuse("is empty or has a NUL character");
    }
    if name.starts_with('/') || name.contains('\\') || has_drive {
        return refuse("is absolute or not portable; only relative names with `/` are accepted");
    }
    if name.split('/').any(|part| part == "..") {
        return refuse("climbs out of the archive with `..`");
    }
    Ok(())
}
