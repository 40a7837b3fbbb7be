//! The layers of the model, one per file. They know tensor operations, but no files, graphs or training.

mod batch_norm;
mod embedding;
#[cfg(feature = "train")]
pub(crate) mod estimates;
mod feed_forward;
mod gat;
mod gated_gcn;
mod gcn;
mod gin;
mod gine;
mod head;
mod init;
mod lap_pe;
mod linear;
mod pass;
mod projection;
mod random_walk_pe;
mod running;
mod set_encoder;
mod standardize;

pub use batch_norm::BatchNorm;
pub use embedding::{Embedding, SumEmbedding};
pub use feed_forward::FeedForward;
pub use gat::Gat;
pub use gated_gcn::GatedGcn;
pub use gcn::Gcn;
pub use gin::Gin;
pub use gine::Gine;
pub use head::Head;
pub use init::Init;
pub use lap_pe::LapPe;
pub use linear::Linear;
pub use pass::{Around, LocalPass, Pass, Site};
pub use projection::{Nonlinearity, Projection};
pub use random_walk_pe::RandomWalkPe;
pub use running::Running;
pub use set_encoder::SetEncoder;
pub use standardize::Standardize;
