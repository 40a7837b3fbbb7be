//! Points that each have a name of their own: names stand beside them, because there are more than colours.

use super::canvas::{Drawn, FINE, Look, Plot, Point, Words};
use crate::svg::text_width;
use crate::theme::Paint;
use plotters_backend::text_anchor::{HPos, VPos};

/// Size of a name, and how far it is from its point, in reader's pixels.
const SIZE: i32 = 11;
const GAP: i32 = 6;

/// Left, top, right and bottom on the fine grid.
type Rectangle = [i32; 4];

/// Where a name may stand: to the right of its point, to the left, above, below, and at its corners.
const PLACES: [(HPos, VPos); 8] = [
    (HPos::Left, VPos::Center),
    (HPos::Right, VPos::Center),
    (HPos::Center, VPos::Bottom),
    (HPos::Center, VPos::Top),
    (HPos::Left, VPos::Bottom),
    (HPos::Left, VPos::Top),
    (HPos::Right, VPos::Bottom),
    (HPos::Right, VPos::Top),
];

/// Draws points with their names, each name at the first place where it is within the plot and covers nothing else; at the right
/// if there is none.
pub(super) fn draw(plot: &mut Plot<'_, '_>, points: &[(Point, &str)]) -> Drawn {
    let half = 3 * FINE;
    let mut taken: Vec<Rectangle> =
        points.iter().map(|&((x, y), _)| [x - half, y - half, x + half, y + half]).collect();
    let within = plot.bounds();
    for &(point, _) in points {
        plot.canvas.dot(point, 3.0, Look::new(Paint::Series(0), 2.0))?;
    }
    for &(point, name) in points {
        let free = |place: &&(HPos, VPos)| {
            let named = covered(point, name, place);
            is_in(named, within) && taken.iter().all(|other| !overlap(named, *other))
        };
        let place = PLACES.iter().find(free).unwrap_or(&PLACES[0]);
        taken.push(covered(point, name, place));
        let (at, (across, down)) = (anchor(point, place), place);
        let style = Words::new(SIZE, Paint::Ink, across_of(across), down_of(down));
        plot.canvas.text(name, at, style)?;
    }
    Ok(())
}

// The library's positions can be told apart, but neither copied nor compared.
fn across_of(across: &HPos) -> HPos {
    match across {
        HPos::Left => HPos::Left,
        HPos::Right => HPos::Right,
        HPos::Center => HPos::Center,
    }
}

fn down_of(down: &VPos) -> VPos {
    match down {
        VPos::Top => VPos::Top,
        VPos::Center => VPos::Center,
        VPos::Bottom => VPos::Bottom,
    }
}

/// The point that a name is set against.
fn anchor((x, y): Point, (across, down): &(HPos, VPos)) -> Point {
    let gap = GAP * FINE;
    let aside = match across {
        HPos::Left => gap,
        HPos::Right => -gap,
        HPos::Center => 0,
    };
    let over = match down {
        VPos::Top => gap,
        VPos::Bottom => -gap,
        VPos::Center => 0,
    };
    (x + aside, y + over)
}

/// What a name covers.
fn covered(point: Point, name: &str, place: &(HPos, VPos)) -> Rectangle {
    let (x, y) = anchor(point, place);
    let (width, height) = ((text_width(name) * f64::from(SIZE * FINE)) as i32, SIZE * FINE);
    let left = match place.0 {
        HPos::Left => x,
        HPos::Right => x - width,
        HPos::Center => x - width / 2,
    };
    let top = match place.1 {
        VPos::Top => y,
        VPos::Bottom => y - height,
        VPos::Center => y - height / 2,
    };
    [left, top, left + width, top + height]
}

fn overlap(a: Rectangle, b: Rectangle) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn is_in(a: Rectangle, b: Rectangle) -> bool {
    a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{LineChart, Series};

    #[test]
    fn names_keep_off_each_other() {
        let left = covered((100, 100), "GSSC", &PLACES[0]);
        assert!(!overlap(left, covered((100, 100), "GSSC", &PLACES[1])));
        assert!(!overlap(left, covered((100, 100), "GSSC", &PLACES[2])));
        assert!(overlap(left, covered((104, 100), "GatedGCN", &PLACES[0])));
    }

    #[test]
    fn every_point_has_its_name_and_there_is_no_legend() {
        let series = (0..12).map(|at| Series::line(format!("system {at}"), vec![(f64::from(at % 3), 1.0)]));
        let chart = LineChart { series: series.collect(), ..LineChart::default() };
        let svg = chart.svg().unwrap().to_string();
        for at in 0..12 {
            assert_eq!(svg.matches(&format!("system {at}\n")).count(), 1, "{svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 12);
        // The ground, and no colours of a legend.
        assert_eq!(svg.matches("<rect").count(), 1);
    }
}
