//! What a graph in parts asks of a configuration.

use super::{
    Activation, Aggregate, ConfigError, DropoutSite, GlobalKind, InnerProduct, Layout, LevelKind, LocalKind,
    ModelConfig, PartitionBy,
};
use graphminnet_data::partition::Partition;
use graphminnet_data::{DataError, Graph};

/// What the global branch must be, in words.
pub(crate) const SUMS_ALONE: &str = "the block in its default form (global graphminnet, layout channel, aggregate mul, inner_product type1 or \
     type3, nonlinear_wb none, no dropout on the embedding), or no global branch; others need more of a graph than sums";

impl PartitionBy {
    /// Cuts a graph into so many parts.
    ///
    /// # Errors
    ///
    /// [`DataError`] if the file with the parts cannot be read, or is that of another graph.
    pub fn cut(&self, graph: &Graph, parts: usize) -> Result<Partition, DataError> {
        self.choose(graph.num_nodes(), parts, || Ok(Partition::greedy(graph, parts)))
    }

    /// The same for a graph of so many nodes; only greedy parts depend on its edges.
    ///
    /// # Errors
    ///
    /// As [`PartitionBy::cut`], and those of `greedy`.
    pub fn choose(
        &self,
        nodes: usize,
        parts: usize,
        greedy: impl FnOnce() -> Result<Partition, DataError>,
    ) -> Result<Partition, DataError> {
        match self {
            Self::Order => Ok(Partition::in_order(nodes, parts)),
            Self::Greedy => greedy(),
            Self::File(path) => Partition::read(path, nodes, parts),
        }
    }
}

impl ModelConfig {
    /// Fails unless the model can see a graph in parts, each of which knows no more of the others than sums and the features of
    /// neighbours.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with what stands in the way.
    pub(crate) fn check_parts(&self) -> Result<(), ConfigError> {
        match () {
            () if !self.needs_sums_alone() => Err(no_parts("train.parts", "some", SUMS_ALONE)),
            () if self.level != LevelKind::Node => {
                let expected = "node; a graph in parts has targets of its nodes";
                Err(no_parts("model.level", self.level, expected))
            }
            () if !matches!(self.local, LocalKind::None | LocalKind::Gated | LocalKind::Gine) => {
                let expected = "gatedgcn, gine or none; others cannot see beyond a part of a graph yet";
                Err(no_parts("model.local", self.local, expected))
            }
            () if self.encoder_hops > 0 => {
                let expected = "0; the encoder cannot see beyond a part of a graph yet";
                Err(no_parts("model.encoder_hops", self.encoder_hops, expected))
            }
            () => Ok(()),
        }
    }

    /// Whether the global branch reads of other nodes nothing but sums over all of them.
    pub(crate) fn needs_sums_alone(&self) -> bool {
        let embeds = self.drop_gmn_at == DropoutSite::Embedding && self.drop_gmn > 0.0;
        let sums = self.global == GlobalKind::Graphminnet
            && self.layout == Layout::Channel
            && self.aggregate == Aggregate::Mul
            && matches!(self.inner_product, InnerProduct::Type1 | InnerProduct::Type3)
            && self.nonlinear_wb == Activation::None
            && !embeds;
        sums || self.global == GlobalKind::None
    }
}

/// A key that does not go with a graph in parts.
pub(crate) fn no_parts(key: &str, value: impl ToString, expected: &str) -> ConfigError {
    ConfigError::Invalid { key: key.to_owned(), value: value.to_string(), expected: expected.to_owned() }
}
