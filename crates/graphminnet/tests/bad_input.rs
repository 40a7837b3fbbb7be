//! Bad input of every kind is refused with an error that names the place and the value; nothing panics. And the
//! good input that ships with the library, the recipes, is what it claims to be.

mod common;

use common::{dressed, path, plain, prepared};
use graphminnet::config::{InputNorm, RECIPE_NAMES};
use graphminnet::model::InputError;
use graphminnet::weights::{self, NamedTensor, WeightsError};
use graphminnet::{ConfigError, GraphMinNet, ModelConfig, ModelInput, Recipe};
use graphminnet_data::rng;
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::{Batch, Features, Graph, GraphError};
use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView};

// ---------------------------------------------------------------------------------------------------- graphs

#[test]
fn an_edge_to_a_missing_node_is_refused() {
    let error = Graph::from_edges(3, vec![[0, 1], [1, 2], [7, 0]]).unwrap_err();
    assert_eq!(error, GraphError::EdgeOutOfRange { edge: 2, end: "source", node: 7, num_nodes: 3 });
    says(&error, &["edge 2", "source node 7", "3 nodes"]);
    let error = Graph::from_edges(0, vec![[0, 0]]).unwrap_err();
    says(&error, &["edge 0", "node 0", "0 nodes"]);
}

#[test]
fn features_that_are_not_finite_are_refused() {
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let features = Features::numbers(2, 2, vec![0.0, 1.0, value, 2.0]).unwrap();
        let error = Graph::new(2, vec![], features, Features::none(0)).unwrap_err();
        says(&error, &["node feature", "row 1", "column 0", &value.to_string()]);
        let features = Features::numbers(1, 1, vec![value]).unwrap();
        let error = Graph::new(2, vec![[0, 1]], Features::none(2), features).unwrap_err();
        says(&error, &["edge feature", "row 0", &value.to_string()]);
    }
}

#[test]
fn feature_tables_of_the_wrong_size_are_refused() {
    let error = Features::numbers(2, 3, vec![0.0; 5]).unwrap_err();
    assert_eq!(error, GraphError::ValueCount { found: 5, rows: 2, columns: 3 });
    says(&error, &["5 values", "2 rows of 3", "6 expected"]);
    let error = Features::categories(usize::MAX, 2, vec![]).unwrap_err();
    says(&error, &["0 values"]);
    let error = Graph::new(2, vec![], Features::none(3), Features::none(0)).unwrap_err();
    says(&error, &["node features have 3 rows", "2 nodes"]);
    let error = Graph::new(2, vec![[0, 1]], Features::none(2), Features::none(2)).unwrap_err();
    says(&error, &["edge features have 2 rows", "1 edges"]);
}

#[test]
fn graphs_with_different_columns_do_not_batch() {
    let wide =
        Graph::new(2, vec![], Features::numbers(2, 2, vec![0.0; 4]).unwrap(), Features::none(0)).unwrap();
    let error = Batch::of_graphs(&[&path(2), &path(3), &wide]).unwrap_err();
    assert!(matches!(error, GraphError::ColumnMismatch { graph: 2, found: 2, expected: 0, .. }), "{error}");
    says(&error, &["graph 2", "2 node columns", "0"]);
}

// ------------------------------------------------------------------------------------------------ model input

fn small(change: impl FnOnce(&mut ModelConfig)) -> ModelConfig {
    let mut config =
        ModelConfig { hidden: 8, layers: 1, pe_width: 4, lap_dim: 3, node_in: 2, ..ModelConfig::default() };
    change(&mut config);
    config.check().unwrap();
    config
}

fn refused(config: &ModelConfig, graphs: &[PreparedGraph]) -> InputError {
    ModelInput::from_prepared(config, &graphs.iter().collect::<Vec<_>>(), &plain()).unwrap_err()
}

#[test]
fn features_of_the_wrong_width_are_refused() {
    let random = &mut rng::stream(1, "bad input", &[]);
    let three = small(|config| config.node_in = 3);
    let graph = prepared(dressed(&path(4), &three, random), &three);
    let error = refused(&small(|_| {}), std::slice::from_ref(&graph));
    assert_eq!(error, InputError::ColumnCount { what: "numeric node", expected: 2, found: 3 });
    says(&error, &["expects 2", "has 3"]);

    let edges = small(|config| {
        (config.edge_encoder, config.edge_in) = (graphminnet::config::EdgeEncoderKind::Linear, 2);
        config.node_in = 3;
    });
    let error = refused(&edges, std::slice::from_ref(&graph));
    assert_eq!(error, InputError::ColumnCount { what: "numeric edge", expected: 2, found: 0 });

    let atoms = small(|config| {
        config.node_encoder = graphminnet::config::NodeEncoderKind::Atoms;
        config.node_vocab = vec![3, 4];
    });
    let error = refused(&atoms, &[graph]);
    assert_eq!(error, InputError::ColumnCount { what: "categorical node", expected: 2, found: 0 });
}

#[test]
fn a_batch_without_graphs_is_refused_or_empty_but_no_panic() {
    for (name, config) in common::small_recipes() {
        match ModelInput::from_prepared(&config, &[], &plain()) {
            Ok(input) => assert_eq!(input.structure.num_graphs(), 0, "{name}"),
            Err(error) => says(&error, &["columns"]),
        }
    }
}

#[test]
fn a_category_outside_the_vocabulary_is_refused() {
    let config = small(|config| {
        config.node_encoder = graphminnet::config::NodeEncoderKind::Atoms;
        config.node_vocab = vec![3, 4];
        config.edge_encoder = graphminnet::config::EdgeEncoderKind::Embed;
        config.edge_vocab = vec![2];
    });
    let graph = |nodes: Vec<u32>, edges: Vec<u32>| {
        let nodes = Features::categories(2, 2, nodes).unwrap();
        let edges = Features::categories(2, 1, edges).unwrap();
        prepared(Graph::new(2, vec![[0, 1], [1, 0]], nodes, edges).unwrap(), &config)
    };
    let good = graph(vec![2, 3, 0, 0], vec![1, 0]);
    assert!(ModelInput::from_prepared(&config, &[&good], &plain()).is_ok());

    // The second graph's second node is row 3 of the batch.
    let error = refused(&config, &[good.clone(), graph(vec![0, 0, 2, 4], vec![0, 0])]);
    assert_eq!(error, InputError::UnknownCategory { what: "node", row: 3, column: 1, value: 4, size: 4 });
    says(&error, &["node 3", "column 1", "category 4", "vocabulary of 4"]);

    let error = refused(&config, &[graph(vec![u32::MAX, 0, 0, 0], vec![0, 0])]);
    says(&error, &["node 0", "column 0", "4294967295", "vocabulary of 3"]);

    let error = refused(&config, &[graph(vec![0; 4], vec![0, 2])]);
    assert!(matches!(error, InputError::UnknownCategory { what: "edge", value: 2, size: 2, .. }), "{error}");
}

#[test]
fn prepared_arrays_of_the_wrong_length_are_refused() {
    let config = small(|config| {
        config.node_pe = graphminnet::config::NodePeKind::Rwse;
        (config.pe_dim, config.rwse_steps, config.degree_scaling) = (3, 4, true);
    });
    let random = &mut rng::stream(2, "bad input", &[]);
    let graph = prepared(dressed(&path(5), &config, random), &config);
    let good = Batch::collate(&[&graph]).unwrap();
    let make = |batch| ModelInput::new(&config, batch, &plain());
    assert!(make(good.clone()).is_ok());

    let with = |change: fn(&mut Batch)| {
        let mut batch = good.clone();
        change(&mut batch);
        batch
    };
    let cases: [(&str, usize, usize, Batch); 6] = [
        ("eigenvalues", 3, 4, with(|batch| batch.eigenvalues.truncate(3))),
        ("eigenvectors", 19, 20, with(|batch| batch.eigenvectors.truncate(19))),
        ("random_walk", 0, 20, with(|batch| batch.random_walk.clear())),
        ("log_degree", 4, 5, with(|batch| batch.log_degree.truncate(4))),
        ("num_eigenpairs", 2, 1, with(|batch| batch.num_eigenpairs.push(4))),
        ("usable_eigenpairs", 0, 1, with(|batch| batch.usable_eigenpairs.clear())),
    ];
    for (array, has, needs, batch) in cases {
        let error = make(batch).unwrap_err();
        let InputError::Length { what, found, expected, .. } = &error else { panic!("{array}: {error}") };
        assert_eq!((*what, *found, *expected), (array, has, needs));
        says(&error, &[array, &format!("{has} values"), &format!("expected {needs}")]);
    }

    let error = make(with(|batch| batch.eigenvectors[7] = f32::NAN)).unwrap_err();
    assert!(matches!(error, InputError::NonFinite { what: "eigenvectors", position: 7, .. }), "{error}");
    let error = make(with(|batch| batch.eigenvalues[2] = f32::INFINITY)).unwrap_err();
    says(&error, &["eigenvalues", "inf", "position 2"]);

    // Counts beyond what is stored neither panic nor reach beyond the arrays.
    let many =
        Batch { num_eigenpairs: vec![usize::MAX], usable_eigenpairs: vec![usize::MAX], ..good.clone() };
    assert!(make(many).is_ok());
}

#[test]
fn a_graph_prepared_for_another_model_is_refused() {
    let few = small(|_| {});
    let many = small(|config| config.lap_dim = 6);
    let random = &mut rng::stream(3, "bad input", &[]);
    let graph = prepared(dressed(&path(5), &few, random), &few);
    let error = refused(&many, &[graph]);
    assert!(
        matches!(error, InputError::Length { what: "eigenvalues", found: 4, expected: 7, .. }),
        "{error}"
    );
}

// ---------------------------------------------------------------------------------------------- configuration

#[test]
fn a_misspelt_key_is_refused_and_the_nearest_one_is_offered() {
    for (line, section, key, near) in [
        ("hiden = 8", "model", "model.hiden", "hidden"),
        ("lapdim = 8", "model", "model.lapdim", "lap_dim"),
        ("inner_products = \"type1\"", "model", "model.inner_products", "inner_product"),
        ("beta_rang = \"raw\"", "model", "model.beta_rang", "beta_range"),
        ("epoch = 3", "train", "train.epoch", "epochs"),
        ("learnig_rate = 0.1", "train", "train.learnig_rate", "learning_rate"),
    ] {
        let error = Recipe::parse("mine", &format!("[{section}]\n{line}\n")).unwrap_err();
        assert_eq!(error, ConfigError::UnknownKey { key: key.to_owned(), nearest: Some(near.to_owned()) });
        says(&error, &[key, near]);
    }
    let error = Recipe::parse("mine", "[modle]\nhidden = 8\n").unwrap_err();
    assert_eq!(error, ConfigError::UnknownKey { key: "modle".to_owned(), nearest: Some("model".to_owned()) });
    let error = Recipe::parse("mine", "[model]\nxyzzy = 1\n").unwrap_err();
    assert_eq!(error, ConfigError::UnknownKey { key: "model.xyzzy".to_owned(), nearest: None });
}

#[test]
fn a_key_without_effect_is_refused_with_the_reason() {
    for (text, key, reason) in [
        ("type4_first = \"type3\"", "type4_first", "type4"),
        ("inner_product = \"type4a\"\naggregate = \"add\"", "aggregate", "type 4"),
        ("beta = \"fixed:1\"", "beta", "self_term"),
        ("self_term = true\nbeta = \"fixed:1\"\nbeta_range = \"raw\"", "beta_range", "fixed"),
        ("drop_gmn_at = \"a\"", "drop_gmn_at", "drop_gmn is 0"),
        ("local = \"none\"\ndrop_local = 0.1", "drop_local", "local is none"),
        ("local = \"gcn\"\nedge_encoder = \"linear\"", "edge_encoder", "no edge features"),
        ("global = \"attention\"\nself_term = true", "self_term", "not graphminnet"),
        ("global = \"attention\"\npe_width = 8", "pe_width", "neither graphminnet nor gssc"),
        ("global = \"gssc\"\ninput_norm = \"rms\"", "input_norm", "not graphminnet"),
        ("global = \"none\"\ndrop_res = 0.1", "drop_res", "global is none"),
        ("attention_heads = 2", "attention_heads", "gat"),
        ("rwse_steps = 3", "rwse_steps", "rwse"),
        ("pe_dim = 3", "pe_dim", "node_pe is none"),
        ("node_vocab = [3]", "node_vocab", "numbers"),
        ("node_encoder = \"embed\"\nnode_vocab = [3]\nnode_in = 2", "node_in", "categories"),
        ("edge_vocab = [3]", "edge_vocab", "no categories"),
        ("head = \"san\"\nhead_layers = 2", "head_layers", "fixed form"),
        ("head_l2norm = false", "head_l2norm", "single layer"),
        ("level = \"node\"\npooling = \"max\"", "pooling", "not graph"),
    ] {
        let error = Recipe::parse("mine", &format!("[model]\n{text}\n")).unwrap_err();
        let ConfigError::UnusedKey { key: found, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(found, &format!("model.{key}"));
        says(&error, &[key, reason, "no effect"]);
    }
}

#[test]
fn values_that_contradict_each_other_or_their_range_are_refused() {
    for (text, key, value) in [
        ("hidden = 0", "hidden", "0"),
        ("hidden = 3\nhead = \"san\"", "hidden", "3"),
        ("hidden = 5000000", "hidden", "5000000"),
        ("layers = 0", "layers", "0"),
        ("out_dim = 0", "out_dim", "0"),
        ("drop_res = 1.0", "drop_res", "1"),
        ("drop_ffn = -0.1", "drop_ffn", "-0.1"),
        ("drop_ffn = nan", "drop_ffn", "NaN"),
        ("lap_dim = 0", "lap_dim", "0"),
        ("inner_product = \"type2\"\nhidden = 10\nlap_dim = 9", "inner_product", "type2"),
        ("inner_product = \"type4a\"\ntype4_first = \"type2\"", "inner_product", "type4a"),
        ("inner_product = \"type4b\"\ntype4_second = \"type1\"", "type4_second", "type1"),
        ("allocate_set_encoder = false", "allocate_set_encoder", "false"),
        ("self_term = true\nbeta = \"fixed:3\"", "beta", "fixed:3"),
        ("node_encoder = \"premp\"\nnode_pe = \"lappe\"", "node_pe", "lappe"),
        ("node_pe = \"lappe\"\npe_dim = 64", "pe_dim", "64"),
        ("node_pe = \"rwse\"", "rwse_steps", "0"),
        ("node_encoder = \"embed\"", "node_vocab", "[]"),
        ("node_encoder = \"embed\"\nnode_vocab = [3, 4]", "node_vocab", "[3, 4]"),
        ("node_encoder = \"atoms\"\nnode_vocab = [3, 0]", "node_vocab", "[3, 0]"),
        ("edge_encoder = \"none\"", "edge_encoder", "none"),
        ("global = \"attention\"\nattention_heads = 5", "attention_heads", "5"),
        ("local = \"gat\"\nattention_heads = 0", "attention_heads", "0"),
        ("global = \"gssc\"\nlap_dim = 0", "lap_dim", "0"),
    ] {
        let error = Recipe::parse("mine", &format!("[model]\n{text}\n")).unwrap_err();
        let ConfigError::Invalid { key: found, value: shown, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!((found.as_str(), shown.as_str()), (format!("model.{key}").as_str(), value), "{text}");
        says(&error, &[key, value]);
    }
    for (text, key) in [
        ("epochs = 0", "epochs"),
        ("warmup = 100", "warmup"),
        ("batch_size = 0", "batch_size"),
        ("learning_rate = inf", "learning_rate"),
        ("weight_decay = -1.0", "weight_decay"),
        ("clip_norm = 0.0", "clip_norm"),
    ] {
        let error = Recipe::parse("mine", &format!("[train]\n{text}\n")).unwrap_err();
        assert!(matches!(&error, ConfigError::Invalid { key: found, .. } if found.ends_with(key)), "{error}");
    }
}

#[test]
fn values_of_the_wrong_form_are_refused_by_key() {
    for (text, key, word) in [
        ("[model]\nhidden = \"wide\"", "model.hidden", "wide"),
        ("[model]\nhidden = -4", "model.hidden", "-4"),
        ("[model]\nlayout = \"rows\"", "model.layout", "channel, eigen"),
        ("[model]\nphi_a = \"power:-1\"", "model.phi_a", "power:k"),
        ("[model]\nphi_c = \"power:\"", "model.phi_c", "power:k"),
        ("[model]\nbeta = \"fixed:nan\"", "model.beta", "finite"),
        ("[model]\nself_term = 1", "model.self_term", "boolean"),
        ("[model]\nnode_vocab = 3", "model.node_vocab", "sequence"),
        ("[train]\nmetric = \"r2\"", "train.metric", "mae"),
        ("title = 3", "title", "text"),
        ("model = 3", "model", "section"),
    ] {
        let error = Recipe::parse("mine", text).unwrap_err();
        assert!(
            matches!(&error, ConfigError::BadValue { key: found, .. } if found == key),
            "{text}: {error}"
        );
        says(&error, &[key, word]);
    }
    let error = Recipe::parse("mine", "[model\nhidden = 3").unwrap_err();
    assert!(matches!(error, ConfigError::Syntax { .. }), "{error}");
    let error = Recipe::named("zink").unwrap_err();
    says(&error, &["zink", "did you mean `zinc`", "pascalvoc-sp"]);
}

#[test]
fn a_model_is_not_built_from_a_configuration_that_fails_its_check() {
    let config =
        ModelConfig { inner_product: graphminnet::config::InnerProduct::Type2, ..ModelConfig::default() };
    assert!(matches!(GraphMinNet::new(&config, 0, &plain()), Err(ConfigError::Invalid { .. })));
}

// ---------------------------------------------------------------------------------------------------- recipes

#[test]
fn the_ten_recipes_have_the_papers_parameter_counts() {
    let expected = [415283, 338803, 122818, 120134, 431535, 432012, 279173, 386318, 391919, 474101];
    assert_eq!(RECIPE_NAMES.len(), expected.len());
    for (name, expected) in RECIPE_NAMES.iter().zip(expected) {
        let recipe = Recipe::named(name).unwrap();
        let model = GraphMinNet::new(&recipe.model, 0, &plain()).unwrap();
        assert_eq!(weights::count_parameters(&model), expected, "{name}");
    }
}

#[test]
fn to_the_letter_a_recipe_differs_in_the_input_norm_alone() {
    for name in RECIPE_NAMES {
        let recipe = Recipe::named(name).unwrap();
        let literal = recipe.clone().paper_literal();
        assert_eq!(
            (recipe.model.input_norm, literal.model.input_norm),
            (InputNorm::Ball, InputNorm::None),
            "{name}"
        );
        let mut back = literal;
        back.model.input_norm = InputNorm::Ball;
        assert_eq!(back, recipe, "{name}");
    }
}

/// Text of the recipe files, as they are shipped.
fn recipe_texts() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("recipes");
    let read = |name: &&str| std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    RECIPE_NAMES.iter().map(read).collect()
}

#[test]
fn the_shipped_files_are_the_compiled_ones() {
    for (name, text) in RECIPE_NAMES.iter().zip(recipe_texts()) {
        assert_eq!(Recipe::parse(name, &text).unwrap(), Recipe::named(name).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever a typing accident makes of a recipe is either a valid recipe or a typed error. What is accepted can
    /// be built, as long as it is not huge.
    #[test]
    fn a_damaged_recipe_never_panics(
        recipe in 0usize..10,
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0u8..6, any::<u8>()), 1..6),
    ) {
        let mut text = recipe_texts()[recipe].clone().into_bytes();
        let words: [&[u8]; 8] = [b"\"none\"", b"0", b"-1", b"nan", b"\"type4b\"", b"[", b"= ", b"\nlap_dim = 0\n"];
        for (place, kind, byte) in damages {
            let at = place.index(text.len());
            match kind {
                0 => { text.remove(at); }
                1 => text.insert(at, byte),
                2 => text[at] = byte,
                3 => text.truncate(at.max(1)),
                4 => { text.splice(at..at, words[usize::from(byte) % words.len()].iter().copied()); }
                _ => {
                    // Another value for a whole line.
                    let start = text[..at].iter().rposition(|&b| b == b'=').map_or(at, |equals| equals + 1);
                    let end = text[start..].iter().position(|&b| b == b'\n').map_or(text.len(), |n| start + n);
                    text.splice(start..end, words[usize::from(byte) % words.len()].iter().copied());
                }
            }
            if text.is_empty() { text.push(b'\n'); }
        }
        let text = String::from_utf8_lossy(&text);
        match Recipe::parse("damaged", &text) {
            Ok(recipe) => {
                let small = |count: usize| count <= 500;
                let model = &recipe.model;
                if small(model.hidden) && small(model.layers) && small(model.lap_dim) && small(model.pe_width)
                    && small(model.out_dim) && small(model.head_layers) && small(model.rwse_steps)
                    && model.node_vocab.iter().chain(&model.edge_vocab).all(|&size| small(size)) {
                    prop_assert!(GraphMinNet::new(model, 0, &plain()).is_ok());
                }
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

// ---------------------------------------------------------------------------------------------------- weights

fn model() -> GraphMinNet {
    GraphMinNet::new(&small(|config| config.self_term = true), 0, &plain()).unwrap()
}

#[test]
fn weights_survive_the_way_to_bytes_and_back() {
    let trained = common::lively_model(&small(|config| config.self_term = true), 7, &plain());
    let bytes = weights::to_bytes(&trained).unwrap();
    let loaded = weights::from_bytes(model(), &bytes).unwrap();
    assert_eq!(weights::named_tensors(&loaded), weights::named_tensors(&trained));
}

#[test]
fn truncated_and_foreign_files_are_refused() {
    let bytes = weights::to_bytes(&model()).unwrap();
    for length in (0..bytes.len()).step_by(37).chain([bytes.len() - 1]) {
        let error = weights::from_bytes(model(), &bytes[..length]).unwrap_err();
        assert!(matches!(error, WeightsError::Format { .. }), "{length}: {error}");
        says(&error, &["safetensors", "truncated or damaged"]);
    }
    for foreign in [&b"PK\x03\x04 not weights at all"[..], &[0xff; 64], &[0; 64], b"{}"] {
        let error = weights::from_bytes(model(), foreign).unwrap_err();
        assert!(matches!(error, WeightsError::Format { .. } | WeightsError::Missing { .. }), "{error}");
    }
    let longer = [&bytes[..], b"tail"].concat();
    assert!(weights::from_bytes(model(), &longer).is_err());
    let missing = std::env::temp_dir().join(format!("no-weights-{}.safetensors", std::process::id()));
    let error = weights::load(model(), &missing).unwrap_err();
    assert!(matches!(error, WeightsError::Io { .. }), "{error}");
    says(&error, &[&missing.display().to_string()]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// A flipped bit in the header is found. One in the values cannot be, unless it makes a number infinite or
    /// worse: then exactly one value has changed.
    #[test]
    fn a_flipped_bit_never_panics_and_never_changes_more_than_one_value(place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let original = model();
        let mut bytes = weights::to_bytes(&original).unwrap();
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(loaded) = weights::from_bytes(model(), &bytes) {
            let before = weights::named_tensors(&original);
            let after = weights::named_tensors(&loaded);
            let changed: usize = before
                .iter()
                .zip(&after)
                .map(|(a, b)| a.values.iter().zip(&b.values).filter(|(a, b)| a.to_bits() != b.to_bits()).count())
                .sum();
            prop_assert!(changed <= 1, "{changed} values changed");
            prop_assert!(after.iter().all(|tensor| tensor.values.iter().all(|value| value.is_finite())));
        }
    }
}

#[test]
fn tensors_that_do_not_belong_are_refused_by_name() {
    let tensors = weights::named_tensors(&model());
    let name = "layers.0.gmn.W.weight";
    let position = tensors.iter().position(|tensor| tensor.name == name).unwrap();
    let with = |change: &dyn Fn(&mut Vec<NamedTensor>)| {
        let mut changed = tensors.clone();
        change(&mut changed);
        weights::replace(model(), changed)
    };
    assert!(with(&|_| {}).is_ok());

    let error = with(&|tensors| drop(tensors.remove(position))).unwrap_err();
    assert!(matches!(&error, WeightsError::Missing { name: found } if found == name), "{error}");

    let extra = NamedTensor { name: "layers.9.extra".into(), shape: vec![1], values: vec![0.0] };
    let error = with(&|tensors| tensors.push(extra.clone())).unwrap_err();
    assert!(matches!(&error, WeightsError::Unexpected { name } if name == "layers.9.extra"), "{error}");

    let error = with(&|tensors| tensors[position].shape.reverse()).unwrap_err();
    assert!(matches!(&error, WeightsError::Shape { name: found, .. } if found == name), "{error}");
    says(&error, &[name, "[8, 4]", "[4, 8]"]);

    for value in [f32::NAN, f32::INFINITY] {
        let error = with(&|tensors| tensors[position].values[5] = value).unwrap_err();
        assert!(
            matches!(&error, WeightsError::NonFinite { name: found, position: 5, .. } if found == name),
            "{error}"
        );
        says(&error, &[name, "position 5", &value.to_string()]);
    }

    let zeros = [0u8; 16];
    let view = TensorView::new(Dtype::F64, vec![2], &zeros).unwrap();
    let bytes = safetensors::serialize([(name, view)], None).unwrap();
    let error = weights::from_bytes(model(), &bytes).unwrap_err();
    assert!(matches!(&error, WeightsError::Type { name: found, .. } if found == name), "{error}");
    says(&error, &[name, "F64", "F32"]);
}

#[test]
fn values_that_do_not_fill_their_shape_are_refused() {
    let mut tensors = weights::named_tensors(&model());
    let short = &mut tensors[0];
    short.values.pop();
    let name = short.name.clone();
    let outcome = std::panic::catch_unwind(|| weights::replace(model(), tensors).map(|_| ()));
    let error = outcome.expect("a short tensor must not panic").unwrap_err();
    says(&error, &[&name]);
}

#[test]
fn the_weights_of_one_model_do_not_load_into_another() {
    let bytes = weights::to_bytes(&model()).unwrap();
    let other = |change: fn(&mut ModelConfig)| GraphMinNet::new(&small(change), 0, &plain()).unwrap();
    let wider = weights::from_bytes(other(|config| (config.self_term, config.hidden) = (true, 9)), &bytes);
    assert!(matches!(wider.unwrap_err(), WeightsError::Shape { .. }));
    let deeper = weights::from_bytes(other(|config| (config.self_term, config.layers) = (true, 2)), &bytes);
    assert!(matches!(deeper.unwrap_err(), WeightsError::Missing { .. }));
    let plainer = weights::from_bytes(other(|_| {}), &bytes);
    assert!(matches!(plainer.unwrap_err(), WeightsError::Unexpected { .. }));
}

/// The message says everything that a user needs.
fn says(error: &impl std::error::Error, words: &[&str]) {
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
    assert!(!message.contains('\n'), "a message is one line: {message}");
}
