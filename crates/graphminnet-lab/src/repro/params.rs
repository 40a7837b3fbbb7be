//! The table of parameter counts.

use super::{Outcome, ReproError, Sheet, Side, Verdict, systems};
use crate::paper;
use burn::tensor::Device;
use graphminnet::config::{Recipe, with_overrides};
use graphminnet::model::GraphMinNet;
use graphminnet::weights::count_parameters;

/// Counts the parameters of some recipes, as GraphMinNet and as GSSC, and puts the paper's beside them.
///
/// # Errors
///
/// [`ReproError::Config`] if a recipe is not known.
pub fn run(recipes: &[String], device: &Device) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        "Parameter counts",
        &[
            ("data set", Side::Left),
            ("system", Side::Left),
            ("paper", Side::Right),
            ("ours", Side::Right),
            ("exactly", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    for name in recipes {
        let recipe = Recipe::named(name)?;
        for system in ["graphgps", "grit", "gssc", "graphminnet"] {
            let printed = match system {
                "graphminnet" => paper::printed_parameters(name).map(|thousands| format!("{thousands}K")),
                _ => paper::cited_parameters(system, name).map(str::to_owned),
            };
            let Some(printed) = printed else { continue };
            let (ours, exactly, verdict) = match system {
                "gssc" | "graphminnet" => count(&recipe, system, &printed, device)?,
                _ => (String::new(), String::new(), Verdict::Cited),
            };
            let cells = [recipe.title.clone(), systems::title(system).to_owned(), printed, ours, exactly];
            sheet.row(cells.into_iter().chain([verdict.to_string()]));
        }
    }
    sheet.note(
        "Verdicts: matched — equal to the printed digit; below, above — fewer, more parameters than printed; cited — \
         the paper takes the number from elsewhere.",
    );
    sheet.note(
        "GSSC is counted in GraphMinNet's encoders, heads, widths and depths. Its own configurations differ: jumping \
         knowledge on PATTERN and CLUSTER, another size on PascalVOC-SP; one and the same count is printed for both \
         Peptides data sets, and none is published for MalNet-Tiny.",
    );
    Ok(Outcome { sheets: vec![("params".to_owned(), sheet)], figures: Vec::new() })
}

fn count(
    recipe: &Recipe,
    system: &str,
    printed: &str,
    device: &Device,
) -> Result<(String, String, Verdict), ReproError> {
    let changes = systems::changes(system, recipe)?;
    let changed = match with_overrides(&recipe.name, Recipe::table(&recipe.name)?, &changes) {
        Ok(changed) => changed,
        Err(error) => return Ok((String::new(), String::new(), Verdict::NotRun(error.to_string()))),
    };
    let parameters = count_parameters(&GraphMinNet::new(&changed.model, 0, device)?);
    let (digits, suffix) = printed.split_at(printed.len() - 1);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let ours = format!("{:.decimals$}", parameters as f64 / 1000.0);
    let verdict = match (ours.as_str() == digits, ours.parse::<f64>(), digits.parse::<f64>()) {
        (true, ..) => Verdict::Matched,
        (false, Ok(ours), Ok(paper)) if ours < paper => Verdict::Below,
        _ => Verdict::Above,
    };
    Ok((format!("{ours}{suffix}"), parameters.to_string(), verdict))
}
