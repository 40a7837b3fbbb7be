//! Single fields set from outside, `train.epochs=50`, on top of a recipe.

use super::{ConfigError, GlobalKind, ModelConfig, Phi, Recipe, TrainConfig, keys};
use std::fmt;
use toml::{Table, Value};

/// One field and its new value.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    pub(crate) section: String,
    pub(crate) key: String,
    pub(crate) value: Value,
}

impl Override {
    /// Reads `section.key=value`; the value is TOML, and a bare word is a text.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the text has another form or the key does not exist.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let wrong = || ConfigError::BadValue {
            key: text.escape_debug().to_string(),
            message: "expected section.key=value, for example train.epochs=50".into(),
        };
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let path = path.trim();
        let sections =
            [("model", fields(&ModelConfig::default())), ("train", fields(&TrainConfig::default()))];
        let unknown = || {
            let all: Vec<String> = sections
                .iter()
                .flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}.{key}")))
                .collect();
            // A field without its section is found too.
            let bare = all.iter().find(|known| known.split_once('.').is_some_and(|(_, key)| key == path));
            let nearest = bare.cloned().or_else(|| keys::nearest(path, all.iter().map(String::as_str)));
            ConfigError::UnknownKey { key: path.escape_debug().to_string(), nearest }
        };
        let (section, key) = path.split_once('.').ok_or_else(unknown)?;
        let known =
            sections.iter().any(|(name, keys)| *name == section && keys.iter().any(|known| known == key));
        if !known {
            return Err(unknown());
        }
        Ok(Self { section: section.to_owned(), key: key.to_owned(), value: read_value(value.trim()) })
    }

    /// A field with a value.
    pub fn new(section: &str, key: &str, value: Value) -> Self {
        Self { section: section.to_owned(), key: key.to_owned(), value }
    }

    /// `section.key`.
    pub fn path(&self) -> String {
        keys::path(&self.section, &self.key)
    }

    /// The new value.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

impl fmt::Display for Override {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.path(), self.value)
    }
}

/// The recipe with some fields replaced.
///
/// A field of the recipe that loses its effect by a replacement is dropped; one that was asked for and has no effect
/// is an error. If only `train.epochs` is replaced, `train.warmup` is scaled in proportion: the schedule keeps its
/// form.
///
/// # Errors
///
/// [`ConfigError`] as for any recipe.
pub fn with_overrides(name: &str, mut table: Table, overrides: &[Override]) -> Result<Recipe, ConfigError> {
    if let Some(warmup) = proportional_warmup(&table, overrides)
        && let Some(Value::Table(train)) = table.get_mut("train")
    {
        train.insert("warmup".to_owned(), Value::Integer(warmup));
    }
    for Override { section, key, value } in overrides {
        let entry = table.entry(section.clone()).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(entry) = entry {
            entry.insert(key.clone(), value.clone());
        }
    }
    loop {
        match Recipe::from_table(name, &table) {
            Err(ConfigError::UnusedKey { key, .. }) if overrides.iter().all(|asked| asked.path() != key) => {
                let removed = key.split_once('.').and_then(|(section, key)| match table.get_mut(section) {
                    Some(Value::Table(entry)) => entry.remove(key),
                    _ => None,
                });
                if removed.is_none() {
                    return Recipe::from_table(name, &table);
                }
            }
            result => return result.map(without_idle_phi),
        }
    }
}

/// A model without the block has no φ either; said explicitly, so that nothing asks for its encoder.
fn without_idle_phi(mut recipe: Recipe) -> Recipe {
    match recipe.model.global {
        GlobalKind::Graphminnet => {}
        GlobalKind::Gssc => recipe.model.phi_a = Phi::Zero,
        GlobalKind::Attention | GlobalKind::None => {
            (recipe.model.phi_a, recipe.model.phi_c) = (Phi::Zero, Phi::Zero);
        }
    }
    recipe
}

/// The warm-up for another number of epochs, if only that is replaced.
fn proportional_warmup(table: &Table, overrides: &[Override]) -> Option<i64> {
    let asked = |path: &str| overrides.iter().rfind(|asked| asked.path() == path);
    let epochs = asked("train.epochs")?.value.as_integer()?;
    if asked("train.warmup").is_some() || epochs < 1 {
        return None;
    }
    let before = |key: &str| table.get("train").and_then(|train| train.get(key)).and_then(Value::as_integer);
    let defaults = TrainConfig::default();
    let old_epochs = before("epochs").unwrap_or(defaults.epochs as i64);
    let old_warmup = before("warmup").unwrap_or(defaults.warmup as i64);
    let scaled = (old_warmup as f64 * epochs as f64 / old_epochs.max(1) as f64).round() as i64;
    // A warm-up stays a warm-up, but leaves at least one epoch.
    Some(scaled.max(old_warmup.min(1)).min(epochs - 1))
}

/// A value as it is written in TOML; a bare word is a text.
pub(crate) fn read_value(text: &str) -> Value {
    // As the value of a key in a document, so that dates, lists and numbers are read as anywhere else.
    let document = format!("value = {text}").parse::<Table>().ok();
    document.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

fn fields<T: serde::Serialize>(defaults: &T) -> Vec<String> {
    keys::keys_of(defaults)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Override {
        Override::parse(text).unwrap()
    }

    #[test]
    fn fields_are_replaced_and_those_left_without_effect_are_dropped() {
        let table = Recipe::table("zinc").unwrap();
        let overrides = [parse("train.epochs=50"), parse("train.warmup = 5"), parse("model.node_pe=none")];
        let recipe = with_overrides("zinc", table, &overrides).unwrap();
        assert_eq!((recipe.train.epochs, recipe.train.warmup), (50, 5));
        assert_eq!(recipe.model.positional_width(), 0);
        assert_eq!(recipe.model.hidden, 64);
    }

    #[test]
    fn a_shorter_schedule_keeps_its_form() {
        for (epochs, warmup) in [(100, 10), (10, 1), (2, 1), (1, 0), (4000, 400)] {
            let overrides = [parse(&format!("train.epochs={epochs}"))];
            let recipe = with_overrides("zinc", Recipe::table("zinc").unwrap(), &overrides).unwrap();
            assert_eq!((recipe.train.epochs, recipe.train.warmup), (epochs, warmup));
        }
    }

    #[test]
    fn a_field_that_was_asked_for_and_has_no_effect_is_refused() {
        let table = Recipe::table("zinc").unwrap();
        let error = with_overrides("zinc", table, &[parse("model.node_in=3")]).unwrap_err();
        assert!(matches!(error, ConfigError::UnusedKey { .. }), "{error}");
    }

    #[test]
    fn a_misspelt_field_names_the_nearest() {
        for (text, nearest) in [
            ("train.epoch=5", "train.epochs"),
            ("epochs=5", "train.epochs"),
            ("modle.hidden=5", "model.hidden"),
        ] {
            let error = Override::parse(text).unwrap_err();
            assert!(error.to_string().contains(&format!("did you mean `{nearest}`")), "{error}");
        }
        assert!(Override::parse("train.epochs").is_err());
    }

    #[test]
    fn a_value_of_the_wrong_form_names_its_field() {
        let table = Recipe::table("zinc").unwrap();
        let error = with_overrides("zinc", table, &[parse("train.epochs=many")]).unwrap_err();
        assert!(error.to_string().contains("train.epochs"), "{error}");
    }
}
