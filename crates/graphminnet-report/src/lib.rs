//! Charts, pictures of graphs, and pages that hold both.
//!
//! ```
//! use graphminnet_report::chart::{LineChart, Series};
//! use graphminnet_report::page::Page;
//!
//! let loss = vec![Series::line("train", vec![(1.0, 0.9), (2.0, 0.4), (3.0, 0.3)])];
//! let chart = LineChart { title: "loss".into(), series: loss, ..LineChart::default() };
//! let mut page = Page::new("A run", "three epochs");
//! page.figures(&[(chart.svg()?, String::new())]);
//! assert!(page.finish().contains("<svg"));
//! # Ok::<(), graphminnet_report::chart::ChartError>(())
//! ```
//!
//! * [`chart`]: line, scatter and bar charts and matrices, from plain numbers.
//! * [`draw`]: molecules and other graphs, with nodes and edges coloured by a signed value.
//! * [`page`]: HTML in one file, without anything to fetch.
//!
//! Every picture is SVG. It follows the reader's light or dark setting, keeps its proportions at any width, and carries
//! a title and a description for those who cannot see it. Equal input gives equal bytes. This crate uses no tensors and
//! prints nothing.

#![warn(unreachable_pub)]
#![forbid(unsafe_code)]

pub mod chart;
pub mod draw;
pub mod page;
mod svg;
mod theme;

pub use svg::Svg;
// For the other crates of this workspace, which write SVG and numbers of their own.
#[doc(hidden)]
pub use {svg::escape, theme::short_number};
