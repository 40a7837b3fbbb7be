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

/// Text as it may stand between tags or in a quoted attribute. Control characters, which no document may hold, become
/// a visible mark.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(escape("<b a=\"1\">&'\u{0}"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39;\u{fffd}");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
