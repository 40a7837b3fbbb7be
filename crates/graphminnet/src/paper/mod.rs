//! The numbers that the paper prints, as data.

use std::sync::LazyLock;
use toml::Table;

static NUMBERS: LazyLock<Table> = LazyLock::new(|| {
    include_str!("numbers.toml").parse().unwrap_or_else(|_| unreachable!("checked by a test"))
});

/// The number of parameters of a recipe as the paper prints it, in thousands.
pub fn printed_parameters(recipe: &str) -> Option<&'static str> {
    NUMBERS.get("parameters")?.get(recipe)?.as_str()
}

/// A count as the paper prints it: thousands with two digits.
pub fn as_printed(parameters: usize) -> String {
    format!("{:.2}", parameters as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RECIPE_NAMES;

    #[test]
    fn every_recipe_has_a_printed_parameter_count() {
        for recipe in RECIPE_NAMES {
            assert!(printed_parameters(recipe).is_some(), "{recipe}");
        }
        assert_eq!(as_printed(415_283), "415.28");
    }
}
