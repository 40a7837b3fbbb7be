//! One entry point per stored format of this crate that takes arbitrary bytes: what the fuzzer and the smoke test run.
//!
//! A fuzzer cannot guess a checksum, so checksums are computed here over whatever it gives.

use crate::bundle::{Bundle, Description, Selection, TrainedOn};
use crate::config::{Override, Recipe};
use crate::model::GraphMinNet;
use crate::ops::buffers;
use crate::optim::{AdamW, AdamWSettings, NamedGradients};
use crate::train::{Checkpoint, infer_recipe};
use crate::{DeviceKind, weights};
pub use graphminnet_data::fuzzing::Target;
use graphminnet_data::fuzzing::files;
use graphminnet_data::smiles::Featurizer;
use graphminnet_data::{Column, ColumnKind, Features, Graph, GraphError, Level, Schema, Task};
use std::error::Error;
use std::sync::{Arc, LazyLock};

/// All targets.
pub const TARGETS: [Target; 4] =
    [("bundle", bundle), ("checkpoint", checkpoint), ("recipe", recipe), ("buffers", buffers::exercise)];

/// A small model with fresh weights that takes molecules.
///
/// # Errors
///
/// None, unless the defaults of this crate do not fit together.
pub fn small_model() -> Result<Bundle, Box<dyn Error>> {
    let schema = Schema {
        level: Level::Graph,
        task: Task::Regression,
        targets: vec!["y".into()],
        class_names: vec![],
        positive_class: None,
        molecules: None,
        node_columns: Featurizer::Zinc.node_columns(),
        edge_columns: Featurizer::Zinc.edge_columns(),
    };
    let small = ["hidden=4", "layers=1", "pe_width=2", "lap_dim=2", "pe_dim=2", "rwse_steps=2"];
    let small = small.iter().map(|setting| Override::parse(&format!("model.{setting}")));
    let recipe = infer_recipe("small", &schema, 1, &small.collect::<Result<Vec<_>, _>>()?)?.recipe;
    let device = DeviceKind::Cpu.open()?;
    let weights = weights::to_bytes(&GraphMinNet::new(&recipe.model, 0, &device)?)?;
    let description = Description {
        program_version: "0".into(),
        name: "small".into(),
        preparation: (&recipe.model.prepare_options()).into(),
        model: recipe.model,
        loss: recipe.train.loss,
        metric: recipe.train.metric,
        schema,
        edges: None,
        featurizer: Some(Featurizer::Zinc),
        quantiles: Vec::new(),
        target_scaler: None,
        calibration: None,
        data: TrainedOn {
            name: "none".into(),
            fingerprint: "0".into(),
            plain: None,
            both_directions: None,
            train: 0,
            valid: 0,
            test: 0,
        },
        selection: Selection { epoch: 0, chosen_by: "nobody".into(), valid: None, test: None },
        seed: 0,
        from: None,
    };
    Ok(Bundle::new(description, &weights, &device)?)
}

/// A model file as it is, and one with checksums that agree: a line that describes the model, then its weights.
fn bundle(bytes: &[u8]) {
    let Ok(device) = DeviceKind::Cpu.open() else { return };
    let _ = Bundle::from_bytes(bytes, "fuzz.gmn", &device);
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (description, weights) = (&bytes[..line], bytes.get(line + 1..).unwrap_or_default());
    if let Ok(bundle) = Bundle::of_parts(description, weights, &device)
        && let Ok(graph) = path(&bundle.description().schema)
    {
        let _ = bundle.predict(&[Arc::new(graph)]);
    }
}

/// A path of three nodes with features that fit the columns.
fn path(schema: &Schema) -> Result<Graph, GraphError> {
    let edges = vec![[0, 1], [1, 0], [1, 2], [2, 1]];
    let features = |rows: usize, columns: &[Column]| {
        let is_category = |column: &&Column| matches!(column.kind, ColumnKind::Category { .. });
        let categories = columns.iter().filter(is_category).count();
        let numbers = columns.len() - categories;
        Features::mixed(rows, categories, vec![0; rows * categories], numbers, vec![0.5; rows * numbers])
    };
    Graph::new(3, edges.clone(), features(3, &schema.node_columns)?, features(4, &schema.edge_columns)?)
}

/// A saved state: files that start at a line `=== NAME`.
fn checkpoint(bytes: &[u8]) {
    let Ok(state) = Checkpoint::of_files(&files(bytes).into_iter().collect()) else { return };
    let Ok(mut optimizer) = AdamW::from_bytes(AdamWSettings::with_decay(0.0), &state.optimizer) else {
        return;
    };
    // As a training sees it.
    static MODEL: LazyLock<Option<GraphMinNet>> = LazyLock::new(|| {
        let model = small_model().ok()?;
        GraphMinNet::new(model.model().config(), 0, &model.device().clone().autodiff()).ok()
    });
    let Some(model) = &*MODEL else { return };
    for weights in std::iter::once(&state.model).chain(&state.best) {
        let Ok(model) = weights::from_bytes(model.clone(), weights) else { continue };
        let gradients = weights::named_tensors(&model).into_iter();
        let gradients = gradients.map(|tensor| (tensor.name, Some(tensor.values))).collect();
        let _ = optimizer.step(model, &NamedGradients::new(gradients), 0.1, 1.0);
    }
}

/// A recipe, and the shapes of the model that it asks for.
fn recipe(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(recipe) = Recipe::parse("fuzz", &text)
        && let Ok(device) = DeviceKind::Cpu.open()
        && let Ok(outline) = GraphMinNet::outline(&recipe.model, &device)
    {
        weights::count_numbers(&outline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn seed(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name)
    }

    #[test]
    fn the_seeds_of_stored_formats_are_read_to_the_end() {
        let model = std::fs::read(seed("bundle/small")).unwrap();
        let line = model.iter().position(|byte| *byte == b'\n').unwrap();
        let device = DeviceKind::Cpu.open().unwrap();
        let bundle = Bundle::of_parts(&model[..line], &model[line + 1..], &device).unwrap();
        let answers = bundle.predict(&[Arc::new(path(&bundle.description().schema).unwrap())]);
        assert!(answers.graph(0).is_ok(), "{answers:?}");
        let state = files(&std::fs::read(seed("checkpoint/small")).unwrap());
        let state = Checkpoint::of_files(&state.into_iter().collect()).unwrap();
        let optimizer = AdamW::from_bytes(AdamWSettings::with_decay(0.0), &state.optimizer).unwrap();
        let model = weights::from_bytes(bundle.model().clone(), &state.model).unwrap();
        let parameters = weights::named_tensors(&model).into_iter().filter(|tensor| tensor.is_parameter());
        assert_eq!(optimizer.moments().len(), parameters.count());
        assert!(Recipe::parse("seed", &std::fs::read_to_string(seed("recipe/zinc")).unwrap()).is_ok());
    }

    /// `fuzz/make_seeds.py` makes the others from it.
    #[test]
    #[ignore = "writes the seed of the model file into the corpus"]
    fn the_seed_of_the_model_file() {
        let model = small_model().unwrap();
        let mut bytes = serde_json::to_vec(model.description()).unwrap();
        bytes.push(b'\n');
        bytes.extend(weights::to_bytes(model.model()).unwrap());
        std::fs::create_dir_all(seed("bundle")).unwrap();
        std::fs::write(seed("bundle/small"), bytes).unwrap();
    }
}
