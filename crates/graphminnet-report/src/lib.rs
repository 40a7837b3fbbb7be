//! What people look at: charts, pictures of graphs, and pages that hold both.
//!
//! * [`chart`] — line, scatter and bar charts and matrices, from plain numbers;
//! * [`draw`] — molecules and other graphs, nodes and edges coloured by a signed value;
//! * [`page`] — HTML in one file, without anything to fetch.
//!
//! Everything is written as SVG that follows the reader's light or dark setting, keeps its proportions at any width
//! and carries a title and a description for those who cannot see it. Equal input gives equal bytes. This crate never
//! sees a tensor and prints nothing.

#![forbid(unsafe_code)]

pub mod chart;
pub mod draw;
pub mod page;
mod svg;
mod theme;

pub use svg::{Svg, escape};
pub use theme::short_number;
