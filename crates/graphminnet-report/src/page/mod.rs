//! A page in one file: no scripts, nothing to fetch, readable light and dark, on a telephone and on paper.
//!
//! ```
//! use graphminnet_report::page::Page;
//!
//! let mut page = Page::new("A <report>", "of nothing");
//! page.section("Numbers");
//! page.table(&["seed", "test mae"], &[vec!["0".into(), "0.07".into()]]);
//! let html = page.finish();
//! assert!(html.contains("A &lt;report&gt;") && !html.contains("<script"));
//! ```
//!
//! All text is escaped. The only markup in a page is that of [`Svg`], which only this crate makes.

use crate::svg::{Svg, escape};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// One row of a table; the first cell names it.
pub type Row = Vec<String>;

/// A page that grows from top to bottom.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    subtitle: String,
    body: String,
    sections: Vec<String>,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self { title: title.into(), subtitle: subtitle.into(), body: String::new(), sections: Vec::new() }
    }

    /// Starts a section; it is listed at the head of the page.
    pub fn section(&mut self, title: &str) {
        if !self.sections.is_empty() {
            self.body.push_str("</section>");
        }
        self.sections.push(title.to_owned());
        let number = self.sections.len();
        let _ = write!(self.body, "\n<section id=\"s{number}\"><h2>{}</h2>", escape(title));
    }

    /// A smaller heading.
    pub fn heading(&mut self, title: &str) {
        let _ = write!(self.body, "\n<h3>{}</h3>", escape(title));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = write!(self.body, "\n<p>{}</p>", escape(text));
    }

    /// A paragraph that asks for attention.
    pub fn notice(&mut self, text: &str) {
        let _ = write!(self.body, "\n<p class=\"notice\">{}</p>", escape(text));
    }

    /// A list of points.
    pub fn list(&mut self, points: &[String]) {
        self.body.push_str("\n<ul>");
        for point in points {
            let _ = write!(self.body, "<li>{}</li>", escape(point));
        }
        self.body.push_str("</ul>");
    }

    /// A table; it scrolls sideways where it is too wide. Columns of numbers are aligned to the right.
    pub fn table(&mut self, head: &[&str], rows: &[Row]) {
        let number = |column: usize| {
            let mut cells =
                rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).peekable();
            let starts = |cell: &String| {
                cell.trim_start_matches(['−', '-', '+', '±', '<', ' '])
                    .starts_with(|c: char| c.is_ascii_digit())
            };
            cells.peek().is_some() && cells.all(starts)
        };
        let class: Vec<&str> =
            (0..head.len()).map(|at| if number(at) { " class=\"n\"" } else { "" }).collect();
        self.body.push_str("\n<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
        for (title, class) in head.iter().zip(&class) {
            let _ = write!(self.body, "<th scope=\"col\"{class}>{}</th>", escape(title));
        }
        self.body.push_str("</tr></thead><tbody>");
        for row in rows {
            self.body.push_str("<tr>");
            for (at, class) in class.iter().enumerate() {
                let cell = row.get(at).map_or("", String::as_str);
                let _ = write!(self.body, "<td{class}>{}</td>", escape(cell));
            }
            self.body.push_str("</tr>");
        }
        self.body.push_str("</tbody></table></div>");
    }

    /// Names and what they stand for.
    pub fn facts(&mut self, facts: &[(String, String)]) {
        self.body.push_str("\n<dl>");
        for (name, value) in facts {
            let _ = write!(self.body, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        }
        self.body.push_str("</dl>");
    }

    /// A command or a file, as it is.
    pub fn code(&mut self, text: &str) {
        let _ = write!(self.body, "\n<pre tabindex=\"0\"><code>{}</code></pre>", escape(text));
    }

    /// Pictures side by side where there is room, each with a caption (which may be empty).
    pub fn figures(&mut self, pictures: &[(Svg, String)]) {
        self.body.push_str("\n<div class=\"figures\">");
        for (picture, caption) in pictures {
            let _ = write!(self.body, "<figure>{picture}");
            if !caption.is_empty() {
                let _ = write!(self.body, "<figcaption>{}</figcaption>", escape(caption));
            }
            self.body.push_str("</figure>");
        }
        self.body.push_str("</div>");
    }

    /// The document.
    pub fn finish(mut self) -> String {
        if !self.sections.is_empty() {
            self.body.push_str("</section>");
        }
        let (title, subtitle) = (escape(&self.title), escape(&self.subtitle));
        let mut contents = String::new();
        if self.sections.len() > 2 {
            contents.push_str("<nav aria-label=\"Contents\">");
            for (at, section) in self.sections.iter().enumerate() {
                let _ = write!(contents, "<a href=\"#s{}\">{}</a>", at + 1, escape(section));
            }
            contents.push_str("</nav>");
        }
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1><p>{subtitle}</p>{contents}</header>\n<main>{}\n</main>\n</body>\n</html>\n",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</style><script>alert(1)</script><img src=x onerror=\"y\">";

    #[test]
    fn no_text_whatever_becomes_markup() {
        let mut page = Page::new(HOSTILE, HOSTILE);
        page.section(HOSTILE);
        page.heading(HOSTILE);
        page.paragraph(HOSTILE);
        page.notice(HOSTILE);
        page.list(&[HOSTILE.into()]);
        page.table(&[HOSTILE], &[vec![HOSTILE.into()]]);
        page.facts(&[(HOSTILE.into(), HOSTILE.into())]);
        page.code(HOSTILE);
        page.figures(&[(Svg::new((1.0, 1.0), HOSTILE, HOSTILE, ""), HOSTILE.into())]);
        let html = page.finish();
        assert!(
            !html.contains("<script") && !html.contains("<img") && !html.contains("onerror=\""),
            "{html}"
        );
        assert_eq!(html.matches("alert(1)").count(), 17, "everything is there, as text");
    }

    #[test]
    fn a_page_fetches_nothing() {
        let html = Page::new("a", "b").finish();
        let links = html.matches("href=").count();
        assert_eq!((links, html.matches("src=").count()), (1, 0));
        assert!(html.contains("href=\"data:,\"") && !html.contains("url("));
    }
}
