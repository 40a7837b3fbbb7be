//! Figures as files: an SVG picture, and its points as CSV.

use crate::failure::Failure;
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::fs::write_atomically;
use graphminnet_lab::repro::Figure;
use graphminnet_report::Svg;
use graphminnet_report::chart::{BarChart, BarGroup, ChartError, LineChart, Scale, Series};
use std::io;
use std::path::{Path, PathBuf};

/// Lines with at most this many points have their points marked.
const FEW_POINTS: usize = 20;

/// Draws a figure and writes its points. A figure without any point that can be shown has no picture.
pub fn write(figure: &Figure, folder: &Path, name: &str) -> Result<Vec<PathBuf>, Failure> {
    let points = folder.join(format!("{name}-points.csv"));
    write_atomically(&points, &csv(figure)?)?;
    match picture(figure) {
        Ok(svg) => {
            let path = folder.join(format!("{name}.svg"));
            write_atomically(&path, svg.as_str().as_bytes())?;
            Ok(vec![points, path])
        }
        Err(ChartError::Empty { .. }) => Ok(vec![points]),
        Err(error) => Err(Failure::usage(error)),
    }
}

fn picture(figure: &Figure) -> Result<Svg, ChartError> {
    if !figure.categories.is_empty() {
        return bars(figure).svg();
    }
    let scale = |is_log: bool| if is_log { Scale::Log } else { Scale::Linear };
    let series = figure.lines.iter().map(|line| Series {
        name: line.name.clone(),
        points: line.points.clone(),
        band: line.points.iter().zip(&line.deviations).map(|((x, y), std)| (*x, y - std, y + std)).collect(),
        marked: line.points.len() <= FEW_POINTS,
        ..Series::default()
    });
    LineChart {
        title: figure.title.clone(),
        description: figure.description.clone(),
        x_label: figure.x_label.clone(),
        y_label: figure.y_label.clone(),
        x_scale: scale(figure.x_log),
        y_scale: scale(figure.y_log),
        series: series.collect(),
    }
    .svg()
}

/// One group of bars per line; a category without a point has no bar.
fn bars(figure: &Figure) -> BarChart {
    let group = |line: &graphminnet_lab::repro::Line| {
        let value = |place: usize| {
            let found = line.points.iter().find(|(x, _)| *x as usize == place);
            found.map_or(f64::NAN, |(_, y)| *y)
        };
        BarGroup { name: line.name.clone(), values: (0..figure.categories.len()).map(value).collect() }
    };
    BarChart {
        title: figure.title.clone(),
        description: figure.description.clone(),
        x_label: figure.x_label.clone(),
        y_label: figure.y_label.clone(),
        categories: figure.categories.clone(),
        groups: figure.lines.iter().map(group).collect(),
    }
}

/// One line per point: series, place, value, deviation.
fn csv(figure: &Figure) -> io::Result<Vec<u8>> {
    let mut table = CsvWriter::new(Vec::new());
    table.row(["series", &figure.x_label, &figure.y_label, "standard deviation"])?;
    for line in &figure.lines {
        for (at, (x, y)) in line.points.iter().enumerate() {
            table.field(&line.name)?;
            match figure.categories.get(*x as usize) {
                Some(name) => table.field(name)?,
                None => table.field(x)?,
            }
            table.field(y)?;
            table.row([line.deviations.get(at).map_or_else(String::new, f64::to_string)])?;
        }
    }
    Ok(table.into_inner())
}
