//! How the laboratory's commands fail.

use super::Failure;
use graphminnet_lab::bench::BenchError;
use graphminnet_lab::repro::ReproError;

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Device(error) => error.into(),
            error => Self { code: 4, error: Box::new(error) },
        }
    }
}

impl From<ReproError> for Failure {
    fn from(error: ReproError) -> Self {
        match error {
            ReproError::Config(error) => error.into(),
            ReproError::Train(error) => error.into(),
            ReproError::Data(error) => error.into(),
            ReproError::Split(error) => error.into(),
            ReproError::Spectral(error) => error.into(),
            ReproError::Input(error) => error.into(),
            ReproError::Bench(error) => error.into(),
            error => {
                let code = match &error {
                    ReproError::Unknown { .. } | ReproError::Usage(_) => 2,
                    ReproError::Graph(_) => 3,
                    ReproError::Interrupted => crate::ui::signals::INTERRUPTED,
                    _ => 4,
                };
                Self { code, error: Box::new(error) }
            }
        }
    }
}
