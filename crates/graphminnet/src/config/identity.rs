//! The identity of a configuration: a hash by which a run knows that it continues as it began.
//!
//! The hash covers the keys whose values differ from the [baseline](ModelConfig::baseline), by name. So a key that a
//! later version adds changes no hash until somebody sets it, and neither does another default. Left out is how often
//! states are saved, which decides no number.
//!
//! The first versions hashed all keys, in a fixed order. Their hashes are computed beside the new one and accepted.

use super::{ConfigError, ModelConfig, TrainConfig, keys};
use graphminnet_data::fs::sha256;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Keys that decide when states are saved, and no number.
const WITHOUT_INFLUENCE: [&str; 2] = ["checkpoint_seconds", "checkpoint_steps"];

/// A key that the first versions hashed only where it was set.
const COUNTED_IF_SET: &str = "recompute_layers";

/// The keys of `[model]` that the first versions hashed, in their order. Frozen.
const FIRST_MODEL_KEYS: &str = "\
    hidden layers local global attention_heads pe_width lap_dim whole_eigenspaces layout aggregate \
    inner_product type4_first type4_second phi_a phi_c allocate_set_encoder self_term beta beta_range \
    nonlinear_wb nonlinear_zh zh_bias degree_scaling input_norm drop_ffn drop_local drop_res drop_gmn \
    drop_gmn_at node_encoder node_in node_vocab node_pe pe_dim rwse_steps lappe_sign_flip edge_encoder \
    edge_in standardize edge_vocab head head_layers head_l2norm level pooling out_dim";

/// The keys of `[train]` that the first versions hashed, in their order. Frozen.
const FIRST_TRAIN_KEYS: &str = "\
    epochs warmup batch_size max_nodes accumulate learning_rate weight_decay clip_norm recompute_layers \
    loss metric target_scaling patience checkpoint_seconds checkpoint_steps";

/// What makes a configuration this configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    hash: String,
    /// As the first versions computed it; `None` where a key is set that they did not know.
    first: Option<String>,
}

impl Identity {
    /// Of a model and the protocol that it is trained by.
    pub fn of(model: &ModelConfig, train: &TrainConfig) -> Self {
        Self {
            hash: sha256(distinguishing_keys(model, train).to_string().as_bytes()),
            first: first_text(model, train).map(|text| sha256(text.as_bytes())),
        }
    }

    /// Of another kind of model, of which all keys count, and the protocol.
    ///
    /// # Errors
    ///
    /// [`ConfigError::BadValue`] if the model's configuration cannot be written as JSON.
    pub fn of_keys(model: &(impl Serialize + ?Sized), train: &TrainConfig) -> Result<Self, ConfigError> {
        let model = serde_json::to_value(model)
            .map_err(|error| ConfigError::BadValue { key: "model".to_owned(), message: error.to_string() })?;
        Ok(Self { hash: sha256(sections(model, train).to_string().as_bytes()), first: None })
    }

    /// The hash, as it is stored.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether a stored hash is of this configuration, whichever version stored it.
    pub fn matches(&self, stored: &str) -> bool {
        stored == self.hash || self.first.as_deref() == Some(stored)
    }
}

/// The keys of a model and its protocol that differ from the baseline, `{"model": …, "train": …}`.
pub fn distinguishing_keys(model: &ModelConfig, train: &TrainConfig) -> Value {
    sections(first_of(differing(model, &ModelConfig::baseline())), train)
}

/// The keys that count and differ between two configurations, each with its section: what they are in the one, and in the other.
#[cfg(feature = "train")]
pub fn changed_keys(
    (model, train): (&ModelConfig, &TrainConfig),
    (other_model, other_train): (&ModelConfig, &TrainConfig),
) -> [Vec<String>; 2] {
    let sections = [("model", differing(model, other_model)), ("train", counting(train, other_train))];
    [0, 1].map(|at| {
        let keys = sections.iter().flat_map(|(section, keys)| keys.iter().map(move |key| (section, key)));
        keys.map(|(section, (key, values))| format!("{section}.{key} = {}", values[at])).collect()
    })
}

fn sections(model: Value, train: &TrainConfig) -> Value {
    let sections = [("model", model), ("train", first_of(counting(train, &TrainConfig::baseline())))];
    Value::Object(Map::from_iter(sections.map(|(name, keys)| (name.to_owned(), keys))))
}

/// The keys whose values differ between two configurations, with both values.
fn differing<T: Serialize>(config: &T, other: &T) -> BTreeMap<String, [Value; 2]> {
    let mut theirs = keys::object_of(other);
    let ours = keys::object_of(config).into_iter();
    let pairs = ours.map(|(key, value)| {
        let other = theirs.remove(&key).unwrap_or_default();
        (key, [value, other])
    });
    pairs.filter(|(_, [value, other])| value != other).collect()
}

/// Those of two protocols that decide numbers.
fn counting(train: &TrainConfig, other: &TrainConfig) -> BTreeMap<String, [Value; 2]> {
    let mut keys = differing(train, other);
    keys.retain(|key, _| !WITHOUT_INFLUENCE.contains(&key.as_str()));
    keys
}

/// What the keys are in the first configuration.
fn first_of(keys: BTreeMap<String, [Value; 2]>) -> Value {
    keys.into_iter().map(|(key, [value, _])| (key, value)).collect()
}

/// The text that the first versions hashed: `[{model}, {train}]` with all keys that they knew.
fn first_text(model: &ModelConfig, train: &TrainConfig) -> Option<String> {
    let baseline = TrainConfig::baseline();
    let train = TrainConfig {
        checkpoint_seconds: baseline.checkpoint_seconds,
        checkpoint_steps: baseline.checkpoint_steps,
        ..train.clone()
    };
    let model = first_section(model, &ModelConfig::baseline(), FIRST_MODEL_KEYS)?;
    let train = first_section(&train, &baseline, FIRST_TRAIN_KEYS)?;
    Some(format!("[{model},{train}]"))
}

fn first_section<T: Serialize>(config: &T, baseline: &T, known: &str) -> Option<String> {
    if differing(config, baseline).keys().any(|key| !known.split_whitespace().any(|known| known == key)) {
        return None;
    }
    let values = keys::object_of(config);
    let mut entries = Vec::new();
    for key in known.split_whitespace() {
        let value = values.get(key)?;
        if key != COUNTED_IF_SET || !value.is_null() {
            entries.push(format!("\"{key}\":{value}"));
        }
    }
    Some(format!("{{{}}}", entries.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Override, RING_TRANSFER, Recipe, with_overrides};

    fn recipe(name: &str, fields: &[&str]) -> Recipe {
        let table = Recipe::table(name).unwrap_or_else(|_| RING_TRANSFER.parse().unwrap());
        let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
        with_overrides(name, table, &fields).unwrap()
    }

    /// Hashes that the first version wrote into saved states.
    #[test]
    fn hashes_of_the_first_version_are_accepted() {
        let cluster = ["train.recompute_layers=2", "model.input_norm=none", "train.checkpoint_steps=1"];
        for (name, fields, stored) in [
            ("pattern", &[][..], "72a89bf256a93b22fed95ae45c1d3abaf5c59b9d0d6d0f1bccf92275dc68a256"),
            ("cluster", &cluster[..], "05f8f21fb6df1787ee1d50fe824d51403c896a44b8f0b4c0e5e97ceeed1b8d21"),
        ] {
            let Recipe { model, train, .. } = recipe(name, fields);
            let identity = Identity::of(&model, &train);
            assert!(identity.matches(stored), "{name}: {identity:?}");
            assert!(identity.matches(identity.hash()) && identity.hash() != stored);
        }
    }

    #[test]
    fn every_key_but_the_times_of_saving_counts() {
        let Recipe { model, train, .. } = recipe("zinc", &[]);
        let identity = Identity::of(&model, &train);
        let saving = TrainConfig { checkpoint_seconds: 1.0, checkpoint_steps: Some(3), ..train.clone() };
        assert_eq!(Identity::of(&model, &saving), identity);
        for field in ["model.hidden=32", "train.epochs=7", "train.recompute_layers=1", "model.drop_ffn=0.3"] {
            let other = recipe("zinc", &["model.self_term=true", field]);
            let other = Identity::of(&other.model, &other.train);
            assert!(!identity.matches(other.hash()) && !other.matches(identity.hash()), "{field}");
            assert!(!identity.matches(&other.first.unwrap()), "{field}");
        }
    }

    #[test]
    fn the_keys_that_are_named_are_those_that_differ() {
        let train = TrainConfig { epochs: 7, checkpoint_steps: Some(1), ..TrainConfig::baseline() };
        let named = distinguishing_keys(&ModelConfig::baseline(), &train);
        assert_eq!(named, serde_json::json!({ "model": {}, "train": { "epochs": 7 } }));
        let (baseline, model) = (TrainConfig::baseline(), ModelConfig::baseline());
        let [before, now] = changed_keys((&model, &baseline), (&model, &train));
        assert_eq!(before, [format!("train.epochs = {}", baseline.epochs)]);
        assert_eq!(now, ["train.epochs = 7"]);
    }

    #[derive(Serialize)]
    struct Later {
        first: usize,
        added: Option<f64>,
    }

    #[test]
    fn a_key_that_is_added_later_counts_where_it_is_set() {
        let baseline = Later { first: 1, added: None };
        let unset = Later { first: 2, added: None };
        let set = Later { first: 2, added: Some(0.5) };
        assert_eq!(differing(&unset, &baseline).into_keys().collect::<Vec<_>>(), ["first"]);
        assert_eq!(differing(&set, &baseline).into_keys().collect::<Vec<_>>(), ["added", "first"]);
        // The first versions did not know it, so none of them can have stored its hash.
        assert_eq!(first_section(&unset, &baseline, "first").as_deref(), Some(r#"{"first":2}"#));
        assert_eq!(first_section(&set, &baseline, "first"), None);
    }
}
