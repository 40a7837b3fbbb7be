//! Model files: what they hold, what they refuse, and that they predict what training predicted.
#![cfg(feature = "train")]

use burn::tensor::Device;
use graphminnet::bundle::{
    Answer, AnswerKind, AnswerRow, Bundle, BundleError, Conformal, Description, Ensemble, PredictError,
    Selection, TargetScaler, TrainedOn, evaluate, locate,
};
use graphminnet::config::{ConfigError, LevelKind, Loss, MetricKind, Phi, Recipe};
use graphminnet::task::assess::Bootstrap;
use graphminnet::train::{Outcome, SeedDir, Settings, TrainingData, train_seed};
use graphminnet::{GraphMinNet, weights};
use graphminnet_data::formats::Format;
use graphminnet_data::generate::{PartSizes, RingTransfer};
use graphminnet_data::rng::{Stream, stream};
use graphminnet_data::spectral::Stopped;
use graphminnet_data::split::Splits;
use graphminnet_data::{Column, ColumnKind, Dataset, Level, ReadOptions, Sample, Schema, Task, open};
use graphminnet_data::{Features, Graph, RowReader};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const RECIPE: &str = r#"
[model]
hidden = 8
layers = 2
lap_dim = 4
node_encoder = "atoms"
node_vocab = [5, 3]
edge_encoder = "embed"
edge_vocab = [4]
node_pe = "rwse"
pe_dim = 3
rwse_steps = 5
out_dim = 2
[train]
epochs = 2
warmup = 0
batch_size = 8
loss = "l1"
metric = "mae"
"#;

/// A random tree with some extra edges, both ways, and categories as features.
fn graph(random: &mut Stream) -> Graph {
    let nodes = 1 + random.below(30);
    let mut edges = Vec::new();
    for node in 1..nodes {
        let other = random.below(node);
        edges.extend([[node as u32, other as u32], [other as u32, node as u32]]);
    }
    let categories = |random: &mut Stream, rows: usize, sizes: &[usize]| {
        let values =
            (0..rows).flat_map(|_| sizes.iter().map(|size| random.below(*size) as u32).collect::<Vec<_>>());
        Features::categories(rows, sizes.len(), values.collect()).unwrap()
    };
    let node_features = categories(random, nodes, &[5, 3]);
    let edge_features = categories(random, edges.len(), &[4]);
    Graph::new(nodes, edges, node_features, edge_features).unwrap()
}

fn graphs(count: usize) -> Vec<Arc<Graph>> {
    let mut random = stream(7, "bundle", &[]);
    (0..count).map(|_| Arc::new(graph(&mut random))).collect()
}

fn category(name: &str, size: usize) -> Column {
    Column { name: name.into(), kind: ColumnKind::Category { size, names: vec![] } }
}

fn description() -> Description {
    let recipe = Recipe::parse("tiny", RECIPE).unwrap();
    Description {
        program_version: "0.1.0".into(),
        name: "tiny".into(),
        preparation: (&recipe.model.prepare_options()).into(),
        model: recipe.model,
        loss: recipe.train.loss,
        quantiles: Vec::new(),
        metric: recipe.train.metric,
        schema: Schema {
            level: Level::Graph,
            task: Task::Regression,
            targets: vec!["a".into(), "b".into()],
            class_names: vec![],
            positive_class: None,
            molecules: None,
            node_columns: vec![category("kind", 5), category("charge", 3)],
            edge_columns: vec![category("bond", 4)],
        },
        edges: None,
        featurizer: None,
        target_scaler: Some(TargetScaler { mean: vec![0.1, -3.0], deviation: vec![2.0 / 3.0, 7.0] }),
        calibration: None,
        data: TrainedOn { name: "made up".into(), fingerprint: "00".into(), train: 8, valid: 1, test: 1 },
        selection: Selection { epoch: 1, chosen_by: "hand".into(), valid: Some(0.5), test: None },
        seed: 3,
        from: None,
    }
}

fn bundle() -> (Bundle, Vec<u8>) {
    let description = description();
    let device = Device::flex();
    let bytes = weights::to_bytes(&GraphMinNet::new(&description.model, 3, &device).unwrap()).unwrap();
    let file = Bundle::pack(&description, &bytes).unwrap();
    (Bundle::from_bytes(&file, "tiny", &device).unwrap(), file)
}

#[test]
fn what_is_written_comes_back_and_the_bytes_depend_on_nothing_else() {
    let (bundle, file) = bundle();
    assert_eq!(bundle.description(), &description());
    let again = weights::to_bytes(bundle.model()).unwrap();
    assert_eq!(Bundle::pack(bundle.description(), &again).unwrap(), file);
}

#[test]
fn a_batch_of_one_says_what_a_batch_of_many_says() {
    let (bundle, _) = bundle();
    let graphs = graphs(300);
    let together = bundle.predict(&graphs);
    assert_eq!((together.len(), together.columns()), (300, 2));
    for (at, graph) in graphs.iter().enumerate() {
        let alone = bundle.predict(std::slice::from_ref(graph));
        let bits =
            |answer: Answer<'_>| answer.outputs().iter().map(|output| output.to_bits()).collect::<Vec<_>>();
        let (alone, together) = (alone.graph(0).unwrap(), together.graph(at).unwrap());
        assert_eq!((alone.num_rows(), together.num_rows()), (1, 1));
        assert_eq!(
            bits(alone),
            bits(together),
            "graph {at}: sums must not depend on who else is in the batch"
        );
    }
}

/// A graph whose second category training did not see.
fn unseen() -> Arc<Graph> {
    let unseen = Features::categories(1, 2, vec![4, 3]).unwrap();
    Arc::new(Graph::new(1, vec![], unseen, Features::categories(0, 1, vec![]).unwrap()).unwrap())
}

#[test]
fn a_graph_that_does_not_fit_keeps_its_place_with_a_reason_and_spoils_no_other() {
    let (bundle, _) = bundle();
    let fitting = graphs(5);
    let mut mixed = fitting.clone();
    mixed[3] = unseen();
    let ensemble = Ensemble::new(vec![bundle.clone(), bundle.clone()]).unwrap();
    let expected = bundle.predict(&fitting);
    for answers in [bundle.predict(&mixed), ensemble.answer(&mixed), bundle.embed(&mixed, LevelKind::Node)] {
        assert_eq!(answers.len(), 5);
        for at in 0..5 {
            assert_eq!(answers.graph(at).is_ok(), at != 3, "graph {at}");
        }
        let error = answers.graph(3).unwrap_err().to_string();
        assert!(error.contains("category 3 is outside"), "{error}");
        let beyond = answers.graph(5).unwrap_err().to_string();
        assert!(beyond.contains("graph 5") && beyond.contains("there are 5"), "{beyond}");
    }
    for at in [0, 1, 2, 4] {
        assert_eq!(
            bundle.predict(&mixed).graph(at).unwrap().values(),
            expected.graph(at).unwrap().values(),
            "graph {at}"
        );
    }
    let numbers =
        Graph::new(1, vec![], Features::numbers(1, 2, vec![0.0; 2]).unwrap(), Features::none(0)).unwrap();
    let error = bundle.predict(&[Arc::new(numbers)]).graph(0).unwrap_err().to_string();
    assert!(error.contains("2 categorical node columns"), "{error}");
}

#[test]
fn a_row_that_holds_no_graph_keeps_its_place_with_the_reason_of_its_reader() {
    let (bundle, _) = bundle();
    let good = r#"{"num_nodes": 1, "edges": [], "node_features": [[1, 2]], "edge_features": []}"#;
    let text = format!("{good}\n{{\"num_nodes\": 1}}\n{good}\n");
    let options = ReadOptions { format: Some(Format::Jsonl), ..bundle.description().read_options() };
    let mut reader = RowReader::from_stream(Box::new(Cursor::new(text)), "rows", &options).unwrap();
    let rows = reader.next_rows(10).unwrap();
    let answers = bundle.predict(&rows);
    let reason = answers.graph(1).unwrap_err();
    assert!(matches!(reason, PredictError::Unusable { .. }), "{reason}");
    assert!(reason.to_string().contains("rows, line 2"), "{reason}");
    assert_eq!(answers.graph(0).unwrap().values(), answers.graph(2).unwrap().values());
}

#[test]
fn an_output_that_is_no_finite_number_is_a_reason_and_never_a_value() {
    let mut about = description();
    // So wide a scale that every prediction leaves the range of 32-bit numbers; the description itself is sound.
    about.target_scaler = Some(TargetScaler { mean: vec![0.0, 0.0], deviation: vec![1.0, 1e300] });
    let weights = weights::to_bytes(bundle().0.model()).unwrap();
    let wide = Bundle::new(about, &weights, &Device::flex()).unwrap();
    let answers = wide.predict(&graphs(3));
    assert_eq!(answers.iter().map(Result::err).collect::<Vec<_>>(), vec![Some(PredictError::NonFinite); 3]);
    // One such member spoils the answer of an ensemble, not only its own.
    let both = Ensemble::new(vec![bundle().0, wide.clone()]).unwrap();
    assert_eq!(both.answer(&graphs(1)).graph(0).err(), Some(PredictError::NonFinite));
    // Evaluation and calibration name the graph.
    let schema = wide.description().schema.clone();
    let sample = |(at, graph)| Sample { id: format!("{at}"), graph, targets: vec![0.0, 0.0] };
    let samples = graphs(3).into_iter().enumerate().map(sample).collect();
    let dataset = Dataset {
        name: "wide".into(),
        schema,
        samples,
        official_split: None,
        node_parts: None,
        qualifiers: Default::default(),
    };
    let wide = Ensemble::new(vec![wide]).unwrap();
    let error = evaluate(&wide, &dataset, Bootstrap::default()).unwrap_err().to_string();
    assert!(error.starts_with("graph 0: the prediction is not a finite number"), "{error}");
    assert!(Conformal::calibrate(&wide, &dataset, 0.5).is_err());
}

#[test]
fn an_answer_that_nobody_waits_for_stops_at_the_next_step() {
    let ensemble = Ensemble::new(vec![bundle().0, bundle().0]).unwrap();
    let graphs = graphs(300);
    let asked = AtomicUsize::new(0);
    let wanted = || asked.fetch_add(1, Ordering::Relaxed) == usize::MAX;
    // One thread, so that the questions are asked one after the other.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let answers = ensemble.answer_unless(&graphs, &wanted);
        assert_eq!(answers, Ok(ensemble.answer(&graphs)), "as long as it is wanted, it is the usual answer");
        let all = asked.load(Ordering::Relaxed);
        assert!(all > 300, "asked only {all} times");
        for last in [0, 100, all - 1] {
            asked.store(0, Ordering::Relaxed);
            let over = || asked.fetch_add(1, Ordering::Relaxed) >= last;
            assert_eq!(ensemble.answer_unless(&graphs, &over), Err(Stopped));
            // Graphs that are still to be prepared are asked about one by one, and cost nothing more.
            assert!(asked.load(Ordering::Relaxed) <= last + 301, "after {last}");
        }
    });
}

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

#[test]
fn embeddings_have_a_row_per_node_or_graph() {
    let (bundle, _) = bundle();
    let graphs = graphs(40);
    let nodes = bundle.embed(&graphs, LevelKind::Node);
    let whole = bundle.embed(&graphs, LevelKind::Graph);
    assert_eq!((nodes.columns(), whole.columns()), (8, 8));
    for (at, graph) in graphs.iter().enumerate() {
        let (nodes, whole) = (nodes.graph(at).unwrap(), whole.graph(at).unwrap());
        assert_eq!((nodes.num_rows(), whole.num_rows()), (graph.num_nodes(), 1));
        // The model pools by the mean.
        let values = nodes.outputs();
        for (column, pooled) in whole.outputs().into_iter().enumerate() {
            let sum: f32 = values.iter().skip(column).step_by(8).sum();
            assert!((sum / graph.num_nodes() as f32 - pooled).abs() < 1e-5);
        }
    }
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

/// A model that predicts at random is enough: coverage is promised for any model and any noise.
#[test]
fn conformal_intervals_and_sets_cover_as_often_as_they_say() {
    let (regression, _) = bundle();
    let mut classes = description();
    (classes.model.out_dim, classes.loss, classes.metric) = (4, Loss::CrossEntropy, MetricKind::Accuracy);
    (classes.target_scaler, classes.schema.targets) = (None, vec!["class".into()]);
    classes.schema.task = Task::MultiClass { classes: 4 };
    let device = Device::flex();
    let weights = weights::to_bytes(&GraphMinNet::new(&classes.model, 3, &device).unwrap()).unwrap();
    let classes = Bundle::new(classes, &weights, &device).unwrap();
    for bundle in [regression, classes] {
        let ensemble = Ensemble::new(vec![bundle]).unwrap();
        let graphs = graphs(4000);
        let answers = ensemble.answer(&graphs);
        let mut random = stream(11, "labels", &[]);
        let mut truth = |graph: usize| -> Vec<f32> {
            let values = answers.graph(graph).unwrap().values();
            if answers.kind() == AnswerKind::Classes {
                let (mut left, mut class) = (random.uniform(), 0);
                while class < 3 && left > values[class] {
                    left -= values[class];
                    class += 1;
                }
                return vec![class as f32];
            }
            // Skewed noise, wider where the graph is larger.
            let spread = 1.0 + graphs[graph].num_nodes() as f64 / 10.0;
            values.iter().map(|value| (value + spread * random.normal().exp()) as f32).collect()
        };
        let samples: Vec<Sample> = (0..graphs.len())
            .map(|at| Sample { id: at.to_string(), graph: Arc::clone(&graphs[at]), targets: truth(at) })
            .collect();
        let (calibration, held_out) = samples.split_at(2000);
        let dataset = Dataset {
            name: "calibration".into(),
            schema: ensemble.description().schema.clone(),
            samples: calibration.to_vec(),
            official_split: None,
            node_parts: None,
            qualifiers: Default::default(),
        };
        for level in [0.5, 0.9] {
            let conformal = Conformal::calibrate(&ensemble, &dataset, level).unwrap();
            for target in 0..ensemble.description().schema.num_targets() {
                let inside = held_out.iter().enumerate().filter(|(at, sample)| {
                    let values = answers.graph(2000 + at).unwrap().values();
                    let label = sample.targets[target];
                    match answers.kind() {
                        AnswerKind::Classes => conformal.set(target, &values).contains(&(label as usize)),
                        _ => {
                            let (low, high) = conformal.interval(target, values[target], 0.0);
                            low <= f64::from(label) && f64::from(label) <= high
                        }
                    }
                });
                let coverage = inside.count() as f64 / 2000.0;
                assert!((coverage - level).abs() < 0.02, "{:?}: {coverage} at {level}", answers.kind());
            }
        }
    }
}

#[test]
fn models_that_answer_different_questions_form_no_ensemble() {
    let (one, _) = bundle();
    let mut other = description();
    other.schema.targets = vec!["a".into(), "c".into()];
    let weights = weights::to_bytes(one.model()).unwrap();
    let other = Bundle::new(other, &weights, &Device::flex()).unwrap();
    let error = Ensemble::new(vec![one.clone(), other]).unwrap_err();
    assert!(error.to_string().contains("targets differ"), "{error}");
    assert!(matches!(Ensemble::new(vec![]), Err(BundleError::NoMembers)));
    // Twice the same model: the same mean, and no spread.
    let graphs = graphs(10);
    let alone = one.predict(&graphs);
    let answers = Ensemble::new(vec![one.clone(), one]).unwrap().answer(&graphs);
    for (together, alone) in answers.iter().zip(alone.iter()) {
        let (together, alone) = (together.unwrap(), alone.unwrap());
        assert_eq!(together.values(), alone.values());
        assert!(together.rows().all(|row| row.deviations().iter().all(|deviation| *deviation == 0.0)));
    }
}
