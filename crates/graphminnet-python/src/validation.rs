//! Cross-validation: one training on several splits, each a run.

use crate::calls::{Call, Caller, Reply};
use crate::pool::Threads;
use crate::training::{TrainRequest, finish};
use crate::watched::watched;
use graphminnet::train::{CrossValidation, DataSource, FoldBy, Rounds, Run};
use graphminnet_cli::Failure;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    train: TrainRequest,
    rounds: How,
    /// How the splits are made.
    by: String,
    /// Seed of the splits.
    seed: u64,
}

/// How many splits.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Folds(usize),
    Replicates(usize),
}

/// Trains on all splits; runs that are there are gone on with. Without a result if it was interrupted.
pub fn cross_validate(call: Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let Asked { train: request, rounds, by, seed } = call.read()?;
    let arrays = call.arrays;
    let by: FoldBy = by
        .parse()
        .map_err(|reason| Failure::usage(format!("split={by:?}: for cross-validation {reason}")))?;
    let splits = match rounds {
        How::Folds(folds) => Rounds::Folds(folds),
        How::Replicates(count) => Rounds::Replicates(count),
    }
    .splits(by, seed);
    watched(Threads::own(request.threads), caller, move |job| {
        let Some((_, first)) = splits.first() else { return Err(Failure::usage("no split to train on")) };
        // What is inferred from the first split holds for all, so that they can be compared.
        let (source, loaded) = request.data.load(&arrays, Some(first))?;
        let spec = request.spec(source, &loaded, job)?;
        let (folder, mut loaded, mut done) = (request.folder(), Some(loaded), Vec::new());
        for (name, split) in &splits {
            let (path, spec) = (folder.join(name), spec.on_split(split));
            let run = Run::open_or_create(&path, &spec)?;
            // Of a file, a run that is done is not read again, so nothing else would notice.
            if !run.file().data.is_same_as(&spec.source) {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "{path} is a run on other data or on another split; give another run_dir="
                )));
            }
            let is_needed = matches!(spec.source, DataSource::Given { .. }) || !run.is_done()?;
            let mut run = match loaded.take() {
                Some(first) => run.with_data(first),
                None if is_needed => run.with_data(request.data.load(&arrays, Some(split))?.1),
                None => run,
            };
            let Some(summary) = finish(&mut run, request.how, job)? else {
                return Ok(json!({ "path": folder, "result": null }).into());
            };
            done.push((name.clone(), summary));
        }
        let result = CrossValidation::new(spec.recipe.train.metric, &done);
        result.write(&folder)?;
        Ok(json!({ "path": folder, "result": result }).into())
    })
}
