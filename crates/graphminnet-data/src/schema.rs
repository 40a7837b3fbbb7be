//! From raw values to a [`Schema`], and from a schema to feature tables.
//!
//! Readers hand over [`Record`]s whose cells are numbers: text is replaced by a code of its column as it arrives. When
//! the last record is in, every column is judged once, by these rules:
//!
//! * a column of text is categorical; its categories are the sorted texts;
//! * a column in which every value is *written* as a non-negative integer below `category_limit` is categorical, with
//!   `largest value + 1` categories; any other column of numbers is numeric (`1.0` is a number, `1` a category);
//! * targets: one column of text, or of integers that are not all 0 or 1, is multi-class; columns of 0 and 1, also written 0.0 and 1.0, are
//!   binary, and so is one column of two texts or two integers; everything else is regression. Integers that do not
//!   begin with 0 are names of classes: 1, 2, 3 are three classes. Of two classes with names, the one that says yes is
//!   the positive one: `active`, `true` or, of two numbers, the larger. A blank, and in tables of text a word such as `NA`,
//!   is a missing label (NaN). Text is never a number: it is the only target there is, and where regression is asked for its texts
//!   must be numbers.
//!
//! With a schema from an earlier data set nothing is inferred: the columns must be there by name, and a value that the
//! schema does not know makes its record a bad row, unless the column has a reserved slot for unseen text.

mod collect;
mod columns;
mod finish;
mod infer;
mod targets;

pub(crate) use collect::{Collector, Record};
pub(crate) use columns::{ColumnSet, Table, is_missing};
pub(crate) use finish::{Directions, Finisher, both_ways, not_encoded};
pub(crate) use infer::Encoder;
