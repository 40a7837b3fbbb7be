//! The model card: what the model is, where it comes from, what it is not for, and how to reproduce it.

use super::run::Run;
use crate::config::InputNorm;
use crate::train::SeedResult;
use graphminnet_data::Schema;
use graphminnet_data::text::duration;
use graphminnet_report::page::Page;

/// Writes the card of a run.
pub(super) fn card(page: &mut Page, run: &Run) {
    page.facts(&facts(run));
    if !run.data.differences.is_empty() {
        page.heading("Differences of this copy of the data from the published one");
        page.list(&run.data.differences);
    }
    page.heading("Differences from the recipe");
    match run.differences() {
        None => page.paragraph("The settings are not those of a recipe; run.toml holds all of them."),
        Some(list) if list.is_empty() => page.paragraph("None: all settings are those of the recipe."),
        Some(list) => page.list(&list),
    }
    let input_norm = run.file.model.input_norm;
    if input_norm != InputNorm::None {
        page.paragraph(&format!(
            "The input of the global block is bounded (input_norm = {input_norm}), which the paper's equations do not do; without it outliers outside training make the block blow up."
        ));
    }
    page.heading("Limits");
    page.list(&limits(run));
    page.heading("Reproduce this run");
    match &run.started {
        Some(started) if !started.command.is_empty() => {
            page.code(&started.command);
            // The command that started the run does not know seeds that were added later.
            if run.file.seeds.len() > 1 {
                page.paragraph(&format!("All its seeds: --seeds {}", seeds(run, ",")));
            }
        }
        _ => page.paragraph("The command was not recorded; run.toml holds all settings."),
    }
}

fn results(run: &Run) -> impl Iterator<Item = &SeedResult> {
    run.seeds.iter().filter_map(|seed| seed.result.as_ref())
}

fn seeds(run: &Run, between: &str) -> String {
    run.file.seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}

/// What the run is and comes from, by name.
fn facts(run: &Run) -> Vec<(String, String)> {
    let (model, train, data) = (&run.file.model, &run.file.train, &run.data);
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact(
            "data",
            format!("{} ({} graphs, {} nodes, {} edges)", data.name, data.graphs, data.nodes, data.edges),
        ),
        fact("data fingerprint", data.fingerprint.clone()),
        fact(
            "split",
            format!("{} to train, {} to choose the epoch, {} to report", data.train, data.valid, data.test),
        ),
        fact(
            "task",
            format!(
                "{} per {}, targets {}{}",
                data.schema.task,
                data.schema.level,
                listed(&data.schema.targets),
                classes(&data.schema),
            ),
        ),
        fact(
            "model",
            format!(
                "{} layers of width {}, local branch {}, global branch {}, {} eigenpairs",
                model.layers, model.hidden, model.local, model.global, model.lap_dim
            ),
        ),
        fact(
            "training",
            format!(
                "{} epochs, batches of {}, learning rate {}, loss {}, metric {}",
                train.epochs, train.batch_size, train.learning_rate, train.loss, train.metric
            ),
        ),
        fact("seeds", seeds(run, ", ")),
        fact("time", duration(results(run).map(|result| result.seconds).sum())),
        fact("started", run.file.started.clone()),
        fact("program", format!("graphminnet {}", run.file.version)),
    ];
    if let Some(from) = &run.file.from {
        let frozen = if from.freeze.is_empty() { "nothing".to_owned() } else { from.freeze.join(", ") };
        facts.push(fact(
            "began with",
            format!(
                "{} ({}, seed {}, SHA-256 {}); {}, frozen: {frozen}, rate of what was taken over: {}",
                from.file,
                from.name,
                from.seed,
                from.sha256,
                if from.new_head { "a new head" } else { "its head where the targets are the same" },
                from.rate
            ),
        ));
    }
    match &run.started {
        Some(started) => facts.push(fact(
            "hardware",
            format!(
                "{}, {}, {} threads",
                started.processor.as_deref().unwrap_or("unknown processor"),
                started.system,
                started.threads
            ),
        )),
        None => facts.push(fact("hardware", "not recorded".to_owned())),
    }
    for result in results(run) {
        let name = format!("weights of seed {}", result.seed);
        facts.push((
            name,
            format!(
                "epoch {} ({}), SHA-256 {}",
                result.best.epoch + 1,
                result.selected_by,
                result.best_weights_sha256
            ),
        ));
    }
    facts
}

/// What is not to be made of the numbers.
fn limits(run: &Run) -> Vec<String> {
    let mut limits = vec![
        "The numbers above hold for graphs like those of the data set. Nothing is known about others."
            .to_owned(),
        "A prediction comes without a guarantee for the single graph; the worst ones are shown above."
            .to_owned(),
        "Attributions say what the model reacts to, not what is true of the world.".to_owned(),
    ];
    if results(run).count() < 2 {
        limits.push("One seed: nothing is known about the spread over seeds.".to_owned());
    }
    if results(run).any(|result| result.undefined_evaluations > 0) {
        limits.push("Some evaluations gave no value of the metric.".to_owned());
    }
    if run.data.valid == 0 {
        limits.push("There is no validation part: the last epoch was taken, not the best.".to_owned());
    }
    limits
}

/// What the classes of a target are called, and which of two is the positive one.
fn classes(schema: &Schema) -> String {
    match schema.class_names.as_slice() {
        [] => String::new(),
        [negative, positive] => format!("; positive class {positive}, the other {negative}"),
        names => format!("; classes {}", listed(names)),
    }
}

fn listed(names: &[String]) -> String {
    match names {
        names if names.len() > 8 => format!("{}, … ({} in all)", names[..8].join(", "), names.len()),
        names => names.join(", "),
    }
}
