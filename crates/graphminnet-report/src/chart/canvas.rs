//! What all charts share: the canvas, the title, the legend above the plot, axes and grid.

use super::ChartError;
use super::axis::Axis;
use crate::svg::{Svg, shortened};
use crate::theme::{Paint, themed};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The library counts in whole pixels; a finer grid keeps curves smooth.
pub(super) const FINE: i32 = 4;
/// Width of a chart in reader's pixels: narrow enough that its text can be read on a telephone.
pub(super) const WIDTH: i32 = 480;
const HEIGHT: i32 = 320;
const TEXT: i32 = 13;
/// Widest average letter of common sans-serif faces, relative to the size of the text.
const LETTER: f64 = 0.58;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Refused<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;
/// What the plotting library answers.
pub(super) type Drawn<'a> = Result<(), Refused<'a>>;

/// The words around a plot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    /// Name, colour, and whether it is a dashed line.
    pub(super) legend: &'a [(String, Paint, bool)],
}

/// Text of the given colour, `size` in reader's pixels.
pub(super) fn text(size: i32, paint: Paint, across: HPos, down: VPos) -> TextStyle<'static> {
    // The backend divides sizes by 1.24.
    ("sans-serif", f64::from(size * FINE) * 1.24)
        .into_font()
        .color(&paint.placeholder())
        .pos(Pos::new(across, down))
}

/// Draws a framed plot.
pub(super) fn plot(
    frame: &Frame<'_>,
    (x, y): (Axis, Axis),
    draw: impl for<'a, 'b> FnOnce(&mut Plot<'a, 'b>) -> Drawn<'b>,
) -> Result<Svg, ChartError> {
    drawn(frame.title, frame.description, HEIGHT, |root| {
        let top = heading(root, frame)?;
        let y_letters = y.longest_label().max(2);
        let mut chart = ChartBuilder::on(root)
            .margin_top((top + 4) * FINE)
            .margin_right(14 * FINE)
            .x_label_area_size(40 * FINE)
            .y_label_area_size((24 + (y_letters as f64 * LETTER * f64::from(TEXT)) as i32) * FINE)
            .build_cartesian_2d(x, y)?;
        let grid = Paint::Grid.placeholder();
        chart
            .configure_mesh()
            .bold_line_style(grid.stroke_width(FINE as u32))
            .light_line_style(TRANSPARENT)
            .axis_style(Paint::Muted.placeholder().stroke_width(FINE as u32))
            .set_all_tick_mark_size(4 * FINE)
            .x_desc(frame.x_label)
            .y_desc(frame.y_label)
            .label_style(text(TEXT, Paint::Muted, HPos::Center, VPos::Center))
            .axis_desc_style(text(TEXT, Paint::Ink, HPos::Center, VPos::Center))
            .draw()?;
        draw(&mut chart)
    })
}

/// Draws on an empty canvas.
pub(super) fn drawn(
    title: &str,
    description: &str,
    height: i32,
    draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
) -> Result<Svg, ChartError> {
    let size = (WIDTH * FINE, height * FINE);
    let mut raw = String::new();
    {
        let root = SVGBackend::with_string(&mut raw, (size.0 as u32, size.1 as u32)).into_drawing_area();
        let result = draw(&root).and_then(|()| root.present());
        result.map_err(|error| ChartError::Drawing { title: title.to_owned(), reason: error.to_string() })?;
    }
    // The library's own envelope is replaced by one with a title and without a fixed size.
    let inner = raw.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.rsplit_once("</svg>").map_or(inner, |(before, _)| before);
    Ok(Svg::new((f64::from(size.0), f64::from(size.1)), title, description, &themed(inner)))
}

/// Title and legend; returns the height that they take, in reader's pixels.
pub(super) fn heading<'a>(root: &Area<'a>, frame: &Frame<'_>) -> Result<i32, Refused<'a>> {
    let title = shortened(frame.title, (f64::from(WIDTH - 24) / (15.0 * LETTER)) as usize);
    let style = text(15, Paint::Ink, HPos::Left, VPos::Top);
    root.draw(&Text::new(title, (12 * FINE, 8 * FINE), style))?;
    let (mut left, mut top) = (12, 32);
    let mut rows = usize::from(!frame.legend.is_empty());
    for (name, paint, dashed) in frame.legend {
        let name = shortened(name, 40);
        let width = 26 + (name.chars().count() as f64 * LETTER * f64::from(TEXT)) as i32 + 12;
        if left > 12 && left + width > WIDTH - 8 {
            (left, top, rows) = (12, top + 18, rows + 1);
        }
        let colour = paint.placeholder();
        let (y, height) = ((top + 7) * FINE, 3 * FINE);
        let pieces: &[(i32, i32)] = if *dashed { &[(0, 5), (8, 13), (16, 20)] } else { &[(0, 20)] };
        for (from, to) in pieces {
            let corners = [((left + from) * FINE, y - height / 2), ((left + to) * FINE, y + height / 2)];
            root.draw(&Rectangle::new(corners, colour.filled()))?;
        }
        let place = ((left + 26) * FINE, top * FINE);
        root.draw(&Text::new(name, place, text(TEXT, Paint::Ink, HPos::Left, VPos::Top)))?;
        left += width;
    }
    Ok(if rows == 0 { 30 } else { 36 + 18 * rows as i32 })
}
