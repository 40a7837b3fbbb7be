//! The table of parameter counts.

use super::{Outcome, ReproError, Sheet, Side, Verdict, systems};
use crate::paper;
use crate::systems::{System, SystemRecipe};
use burn::tensor::Device;
use graphminnet::config::{Recipe, with_overrides};
use graphminnet::model::GraphMinNet;
use graphminnet::weights::count_parameters;
use std::collections::BTreeMap;

/// Counts the parameters of some recipes, as GraphMinNet, as GraphGPS and GSSC in its place, and as the systems of their
/// own, and puts the published ones beside them.
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
            ("published", Side::Right),
            ("ours", Side::Right),
            ("exactly", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    // What is the same for several data sets is said once.
    let mut notes: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for name in recipes {
        let recipe = Recipe::named(name)?;
        for system in paper::systems() {
            let own = SystemRecipe::named(system, name)?;
            let printed = match (system, &own) {
                ("graphminnet", _) => {
                    paper::printed_parameters(name).map(|thousands| format!("{thousands}K"))
                }
                (_, Some(own)) => own.published_parameters.clone(),
                _ => paper::cited_parameters(system, name).map(str::to_owned),
            };
            let (ours, exactly, verdict) = match (&own, &printed) {
                (Some(own), printed) => {
                    let parameters = count_parameters(&System::new(&own.model, 0, device)?);
                    if let Some(note) = &own.note {
                        let text = (paper::title(system), note.clone());
                        notes.entry(text).or_default().push(recipe.title.clone());
                    }
                    judged(parameters, printed.as_deref())
                }
                (None, None) => continue,
                (None, Some(printed)) => count(&recipe, system, printed, device)?,
            };
            let printed = printed.unwrap_or_else(|| "–".to_owned());
            let cells = [recipe.title.clone(), paper::title(system).to_owned(), printed, ours, exactly];
            sheet.row(cells.into_iter().chain([verdict.to_string()]));
        }
    }
    for ((system, note), titles) in notes {
        sheet.note(format!("{system}, {}: {note}", titles.join(", ")));
    }
    sheet.note(
        "Verdicts: matched — equal to the published digits; below, above — fewer, more parameters than published; no \
         published count — ours alone.",
    );
    sheet.note(
        "GraphGPS and GSSC are counted in GraphMinNet's encoders, heads, widths and depths. Their own configurations \
         differ: GraphGPS in widths, depths and positions, GSSC in its jumping knowledge on \
         PATTERN and CLUSTER and its size on PascalVOC-SP; one and the same count is printed for both Peptides data \
         sets, and none is published for MalNet-Tiny.",
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
    Ok(judged(parameters, Some(printed)))
}

/// A count in the form of the published one, to the digit, and how they stand to each other. Published counts are digits
/// alone, or thousands with a letter behind.
fn judged(parameters: usize, printed: Option<&str>) -> (String, String, Verdict) {
    let exactly = parameters.to_string();
    let Some(printed) = printed else { return (exactly.clone(), exactly, Verdict::NoPublishedCount) };
    let digits = printed.trim_end_matches(['k', 'K']);
    let (suffix, unit) = if digits == printed { ("", 1.0) } else { (&printed[digits.len()..], 1000.0) };
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let ours = format!("{:.decimals$}", parameters as f64 / unit);
    let verdict = match (ours.as_str() == digits, ours.parse::<f64>(), digits.parse::<f64>()) {
        (true, ..) => Verdict::Matched,
        (false, Ok(ours), Ok(paper)) if ours < paper => Verdict::Below,
        _ => Verdict::Above,
    };
    (format!("{ours}{suffix}"), exactly, verdict)
}
