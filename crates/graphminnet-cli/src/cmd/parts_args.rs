//! `--parts`: a single graph that several processes hold parts of.

use crate::failure::Failure;
use clap::Args;
use graphminnet::bundle::{Answers, Ensemble};
use graphminnet::config::{Override, PartitionBy};
use graphminnet_data::exchange::{Exchange, Team};
use graphminnet_data::partition::Partition;
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::{DataError, Graph, InParts};
use std::sync::Arc;
use toml::Value;

/// Whether and how a graph is cut.
#[derive(Args)]
pub struct PartsArguments {
    /// Cut a single graph into this many parts, which the ranks of `mpirun` share; the result depends on the parts, not on the
    /// number of ranks.
    #[arg(long, value_name = "PARTS")]
    parts: Option<usize>,
    /// Which nodes belong to which part: order (as they are numbered), greedy (few edges between parts), or a file with the
    /// part of every node on a line of its own, as METIS writes it.
    #[arg(long, value_name = "HOW", requires = "parts")]
    partition: Option<String>,
}

impl PartsArguments {
    /// Whether a graph is cut.
    pub fn are_given(&self) -> bool {
        self.parts.is_some()
    }

    /// What the arguments stand for in the configuration of a run.
    pub fn overrides(&self) -> impl Iterator<Item = Override> {
        let parts = self.parts.map(|parts| Override::new("train", "parts", Value::Integer(parts as i64)));
        let how = |how: &String| Override::new("train", "partition", Value::String(how.clone()));
        parts.into_iter().chain(self.partition.as_ref().map(how))
    }

    /// What models say about a graph that these processes hold parts of, on rank 0. The graph is cut here, unless this process
    /// has read its `own` parts alone.
    ///
    /// # Errors
    ///
    /// A usage error for a number of parts that cannot be; what is wrong with a file of parts; what the models fail with.
    pub fn answer(
        &self,
        ensemble: &Ensemble,
        graph: Arc<Graph>,
        own: Option<GraphInParts>,
        hosts: &Arc<dyn Exchange>,
    ) -> Result<Option<Answers>, Failure> {
        let Some(own) = own else {
            let partition = self.how().cut(&graph, self.checked(&**hosts)?)?;
            return Ok(ensemble.answer_in_parts(graph, &partition, hosts)?);
        };
        Ok(ensemble.answer_own_parts(own, hosts)?)
    }

    /// Lets these processes read a single graph in parts.
    ///
    /// # Errors
    ///
    /// A usage error for a number of parts that cannot be; those of `read`.
    pub fn read<T>(
        &self,
        hosts: &dyn Exchange,
        read: impl FnOnce(&InParts<'_>) -> Result<T, DataError>,
    ) -> Result<T, Failure> {
        let (parts, how) = (self.checked(hosts)?, self.how());
        let cut = |nodes: usize, structure: &dyn Fn() -> Result<Graph, DataError>| {
            how.choose(nodes, parts, || Ok(Partition::greedy(&structure()?, parts)))
        };
        // Nothing is looked up in a cache, and nobody asks whether the data is the same.
        Ok(read(&InParts { hosts, cut: &cut, hashed: false })?)
    }

    fn how(&self) -> PartitionBy {
        self.partition.clone().map_or(PartitionBy::Order, PartitionBy::from)
    }

    fn checked(&self, hosts: &dyn Exchange) -> Result<usize, Failure> {
        let parts = self.parts.unwrap_or(1);
        if !(hosts.size().max(1)..=Team::MOST).contains(&parts) {
            return Err(Failure::usage(format!(
                "--parts {parts}: expected at least {}, the number of ranks, and at most {}",
                hosts.size(),
                Team::MOST
            )));
        }
        Ok(parts)
    }
}
