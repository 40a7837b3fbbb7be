//! The numbers that the paper prints, as data.

use graphminnet::config::{RECIPE_NAMES, Recipe};
use graphminnet::report::Reference;
use graphminnet::train::DataSource;
use graphminnet_data::registry;
use std::sync::LazyLock;
use toml::{Table, Value};

static NUMBERS: LazyLock<Table> = LazyLock::new(|| {
    include_str!("numbers.toml").parse().unwrap_or_else(|_| unreachable!("checked by a test"))
});

/// A result as the paper prints it, `79.284 ± 0.122`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The text.
    pub text: &'static str,
    /// The mean.
    pub mean: f64,
    /// The standard deviation, where one is printed.
    pub std: Option<f64>,
}

impl Printed {
    fn read(text: &'static str) -> Option<Self> {
        let (mean, std) = match text.split_once(" ± ") {
            Some((mean, std)) => (mean, Some(std.parse().ok()?)),
            None => (text, None),
        };
        Some(Self { text, mean: mean.parse().ok()?, std })
    }

    /// Number of printed decimals of the mean.
    pub fn decimals(&self) -> usize {
        let mean = self.text.split_once(" ± ").map_or(self.text, |(mean, _)| mean);
        mean.split_once('.').map_or(0, |(_, decimals)| decimals.len())
    }
}

/// The systems of the paper's table of results in its order, and what it calls them.
const TITLES: [(&str, &str); 12] = [
    ("gcn", "GCN"),
    ("gin", "GIN(E)"),
    ("gat", "GAT"),
    ("gatedgcn", "GatedGCN"),
    ("san", "SAN"),
    ("graphgps", "GraphGPS"),
    ("exphormer", "Exphormer"),
    ("grit", "GRIT"),
    ("gred", "GRED"),
    ("graph-mamba", "Graph-Mamba"),
    ("gssc", "GSSC"),
    ("graphminnet", "GraphMinNet"),
];

/// The systems of the paper's table of results, in its order.
pub fn systems() -> impl Iterator<Item = &'static str> {
    TITLES.iter().map(|(system, _)| *system)
}

/// The name of a system for people.
pub fn title(system: &str) -> &str {
    TITLES.iter().find(|(name, _)| *name == system).map_or(system, |(_, title)| title)
}

/// The number of parameters of a recipe as the paper prints it, in thousands.
pub fn printed_parameters(recipe: &str) -> Option<&'static str> {
    text(&["parameters", recipe])
}

/// The number of parameters that the paper cites for another system, as printed.
pub fn cited_parameters(system: &str, recipe: &str) -> Option<&'static str> {
    text(&["cited-parameters", system, recipe])
}

/// A cell of the table of results.
pub fn result(system: &str, recipe: &str) -> Option<Printed> {
    Printed::read(text(&["results", system, recipe])?)
}

/// A cell of an ablation table.
pub fn ablation(name: &str, variant: &str, recipe: &str) -> Option<Printed> {
    Printed::read(text(&["ablation", name, variant, recipe])?)
}

/// The paper's result of GraphMinNet on the data of a run, for its report: of the benchmark data sets themselves, not of
/// files or generated graphs that are called like them.
pub fn reference(source: &DataSource) -> Option<Reference> {
    let DataSource::Registry { name, .. } = source else { return None };
    let dataset = registry::find(name).ok()?;
    let is_of = |recipe: &Recipe| registry::find(&recipe.dataset).is_ok_and(|info| info.name == dataset.name);
    let recipe = RECIPE_NAMES.iter().find(|name| Recipe::named(name).is_ok_and(|recipe| is_of(&recipe)))?;
    let printed = result("graphminnet", recipe)?;
    Some(Reference {
        text: format!("{} (paper)", printed.text),
        scale: if in_per_cent(recipe) { 100.0 } else { 1.0 },
        decimals: printed.decimals(),
    })
}

/// Whether results on this data set are printed in per cent.
pub fn in_per_cent(recipe: &str) -> bool {
    let names = NUMBERS.get("percent").and_then(|table| table.get("names")).and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(recipe)))
}

/// A count as the paper prints it: thousands with two digits.
pub fn as_printed(parameters: usize) -> String {
    format!("{:.2}", parameters as f64 / 1000.0)
}

fn text(path: &[&str]) -> Option<&'static str> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(NUMBERS.get(*first)?, |value, key| value.get(key))?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet::train::{Generator, SplitChoice};

    #[test]
    fn every_recipe_has_a_printed_parameter_count_and_result() {
        for recipe in RECIPE_NAMES {
            assert!(printed_parameters(recipe).is_some(), "{recipe}");
            assert!(result("graphminnet", recipe).is_some(), "{recipe}");
            assert!(result("gssc", recipe).is_some(), "{recipe}");
        }
        assert_eq!(as_printed(415_283), "415.28");
    }

    #[test]
    fn every_number_in_the_file_can_be_read() {
        fn leaves(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
            match value {
                Value::Table(table) => {
                    table.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
                }
                Value::String(text) => found.push((path.to_owned(), text.clone())),
                _ => {}
            }
        }
        let mut found = Vec::new();
        leaves(&Value::Table(NUMBERS.clone()), "", &mut found);
        let results: Vec<_> = found
            .into_iter()
            .filter(|(path, _)| path.contains("results") || path.contains("ablation"))
            .collect();
        // 105 cells of the table of results and 28 of the ablations.
        assert_eq!(results.len(), 105 + 28);
        for (path, text) in results {
            assert!(Printed::read(text.leak()).is_some(), "{path}");
        }
    }

    #[test]
    fn a_printed_result_has_mean_deviation_and_digits() {
        let printed = result("graphminnet", "cluster").unwrap();
        assert_eq!((printed.mean, printed.std, printed.decimals()), (79.284, Some(0.122), 3));
        assert_eq!(result("gcn", "malnet-tiny").unwrap().std, None);
        assert_eq!(result("gat", "molhiv"), None);
        assert!(in_per_cent("molhiv") && !in_per_cent("zinc"));
        assert_eq!(ablation("aggregate", "add", "molhiv").unwrap().mean, 80.19);
    }

    #[test]
    fn a_reference_belongs_to_the_source_of_the_data_not_to_its_name() {
        for recipe in RECIPE_NAMES {
            let name = Recipe::named(recipe).unwrap().dataset;
            let found = reference(&DataSource::Registry { name, folder: None }).unwrap();
            let printed = result("graphminnet", recipe).unwrap();
            assert_eq!(
                (found.text, found.decimals),
                (format!("{} (paper)", printed.text), printed.decimals())
            );
            assert_eq!(found.scale == 100.0, in_per_cent(recipe), "{recipe}");
            let own = DataSource::File {
                path: format!("{recipe}.csv").into(),
                read: Box::default(),
                split: SplitChoice::Official,
                calibrate: false,
            };
            assert_eq!(reference(&own), None, "{recipe}");
        }
        let generated = DataSource::Generated { generator: Generator::Pattern, seed: 0, graphs: None };
        assert_eq!(reference(&generated), None);
    }
}
