//! The shapes that a picture of a graph is made of.

use super::layout::Place;
use crate::svg::escape;
use crate::theme::{Paint, short_number};
use std::fmt::Write;

pub(super) fn moved(place: Place, direction: Place, distance: f64) -> Place {
    (place.0 + direction.0 * distance, place.1 + direction.1 * distance)
}

pub(super) fn signed(value: f64) -> String {
    let text = short_number(value.abs());
    if value < 0.0 {
        format!("−{text}")
    } else if value > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}

pub(super) fn line(out: &mut String, a: Place, b: Place, style: &str) {
    let _ = write!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
        a.0, a.1, b.0, b.1
    );
}

pub(super) fn text(out: &mut String, place: Place, size: f64, paint: Paint, anchor: &str, words: &str) {
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size:.1}\" text-anchor=\"{anchor}\" {}>{}</text>",
        place.0,
        place.1,
        paint.fill(),
        escape(words)
    );
}

pub(super) fn polygon(out: &mut String, corners: &[Place], style: &str) {
    let points: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(out, "<polygon points=\"{}\" {style}/>", points.join(" "));
}
