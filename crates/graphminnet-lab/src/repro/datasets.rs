//! The table of data sets: counts and means of the local copies beside the paper's.

use super::{Lab, Outcome, ReproError, Sheet, Side, Verdict};
use graphminnet::config::Recipe;
use graphminnet_data::registry;
use graphminnet_data::text::grouped;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What is kept of one data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Counted {
    /// Graphs, mean nodes and mean edges: the paper's, ours, equal.
    rows: [(String, String, bool); 3],
    same_task: bool,
    differences: Vec<String>,
}

const ROWS: [&str; 3] = ["graphs", "mean nodes", "mean edges"];

/// Counts the data sets of some recipes.
///
/// # Errors
///
/// [`ReproError`] if a copy cannot be read.
pub fn run(lab: &Lab<'_>, recipes: &[String]) -> Result<Outcome, ReproError> {
    let mut sheet = Sheet::new(
        "Data sets",
        &[
            ("data set", Side::Left),
            ("what", Side::Left),
            ("paper", Side::Right),
            ("ours", Side::Right),
            ("verdict", Side::Left),
        ],
    );
    for name in recipes {
        lab.check_interrupt()?;
        let recipe = Recipe::named(name)?;
        let info = registry::find(&recipe.dataset)?;
        let printed = [grouped(info.paper.graphs), info.paper.nodes.clone(), info.paper.edges.clone()];
        let source = lab.source(&recipe)?;
        lab.watch.say(&format!("counting {}", recipe.title));
        // Whether data is there is looked up every time: it may have come since.
        let identity = json!({ "source": source, "found": lab.has_data(&recipe)? });
        let counted: Option<Counted> = lab.store.cell(&format!("datasets-{name}"), &identity, || {
            Ok(lab.load(&recipe)?.ok().map(|loaded| {
                let compared = registry::compare(info, &graphminnet_data::statistics(&loaded.dataset));
                Counted {
                    rows: [compared.graphs, compared.nodes, compared.edges],
                    same_task: compared.same_task,
                    differences: loaded.report.differences,
                }
            }))
        })?;
        match counted {
            None => {
                for (what, printed) in ROWS.iter().zip(printed) {
                    let verdict = Verdict::NotRun("data missing".to_owned());
                    sheet.row([
                        recipe.title.clone(),
                        (*what).to_owned(),
                        printed,
                        "–".to_owned(),
                        verdict.to_string(),
                    ]);
                }
            }
            Some(counted) => {
                for (what, (paper, ours, equal)) in ROWS.iter().zip(&counted.rows) {
                    let verdict = if *equal { "matched" } else { "different" };
                    sheet.row([recipe.title.as_str(), what, paper, ours, verdict]);
                }
                if !counted.same_task {
                    sheet.note(format!("{}: the copy's task or level is not the paper's.", recipe.title));
                }
                counted.differences.iter().for_each(|text| sheet.note(format!("{}: {text}", recipe.title)));
            }
        }
    }
    sheet.note("Verdicts: matched — equal to the printed digit; different — not.");
    Ok(Outcome { sheets: vec![("datasets".to_owned(), sheet)], figures: Vec::new() })
}
