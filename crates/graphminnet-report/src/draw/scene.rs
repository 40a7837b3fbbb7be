//! A laid-out graph as SVG: coloured halos below, lines and labels above, the scale at the foot.

use super::GraphPicture;
use super::bonds;
use super::layout::{self, Place};
use super::molecule::Skeleton;
use super::selection::Selection;
use super::shapes::{line, signed, text};
use crate::svg::{Svg, fitted, text_width};
use crate::theme::Paint;
use std::fmt::Write;

const WIDTH: f64 = 480.0;
const MARGIN: f64 = 26.0;
const HEAD: f64 = 34.0;
const TALLEST: f64 = 430.0;
/// Nodes named at the foot and numbered in the picture.
const STRONGEST: usize = 4;
/// Nodes of plain graphs carry their number up to this many.
const NUMBERED: usize = 40;
/// Average width of a letter relative to its height.
const LETTER: f64 = 0.58;

/// Everything that is drawn, in pixels.
pub(super) struct Scene<'a> {
    picture: &'a GraphPicture<'a>,
    selection: Selection,
    skeleton: Option<Skeleton>,
    places: Vec<Place>,
    /// Pixels between neighbours.
    unit: f64,
    height: f64,
    /// Largest absolute value; 0 without colours.
    largest: f64,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        picture: &'a GraphPicture<'a>,
        selection: Selection,
        skeleton: Option<Skeleton>,
    ) -> Self {
        let own = skeleton.as_ref().map(|skeleton| skeleton.places.clone());
        let mut places = own.unwrap_or_else(|| layout::spread(&selection.neighbours()));
        let (low, high) = layout::bounds(&places);
        // The longer side lies across.
        if high.1 - low.1 > (high.0 - low.0) * 1.2 {
            places.iter_mut().for_each(|place| *place = (-place.1, place.0));
        }
        let (low, high) = layout::bounds(&places);
        let (across, down) = (high.0 - low.0, high.1 - low.1);
        let room = WIDTH - 2.0 * MARGIN;
        let widest = if skeleton.is_some() { 42.0 } else { 54.0 };
        let unit = (room / across.max(1e-9)).min((TALLEST - 2.0 * MARGIN) / down.max(1e-9)).min(widest);
        let left = MARGIN + (room - across * unit) / 2.0;
        places.iter_mut().for_each(|place| {
            *place = (left + (place.0 - low.0) * unit, HEAD + MARGIN + (place.1 - low.1) * unit);
        });
        let drawn = selection.nodes.iter().filter_map(|&node| picture.node_values.get(node).copied());
        let sizes = drawn
            .chain(selection.edges.iter().chain(&selection.joins).map(|edge| edge.value))
            .filter(|value| value.is_finite());
        let largest = sizes.fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let height = HEAD + 2.0 * MARGIN + down * unit;
        Self { picture, selection, skeleton, places, unit, height, largest }
    }

    pub(super) fn svg(&self) -> Svg {
        let mut out = String::new();
        let title = fitted(self.picture.title, 15.0, WIDTH - 24.0);
        text(&mut out, (12.0, 22.0), 15.0, Paint::Ink, "start", &title);
        self.halos(&mut out);
        self.lines(&mut out);
        self.nodes(&mut out);
        self.numbers(&mut out);
        let foot = self.foot(&mut out);
        Svg::new((WIDTH, self.height + foot), self.picture.title, &self.description(), &out)
    }

    fn value(&self, at: usize) -> f64 {
        let value = self.selection.nodes.get(at).and_then(|&node| self.picture.node_values.get(node));
        value.copied().filter(|value| value.is_finite()).unwrap_or(0.0)
    }

    /// Colour and opacity of a value.
    fn shade(&self, value: f64) -> Option<(Paint, f64)> {
        let share = value.abs() / self.largest;
        let paint = if value > 0.0 { Paint::Positive } else { Paint::Negative };
        (self.largest > 0.0 && value != 0.0).then(|| (paint, 0.08 + 0.77 * share.min(1.0)))
    }

    fn node_radius(&self) -> f64 {
        (0.3 * self.unit).clamp(2.5, if self.skeleton.is_some() { 12.0 } else { 11.0 })
    }

    fn name(&self, at: usize) -> String {
        let node = self.selection.nodes.get(at).copied().unwrap_or(0);
        match self.skeleton.as_ref().and_then(|skeleton| skeleton.symbols.get(at)) {
            Some(symbol) => format!("{symbol} {node}"),
            None => format!("node {node}"),
        }
    }

    fn halos(&self, out: &mut String) {
        for edge in self.selection.edges.iter().chain(&self.selection.joins) {
            if let Some((paint, opacity)) = self.shade(edge.value) {
                let (a, b) = (self.places[edge.ends.0], self.places[edge.ends.1]);
                let width = (0.22 * self.unit).clamp(1.5, 9.0);
                let style =
                    format!("{} stroke-opacity=\"{opacity:.2}\" stroke-width=\"{width:.1}\"", paint.stroke());
                line(out, a, b, &style);
            }
        }
        if self.skeleton.is_some() {
            for at in 0..self.places.len() {
                self.circle(out, at);
            }
        }
    }

    /// A node's circle in the colour of its value.
    fn circle(&self, out: &mut String, at: usize) {
        let value = self.value(at);
        let (x, y) = self.places[at];
        let fill = match self.shade(value) {
            Some((paint, opacity)) => format!("{} fill-opacity=\"{opacity:.2}\"", paint.fill()),
            None if self.skeleton.is_some() => return,
            None => Paint::Paper.fill(),
        };
        let radius = self.node_radius();
        let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {fill}>");
        let _ = match self.largest > 0.0 {
            true => write!(out, "<title>{}: {}</title></circle>", self.name(at), signed(value)),
            false => write!(out, "<title>{}</title></circle>", self.name(at)),
        };
    }

    fn lines(&self, out: &mut String) {
        if let Some(skeleton) = &self.skeleton {
            return bonds::draw(out, skeleton, &self.selection, &self.places, self.unit);
        }
        let style =
            format!("{} stroke-width=\"{:.1}\"", Paint::Muted.stroke(), (0.03 * self.unit).clamp(0.4, 1.2));
        let few = self.selection.edges.len() <= 600;
        let style = if few { style } else { format!("{style} stroke-opacity=\"0.35\"") };
        for edge in &self.selection.edges {
            line(out, self.places[edge.ends.0], self.places[edge.ends.1], &style);
        }
    }

    fn nodes(&self, out: &mut String) {
        if self.skeleton.is_some() {
            let size = self.label_size();
            for (label, left, y) in self.labels() {
                text(out, (left, y + size * 0.36), size, Paint::Ink, "start", &label);
            }
            return;
        }
        let rim =
            format!("{} stroke-width=\"{:.1}\"", Paint::Muted.stroke(), (0.03 * self.unit).clamp(0.5, 1.2));
        // The paper below keeps edges from shining through a faint colour.
        let radius = self.node_radius();
        let numbered = self.numbered();
        for (at, &(x, y)) in self.places.iter().enumerate() {
            let _ = write!(
                out,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {}/>",
                Paint::Paper.fill()
            );
            self.circle(out, at);
            let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" {rim}/>");
            if numbered {
                let number = self.selection.nodes[at].to_string();
                let size = (radius * 1.1).min(2.0 * radius / (number.len() as f64 * LETTER + 0.3));
                text(out, (x, y + size * 0.36), size, Paint::Ink, "middle", &number);
            }
        }
    }

    fn numbered(&self) -> bool {
        self.skeleton.is_none() && self.places.len() <= NUMBERED && self.node_radius() >= 8.0
    }

    /// The nodes with the largest values, largest first.
    fn strongest(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.places.len()).filter(|at| self.value(*at) != 0.0).collect();
        order.sort_by(|&a, &b| self.value(b).abs().total_cmp(&self.value(a).abs()).then(a.cmp(&b)));
        order.truncate(STRONGEST);
        order
    }

    /// Numbers beside the strongest nodes, where there is room: away from their neighbours if possible, otherwise on
    /// any side, and not at all if every side is taken.
    fn numbers(&self, out: &mut String) {
        if self.numbered() {
            return;
        }
        const SIZE: f64 = 10.0;
        let around = self.selection.neighbours();
        let mut taken: Vec<(Place, f64)> = self.label_boxes();
        for at in self.strongest() {
            let (x, y) = self.places[at];
            let (dx, dy) = around[at].iter().fold((0.0, 0.0), |(dx, dy), &other| {
                (dx + x - self.places[other].0, dy + y - self.places[other].1)
            });
            let first = if f64::hypot(dx, dy) > 1e-6 { dy.atan2(dx) } else { -std::f64::consts::FRAC_PI_2 };
            let number = self.selection.nodes[at].to_string();
            let half = text_width(&number) * SIZE / 2.0;
            let distance = self.node_radius() + 4.0 + half.max(SIZE / 2.0);
            let turns = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0];
            let places = turns.map(|turn| {
                let angle = first + turn * std::f64::consts::FRAC_PI_4;
                (x + angle.cos() * distance, y + angle.sin() * distance)
            });
            let inside = |place: &Place| place.0 - half > 2.0 && place.0 + half < WIDTH - 2.0;
            let free = |place: &Place| {
                taken.iter().all(|(other, width)| {
                    (place.0 - other.0).abs() > half + width + 2.0 || (place.1 - other.1).abs() > SIZE + 4.0
                })
            };
            let Some(place) = places.into_iter().find(|place| inside(place) && free(place)) else { continue };
            taken.push((place, half));
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{SIZE}\" text-anchor=\"middle\" class=\"fm sp\" fill=\"{}\" stroke=\"{}\" style=\"paint-order:stroke;stroke-width:3px\" stroke-linejoin=\"round\">{number}</text>",
                place.0,
                place.1 + 3.5,
                Paint::Muted.light(),
                Paint::Paper.light(),
            );
        }
    }

    /// Every written atom with its left end and its height. Labels are centred on the symbol, so that the hydrogens do
    /// not push it off its bond, and hydrogens are written on the side away from the bonds.
    fn labels(&self) -> Vec<(String, f64, f64)> {
        let Some(skeleton) = &self.skeleton else { return Vec::new() };
        let size = self.label_size();
        let around = self.selection.neighbours();
        let written = skeleton.labels.iter().zip(&self.places).enumerate();
        written
            .filter_map(|(at, (label, &(x, y)))| {
                let label = label.as_ref()?;
                let pull: f64 = around[at].iter().map(|&other| self.places[other].0 - x).sum();
                let hydrogens_first = pull > 0.2 * self.unit;
                let head = text_width(&label.head(hydrogens_first)) * size;
                let left = x - head - label.symbol.chars().count() as f64 * size * 0.36;
                Some((label.text(hydrogens_first), left, y))
            })
            .collect()
    }

    /// Middle and half width of every written atom.
    fn label_boxes(&self) -> Vec<(Place, f64)> {
        let size = self.label_size();
        let boxed = |(label, left, y): (String, f64, f64)| {
            let half = text_width(&label) * size / 2.0;
            ((left + half, y), half)
        };
        self.labels().into_iter().map(boxed).collect()
    }

    fn label_size(&self) -> f64 {
        (0.36 * self.unit).clamp(5.0, 14.0)
    }

    /// Scale, strongest nodes and what was left out; returns the height that they take.
    fn foot(&self, out: &mut String) -> f64 {
        let mut y = self.height + 4.0;
        let fits = |words: &str| fitted(words, 12.0, WIDTH - 24.0);
        if self.largest > 0.0 {
            if !self.picture.meaning.is_empty() {
                text(out, (12.0, y + 10.0), 12.0, Paint::Muted, "start", &fits(self.picture.meaning));
                y += 18.0;
            }
            const STEPS: i32 = 12;
            let step = 180.0 / f64::from(2 * STEPS + 1);
            for at in -STEPS..=STEPS {
                let value = self.largest * f64::from(at) / f64::from(STEPS);
                if let Some((paint, opacity)) = self.shade(value) {
                    let x = 150.0 + step * f64::from(at + STEPS);
                    let _ = write!(
                        out,
                        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"11\" {} fill-opacity=\"{opacity:.2}\"/>",
                        step + 0.2,
                        paint.fill()
                    );
                }
            }
            for (x, anchor, value) in [(144.0, "end", -self.largest), (336.0, "start", self.largest)] {
                text(out, (x, y + 10.0), 12.0, Paint::Ink, anchor, &signed(value));
            }
            y += 15.0;
            text(out, (240.0, y + 9.0), 11.0, Paint::Muted, "middle", "0");
            y += 16.0;
            let named: Vec<String> = self
                .strongest()
                .iter()
                .map(|&at| format!("{} {}", self.name(at), signed(self.value(at))))
                .collect();
            if !named.is_empty() {
                // As many as fit as a whole.
                let whole = |count: usize| format!("strongest: {}", named[..count].join(", "));
                let fitting = (1..=named.len()).rev().map(whole).find(|line| fits(line) == *line);
                let line = fitting.unwrap_or_else(|| fits(&whole(1)));
                text(out, (12.0, y + 10.0), 12.0, Paint::Ink, "start", &line);
                y += 20.0;
            }
        }
        if let Some(note) = &self.selection.note {
            text(out, (12.0, y + 10.0), 12.0, Paint::Muted, "start", &fits(note));
            y += 20.0;
        }
        y - self.height + 4.0
    }

    fn description(&self) -> String {
        let graph = self.picture.graph;
        let mut words =
            format!("A graph of {} nodes and {} directed edges.", graph.num_nodes(), graph.num_edges());
        for at in self.strongest() {
            let _ = write!(words, " {}: {}.", self.name(at), signed(self.value(at)));
        }
        if let Some(note) = &self.selection.note {
            let _ = write!(words, " Drawn: {note}.");
        }
        words
    }
}
