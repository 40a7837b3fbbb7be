//! Choices inside the model, each switched and trained: the paper's six ablations and three of our own.

use super::{Attempt, Figure, Lab, Line, Outcome, ReproError, Sheet, Side, Trained, Verdict, verdict};
use crate::paper;
use graphminnet::config::{ConfigError, Override, Recipe};
use graphminnet_data::Split;

/// Names of the ablations: six of the paper, then three of our own.
pub const NAMES: [&str; 9] = [
    "self-term",
    "aggregate",
    "dropout",
    "local",
    "nonlinear-wb",
    "projection",
    "input-norm",
    "inner-product",
    "degree-scaling",
];

/// One variant: its label, the fields it sets, and its row in the paper's table.
type Variant = (&'static str, &'static [&'static str], Option<&'static str>);

fn variants(name: &str) -> Result<&'static [Variant], ReproError> {
    Ok(match name {
        "self-term" => &[
            ("without", &["model.self_term=false"], Some("off")),
            ("with", &["model.self_term=true"], Some("on")),
        ],
        "aggregate" => &[
            ("multiplication", &["model.aggregate=mul"], Some("mul")),
            ("addition", &["model.aggregate=add"], Some("add")),
        ],
        "dropout" => &[
            ("with", &[], None),
            (
                "without",
                &["model.drop_ffn=0.0", "model.drop_local=0.0", "model.drop_res=0.0", "model.drop_gmn=0.0"],
                None,
            ),
        ],
        "local" => &[
            ("GatedGCN", &["model.local=gatedgcn"], Some("gatedgcn")),
            ("GINE", &["model.local=gine"], Some("gine")),
        ],
        "nonlinear-wb" => &[
            ("linear", &["model.nonlinear_wb=none"], Some("linear")),
            ("ReLU", &["model.nonlinear_wb=relu"], Some("nonlinear")),
            ("GELU", &["model.nonlinear_wb=gelu"], Some("nonlinear")),
            ("SiLU", &["model.nonlinear_wb=silu"], Some("nonlinear")),
        ],
        "projection" => &[
            ("linear", &["model.nonlinear_zh=none"], Some("linear")),
            ("ReLU", &["model.nonlinear_zh=relu"], Some("nonlinear")),
            ("GELU", &["model.nonlinear_zh=gelu"], Some("nonlinear")),
            ("SiLU", &["model.nonlinear_zh=silu"], Some("nonlinear")),
        ],
        "input-norm" => &[
            ("none (literal)", &["model.input_norm=none"], None),
            ("rms", &["model.input_norm=rms"], None),
            ("ball", &["model.input_norm=ball"], None),
        ],
        "inner-product" => &[
            ("type 1", &["model.inner_product=type1"], None),
            ("type 2, as many eigenpairs as channels", &["model.inner_product=type2"], None),
            ("type 3", &["model.inner_product=type3"], None),
            ("type 4a", &["model.inner_product=type4a"], None),
            ("type 4b", &["model.inner_product=type4b"], None),
        ],
        "degree-scaling" => &[
            ("biases of z and h", &["model.zh_bias=true", "model.degree_scaling=false"], None),
            ("degree coefficients", &["model.zh_bias=false", "model.degree_scaling=true"], None),
        ],
        other => {
            return Err(ReproError::Unknown {
                what: "the ablation",
                name: other.escape_debug().to_string(),
                known: NAMES.join(", "),
            });
        }
    })
}

/// Data sets of an ablation: the paper's, or ZINC for our own.
pub fn default_datasets(name: &str) -> &'static [&'static str] {
    match name {
        "self-term" | "local" | "nonlinear-wb" | "projection" => &["cluster", "peptides-func", "molhiv"],
        "aggregate" | "dropout" => &["peptides-func", "molhiv"],
        _ => &["zinc"],
    }
}

fn changes(variant: &Variant, recipe: &Recipe) -> Result<Vec<Override>, ConfigError> {
    let mut all: Vec<Override> =
        variant.1.iter().map(|text| Override::parse(text)).collect::<Result<_, _>>()?;
    if variant.1.contains(&"model.inner_product=type2") {
        all.push(Override::parse(&format!("model.lap_dim={}", recipe.model.hidden))?);
    }
    Ok(all)
}

/// Trains the variants of an ablation on some data sets.
///
/// # Errors
///
/// [`ReproError`].
pub fn run(lab: &Lab<'_>, name: &str, datasets: &[String]) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        format!("Ablation: {name}"),
        &[
            ("data set", Side::Left),
            ("variant", Side::Left),
            ("metric", Side::Left),
            ("paper", Side::Right),
            ("test", Side::Right),
            ("validation", Side::Right),
            ("last train loss", Side::Right),
            ("worst error", Side::Right),
            ("undefined", Side::Right),
            ("seeds", Side::Left),
            ("epochs", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    let mut figures = Vec::new();
    for dataset in datasets {
        let recipe = Recipe::named(dataset)?;
        let mut lines = Vec::new();
        for variant in variants(name)? {
            let printed = variant.2.and_then(|key| paper::ablation(name, key, dataset));
            let printed_text = printed.map_or("–", |printed| printed.text);
            let label = format!("{name} {}", variant.0);
            let cells = match lab.train(&label, dataset, &changes(variant, &recipe)?)? {
                Attempt::NotRun(reason) => {
                    let mut cells = vec![String::new(); 11];
                    cells[2] = printed_text.to_owned();
                    cells[10] = Verdict::NotRun(reason).to_string();
                    cells
                }
                Attempt::Done(trained) => {
                    if name == "dropout" {
                        lines.extend(curves(variant.0, &trained)?);
                    }
                    note(&mut sheet, &recipe, &trained);
                    row(&trained, printed, printed_text)?
                }
            };
            let mut all = vec![recipe.title.clone(), variant.0.to_owned()];
            all.extend(cells.into_iter().skip(1));
            sheet.row(all);
        }
        if !lines.is_empty() {
            figures.push((format!("ablation-dropout-{dataset}"), dropout_figure(&recipe, lines)));
        }
    }
    sheet.note(verdict::MEANING);
    sheet.note(
        "Undefined: share of the evaluations after an epoch (validation and test) whose metric had no value, mostly for \
         non-finite outputs. Worst error: of a single validation label at the selected epoch.",
    );
    Ok(Outcome { sheets: vec![(format!("ablation-{name}"), sheet)], figures })
}

fn note(sheet: &mut Sheet, recipe: &Recipe, trained: &Trained) {
    if let Some(short) = &trained.shortened {
        sheet.note(format!("{}: shortened to {short}.", recipe.title));
    }
    trained.differences.iter().for_each(|text| sheet.note(format!("{}: {text}", recipe.title)));
}

/// The cells behind data set and variant; the first is a place holder for the variant.
fn row(
    trained: &Trained,
    printed: Option<paper::Printed>,
    printed_text: &str,
) -> Result<Vec<String>, ReproError> {
    let number = |value: Option<graphminnet::train::MeanStd>| match value {
        None => "undefined".to_owned(),
        Some(value) => value.printed(4),
    };
    let judged = match (&trained.shortened, trained.test()) {
        (Some(_), _) => Verdict::Shortened,
        (None, Some(test)) => Verdict::of(printed, test, trained.larger_is_better()),
        (None, None) => Verdict::NotRun("no epoch had a metric".to_owned()),
    };
    let evaluations = 2 * trained.results.iter().map(|result| result.epochs).sum::<usize>();
    let undefined: usize = trained.results.iter().map(|result| result.undefined_evaluations).sum();
    let worst = trained.over(|result| result.best.worst_valid).map(|over| over.mean);
    let mut losses = Vec::new();
    for result in &trained.results {
        losses.extend(series(trained, result.seed, Split::Train)?.last().map(|(_, loss)| *loss));
    }
    Ok(vec![
        String::new(),
        trained.recipe.train.metric.to_string(),
        printed_text.to_owned(),
        number(trained.test()),
        number(trained.valid()),
        number(graphminnet::train::MeanStd::of(&losses)),
        worst.map_or_else(|| "–".to_owned(), |worst| format!("{worst:.3}")),
        format!("{:.0} %", 100.0 * undefined as f64 / evaluations.max(1) as f64),
        trained.seeds(),
        trained.recipe.train.epochs.to_string(),
        judged.to_string(),
    ])
}

/// Loss of a part after every epoch.
fn series(trained: &Trained, seed: u64, split: Split) -> Result<Vec<(f64, f64)>, ReproError> {
    let records = trained.metrics(seed)?.into_iter().filter(|record| record.split() == split);
    Ok(records.filter_map(|record| Some((record.epoch() as f64, record.loss()?))).collect())
}

fn curves(variant: &str, trained: &Trained) -> Result<Vec<Line>, ReproError> {
    let Some(first) = trained.results.first() else { return Ok(Vec::new()) };
    [Split::Train, Split::Valid]
        .into_iter()
        .map(|split| {
            let points = series(trained, first.seed, split)?;
            let name = format!("{split}, {variant} dropout");
            Ok(Line { name, points, deviations: Vec::new() })
        })
        .collect()
}

fn dropout_figure(recipe: &Recipe, lines: Vec<Line>) -> Figure {
    Figure {
        title: format!("{}: loss with and without dropout", recipe.title),
        description: "Training and validation loss by epoch, with and without dropout.".to_owned(),
        x_label: "epoch".to_owned(),
        y_label: "loss".to_owned(),
        lines,
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphminnet::config::with_overrides;

    #[test]
    fn every_variant_is_a_valid_recipe_on_its_data_sets() {
        for name in NAMES {
            for dataset in default_datasets(name) {
                let recipe = Recipe::named(dataset).unwrap();
                for variant in variants(name).unwrap() {
                    let changes = changes(variant, &recipe).unwrap();
                    let made = with_overrides(dataset, Recipe::table(dataset).unwrap(), &changes);
                    assert!(made.is_ok(), "{name}, {dataset}, {}: {made:?}", variant.0);
                }
            }
        }
        assert!(variants("colour").is_err());
    }
}
