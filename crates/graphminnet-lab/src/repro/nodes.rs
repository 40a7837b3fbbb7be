//! One graph, some nodes known: the defaults for own data beside SGC and GCN, in the same harness.

use super::node_baselines::PlainConfig;
use super::{Lab, ReproError, Sheet, Side};
use crate::repro::Outcome;
use graphminnet::config::{Loss, MetricKind, TrainConfig};
use graphminnet::train::{
    self, Architecture, Loaded, MeanStd, SplitChoice, TrainingData, infer_recipe, train_seed,
};
use graphminnet_data::Split;
use graphminnet_data::generate::Papers;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Cell {
    test: f64,
    valid: f64,
    parameters: usize,
}

/// Trains the three systems; the seed is that of the graph and of the weights.
///
/// # Errors
///
/// [`ReproError`] if a training fails.
pub fn run(lab: &Lab<'_>) -> Result<Outcome, ReproError> {
    let settings = match lab.smoke {
        true => {
            Papers { nodes: 120, words: 70, valid: 30, test: 40, labels_per_class: 5, ..Papers::default() }
        }
        false => Papers::default(),
    };
    let plain = |hidden: Option<usize>, drop: f64| PlainConfig {
        node_in: settings.words,
        hidden,
        classes: settings.classes,
        drop,
    };
    let protocol = |learning_rate: f64, weight_decay: f64| TrainConfig {
        epochs: if lab.smoke { 2 } else { lab.epochs.unwrap_or(200) },
        warmup: 1,
        learning_rate,
        weight_decay,
        loss: Loss::CrossEntropy,
        metric: MetricKind::Accuracy,
        ..TrainConfig::default()
    };
    let mut sheet = Sheet::new(
        "Classes of nodes on one graph: test accuracy",
        &[
            ("system", Side::Left),
            ("parameters", Side::Right),
            ("test", Side::Right),
            ("validation", Side::Right),
            ("seeds", Side::Right),
        ],
    );
    let mut rows = vec![
        ("SGC, 2 hops", Vec::new()),
        ("GCN, 2 layers", Vec::new()),
        ("GraphMinNet, defaults", Vec::new()),
    ];
    for &seed in &lab.seeds {
        let dataset = settings.generate(seed)?;
        let loaded = Loaded::split(dataset, &SplitChoice::Official)?;
        let mut recipe = infer_recipe("papers", &loaded.dataset.schema, &loaded, &[])?.recipe;
        if let Some(epochs) = lab.epochs.or(lab.smoke.then_some(2)) {
            (recipe.train.epochs, recipe.train.warmup) = (epochs, 1.min(epochs - 1));
        }
        let (sgc, sgc_protocol) = (plain(None, 0.0), protocol(0.2, 1e-3));
        let (gcn, gcn_protocol) = (plain(Some(64), 0.5), protocol(0.01, 5e-2));
        let found = [
            cell(lab, rows[0].0, &sgc, &sgc_protocol, &loaded, seed)?,
            cell(lab, rows[1].0, &gcn, &gcn_protocol, &loaded, seed)?,
            cell(lab, rows[2].0, &recipe.model, &recipe.train, &loaded, seed)?,
        ];
        rows.iter_mut().zip(found).for_each(|((_, cells), cell)| cells.push(cell));
    }
    for (name, cells) in rows {
        let over = |value: fn(&Cell) -> f64| {
            let values: Vec<f64> = cells.iter().map(|cell| 100.0 * value(cell)).collect();
            MeanStd::of(&values).map_or_else(|| "–".to_owned(), |all| all.printed(1))
        };
        let parameters = cells.first().map_or(0, |cell| cell.parameters).to_string();
        let cells = [parameters, over(|cell| cell.test), over(|cell| cell.valid), cells.len().to_string()];
        sheet.row(std::iter::once(name.to_owned()).chain(cells));
    }
    sheet.note(format!(
        "A stochastic block model with {} nodes in {} classes, {} neighbours on average, {:.0} % of the edges drawn within a class and the others anywhere, \
         {} words, {} of them per node, {:.0} % of these from the class's own; {} labelled nodes per class, {} to \
         validate, {} to test. Every seed has a graph of its own. Test accuracy in per cent at the epoch with the best \
         validation accuracy.",
        settings.nodes,
        settings.classes,
        settings.mean_degree,
        100.0 * settings.within,
        settings.words,
        settings.words_per_node,
        100.0 * settings.own_words,
        settings.labels_per_class,
        settings.valid,
        settings.test
    ));
    sheet.note(
        "SGC: AdamW at 0.2, decay 1e-3. GCN: width 64, dropout 0.5, AdamW at 0.01, decay 5e-2. Both 200 epochs of one step.",
    );
    Ok(Outcome { sheets: vec![("nodes".to_owned(), sheet)], figures: Vec::new() })
}

fn cell<C: Architecture>(
    lab: &Lab<'_>,
    name: &str,
    model: &C,
    protocol: &TrainConfig,
    loaded: &Loaded,
    seed: u64,
) -> Result<Cell, ReproError> {
    lab.check_interrupt()?;
    let fingerprint = train::data_fingerprint(&loaded.dataset, &loaded.splits);
    let identity = json!({ "system": model, "train": protocol, "data": fingerprint, "seed": seed });
    lab.store.cell(&format!("nodes-{name}-{seed}"), &identity, || {
        lab.watch.say(&format!("{name}, seed {seed}"));
        let (data, _) =
            TrainingData::prepare(&loaded.dataset, loaded.splits.clone(), model, None, lab.interrupt)?;
        debug_assert!(data.node_parts.as_ref().is_some_and(|parts| parts.count(Split::Train) > 0));
        let settings = lab.settings(name, model, protocol, seed);
        match train_seed(&settings, &data, None, &mut ())? {
            train::Outcome::Finished(result) => Ok(Cell {
                test: result.best.test.unwrap_or(f64::NAN),
                valid: result.best.valid.unwrap_or(f64::NAN),
                parameters: result.parameters,
            }),
            _ => Err(ReproError::Interrupted),
        }
    })
}
