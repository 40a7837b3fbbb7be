//! What a model and its training are made of, as data: parse, check, then use.
//!
//! A configuration is written in TOML. Every key is known (an unknown one is an error that names the nearest valid
//! key), and every key that is written has an effect (a key that the other choices leave without effect is an error
//! too). Only a checked configuration can build a model.
//!
//! ```
//! use graphminnet::{ModelConfig, Recipe};
//!
//! // In code the fields are typed; whatever is not set keeps its default, or the recipe's value.
//! let model = ModelConfig { hidden: 32, layers: 3, ..ModelConfig::default() };
//! assert!(ModelConfig { hidden: 0, ..model }.check().is_err());
//!
//! let mut recipe = Recipe::named("zinc")?;
//! recipe.train.epochs = 10;
//!
//! // In a file a slip of the pen is found.
//! let error = Recipe::parse("own", "[model]\nhiden = 32").unwrap_err();
//! assert!(error.to_string().contains("did you mean `hidden`?"), "{error}");
//! # Ok::<(), graphminnet::ConfigError>(())
//! ```

mod checks;
mod choices;
mod identity;
mod in_parts;
mod keys;
mod model;
mod overrides;
mod recipe;
mod spread;
mod task_weights;
mod train;

pub use choices::{
    Activation, Aggregate, Beta, BetaRange, DropoutSite, EdgeEncoderKind, EndsKind, GlobalKind, HeadKind,
    InnerProduct, InputNorm, Layout, LevelKind, LocalKind, Loss, MetricKind, NodeEncoderKind, NodePeKind,
    NormEstimates, PairKind, PartitionBy, Phi, Pooling, Schedule, ScheduleUnit, TargetScaling,
};
// For the laboratory, which says in what a run is not the paper's.
#[doc(hidden)]
#[cfg(feature = "train")]
pub use identity::changed_keys;
pub use identity::{Identity, distinguishing_keys};
#[cfg(feature = "train")]
pub(crate) use in_parts::{SUMS_ALONE, no_parts};
pub use model::ModelConfig;
#[cfg(feature = "train")]
pub(crate) use overrides::read_value;
pub use overrides::{Override, with_overrides};
pub use recipe::{RECIPE_NAMES, RING_TRANSFER, Recipe};
pub use spread::Spread;
pub(crate) use spread::{DEFAULT_QUANTILES, MEDIAN, are_quantiles};
pub use train::TrainConfig;

use thiserror::Error;

/// Why a configuration was refused.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not valid TOML.
    #[error("the configuration is not valid TOML: {message}")]
    Syntax {
        /// The parser's message, with line and column.
        message: String,
    },
    /// A key that does not exist.
    #[error("unknown key `{key}`{}", .nearest.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownKey {
        /// The key as written, with its section.
        key: String,
        /// The valid key that looks most like it.
        nearest: Option<String>,
    },
    /// A key whose value has the wrong form.
    #[error("`{key}` cannot be read: {message}")]
    BadValue {
        /// The key, with its section.
        key: String,
        /// What was expected.
        message: String,
    },
    /// A key that has no effect given the rest of the configuration.
    #[error("`{key}` has no effect: {reason}; remove it")]
    UnusedKey {
        /// The key, with its section.
        key: String,
        /// Why it has no effect.
        reason: String,
    },
    /// A value outside its range, or one that contradicts another.
    #[error("`{key}` = {value}: {expected}")]
    Invalid {
        /// The key, with its section.
        key: String,
        /// The value found.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// All widths are in their ranges, but together they are too much.
    #[error(
        "the model would have {numbers} numbers, and at most {most} are accepted; make it narrower or shallower"
    )]
    TooLarge {
        /// Parameters and running statistics.
        numbers: usize,
        /// How many are accepted.
        most: usize,
    },
    /// No recipe has this name.
    #[error(
        "there is no recipe `{name}`{}; the recipes are {}",
        .nearest.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default(),
        RECIPE_NAMES.join(", ")
    )]
    UnknownRecipe {
        /// The name asked for.
        name: String,
        /// The recipe whose name looks most like it.
        nearest: Option<String>,
    },
}
