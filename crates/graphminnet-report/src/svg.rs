//! A finished picture, and text made safe for markup.

use crate::theme;
use std::fmt::{self, Display, Write};

/// A finished picture. Only this crate makes them, so a page may hold one as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Svg(String);

impl Svg {
    /// Wraps drawing commands with the size of the canvas, a title and a description.
    pub(crate) fn new(size: (f64, f64), title: &str, description: &str, body: &str) -> Self {
        let (width, height) = size;
        let mut text = String::with_capacity(body.len() + 2048);
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\"><title>{}</title><desc>{}</desc><style>{}</style><rect class=\"fp\" fill=\"{}\" width=\"100%\" height=\"100%\"/>{body}</svg>",
            escape(title),
            escape(title),
            escape(description),
            theme::style_sheet(),
            theme::PAPER_LIGHT,
        );
        Self(text)
    }

    /// The markup; a file with it is a valid SVG document.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Display for Svg {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Text made safe between tags or in a quoted attribute. Control characters, which no document may hold, become a
/// visible mark.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                safe.push('\u{fffd}')
            }
            letter => safe.push(letter),
        }
    }
    safe
}

/// At most `limit` characters, with an ellipsis where something was cut.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// About how wide a text is in common sans-serif faces, in units of its size.
pub(crate) fn text_width(text: &str) -> f64 {
    let width = |letter: char| match letter {
        'W' | 'M' | 'm' | 'w' | '@' | '…' => 0.95,
        'A'..='Z' | '=' | '+' | '#' | '−' => 0.76,
        'i' | 'l' | 'j' | '.' | ',' | ':' | ' ' | '(' | ')' | '[' | ']' => 0.42,
        letter if letter.is_ascii() => 0.62,
        _ => 1.0,
    };
    text.chars().map(width).sum()
}

/// As much of a text as fits into a width, with an ellipsis where something was cut.
pub(crate) fn fitted(text: &str, size: f64, width: f64) -> String {
    if text_width(text) * size <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if (text_width(&kept) + 0.95) * size > width {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_width_whatever_its_letters() {
        for text in ["CC(=O)NC(CC)", "illicit illicit", "MMMMMMMMMM", "äöü äöü äöü"] {
            let cut = fitted(text, 10.0, 50.0);
            assert!(text_width(&cut) * 10.0 <= 50.0, "{cut}");
            assert_eq!(fitted(text, 10.0, 500.0), text);
        }
    }

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(escape("<b a=\"1\">&'\u{0}"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\u{fffd}");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
