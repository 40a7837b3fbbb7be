//! Model files: what they hold, what they refuse, and that they predict what training predicted.
#![cfg(feature = "train")]

mod common;

use burn::tensor::Device;
use common::small_bundle::{bundle, description, graphs};
use graphminnet::bundle::{AnswerRow, Bundle, BundleError, Description, PredictError, TargetScaler, locate};
use graphminnet::config::{ConfigError, LevelKind, Loss, MetricKind, Phi, Recipe};
use graphminnet::train::{Outcome, SeedDir, Settings, TrainingData, train_seed};
use graphminnet::{GraphMinNet, weights};
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::split::Splits;
use graphminnet_data::{Dataset, Features, Graph, Level, ReadOptions, Sample, Schema, Task, open};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[test]
fn what_is_written_comes_back_and_the_bytes_depend_on_nothing_else() {
    let (bundle, file) = bundle();
    assert_eq!(bundle.description(), &description());
    let again = weights::to_bytes(bundle.model()).unwrap();
    assert_eq!(Bundle::pack(bundle.description(), &again).unwrap(), file);
}

#[test]
fn files_that_cannot_be_used_are_refused_by_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = bundle();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        Bundle::load(&path).unwrap_err()
    };
    let mut changed = file.clone();
    changed[file.len() / 2] ^= 1;
    let damaged = write("damaged.gmn", &changed);
    assert!(matches!(damaged, BundleError::Damaged { .. }) && damaged.to_string().contains("damaged.gmn"));
    assert!(matches!(write("short.gmn", &file[..file.len() - 1]), BundleError::Truncated { .. }));
    assert!(matches!(write("foreign.gmn", b"{\"a\": 1}"), BundleError::Foreign { .. }));
    assert!(matches!(write("empty.gmn", b""), BundleError::Foreign { .. }));
    let missing = Bundle::load(&folder.path().join("none.gmn")).unwrap_err();
    assert!(matches!(&missing, BundleError::Io(error) if error.is_not_found()), "{missing}");
    // Intact, but about another model.
    let mut other = description();
    other.model.hidden = 16;
    let small = weights::to_bytes(bundle().0.model()).unwrap();
    assert!(matches!(
        write("other.gmn", &Bundle::pack(&other, &small).unwrap()),
        BundleError::Weights { .. }
    ));
    // A description that contradicts itself is not even written.
    let contradictions: [fn(&mut Description); 5] = [
        |description| description.schema.level = Level::Node,
        |description| description.schema.targets.push("c".into()),
        |description| description.target_scaler = Some(TargetScaler { mean: vec![], deviation: vec![] }),
        |description| description.preparation.eigenpairs += 1,
        |description| description.schema.positive_class = Some("yes".into()),
    ];
    for contradict in contradictions {
        let mut wrong = description();
        contradict(&mut wrong);
        assert!(matches!(Bundle::pack(&wrong, &small), Err(BundleError::Description { .. })));
    }
}

/// A model of version 0.1 has two classes in the order of the alphabet and does not say which one is meant.
#[test]
fn the_positive_class_names_its_column_and_an_older_model_keeps_its_own() {
    let mut description = description();
    (description.loss, description.metric) = (Loss::BinaryCrossEntropy, MetricKind::RocAuc);
    (description.schema.task, description.schema.targets) = (Task::Binary, vec!["label".into()]);
    description.schema.class_names = vec!["active".into(), "inactive".into()];
    description.target_scaler = None;
    description.model.out_dim = 1;
    assert_eq!(description.prediction_columns(), ["pred_label"]);
    assert_eq!((description.positive_class(), description.ranked_class()), (None, Some("inactive")));
    description.schema.class_names.reverse();
    description.schema.positive_class = Some("active".into());
    assert_eq!(description.prediction_columns(), ["pred_label", "prob_active"]);
    assert_eq!(description.ranked_class(), Some("active"));
    let device = Device::flex();
    let bytes = weights::to_bytes(&GraphMinNet::new(&description.model, 3, &device).unwrap()).unwrap();
    let bundle = Bundle::new(description.clone(), &bytes, &device).unwrap();
    let answers = bundle.predict(&graphs(6));
    for answer in answers.iter() {
        let answer = answer.unwrap();
        let row = answer.rows().next().unwrap();
        let cells = description.prediction_cells(&row);
        let yes: f64 = cells[1].parse().unwrap();
        assert_eq!(cells[0], if yes > 0.5 { "active" } else { "inactive" });
    }
}

/// A file of a small model that says it is another one.
fn claiming(change: impl FnOnce(&mut Description)) -> BundleError {
    let (bundle, _) = bundle();
    let weights = weights::to_bytes(bundle.model()).unwrap();
    let mut claims = description();
    change(&mut claims);
    claims.preparation = (&claims.model.prepare_options()).into();
    let file = Bundle::pack(&claims, &weights).unwrap();
    assert!(file.len() < 1_000_000, "{}", file.len());
    Bundle::from_bytes(&file, "claims", &Device::flex()).unwrap_err()
}

/// Each of these would take terabytes, if what the file claims were set aside.
#[test]
fn a_small_file_that_claims_a_large_model_is_refused_by_the_shapes_that_it_holds() {
    let claims: [fn(&mut Description); 6] = [
        |claims| claims.model.hidden = 65_536,
        |claims| claims.model.pe_width = 65_536,
        |claims| (claims.model.hidden, claims.model.pe_dim) = (65_536, 65_535),
        |claims| claims.model.node_vocab = vec![1_000_000; 10_000],
        |claims| (claims.model.hidden, claims.model.layers) = (65_536, 1_000),
        |claims| claims.model.rwse_steps = 4_096,
    ];
    for (number, claim) in claims.into_iter().enumerate() {
        let error = claiming(claim);
        assert!(matches!(error, BundleError::Weights { .. }), "{number}: {error}");
    }
}

#[test]
fn a_width_beyond_its_limit_is_refused_with_the_limit() {
    fn set(claims: &mut Description, key: &str) -> usize {
        let model = &mut claims.model;
        let (width, most) = match key {
            "hidden" => (&mut model.hidden, 65_536),
            "layers" => (&mut model.layers, 1_000),
            "pe_width" => (&mut model.pe_width, 65_536),
            "lap_dim" => (&mut model.lap_dim, 4_096),
            "pe_dim" => (&mut model.pe_dim, 65_536),
            "rwse_steps" => (&mut model.rwse_steps, 4_096),
            "attention_heads" => (&mut model.attention_heads, 1_024),
            "head_layers" => (&mut model.head_layers, 1_000),
            "node_in" => (&mut model.node_in, 1_000_000),
            "edge_in" => (&mut model.edge_in, 1_000_000),
            other => panic!("{other}"),
        };
        *width = most + 1;
        most
    }
    for key in [
        "hidden",
        "layers",
        "pe_width",
        "lap_dim",
        "pe_dim",
        "rwse_steps",
        "attention_heads",
        "head_layers",
        "node_in",
        "edge_in",
    ] {
        let mut most = 0;
        let error = claiming(|claims| most = set(claims, key));
        let BundleError::Config { source, .. } = error else { panic!("{key}: {error}") };
        let said = source.to_string();
        assert!(said.contains(key) && said.contains(&format!("at most {most}")), "{key}: {said}");
    }
    let error = claiming(|claims| claims.model.node_vocab[0] = 1_000_001);
    assert!(matches!(error, BundleError::Config { .. }), "{error}");
    let error = claiming(|claims| claims.model.edge_vocab = vec![1; 10_001]);
    assert!(matches!(error, BundleError::Config { .. }), "{error}");
    let error = claiming(|claims| claims.model.phi_c = Phi::Power(65));
    assert!(matches!(error, BundleError::Config { .. }), "{error}");
}

#[test]
fn widths_that_are_fine_alone_may_be_too_much_together() {
    let mut config = description().model;
    (config.hidden, config.layers) = (65_536, 1_000);
    let error = GraphMinNet::new(&config, 0, &Device::flex()).unwrap_err();
    assert!(matches!(error, ConfigError::TooLarge { most: 1_073_741_824, .. }), "{error}");
    assert!(error.to_string().contains("1073741824"), "{error}");
}

fn rings(level: Level) -> Dataset {
    let sizes = PartSizes { train: 30, valid: 10, test: 20 };
    RingTransfer { sizes, smallest: 4, largest: 8, classes: 3, level, ..RingTransfer::default() }
        .generate(1)
        .unwrap()
}

const RINGS: &str = r#"
[model]
hidden = 8
layers = 2
lap_dim = 4
node_in = 4
node_pe = "lappe"
pe_dim = 3
out_dim = 3
[train]
epochs = 2
warmup = 0
batch_size = 7
loss = "cross_entropy"
metric = "accuracy"
"#;

#[test]
fn a_vector_that_is_not_finite_is_a_reason() {
    let recipe = Recipe::parse("rings", RINGS).unwrap();
    let mut about = description();
    about.preparation = (&recipe.model.prepare_options()).into();
    (about.model, about.loss, about.metric) = (recipe.model, recipe.train.loss, recipe.train.metric);
    about.schema = rings(Level::Graph).schema;
    about.target_scaler = None;
    let device = Device::flex();
    let weights = weights::to_bytes(&GraphMinNet::new(&about.model, 3, &device).unwrap()).unwrap();
    let bundle = Bundle::new(about, &weights, &device).unwrap();
    let graph = |size: f32| {
        let features = Features::numbers(2, 4, vec![size; 8]).unwrap();
        Arc::new(Graph::new(2, vec![[0, 1], [1, 0]], features, Features::none(2)).unwrap())
    };
    for level in [LevelKind::Graph, LevelKind::Node] {
        let found = bundle.embed(&[graph(1.0), graph(f32::MAX), graph(-1.0)], level);
        assert_eq!(found.iter().map(|answer| answer.is_ok()).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(found.graph(1).err(), Some(PredictError::NonFinite));
    }
}

/// The promise of the file: elsewhere, alone, it says what training wrote down.
#[test]
fn a_moved_model_predicts_the_test_predictions_of_its_training_bit_for_bit() {
    for level in [Level::Graph, Level::Node] {
        let mut recipe = Recipe::parse("rings", RINGS).unwrap();
        recipe.model.level = if level == Level::Node { LevelKind::Node } else { LevelKind::Graph };
        let dataset = rings(level);
        let splits = Splits::official(&dataset).unwrap();
        let test = splits.test.clone();
        let data = TrainingData::prepare(&dataset, splits, &recipe.model, None, &()).unwrap().0;
        let folder = tempfile::tempdir().unwrap();
        let seed_dir = SeedDir::new(folder.path().join("seed-0")).unwrap();
        let interrupt = AtomicBool::new(false);
        let settings = Settings::new(&recipe.name, &recipe.model, &recipe.train, &interrupt);
        let outcome = train_seed(&settings, &data, Some(&seed_dir), &mut ()).unwrap();
        let Outcome::Finished(result) = outcome else { panic!("{outcome:?}") };

        let elsewhere = tempfile::tempdir().unwrap();
        let moved = elsewhere.path().join("moved.gmn");
        std::fs::rename(&locate(folder.path()).unwrap()[0], &moved).unwrap();
        let bundle = Bundle::load(&moved).unwrap();
        let selection = &bundle.description().selection;
        assert_eq!(
            (selection.epoch, selection.chosen_by.as_str()),
            (result.best.epoch, "best validation metric")
        );
        assert_eq!(bundle.description().data.test, 20);

        let graphs: Vec<Arc<Graph>> = test.iter().map(|&at| Arc::clone(&dataset.samples[at].graph)).collect();
        let predictions = bundle.predict(&graphs);
        let rows: Vec<AnswerRow<'_>> =
            predictions.iter().flat_map(|answer| answer.unwrap().rows().collect::<Vec<_>>()).collect();
        let written = std::fs::read_to_string(seed_dir.file("test_predictions.csv")).unwrap();
        let skipped = if level == Level::Node { 3 } else { 2 };
        assert_eq!(written.lines().count(), 1 + rows.len());
        for (number, (row, line)) in rows.iter().zip(written.lines().skip(1)).enumerate() {
            let cells = bundle.description().prediction_cells(row);
            assert_eq!(
                line.split(',').skip(skipped).collect::<Vec<_>>(),
                cells,
                "{level} level, row {number}"
            );
        }
        // What the file says of its own quality is what these predictions are worth.
        let targets: Vec<f32> = test.iter().flat_map(|&at| dataset.samples[at].targets.clone()).collect();
        let (mut right, mut labelled) = (0, 0);
        for (row, target) in targets.iter().enumerate().filter(|(_, target)| !target.is_nan()) {
            labelled += 1;
            right += usize::from(rows[row].class() == Some(*target as usize));
        }
        assert_eq!(selection.test, Some(f64::from(right as u32) / f64::from(labelled)));
    }
}

fn frozen(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/bundles/v{version}"))
}

fn frozen_graphs(folder: &Path, schema: &Schema) -> Vec<Arc<Graph>> {
    let read = open(&folder.join("graphs.jsonl"), &ReadOptions::with_schema(schema.clone())).unwrap();
    read.dataset.samples.into_iter().map(|sample| sample.graph).collect()
}

/// Files of every version that was ever written still load and say the same.
#[test]
fn frozen_models_of_all_versions_still_predict_the_same() {
    for version in 1..=graphminnet::bundle::FORMAT_VERSION {
        let folder = frozen(version);
        let bundle = Bundle::load(&folder.join("model.gmn")).unwrap();
        let graphs = frozen_graphs(&folder, &bundle.description().schema);
        let found: Vec<f32> =
            bundle.predict(&graphs).iter().flat_map(|answer| answer.unwrap().outputs()).collect();
        let text = std::fs::read_to_string(folder.join("predictions.json")).unwrap();
        let expected: Vec<f32> = serde_json::from_str(&text).unwrap();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 1e-4 * expected.abs().max(1.0),
                "v{version}: {found}, {expected} then"
            );
        }
    }
}

/// Writes the frozen files of the current version. Run once per version, before it is released.
#[test]
#[ignore = "writes tests/fixtures/bundles"]
fn freeze_the_current_version() {
    let folder = frozen(graphminnet::bundle::FORMAT_VERSION);
    assert!(!folder.exists(), "{} exists; what is frozen stays", folder.display());
    std::fs::create_dir_all(&folder).unwrap();
    let (bundle, file) = bundle();
    let graphs = graphs(12);
    let outputs: Vec<Vec<f32>> =
        bundle.predict(&graphs).iter().map(|answer| answer.unwrap().outputs()).collect();
    let samples = graphs.iter().enumerate().map(|(at, graph)| Sample {
        id: at.to_string(),
        graph: Arc::clone(graph),
        targets: outputs[at].clone(),
    });
    let schema = bundle.description().schema.clone();
    let dataset = Dataset {
        name: "frozen".into(),
        schema,
        samples: samples.collect(),
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    };
    graphminnet_data::formats::write(&dataset, &folder.join("graphs.jsonl")).unwrap();
    std::fs::write(folder.join("model.gmn"), file).unwrap();
    std::fs::write(folder.join("predictions.json"), serde_json::to_string(&outputs.concat()).unwrap())
        .unwrap();
}
