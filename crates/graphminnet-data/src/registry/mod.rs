//! The ten benchmark data sets of the paper, by name: what they are, where they come from, what the paper says of them.
//!
//! ```
//! use graphminnet_data::registry::{datasets, find};
//!
//! assert_eq!(datasets().len(), 10);
//! assert_eq!(find("zinc-12k")?.paper.graphs, 12_000);
//! # Ok::<(), graphminnet_data::DataError>(())
//! ```
//!
//! The facts are data ([`datasets.toml`](self), compiled in); the code here only finds a local copy and applies the
//! facts to it. A data set is looked for in the folder that is given, or in the folder that the environment variable
//! `GRAPHMINNET_DATA` names. There it may be
//!
//! * a sub-folder in the OGB layout (`zinc-12k`, `ogbg-molhiv`, `mnist-sp`, …), or a `.jsonl` file of that name, or
//! * a sub-folder with the published archives, which are then imported, or
//! * a sub-folder in the native form that [`store`] writes: `graphs.jsonl.gz` and `schema.json`.
//!
//! A copy may say of itself how it differs from the published one: the points under the heading `Deviations` of its
//! `README.md` go into the report.

mod compare;
mod info;
mod local;
mod native;
mod readme;

pub use compare::{Comparison, compare};
pub(crate) use info::Layout;
pub use info::{DatasetInfo, EdgeCount, PaperRow, PublishedFile, datasets, find, is_name};
pub use local::{DATA_VARIABLE, NotHere, data_dir, import_published, load, locate};
pub use native::store;
