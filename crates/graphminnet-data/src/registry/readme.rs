//! What the `README.md` of a local copy says under the heading `Deviations`.

use crate::escape_up_to;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// How much of the file is looked at, how many points are taken, and how long one may be.
const MAX_BYTES: u64 = 64 << 10;
const MAX_POINTS: usize = 20;
const MAX_CHARACTERS: usize = 600;

/// The points, each as one line that is safe to print; none if there is no such file or heading.
pub(super) fn differences(folder: &Path) -> Vec<String> {
    let Ok(file) = File::open(folder.join("README.md")) else { return Vec::new() };
    let mut bytes = Vec::new();
    if file.take(MAX_BYTES).read_to_end(&mut bytes).is_err() {
        return Vec::new();
    }
    points(&String::from_utf8_lossy(&bytes))
}

fn points(text: &str) -> Vec<String> {
    let is_heading = |line: &str| line.starts_with('#');
    let starts =
        |line: &&str| is_heading(line) && line.trim_start_matches('#').trim_start().starts_with("Deviations");
    let section = text.lines().skip_while(|line| !starts(line)).skip(1).take_while(|line| !is_heading(line));
    let mut points: Vec<String> = Vec::new();
    for line in section.map(str::trim).filter(|line| !line.is_empty()) {
        match (line.strip_prefix("- "), points.last_mut()) {
            (None, Some(point)) => {
                point.push(' ');
                point.push_str(line);
            }
            (start, _) => points.push(start.unwrap_or(line).to_owned()),
        }
    }
    points.iter().take(MAX_POINTS).map(|point| escape_up_to(point, MAX_CHARACTERS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_joined_over_lines_and_end_at_the_next_heading() {
        let text =
            "# Name\n- no\n## Deviations from it\n- one\n  and more\n- two\u{1b}[2J\n\n## Next\n- no\n";
        assert_eq!(points(text), ["one and more", "two\\u{1b}[2J"]);
        assert!(points("no heading").is_empty());
    }
}
