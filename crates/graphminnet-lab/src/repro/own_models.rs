//! Trainings of systems that are models of their own: a folder per system and data set, a folder per seed inside.

use super::{Attempt, Lab, ReproError, Trained, smoke};
use crate::paper;
use crate::systems::{SystemConfig, SystemRecipe};
use graphminnet::config::Recipe;
use graphminnet::train::{
    Architecture, Loaded, Outcome, SeedDir, TrainError, TrainingData, data_fingerprint, train_seed,
};
use serde_json::json;

/// A system as a lab trains it.
pub(super) struct Planned {
    /// The model.
    pub(super) model: SystemConfig,
    /// Data set and protocol.
    pub(super) recipe: Recipe,
    /// What was shortened, in words; `None` if nothing.
    pub(super) shortened: Option<String>,
}

/// The model and protocol of a system on a data set; a reason if it has no configuration for it.
pub(super) fn planned(
    lab: &Lab<'_>,
    system: &str,
    dataset: &str,
) -> Result<Result<Planned, String>, ReproError> {
    let Some(mut own) = SystemRecipe::named(system, dataset)? else {
        return Ok(Err(format!("{} has no configuration for it", paper::title(system))));
    };
    let (recipe, shortened) = lab.shortened(dataset, own.surroundings()?, &[])?;
    if lab.smoke {
        smoke::shrink_system(&mut own.model, &recipe);
    }
    own.model.check()?;
    Ok(Ok(Planned { model: own.model, recipe, shortened }))
}

/// Trains a system over the lab's seeds, or goes on with it, or finds it done.
///
/// # Errors
///
/// [`ReproError`]; a training that diverges is not an error but [`Attempt::NotRun`].
pub(super) fn train(lab: &Lab<'_>, system: &str, dataset: &str) -> Result<Attempt, ReproError> {
    lab.check_interrupt()?;
    let Planned { model, recipe, shortened } = match planned(lab, system, dataset)? {
        Ok(planned) => planned,
        Err(reason) => return Ok(Attempt::NotRun(reason)),
    };
    let loaded = match lab.load(&recipe)? {
        Ok(loaded) => loaded,
        Err(reason) => return Ok(Attempt::NotRun(reason)),
    };
    let model = fitted(model, &loaded);
    let identity = json!({
        "configuration": model.identity(&recipe.train)?.hash(),
        "data": data_fingerprint(&loaded.dataset, &loaded.splits),
    });
    let run = lab.store.run_folder(&format!("{dataset}-{system}"), &identity);
    let mut results = Vec::with_capacity(lab.seeds.len());
    for &seed in &lab.seeds {
        let directory = SeedDir::new(run.join(format!("seed-{seed}")))?;
        if let Some(result) = directory.result()? {
            results.push(result);
            continue;
        }
        let data = prepared(lab, &loaded, &model, seed)?;
        let settings = lab.settings(dataset, &model, &recipe.train, seed);
        let mut observer = lab.watch.observer(recipe.train.metric, &format!("{dataset} {system}"));
        match train_seed(&settings, &data, Some(&directory), observer.as_mut()) {
            Ok(Outcome::Finished(result)) => results.push(result),
            Ok(_) => return Err(ReproError::Interrupted),
            Err(error @ TrainError::NonFinite { .. }) => {
                return Ok(Attempt::NotRun(format!("training diverged: {error}")));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let differences = loaded.report.differences;
    Ok(Attempt::Done(Box::new(Trained { recipe, results, shortened, differences, run, source: None })))
}

/// The model with what it leaves to the training part.
pub(super) fn fitted(model: SystemConfig, loaded: &Loaded) -> SystemConfig {
    let graph = |&at: &usize| loaded.dataset.samples.get(at).map(|sample| &*sample.graph);
    model.fitted(&loaded.splits.train.iter().filter_map(graph).collect::<Vec<_>>())
}

/// The data as a system reads it.
pub(super) fn prepared(
    lab: &Lab<'_>,
    loaded: &Loaded,
    model: &SystemConfig,
    seed: u64,
) -> Result<TrainingData, ReproError> {
    let splits = loaded.splits.clone();
    let (mut data, _) =
        TrainingData::prepare(&loaded.dataset, splits, model, lab.cache.as_ref(), lab.interrupt)?;
    model.prepare(&mut data, seed)?;
    Ok(data)
}
