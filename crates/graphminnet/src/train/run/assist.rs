//! The ranks besides rank 0: they have no run, and do what rank 0 asks for.
//!
//! Rank 0 says what is to be done before it does it itself; what follows is the same work on all ranks.

use super::directory::RUN;
use super::preparation::Prepared;
use super::{Resources, RunFile};
use crate::train::TrainError;
use crate::train::trainer::{train_in_parts, train_own, train_seed};
use graphminnet_data::spectral::SpectralError;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[derive(Serialize, Deserialize)]
enum Task {
    /// Read the data of a run, and prepare it together.
    Prepare { run: String },
    /// Train a seed of a run on the data that was prepared last.
    Train { run: String, seed: u64 },
    /// Nothing more.
    End,
}

fn ask(task: &Task, resources: &Resources) {
    if !resources.exchange.is_alone() {
        resources.exchange.tell(0, serde_json::to_vec(task).unwrap_or_default());
    }
}

pub(super) fn ask_to_prepare(run: &RunFile, resources: &Resources) -> Result<(), TrainError> {
    ask(&Task::Prepare { run: run.to_text(Path::new(RUN))? }, resources);
    Ok(())
}

pub(super) fn ask_to_train(run: &RunFile, seed: u64, resources: &Resources) -> Result<(), TrainError> {
    ask(&Task::Train { run: run.to_text(Path::new(RUN))?, seed }, resources);
    Ok(())
}

/// Lets the other ranks go. Rank 0 calls it when it has no more work for them.
pub fn dismiss(resources: &Resources) {
    ask(&Task::End, resources);
}

/// Does what rank 0 asks for until it lets this rank go. All ranks read the data of a run from its source.
///
/// # Errors
///
/// What goes wrong on this rank alone: the others wait for it then, and must be ended. What goes wrong on all ranks is
/// for rank 0 to say.
pub fn assist(resources: &Resources, interrupt: &AtomicBool) -> Result<(), TrainError> {
    let mut data: Option<Prepared> = None;
    loop {
        let task = resources.exchange.tell(0, Vec::new());
        let unreadable =
            |error: serde_json::Error| TrainError::OnRank { rank: 0, message: error.to_string() };
        let done = match serde_json::from_slice(&task).map_err(unreadable)? {
            Task::End => return Ok(()),
            Task::Prepare { run } => {
                let run = RunFile::parse(&run, RUN.into())?;
                let loaded = run.load(resources)?;
                Prepared::of(loaded, &run, resources, &mut (), interrupt).map(|prepared| data = prepared)
            }
            Task::Train { run, seed } => {
                let run = RunFile::parse(&run, RUN.into())?;
                let data = data.as_ref().ok_or(TrainError::DataNotGiven)?;
                let settings = run.settings(seed, resources, interrupt);
                let hosts = &resources.exchange;
                let trained = match (data, run.train.parts) {
                    (Prepared::Whole(data), None) => train_seed(&settings, data, None, &mut ()),
                    (Prepared::Whole(data), Some(_)) => train_in_parts(&settings, hosts, data, None, &mut ()),
                    (Prepared::InParts(data), _) => train_own(&settings, hosts, data, None, &mut ()),
                };
                trained.map(|_| ())
            }
        };
        match done {
            Ok(()) => {}
            Err(error) if is_everywhere(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether rank 0 has this error too: it was told to all, or follows from what all ranks have.
pub(in crate::train) fn is_everywhere(error: &TrainError) -> bool {
    matches!(
        error,
        TrainError::OnRank { .. }
            | TrainError::Spectral(SpectralError::OnRank { .. })
            | TrainError::NoTrainingData
            | TrainError::NoLabels { .. }
            | TrainError::OneClass { .. }
            | TrainError::NoTargets { .. }
            | TrainError::Level { .. }
            | TrainError::Loss(_)
            | TrainError::Config(_)
    )
}
