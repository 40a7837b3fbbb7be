//! Colours that follow the reader's light or dark setting.
//!
//! Every themed shape carries its light colour as an attribute, for viewers that know no style sheets, and a class
//! that the style sheet of the picture overrides. Charts are drawn with placeholder colours (`#FE00nn`), which
//! [`themed`] replaces.

use plotters_backend::BackendColor;
use std::fmt::Write;
use std::sync::LazyLock;

/// A colour by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// The ground.
    Paper,
    /// Text and outlines.
    Ink,
    /// Secondary text.
    Muted,
    /// Lines in the background.
    Grid,
    /// A series of a chart, counted from 0; they repeat after [`SERIES`].
    Series(usize),
    /// Positive values.
    Positive,
    /// Negative values.
    Negative,
}

/// Number of distinct series colours.
pub(crate) const SERIES: usize = 8;

/// Ground of a light page.
pub(crate) const PAPER_LIGHT: &str = "#ffffff";

/// Class suffix, light colour, dark colour.
const PAINTS: [(&str, &str, &str); 6 + SERIES] = [
    ("p", PAPER_LIGHT, "#0d1117"),
    ("i", "#1f2328", "#e6edf3"),
    ("m", "#59636e", "#9da7b3"),
    ("g", "#d8dee4", "#30363d"),
    ("0", "#0067a5", "#58a6ff"),
    ("1", "#c4520a", "#ff9e57"),
    ("2", "#007a5a", "#3fd9a6"),
    ("3", "#b0478a", "#f2a7d3"),
    ("4", "#7a6000", "#e3c64a"),
    ("5", "#6f4fc4", "#b79bff"),
    ("6", "#3a7f95", "#8fd3e6"),
    ("7", "#555b63", "#c3c9d1"),
    ("x", "#d6503c", "#d1492e"),
    ("y", "#2f74c0", "#3a7be0"),
];

impl Paint {
    fn number(self) -> usize {
        match self {
            Self::Paper => 0,
            Self::Ink => 1,
            Self::Muted => 2,
            Self::Grid => 3,
            Self::Series(number) => 4 + number % SERIES,
            Self::Positive => 4 + SERIES,
            Self::Negative => 5 + SERIES,
        }
    }

    /// The placeholder under which a chart draws with this colour.
    pub(crate) fn placeholder(self, opacity: f64) -> BackendColor {
        BackendColor { alpha: opacity, rgb: (0xFE, 0, self.number() as u8) }
    }

    /// Attributes that fill a shape.
    pub(crate) fn fill(self) -> String {
        let (class, light, _) = PAINTS[self.number()];
        format!("class=\"f{class}\" fill=\"{light}\"")
    }

    /// The colour on a light page.
    pub(crate) fn light(self) -> &'static str {
        PAINTS[self.number()].1
    }

    /// Attributes that outline a shape.
    pub(crate) fn stroke(self) -> String {
        let (class, light, _) = PAINTS[self.number()];
        format!("class=\"s{class}\" fill=\"none\" stroke=\"{light}\"")
    }
}

/// The rules of every picture. They are the same in all of them, so that many may stand in one page.
pub(crate) fn style_sheet() -> &'static str {
    static SHEET: LazyLock<String> = LazyLock::new(|| {
        let rules = |dark: bool| {
            let mut text = String::new();
            for (class, light_colour, dark_colour) in PAINTS {
                let colour = if dark { dark_colour } else { light_colour };
                let _ = write!(text, ".f{class}{{fill:{colour}}}.s{class}{{stroke:{colour}}}");
            }
            text
        };
        format!(
            "text{{font-family:system-ui,sans-serif}}{}@media(prefers-color-scheme:dark){{{}}}",
            rules(false),
            rules(true)
        )
    });
    &SHEET
}

/// Replaces placeholder colours in drawing commands by themed ones.
pub(crate) fn themed(drawing: &str) -> String {
    let mut text = String::with_capacity(drawing.len() * 2);
    for tag in drawing.split_inclusive('>') {
        let mut tag = tag.to_owned();
        let mut classes = Vec::new();
        for (attribute, prefix) in [("fill", 'f'), ("stroke", 's')] {
            for (number, (class, light, _)) in PAINTS.iter().enumerate() {
                let placeholder = format!(" {attribute}=\"#FE00{number:02X}\"");
                if tag.contains(&placeholder) {
                    tag = tag.replace(&placeholder, &format!(" {attribute}=\"{light}\""));
                    classes.push(format!("{prefix}{class}"));
                }
            }
        }
        if !classes.is_empty()
            && let Some(name_end) = tag.rfind('<').and_then(|at| Some(at + tag[at..].find(' ')?))
        {
            tag.insert_str(name_end, &format!(" class=\"{}\"", classes.join(" ")));
        }
        text.push_str(&tag);
    }
    text
}

/// A number for people: about four digits, with a power of ten only where it must be.
pub fn short_number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    if !(1e-4..1e6).contains(&size) {
        return format!("{value:.2e}");
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_become_a_class_and_a_light_colour() {
        let drawn = themed(
            "<rect x=\"1\" fill=\"#FE0001\" stroke=\"#FE0003\"/>\n<text fill=\"#FE0002\">\na\n</text>",
        );
        assert!(
            drawn.contains("<rect class=\"fi sg\" x=\"1\" fill=\"#1f2328\" stroke=\"#d8dee4\"/>"),
            "{drawn}"
        );
        assert!(drawn.contains("<text class=\"fm\" fill=\"#59636e\">"), "{drawn}");
        assert!(!drawn.contains("FE00"), "{drawn}");
    }

    #[test]
    fn numbers_are_short() {
        let written = [0.0, 1.0, 0.25, 1234.5, -0.012344, 1e-7, 2.5e8].map(short_number);
        assert_eq!(written, ["0", "1", "0.25", "1234", "-0.01234", "1.00e-7", "2.50e8"]);
    }
}
