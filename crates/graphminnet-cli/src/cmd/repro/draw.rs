//! Figures as files: the points as CSV.

use crate::failure::Failure;
use graphminnet::repro::Figure;
use std::path::{Path, PathBuf};

/// Writes the points of a figure.
pub fn write(figure: &Figure, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
    let points = folder.join(format!("{name}-points.csv"));
    std::fs::write(&points, csv(figure))?;
    Ok(vec![points])
}

/// One line per point: series, place, value, deviation.
fn csv(figure: &Figure) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text =
        format!("series,{},{},standard deviation\n", quoted(&figure.x_label), quoted(&figure.y_label));
    for line in &figure.lines {
        for (at, (x, y)) in line.points.iter().enumerate() {
            let place = figure.categories.get(*x as usize).map_or_else(|| x.to_string(), |name| quoted(name));
            let deviation = line.deviations.get(at).map_or_else(String::new, f64::to_string);
            text.push_str(&format!("{},{place},{y},{deviation}\n", quoted(&line.name)));
        }
    }
    text
}
