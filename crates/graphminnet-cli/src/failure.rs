//! How a command fails: the error, what caused it, and the exit code.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | done, but a check failed |
//! | 2 | wrong usage or configuration |
//! | 3 | wrong data |
//! | 4 | the machine or a file did not cooperate, or a result could not be written to standard output |
//! | 130 | interrupted; what can be resumed is saved |
//!
//! A reader of standard output that went away (`| head`) is no failure. What cannot be written to standard error is
//! dropped, whatever the command: no work is lost because nobody listens.

#[cfg(feature = "lab")]
mod lab;

use crate::ui::say::say;
use crate::ui::signals::INTERRUPTED;
use graphminnet::DeviceError;
use graphminnet::bundle::{BundleError, ConformalError, PredictError};
use graphminnet::config::ConfigError;
use graphminnet::explain::ExplainError;
use graphminnet::model::InputError;
use graphminnet::report::ReportError;
use graphminnet::train::TrainError;
use graphminnet_data::DataError;
use graphminnet_data::cache::CacheError;
use graphminnet_data::fs::IoError;
use graphminnet_data::links::LinkError;
use graphminnet_data::spectral::SpectralError;
use graphminnet_data::split::SplitError;
use std::error::Error;
use std::io;
use std::process::ExitCode;

/// An error on its way to the user.
pub struct Failure {
    code: u8,
    error: Box<dyn Error + Send + Sync>,
}

impl Failure {
    /// Wrong usage or configuration.
    pub fn usage(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { code: 2, error: error.into() }
    }

    /// The exit code: 2 for usage or configuration, 3 for data, 4 for the machine, 130 for an interrupt.
    pub fn code(&self) -> u8 {
        self.code
    }

    /// The error.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }

    /// Prints the error and its causes, one per line, and gives the exit code.
    ///
    /// A reader that closed the pipe (`| head`) is no failure.
    pub fn report(self) -> ExitCode {
        if let Some(error) = self.error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        say!("error: {}", self.error);
        if let Some(DataError::BadRows { .. }) = self.error.downcast_ref::<DataError>() {
            say!("help: `graphminnet data check FILE` lists every bad row");
        }
        if let Some(TrainError::RunExists { path }) = self.error.downcast_ref::<TrainError>() {
            say!("help: `graphminnet train --resume {}` resumes it", path.display());
        }
        let mut said = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some errors say their cause themselves.
            if !said.ends_with(&text) {
                say!("  because: {text}");
            }
            said = text;
            cause = error.source();
        }
        ExitCode::from(self.code)
    }
}

macro_rules! exits_with {
    ($($code:literal: $($error:ty),+;)+) => {
        $($(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self { code: $code, error: Box::new(error) }
            }
        })+)+
    };
}

exits_with! {
    2: ConfigError, DeviceError;
    3: InputError, LinkError, PredictError;
    4: io::Error, IoError, serde_json::Error, CacheError;
}

impl From<SpectralError> for Failure {
    fn from(error: SpectralError) -> Self {
        let code = match &error {
            SpectralError::Interrupted => INTERRUPTED,
            SpectralError::OnDisk { .. } => 4,
            _ => 3,
        };
        Self { code, error: Box::new(error) }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let code = match &error {
            #[cfg(feature = "benchmarks")]
            DataError::UnknownDataset { .. } => 2,
            #[cfg(feature = "benchmarks")]
            DataError::Download { .. } => 4,
            DataError::Io { .. } => 4,
            _ => 3,
        };
        Self { code, error: Box::new(error) }
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        let code = match &error {
            BundleError::NotFound { .. } | BundleError::Ensemble { .. } | BundleError::Device(_) => 2,
            BundleError::Io(error) if error.is_not_found() => 2,
            BundleError::Io(_) => 4,
            _ => 3,
        };
        Self { code, error: Box::new(error) }
    }
}

impl From<ExplainError> for Failure {
    fn from(error: ExplainError) -> Self {
        match error {
            ExplainError::OutOfRange { .. } | ExplainError::NoNodePrediction { .. } => Self::usage(error),
            error => Self { code: 3, error: Box::new(error) },
        }
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Run(error) => error.into(),
            error => Self { code: 4, error: Box::new(error) },
        }
    }
}

impl From<ConformalError> for Failure {
    fn from(error: ConformalError) -> Self {
        let code = if matches!(error, ConformalError::Level { .. }) { 2 } else { 3 };
        Self { code, error: Box::new(error) }
    }
}

impl From<SplitError> for Failure {
    fn from(error: SplitError) -> Self {
        let code = match &error {
            SplitError::Ratios { .. } | SplitError::Fold { .. } => 2,
            _ => 3,
        };
        Self { code, error: Box::new(error) }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let error = match error {
            TrainError::Data(error) => return error.into(),
            TrainError::Bundle(error) => return error.into(),
            TrainError::Spectral(error) => return error.into(),
            error => error,
        };
        let code = match &error {
            TrainError::Config(_)
            | TrainError::Transfer(_)
            | TrainError::NoBenchmarks { .. }
            | TrainError::NoFolder { .. }
            | TrainError::RunExists { .. }
            | TrainError::Occupied { .. }
            | TrainError::Level { .. }
            | TrainError::NoTargets { .. }
            | TrainError::DataNotGiven => 2,
            TrainError::Graph(_)
            | TrainError::Split(_)
            | TrainError::Loader(_)
            | TrainError::Input(_)
            | TrainError::Loss(_)
            | TrainError::NoTrainingData
            | TrainError::NoLabels { .. }
            | TrainError::OneClass { .. }
            | TrainError::LargeNumbers { .. }
            | TrainError::Changed { .. } => 3,
            _ => 4,
        };
        Self { code, error: Box::new(error) }
    }
}
