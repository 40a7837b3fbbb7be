//! What all charts share: the canvas, the title, the legend above the plot, axes and grid.

use super::ChartError;
use super::axis::Axis;
use crate::svg::{Svg, fitted, text_width};
use crate::theme::{Paint, themed};
use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontFamily, FontTransform,
};
use plotters_svg::SVGBackend;
use std::convert::Infallible;

/// The backend counts in whole pixels; a finer grid keeps curves smooth.
pub(super) const FINE: i32 = 4;
/// Width of a chart in reader's pixels: narrow enough that its text can be read on a telephone.
pub(super) const WIDTH: i32 = 480;
const HEIGHT: i32 = 320;
const TEXT: i32 = 13;
/// Widest average letter of common sans-serif faces, relative to the size of the text.
const LETTER: f64 = 0.58;

/// A point of the fine grid.
pub(super) type Point = (i32, i32);
/// What the backend answers.
pub(super) type Drawn = Result<(), DrawingErrorKind<std::io::Error>>;

/// How a shape is painted; widths in reader's pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) paint: Paint,
    pub(super) opacity: f64,
    pub(super) width: f64,
}

impl Look {
    pub(super) fn new(paint: Paint, width: f64) -> Self {
        Self { paint, opacity: 1.0, width }
    }

    pub(super) fn faint(paint: Paint, opacity: f64) -> Self {
        Self { paint, opacity, width: 1.0 }
    }
}

impl BackendStyle for Look {
    fn color(&self) -> BackendColor {
        self.paint.placeholder(self.opacity)
    }

    fn stroke_width(&self) -> u32 {
        (self.width * f64::from(FINE)) as u32
    }
}

/// How a text is set; the size in reader's pixels.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) size: i32,
    pub(super) paint: Paint,
    pub(super) across: HPos,
    pub(super) down: VPos,
    pub(super) upright: bool,
}

impl Words {
    pub(super) fn new(size: i32, paint: Paint, across: HPos, down: VPos) -> Self {
        Self { size, paint, across, down, upright: false }
    }
}

impl BackendTextStyle for Words {
    type FontError = Infallible;

    fn color(&self) -> BackendColor {
        self.paint.placeholder(1.0)
    }

    fn size(&self) -> f64 {
        // The backend divides sizes by 1.24.
        f64::from(self.size * FINE) * 1.24
    }

    fn transform(&self) -> FontTransform {
        if self.upright { FontTransform::Rotate270 } else { FontTransform::None }
    }

    fn anchor(&self) -> Pos {
        Pos::new(self.across, self.down)
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::SansSerif
    }

    fn layout_box(&self, text: &str) -> Result<(Point, Point), Infallible> {
        let width = text.chars().count() as f64 * LETTER * f64::from(self.size * FINE);
        Ok(((0, 0), (width as i32, self.size * FINE)))
    }

    fn draw<E, F: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        _: &str,
        _: Point,
        _: F,
    ) -> Result<Result<(), E>, Infallible> {
        // Pixels are for bitmaps; SVG has text.
        Ok(Ok(()))
    }
}

/// Something to draw on.
pub(super) struct Canvas<'a>(SVGBackend<'a>);

impl Canvas<'_> {
    pub(super) fn line(&mut self, points: &[Point], look: Look) -> Drawn {
        self.0.draw_path(points.iter().copied(), &look)
    }

    /// A line in strokes.
    pub(super) fn dashed(&mut self, points: &[Point], look: Look) -> Drawn {
        for stroke in strokes(points, f64::from(6 * FINE), f64::from(4 * FINE)) {
            self.line(&stroke, look)?;
        }
        Ok(())
    }

    pub(super) fn polygon(&mut self, points: &[Point], look: Look) -> Drawn {
        self.0.fill_polygon(points.iter().copied(), &look)
    }

    pub(super) fn rectangle(&mut self, corners: [Point; 2], look: Look, filled: bool) -> Drawn {
        let [(a, b), (c, d)] = corners;
        self.0.draw_rect((a.min(c), b.min(d)), (a.max(c), b.max(d)), &look, filled)
    }

    pub(super) fn dot(&mut self, centre: Point, radius: f64, look: Look) -> Drawn {
        self.0.draw_circle(centre, (radius * f64::from(FINE)) as u32, &look, true)
    }

    pub(super) fn text(&mut self, words: &str, place: Point, style: Words) -> Drawn {
        self.0.draw_text(words, &style, place)
    }
}

/// Pieces of a line, `on` long and `off` apart.
fn strokes(points: &[Point], on: f64, off: f64) -> Vec<Vec<Point>> {
    let mut pieces = Vec::new();
    let mut piece: Vec<Point> = points.first().copied().into_iter().collect();
    let (mut drawing, mut left) = (true, on);
    for pair in points.windows(2) {
        let &[from, to] = pair else { continue };
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let turn = (from.0 + (dx * done / length) as i32, from.1 + (dy * done / length) as i32);
            if drawing {
                piece.push(turn);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![turn];
            }
            drawing = !drawing;
            left = if drawing { on } else { off };
        }
        left -= length - done;
        if drawing {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

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

/// A canvas with axes.
pub(super) struct Plot<'a, 'b> {
    pub(super) canvas: &'a mut Canvas<'b>,
    x: &'a Axis,
    y: &'a Axis,
    across: (i32, i32),
    down: (i32, i32),
}

impl Plot<'_, '_> {
    /// Where a pair of values is drawn.
    pub(super) fn place(&self, (x, y): (f64, f64)) -> Point {
        (self.x.place(x, self.across), self.y.place(y, self.down))
    }

    /// Where pairs of values are drawn.
    pub(super) fn places(&self, pairs: impl IntoIterator<Item = (f64, f64)>) -> Vec<Point> {
        pairs.into_iter().map(|pair| self.place(pair)).collect()
    }

    /// Left, top, right and bottom.
    pub(super) fn bounds(&self) -> [i32; 4] {
        [self.across.0, self.down.1, self.across.1, self.down.0]
    }

    fn axes(&mut self, frame: &Frame<'_>) -> Drawn {
        let (grid, axis) = (Look::new(Paint::Grid, 1.0), Look::new(Paint::Muted, 1.0));
        let (left, right) = self.across;
        let (bottom, top) = self.down;
        for (value, label) in self.x.ticks() {
            let at = self.x.place(*value, self.across);
            self.canvas.line(&[(at, bottom), (at, top)], grid)?;
            self.canvas.line(&[(at, bottom), (at, bottom + 4 * FINE)], axis)?;
            let style = Words::new(TEXT, Paint::Muted, HPos::Center, VPos::Top);
            self.canvas.text(label, (at, bottom + 6 * FINE), style)?;
        }
        for (value, label) in self.y.ticks() {
            let at = self.y.place(*value, self.down);
            self.canvas.line(&[(left, at), (right, at)], grid)?;
            self.canvas.line(&[(left - 4 * FINE, at), (left, at)], axis)?;
            let style = Words::new(TEXT, Paint::Muted, HPos::Right, VPos::Center);
            self.canvas.text(label, (left - 6 * FINE, at), style)?;
        }
        self.canvas.line(&[(left, top), (left, bottom), (right, bottom)], axis)?;
        let fits = |words: &str, length: i32| fitted(words, f64::from(TEXT), f64::from(length.abs() / FINE));
        let name = Words::new(TEXT, Paint::Ink, HPos::Center, VPos::Bottom);
        let below = ((left + right) / 2, (HEIGHT - 4) * FINE);
        self.canvas.text(&fits(frame.x_label, right - left), below, name)?;
        let beside = (20 * FINE, (top + bottom) / 2);
        let upright = Words { upright: true, ..name };
        self.canvas.text(&fits(frame.y_label, bottom - top), beside, upright)
    }
}

/// Draws a framed plot.
pub(super) fn plot(
    frame: &Frame<'_>,
    (x, y): (Axis, Axis),
    draw: impl FnOnce(&mut Plot<'_, '_>) -> Drawn,
) -> Result<Svg, ChartError> {
    drawn(frame.title, frame.description, HEIGHT, |canvas| {
        let top = heading(canvas, frame)? + 4;
        let letters = y.longest_label().max(2);
        let left = 32 + (letters as f64 * LETTER * f64::from(TEXT)) as i32;
        let across = (left * FINE, (WIDTH - 16) * FINE);
        let down = ((HEIGHT - 42) * FINE, top * FINE);
        let mut plot = Plot { canvas, x: &x, y: &y, across, down };
        plot.axes(frame)?;
        draw(&mut plot)
    })
}

/// Draws on an empty canvas.
pub(super) fn drawn(
    title: &str,
    description: &str,
    height: i32,
    draw: impl FnOnce(&mut Canvas<'_>) -> Drawn,
) -> Result<Svg, ChartError> {
    let size = (WIDTH * FINE, height * FINE);
    let mut raw = String::new();
    {
        let backend = SVGBackend::with_string(&mut raw, (size.0 as u32, size.1 as u32));
        let mut canvas = Canvas(backend);
        let result = draw(&mut canvas).and_then(|()| canvas.0.present());
        result.map_err(|error| ChartError::Drawing { title: title.to_owned(), reason: error.to_string() })?;
    }
    // The library's own envelope is replaced by one with a title and without a fixed size.
    let inner = raw.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.rsplit_once("</svg>").map_or(inner, |(before, _)| before);
    Ok(Svg::new((f64::from(size.0), f64::from(size.1)), title, description, &themed(inner)))
}

/// Title and legend; returns the height that they take, in reader's pixels.
pub(super) fn heading(
    canvas: &mut Canvas<'_>,
    frame: &Frame<'_>,
) -> Result<i32, DrawingErrorKind<std::io::Error>> {
    let title = fitted(frame.title, 15.0, f64::from(WIDTH - 24));
    canvas.text(&title, (12 * FINE, 8 * FINE), Words::new(15, Paint::Ink, HPos::Left, VPos::Top))?;
    let (mut left, mut top) = (12, 32);
    let mut rows = i32::from(!frame.legend.is_empty());
    for (name, paint, dashed) in frame.legend {
        let name = fitted(name, f64::from(TEXT), f64::from(WIDTH - 60));
        let width = 26 + (text_width(&name) * f64::from(TEXT)) as i32 + 12;
        if left > 12 && left + width > WIDTH - 8 {
            (left, top, rows) = (12, top + 18, rows + 1);
        }
        let (y, height) = ((top + 7) * FINE, 3 * FINE);
        let pieces: &[(i32, i32)] = if *dashed { &[(0, 5), (8, 13), (16, 20)] } else { &[(0, 20)] };
        for (from, to) in pieces {
            let corners = [((left + from) * FINE, y - height / 2), ((left + to) * FINE, y + height / 2)];
            canvas.rectangle(corners, Look::new(*paint, 1.0), true)?;
        }
        let style = Words::new(TEXT, Paint::Ink, HPos::Left, VPos::Top);
        canvas.text(&name, ((left + 26) * FINE, top * FINE), style)?;
        left += width;
    }
    Ok(if rows == 0 { 30 } else { 36 + 18 * rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_go_around_corners() {
        let pieces = strokes(&[(0, 0), (10, 0), (10, 10)], 6.0, 4.0);
        assert_eq!(pieces, [vec![(0, 0), (6, 0)], vec![(10, 0), (10, 6)]]);
        assert!(strokes(&[], 1.0, 1.0).is_empty());
    }
}
