//! The preparation of a run's data, watched by its observer and ended by its interrupt.

use super::Resources;
use crate::train::{Architecture, Loaded, Observer, TrainError, TrainingData};
use graphminnet_data::preparation::{Progress, Transform};
use graphminnet_data::spectral::SpectralError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

impl Loaded {
    /// Computes what a model needs of every graph; `None` if interrupted.
    ///
    /// # Errors
    ///
    /// [`TrainError::Spectral`] if a graph cannot be prepared.
    pub fn prepare(
        &self,
        model: &impl Architecture,
        resources: &Resources,
        observer: &mut dyn Observer,
        interrupt: &AtomicBool,
    ) -> Result<Option<TrainingData>, TrainError> {
        let watched = Watched { observer: Mutex::new(&mut *observer), interrupt };
        let (splits, cache) = (self.splits.clone(), resources.cache.as_ref());
        let exchange = &*resources.exchange;
        let given = resources.eigenpairs.as_deref();
        match TrainingData::prepare_among(&self.dataset, splits, model, (cache, given), &watched, exchange) {
            Ok((mut data, report)) => {
                observer.prepared(&report);
                data.differences = self.report.differences.clone();
                Ok(Some(data))
            }
            Err(TrainError::Spectral(SpectralError::Interrupted)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Tells an observer how far a preparation has come, and the preparation whether it is still wanted.
struct Watched<'a> {
    observer: Mutex<&'a mut dyn Observer>,
    interrupt: &'a AtomicBool,
}

impl Progress for Watched<'_> {
    fn update(&self, transform: Transform, done: usize, total: usize) {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner).preparing(transform, done, total);
    }

    fn should_stop(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }
}
