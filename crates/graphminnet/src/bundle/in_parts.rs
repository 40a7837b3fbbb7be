//! Answers for a single graph in parts: every host asks about the nodes of its own, and rank 0 has all answers.

use super::infer::Question;
use super::{Answers, Bundle, Ensemble, PredictError};
use crate::config::ModelConfig;
use crate::model::check_graph;
use crate::nn::Pass;
use graphminnet_data::Graph;
use graphminnet_data::exchange::{Exchange, Team};
use graphminnet_data::partition::{Connection, Partition};
use graphminnet_data::preparation::GraphInParts;
use graphminnet_data::spectral::{NEVER, PrepareOptions, SpectralError, prepare_graph};
use std::sync::Arc;

/// A graph in parts, and the models that want to know the same of it.
struct Prepared<'a> {
    graph: GraphInParts,
    options: PrepareOptions,
    /// The models with their places in the ensemble.
    models: Vec<(usize, &'a Bundle)>,
}

impl Ensemble {
    /// What the models say about the nodes of a graph, in the order of the graph: on rank 0, and nothing on the others. All hosts of the
    /// exchange call this with the same graph and partition; each keeps its own parts alone, unless the caller keeps the graph.
    ///
    /// What comes out depends on the parts, not on the number of hosts, and agrees with [`Ensemble::answer`] to rounding.
    ///
    /// # Errors
    ///
    /// [`PredictError`] if a model cannot see a graph in parts, or not this one.
    pub fn answer_in_parts(
        &self,
        graph: Arc<Graph>,
        partition: &Partition,
        hosts: &Arc<dyn Exchange>,
    ) -> Result<Option<Answers>, PredictError> {
        self.each_config(|config| Ok(config.check_parts()?))?;
        self.each_config(|config| Ok(check_graph(config, &graph)?))?;
        let prepared = self.prepared_alike(|options| {
            let whole = prepare_graph(&graph, &PrepareOptions { eigenpairs: 0, ..options.clone() })?;
            Ok(GraphInParts::cut(&whole, partition.clone(), &**hosts)?)
        })?;
        drop(graph);
        self.answer_prepared(prepared, partition, hosts)
    }

    /// The same for a graph of which every host has its own parts alone.
    ///
    /// # Errors
    ///
    /// As [`Ensemble::answer_in_parts`]; [`SpectralError::NotInParts`] if [`Ensemble::takes_parts_alone`] is false.
    pub fn answer_own_parts(
        &self,
        graph: GraphInParts,
        hosts: &Arc<dyn Exchange>,
    ) -> Result<Option<Answers>, PredictError> {
        self.each_config(|config| Ok(config.check_parts()?))?;
        for part in graph.own() {
            self.each_config(|config| Ok(check_graph(config, &part.graph)?))?;
        }
        let prepared = self.prepared_alike(|options| {
            options.check_parts()?;
            Ok(graph.clone())
        })?;
        let partition = graph.partition().clone();
        drop(graph);
        self.answer_prepared(prepared, &partition, hosts)
    }

    /// Whether the models need nothing that is computed on a whole graph before it is cut.
    pub fn takes_parts_alone(&self) -> bool {
        self.members().all(|model| model.description().model.prepare_options().check_parts().is_ok())
    }

    fn each_config(
        &self,
        check: impl Fn(&ModelConfig) -> Result<(), PredictError>,
    ) -> Result<(), PredictError> {
        self.members().try_for_each(|model| check(&model.description().model))
    }

    /// The graph once for all models that want to know the same of it.
    fn prepared_alike(
        &self,
        mut cut: impl FnMut(&PrepareOptions) -> Result<GraphInParts, PredictError>,
    ) -> Result<Vec<Prepared<'_>>, PredictError> {
        let mut prepared: Vec<Prepared<'_>> = Vec::new();
        for (place, model) in self.members().enumerate() {
            let options = model.description().model.prepare_options();
            match prepared.iter_mut().find(|earlier| earlier.options == options) {
                Some(earlier) => earlier.models.push((place, model)),
                None => {
                    prepared.push(Prepared { graph: cut(&options)?, options, models: vec![(place, model)] })
                }
            }
        }
        Ok(prepared)
    }

    fn answer_prepared(
        &self,
        mut prepared: Vec<Prepared<'_>>,
        partition: &Partition,
        hosts: &Arc<dyn Exchange>,
    ) -> Result<Option<Answers>, PredictError> {
        for prepared in prepared.iter_mut().filter(|prepared| prepared.options.eigenpairs > 0) {
            prepared.graph.find_eigenpairs(hosts, &prepared.options, None, &())?;
        }
        let work = |member: &Arc<dyn Exchange>| -> Result<Vec<Vec<f32>>, PredictError> {
            let mut outputs = vec![Vec::new(); self.len()];
            for prepared in &prepared {
                let own = prepared.graph.own()[member.rank() - prepared.graph.here().start].clone();
                let own = Connection::establish(Arc::clone(member), own);
                for (place, model) in &prepared.models {
                    // Nobody stops it.
                    let passed = model.pass(&[&own], Question::Prediction, Pass::Eval, NEVER);
                    let said = passed.map_err(SpectralError::from)??;
                    outputs[*place] = member.gather_numbers(0, &said);
                }
            }
            Ok(outputs)
        };
        let outputs = Team::run(hosts, partition.parts(), work, work)?.into_iter().next();
        let Some(outputs) = outputs.filter(|_| hosts.rank() == 0) else { return Ok(None) };
        let columns = self.description().model.out_dim;
        let outputs = outputs.into_iter().map(|outputs| partition.rows_in_order(&outputs, columns));
        Ok(Some(Answers::of_one_graph(self.description(), partition.nodes(), outputs.collect())))
    }
}
