//! An axis with round ticks: linear, logarithmic, or one place per category.

use super::Scale;
use crate::svg::shortened;
use crate::theme::short_number;

/// One axis of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Over values, with a little room at both ends. `None` if no value can be shown.
    pub(super) fn over(values: impl Iterator<Item = f64>, scale: Scale, wanted: usize) -> Option<Self> {
        let shown = values.filter(|value| is_shown(*value, scale));
        let (low, high) =
            shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        (low <= high).then(|| Self::between(low, high, scale, wanted))
    }

    /// From one value to another, with room for what is drawn there.
    pub(super) fn between(low: f64, high: f64, scale: Scale, wanted: usize) -> Self {
        let (mut first, mut last) = (position(low, scale), position(high, scale));
        if last - first < 1e-12 * first.abs().max(1e-12) {
            let room = if scale == Scale::Log { 0.3 } else { first.abs().max(1.0) * 0.1 };
            (first, last) = (first - room, last + room);
        }
        let room = 0.04 * (last - first);
        let (first, last) = (first - room, last + room);
        let ticks = match scale {
            Scale::Linear => linear_ticks(first, last, wanted),
            Scale::Log => log_ticks(first, last, wanted),
        };
        let ticks = ticks.into_iter().map(|tick| (tick, short_number(tick))).collect();
        Self { scale, low: value_at(first, scale), high: value_at(last, scale), ticks }
    }

    /// The same axis, ending exactly at this value instead of leaving room below it.
    pub(super) fn starting_at(mut self, low: f64) -> Self {
        self.low = low;
        self.ticks.retain(|(tick, _)| *tick >= low);
        self
    }

    /// Letters of the longest tick label.
    pub(super) fn longest_label(&self) -> usize {
        self.ticks.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0)
    }

    /// Places 0, 1, 2, … with names; where they would collide only every second, third, … is written.
    pub(super) fn categories(names: &[String], letters: usize) -> Self {
        let longest = names.iter().map(|name| name.chars().count().min(12)).max().unwrap_or(1) + 1;
        let step = (names.len() * longest).div_ceil(letters.max(1)).max(1);
        let ticks = names.iter().enumerate().step_by(step);
        Self {
            scale: Scale::Linear,
            low: -0.5,
            high: names.len() as f64 - 0.5,
            ticks: ticks.map(|(at, name)| (at as f64, shortened(name, 12))).collect(),
        }
    }

    /// Where a value is drawn between two places.
    pub(super) fn place(&self, value: f64, (from, to): (i32, i32)) -> i32 {
        let (low, high) = (position(self.low, self.scale), position(self.high, self.scale));
        let share = (position(value, self.scale) - low) / (high - low);
        // What lies outside is drawn at the border: a value far away must not overflow.
        from + (share.clamp(-0.01, 1.01) * f64::from(to - from)).round() as i32
    }

    /// Ticks with their labels.
    pub(super) fn ticks(&self) -> &[(f64, String)] {
        &self.ticks
    }

    /// The values at both ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }
}

fn is_shown(value: f64, scale: Scale) -> bool {
    value.is_finite() && (scale == Scale::Linear || value > 0.0)
}

fn position(value: f64, scale: Scale) -> f64 {
    if scale == Scale::Log { value.log10() } else { value }
}

fn value_at(position: f64, scale: Scale) -> f64 {
    if scale == Scale::Log { 10f64.powf(position) } else { position }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let rough = (high - low) / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    // Rather a few ticks more than wanted than only half as many.
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * power * 1.3 >= rough).unwrap_or(10.0) * power;
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    // A step that is lost in the digits of the values gives no ticks rather than endless ones.
    let count = (last - first).clamp(0.0, 50.0) as usize;
    (0..=count).map(|at| ((first + at as f64) * step * 1e12 / power).round() / 1e12 * power).collect()
}

/// Powers of ten; with 2 and 5 between them where there are few.
fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let decades = high - low;
    if decades >= wanted as f64 {
        let step = (decades / wanted as f64).ceil() as i32;
        return (low.ceil() as i32..=high.floor() as i32)
            .filter(|power| power % step == 0)
            .map(|power| 10f64.powi(power))
            .collect();
    }
    let factors: &[f64] = if decades * 3.0 <= wanted as f64 + 1.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let ticks: Vec<f64> = (low.floor() as i32..=high.ceil() as i32)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .filter(|tick| (low..=high).contains(&tick.log10()))
        .collect();
    if ticks.len() < 2 { linear_ticks(10f64.powf(low), 10f64.powf(high), wanted) } else { ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::over([0.013, 0.987].into_iter(), Scale::Linear, 5).unwrap();
        assert_eq!(texts(&axis), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        let axis = Axis::over([1.0, 1e6].into_iter(), Scale::Log, 4).unwrap();
        assert_eq!(texts(&axis), ["1", "100", "10000", "1.00e6"]);
        let axis = Axis::over([3.0, 3.0].into_iter(), Scale::Linear, 5).unwrap();
        assert!(axis.low < 3.0 && axis.high > 3.0);
        assert_eq!(Axis::over([-1.0, f64::NAN].into_iter(), Scale::Log, 5), None);
    }

    #[test]
    fn extreme_values_stay_on_the_canvas() {
        let axis = Axis::over([1e-300, 1e300].into_iter(), Scale::Linear, 5).unwrap();
        assert!((-10..=110).contains(&axis.place(f64::MAX, (0, 100))));
        let names: Vec<String> = (0..100).map(|at| format!("class {at}")).collect();
        assert!(texts(&Axis::categories(&names, 60)).len() * 9 <= 70);
    }
}
