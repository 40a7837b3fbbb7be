//! When a run was started, and a name for one that has none.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Now as `2026-11-15T18-40-09Z`, which is a valid file name everywhere.
pub(super) fn timestamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    format(seconds)
}

/// A path in `folder` that does not exist yet: `NAME-TIME`, with characters that every file system takes.
pub fn fresh_run_path(folder: &Path, name: &str) -> PathBuf {
    let name: String = name
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect();
    let base = format!("{name}-{}", timestamp());
    let mut path = folder.join(&base);
    let mut number = 1;
    while path.exists() {
        number += 1;
        path = folder.join(format!("{base}-{number}"));
    }
    path
}

fn format(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 1970-03-01 of a 400-year cycle that starts on 1 March 0000 (Hinnant's civil_from_days).
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_across_leap_days_and_centuries() {
        assert_eq!(format(0), "1970-01-01T00-00-00Z");
        assert_eq!(format(951_782_399), "2000-02-28T23-59-59Z");
        assert_eq!(format(951_782_400), "2000-02-29T00-00-00Z");
        assert_eq!(format(4_107_542_400), "2100-03-01T00-00-00Z");
        assert_eq!(format(1_763_232_009), "2025-11-15T18-40-09Z");
    }

    #[test]
    fn a_fresh_path_is_safe_and_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let first = fresh_run_path(folder.path(), "my/data set");
        assert!(first.file_name().unwrap().to_str().unwrap().starts_with("my-data-set-"), "{first:?}");
        std::fs::create_dir(&first).unwrap();
        let second = fresh_run_path(folder.path(), "my/data set");
        assert!(!second.exists() && second.parent() == first.parent(), "{second:?}");
    }
}
