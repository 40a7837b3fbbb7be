//! Models that answer for edges and for pairs of nodes: what they read, what they must not see, and their scores.
#![cfg(feature = "train")]

use graphminnet::ModelInput;
use graphminnet::bundle::{Bundle, Ensemble, PairQuestions, PredictError};
use graphminnet::config::{EndsKind, LevelKind, MetricKind, ModelConfig, Override, Recipe};
use graphminnet::model::GraphMinNet;
use graphminnet::nn::Pass;
use graphminnet::task::links::{LinkQuestion, judge, rank};
use graphminnet::task::{Rows, metric};
use graphminnet::train::{
    Device, Loaded, Outcome, SeedDir, SeedResult, Settings, SplitChoice, TrainError, TrainEvent,
    TrainingData, infer_recipe, train_seed,
};
use graphminnet_data::generate::Papers;
use graphminnet_data::links::HideLinks;
use graphminnet_data::rng::stream;
use graphminnet_data::spectral::{Stopped, prepare_graph};
use graphminnet_data::{Dataset, EdgeDirection, Features, Graph, Level, ReadOptions, Split, Task, open};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn papers(nodes: usize) -> Dataset {
    Papers { nodes, words: 35, mean_degree: 6.0, within: 0.95, own_words: 0.7, ..Papers::default() }
        .generate(2)
        .unwrap()
}

fn links() -> Loaded {
    let hidden = HideLinks::default().apply(&papers(200)).unwrap();
    Loaded::split(hidden, &SplitChoice::Official).unwrap()
}

fn recipe(loaded: &Loaded, fields: &[&str]) -> Recipe {
    let fields: Vec<Override> = fields.iter().map(|field| Override::parse(field).unwrap()).collect();
    infer_recipe("own", &loaded.dataset.schema, loaded, &fields).unwrap().recipe
}

const SHORT: [&str; 4] = ["train.epochs=4", "model.hidden=16", "model.layers=2", "model.pe_dim=4"];

struct StopAfter<'a>(usize, &'a AtomicBool);

impl graphminnet::train::Observer for StopAfter<'_> {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Epoch(report) = event
            && report.epoch + 1 == self.0
        {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

fn run(
    loaded: &Loaded,
    fields: &[&str],
    edges: Option<EdgeDirection>,
    directory: Option<&SeedDir>,
    stop_after: usize,
) -> Result<Outcome, TrainError> {
    let recipe = recipe(loaded, fields);
    let splits = loaded.splits.clone();
    let (data, _) = TrainingData::prepare(&loaded.dataset, splits, &recipe.model, None, &()).unwrap();
    let interrupt = AtomicBool::new(false);
    let settings = Settings { edges, ..Settings::new("own", &recipe.model, &recipe.train, &interrupt) };
    train_seed(&settings, &data, directory, &mut StopAfter(stop_after, &interrupt))
}

fn finished(loaded: &Loaded, fields: &[&str], directory: Option<&SeedDir>) -> SeedResult {
    match run(loaded, fields, None, directory, usize::MAX).unwrap() {
        Outcome::Finished(result) => result,
        other => panic!("{other:?}"),
    }
}

fn config(level: LevelKind, ends: EndsKind, ends_symmetric: bool) -> ModelConfig {
    ModelConfig { level, ends, ends_symmetric, hidden: 12, lap_dim: 4, node_in: 3, ..ModelConfig::default() }
}

fn graph(edges: Vec<[u32; 2]>, pairs: Vec<[u32; 2]>) -> Graph {
    let mut random = stream(1, "nodes", &[]);
    let features = Features::numbers(6, 3, (0..18).map(|_| random.normal() as f32).collect()).unwrap();
    let no_features = Features::none(edges.len());
    Graph::new(6, edges, features, no_features).unwrap().with_pairs(pairs).unwrap()
}

fn outputs(model: &GraphMinNet, graph: Graph) -> Vec<u32> {
    let prepared = prepare_graph(&Arc::new(graph), &model.config().prepare_options()).unwrap();
    let input = ModelInput::from_prepared(model.config(), &[&prepared], &Device::flex()).unwrap();
    let values = model.forward(&input, Pass::Eval).into_data().try_to_vec::<f32>().unwrap();
    values.into_iter().map(f32::to_bits).collect()
}

#[test]
fn a_symmetric_head_gives_the_same_bits_for_both_orders_and_another_one_does_not() {
    let ring: Vec<[u32; 2]> = (0..6u32).flat_map(|a| [[a, (a + 1) % 6], [(a + 1) % 6, a]]).collect();
    let asked = vec![[0, 3], [3, 0], [1, 4], [4, 1], [2, 2]];
    for ends in [EndsKind::Hadamard, EndsKind::Concat, EndsKind::Both] {
        for symmetric in [true, false] {
            let config = config(LevelKind::Pair, ends, symmetric);
            let model = GraphMinNet::new(&config, 3, &Device::flex()).unwrap();
            let said = outputs(&model, graph(ring.clone(), asked.clone()));
            assert_eq!(said.len(), 5);
            let same = said[0] == said[1] && said[2] == said[3];
            assert_eq!(same, symmetric || ends == EndsKind::Hadamard, "{ends} {symmetric}");
            assert_ne!(said[0], said[2], "different pairs have different answers");
        }
    }
}

#[test]
fn the_way_in_which_an_undirected_edge_is_written_changes_no_answer() {
    let said = |third: &str| {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("nodes.csv", "node_id,x\n0,0.5\n1,-1.25\n2,2.5\n3,0.75\n");
        write(
            "edges.csv",
            &format!(
                "source,destination,w,target\n0,1,0.5,1.5\n1,2,1.5,2.5\n{third},0.25,3.5\n0,3,2.5,0.5\n"
            ),
        );
        let both = ReadOptions { edges: Some(EdgeDirection::BothWays), ..ReadOptions::default() };
        let dataset = open(folder.path(), &both).unwrap().dataset;
        let loaded = Loaded::split(dataset, &SplitChoice::Auto { seed: 0 }).unwrap();
        let recipe = recipe(&loaded, &["model.hidden=16", "model.pe_dim=4", "model.local=gatedgcn"]);
        assert!(recipe.model.ends_symmetric && recipe.model.head_reads_edges());
        let model = GraphMinNet::new(&recipe.model, 1, &Device::flex()).unwrap();
        let graph = Graph::clone(&loaded.dataset.samples[0].graph);
        let topology = graph.clone();
        let prepared = prepare_graph(&Arc::new(graph), &recipe.model.prepare_options()).unwrap();
        let input = ModelInput::from_prepared(&recipe.model, &[&prepared], &Device::flex()).unwrap();
        let values = model.forward(&input, Pass::Eval).into_data().try_to_vec::<f32>().unwrap();
        let values = input.structure.topology().in_given_order(&values, 1);
        topology
            .written_edges(true)
            .into_iter()
            .map(|at| [values[at].to_bits(), values[at + 1].to_bits()])
            .collect::<Vec<_>>()
    };
    let one = said("2,3");
    assert!(one.iter().all(|[there, back]| there == back), "both directions have one answer");
    assert_eq!(one, said("3,2"));
    let distinct: std::collections::HashSet<_> = one.iter().collect();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn asking_about_a_pair_changes_no_message_and_no_other_answer() {
    let config = config(LevelKind::Pair, EndsKind::Both, true);
    let model = GraphMinNet::new(&config, 3, &Device::flex()).unwrap();
    let path: Vec<[u32; 2]> = (0..5u32).flat_map(|a| [[a, a + 1], [a + 1, a]]).collect();
    let alone = outputs(&model, graph(path.clone(), vec![[0, 5]]));
    let among = outputs(&model, graph(path.clone(), vec![[1, 3], [0, 5], [0, 2], [0, 2]]));
    assert_eq!(alone[0], among[1]);
    assert_eq!(among[2], among[3], "a pair that is asked about twice has one answer");
    // As an edge it would: the test can tell.
    let mut with_edge = path;
    with_edge.extend([[0, 5], [5, 0]]);
    assert_ne!(alone[0], outputs(&model, graph(with_edge, vec![[0, 5]]))[0]);
}

/// Edges whose target is the difference of a feature of their ends and a tenth of their own.
fn weighted(symmetric: bool) -> Loaded {
    let mut dataset = papers(120);
    let sample = &mut dataset.samples[0];
    let graph = &sample.graph;
    let mut random = stream(5, "weights", &[]);
    let level: Vec<f32> = (0..120).map(|_| random.normal() as f32).collect();
    let kept: Vec<usize> = if symmetric {
        (0..graph.num_edges()).collect()
    } else {
        (0..graph.num_edges()).step_by(2).collect()
    };
    let graph = graph.with_edges_at(&kept).unwrap();
    let ends = |&[a, b]: &[u32; 2]| (level[a as usize], level[b as usize]);
    let targets = graph.edges().iter().map(|edge| {
        let (a, b) = ends(edge);
        if symmetric { (a - b).abs() } else { a - b }
    });
    sample.targets = targets.collect();
    let nodes = Features::numbers(120, 1, level.clone()).unwrap();
    sample.graph = Arc::new(graph.with_node_features(nodes).unwrap());
    dataset.schema.level = Level::Edge;
    dataset.schema.task = Task::Regression;
    dataset.schema.targets = vec!["gap".into()];
    dataset.schema.node_columns.truncate(1);
    dataset.node_parts = None;
    Loaded::split(dataset, &SplitChoice::Auto { seed: 1 }).unwrap()
}

#[test]
fn targets_of_edges_are_learnt_and_the_model_file_says_what_training_said() {
    for symmetric in [true, false] {
        let loaded = weighted(symmetric);
        assert_eq!(recipe(&loaded, &[]).model.ends_symmetric, symmetric);
        let folder = tempfile::tempdir().unwrap();
        let directory = SeedDir::new(folder.path().join("seed")).unwrap();
        let fields = [
            "train.epochs=200",
            "train.warmup=2",
            "train.learning_rate=0.01",
            "model.hidden=16",
            "model.layers=1",
            "model.node_pe=none",
            "model.drop_local=0.0",
            "model.drop_res=0.0",
            "model.drop_ffn=0.0",
        ];
        let result = finished(&loaded, &fields, Some(&directory));
        let known: Vec<f64> =
            loaded.dataset.samples[0].targets.iter().map(|target| f64::from(*target)).collect();
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let of_the_mean = known.iter().map(|target| (target - mean).abs()).sum::<f64>() / known.len() as f64;
        assert!(
            result.best.test.unwrap() < 0.6 * of_the_mean,
            "{symmetric}: {:?}, {of_the_mean}",
            result.best
        );

        let bundle = Bundle::load(&directory.file("best.gmn")).unwrap();
        let sample = &loaded.dataset.samples[0];
        let said = bundle.predict(std::slice::from_ref(&sample.graph));
        let said: Vec<f32> = said.graph(0).unwrap().outputs();
        assert_eq!(said.len(), sample.graph.num_edges());
        let table = std::fs::read_to_string(directory.file("test_predictions.csv")).unwrap();
        let mut lines = table.lines();
        assert_eq!(lines.next(), Some("id,source,destination,gap,pred_gap"));
        let parts = loaded.dataset.node_parts.as_ref().unwrap().graph(0);
        let test: Vec<usize> = (0..parts.len()).filter(|&row| parts[row] == Some(Split::Test)).collect();
        assert_eq!(lines.clone().count(), test.len());
        for (line, row) in lines.zip(test) {
            let [a, b] = sample.graph.edges()[row];
            assert_eq!(line, format!("0,{a},{b},{},{}", sample.targets[row], said[row]));
        }
        let errors = (0..parts.len()).filter(|&row| parts[row] == Some(Split::Test));
        let errors: Vec<f64> = errors.map(|row| f64::from((said[row] - sample.targets[row]).abs())).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!((mean - result.best.test.unwrap()).abs() < 1e-5, "rows of edges are in order");
    }
}

#[test]
fn labels_of_other_parts_change_no_weight_at_edge_level() {
    let fields = ["train.epochs=3", "model.hidden=16", "model.pe_dim=4"];
    let weights = |change: Option<Split>| {
        let mut loaded = weighted(true);
        let parts = loaded.dataset.node_parts.clone().unwrap();
        for (target, part) in loaded.dataset.samples[0].targets.iter_mut().zip(parts.graph(0)) {
            if change.is_some() && *part == change {
                // Not a shift: targets are standardised.
                *target *= -2.0;
            }
        }
        let result = finished(&loaded, &fields, None);
        (result.last_weights_sha256, result.best.test)
    };
    let (plain, test) = weights(None);
    let (other_test, changed) = weights(Some(Split::Test));
    assert_eq!(plain, other_test);
    assert_ne!(test, changed);
    assert_ne!(plain, weights(Some(Split::Train)).0);
}

#[test]
fn links_are_learnt_with_pairs_drawn_anew_and_a_run_resumes_to_the_same_bits() {
    let loaded = links();
    let recipe = recipe(&loaded, &[]);
    assert_eq!((recipe.train.negatives, recipe.train.metric), (1, MetricKind::RocAuc));
    let whole = finished(&loaded, &SHORT, None);
    assert_eq!(whole, SeedResult { seconds: whole.seconds, ..finished(&loaded, &SHORT, None) });
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    let outcome = run(&loaded, &SHORT, None, Some(&directory), 2).unwrap();
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    let resumed = finished(&loaded, &SHORT, Some(&directory));
    assert_eq!(resumed.last_weights_sha256, whole.last_weights_sha256);
    assert_eq!(resumed.best, whole.best);
    // Other draws are other weights.
    let more = finished(&loaded, &[&SHORT[..], &["train.negatives=2"]].concat(), None);
    assert_ne!(more.last_weights_sha256, whole.last_weights_sha256);
}

#[test]
fn a_model_of_links_ranks_hidden_ones_and_its_file_gives_the_scores_of_training() {
    let loaded = links();
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    let fields = [
        "train.epochs=100",
        "train.warmup=2",
        "model.hidden=32",
        "model.layers=2",
        "train.learning_rate=0.01",
    ];
    let result = finished(&loaded, &fields, Some(&directory));
    let ensemble = Ensemble::load(&[directory.file("best.gmn")]).unwrap();
    let question = LinkQuestion { part: Some(Split::Test), ..LinkQuestion::default() };
    let scores = ensemble.score_links(&loaded.dataset, question).unwrap();
    assert_eq!(scores.roc_auc, result.best.test);
    assert!(scores.roc_auc.unwrap() > 0.6, "{scores:?}");
    // Chance would be about 0.03 among 190 candidates.
    assert!(scores.mrr.unwrap() > 0.045, "{scores:?}");
    let drawn = LinkQuestion { candidates: Some(20), ..question };
    let few = ensemble.score_links(&loaded.dataset, drawn).unwrap();
    assert_eq!(few, ensemble.score_links(&loaded.dataset, drawn).unwrap());
    assert!(few.mrr > scores.mrr, "fewer candidates are easier");

    // One graph, any pairs, the same numbers; the likeliest ones have no edge.
    let graph = &loaded.dataset.samples[0].graph;
    let questions = PairQuestions::new(&ensemble, graph).unwrap();
    let by_list = questions.scores(graph.pairs()).unwrap();
    let by_graph = ensemble.answer(std::slice::from_ref(graph)).graph(0).unwrap().values();
    assert_eq!(by_list, by_graph);
    assert_eq!(questions.scores(&[]).unwrap(), Vec::<f64>::new());
    let error = questions.scores(&[[0, 200]]).unwrap_err().to_string();
    assert!(error.contains("pair 0 names node 200, but the graph has 200 nodes"), "{error}");
    let best = questions.likeliest(graph, 5).unwrap();
    assert_eq!(best.len(), 5);
    assert!(best.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    assert!(best.iter().all(|(pair, _)| !graph.edges().contains(pair) && pair[0] < pair[1]));
    let all: Vec<[u32; 2]> = (0..200u32).flat_map(|a| (a + 1..200).map(move |b| [a, b])).collect();
    let free: Vec<[u32; 2]> = all.into_iter().filter(|pair| !graph.edges().contains(pair)).collect();
    let most = questions.scores(&free).unwrap().into_iter().fold(0.0, f64::max);
    assert_eq!(best[0].1, most);
    let vast = Graph::from_edges(30_000, Vec::new()).unwrap();
    let error = questions.likeliest(&vast, 1).unwrap_err().to_string();
    assert!(error.contains("30000 nodes have too many pairs"), "{error}");
}

#[test]
fn the_search_for_the_likeliest_pairs_stops_at_the_next_ones_when_nobody_waits() {
    let folder = tempfile::tempdir().unwrap();
    let directory = SeedDir::new(folder.path().join("seed")).unwrap();
    finished(&links(), &SHORT, Some(&directory));
    let ensemble = Ensemble::load(&[directory.file("best.gmn")]).unwrap();
    let stopped = PredictError::Stopped(Stopped);
    let large = papers(800);
    let graph = &large.samples[0].graph;
    assert_eq!(PairQuestions::new_unless(&ensemble, graph, &|| true).err(), Some(stopped.clone()));
    let questions = PairQuestions::new(&ensemble, graph).unwrap();
    let asked = AtomicUsize::new(0);
    let wanted = || asked.fetch_add(1, Ordering::Relaxed) == usize::MAX;
    assert_eq!(questions.likeliest_unless(graph, 5, &wanted), questions.likeliest(graph, 5));
    let all = asked.load(Ordering::Relaxed);
    // 300,000 pairs.
    assert!(all > 4, "asked only {all} times");
    for last in [0, 2, all - 1] {
        asked.store(0, Ordering::Relaxed);
        let over = || asked.fetch_add(1, Ordering::Relaxed) >= last;
        assert_eq!(questions.likeliest_unless(graph, 5, &over), Err(stopped.clone()));
        assert_eq!(asked.load(Ordering::Relaxed), last + 1);
    }
    assert_eq!(questions.answer_unless(&[[0, 1]], &|| true).err(), Some(stopped));
}

#[test]
fn what_does_not_go_with_pairs_is_refused_in_words() {
    let edges = weighted(true);
    let error = run(&edges, &["train.epochs=2"], None, None, 9).map(|_| ());
    assert!(error.is_ok());
    let refused =
        infer_recipe("own", &edges.dataset.schema, &edges, &[Override::parse("train.negatives=1").unwrap()]);
    assert!(refused.unwrap_err().to_string().contains("negatives"), "regression has no links");
    // A yes/no target of nodes has none either.
    let mut nodes = papers(60);
    nodes.schema.task = Task::Binary;
    nodes.samples[0].targets.iter_mut().for_each(|target| *target = f32::from(*target > 3.0));
    let nodes = Loaded::split(nodes, &SplitChoice::Official).unwrap();
    let error = run(&nodes, &["train.epochs=2", "train.negatives=1"], None, None, 9).unwrap_err().to_string();
    assert!(error.contains("train.negatives") && error.contains("pairs"), "{error}");
    // Too few pairs without a link for the draw of an epoch.
    let complete: Vec<[u32; 2]> =
        (0..9u32).flat_map(|a| (0..9u32).filter(move |b| *b != a).map(move |b| [a, b])).collect();
    let mut dense = links();
    let graph = Graph::from_edges(9, complete).unwrap().with_pairs(vec![[0, 0], [1, 1], [2, 2]]).unwrap();
    dense.dataset.samples[0].graph =
        Arc::new(graph.with_node_features(Features::numbers(9, 35, vec![0.0; 315]).unwrap()).unwrap());
    dense.dataset.samples[0].targets = vec![1.0, 1.0, 1.0];
    let parts = Split::ALL.map(Some).to_vec();
    dense.splits = dense.dataset.split_nodes(graphminnet_data::NodeParts::new(vec![parts]));
    let error = run(&dense, &SHORT, None, None, 9).unwrap_err().to_string();
    assert!(error.contains("too few pairs without a link"), "{error}");
}

/// Scores by the textbook, counting pairs and places one by one.
#[test]
fn scores_of_links_equal_plain_references() {
    let mut random = stream(9, "scores", &[]);
    let dataset = HideLinks { negatives: 3, ..HideLinks::default() }.apply(&papers(90)).unwrap();
    let n = 90u32;
    // Few distinct values, so that there are ties.
    let value: Vec<f64> = (0..n * n).map(|_| random.below(40) as f64).collect();
    let score = |pair: &[u32; 2]| value[(pair[0].min(pair[1]) * n + pair[0].max(pair[1])) as usize];
    let question = LinkQuestion { part: Some(Split::Test), ..LinkQuestion::default() };
    let found = judge::<graphminnet_data::GraphError>(&dataset, question, |_, _, pairs| {
        Ok(pairs.iter().map(score).collect())
    })
    .unwrap();

    let sample = &dataset.samples[0];
    let parts = dataset.node_parts.as_ref().unwrap().graph(0);
    let rows = || (0..parts.len()).filter(|&row| parts[row] == Some(Split::Test));
    let of = |label: f32| {
        rows()
            .filter(|&row| sample.targets[row] == label)
            .map(|row| sample.graph.pairs()[row])
            .collect::<Vec<_>>()
    };
    let (yes, no) = (of(1.0), of(0.0));
    assert_eq!((found.links, found.others), (yes.len(), no.len()));
    let mut wins = 0.0;
    for a in &yes {
        for b in &no {
            wins += if score(a) > score(b) {
                1.0
            } else if score(a) == score(b) {
                0.5
            } else {
                0.0
            };
        }
    }
    assert!((found.roc_auc.unwrap() - wins / (yes.len() * no.len()) as f64).abs() < 1e-12);
    let mut best: Vec<f64> = no.iter().map(score).collect();
    best.sort_by(|a, b| b.total_cmp(a));
    for (k, hits) in [(20, found.hits_at_20), (50, found.hits_at_50), (100, found.hits_at_100)] {
        let expected = match best.get(k - 1) {
            Some(kth) => yes.iter().filter(|pair| score(pair) > *kth).count() as f64 / yes.len() as f64,
            None => 1.0,
        };
        assert_eq!(hits, Some(expected), "{k}");
    }
    let is_link = |a: u32, b: u32| {
        let hidden = sample.graph.pairs().iter().zip(&sample.targets).filter(|(_, target)| **target == 1.0);
        sample.graph.edges().contains(&[a, b])
            || hidden.clone().any(|(pair, _)| *pair == [a, b] || *pair == [b, a])
    };
    let ranks: Vec<f64> = yes
        .iter()
        .map(|&[a, b]| {
            let others = (0..n).filter(|&node| node != a && !is_link(a, node)).map(|node| score(&[a, node]));
            let (own, others) = (score(&[a, b]), others.collect::<Vec<_>>());
            let optimistic = others.iter().filter(|other| **other > own).count() as f64;
            let pessimistic = others.iter().filter(|other| **other >= own).count() as f64;
            assert_eq!(rank(own, others.into_iter()), 0.5 * (optimistic + pessimistic) + 1.0);
            0.5 * (optimistic + pessimistic) + 1.0
        })
        .collect();
    let mean = |of: &dyn Fn(f64) -> f64| ranks.iter().map(|rank| of(*rank)).sum::<f64>() / ranks.len() as f64;
    assert!((found.mrr.unwrap() - mean(&|rank| 1.0 / rank)).abs() < 1e-12);
    for (k, hits) in [(1.0, found.hits_at_1), (3.0, found.hits_at_3), (10.0, found.hits_at_10)] {
        assert!((hits.unwrap() - mean(&|rank| f64::from(u8::from(rank <= k)))).abs() < 1e-12);
    }
    // The metric that training selects by is the same.
    let outputs: Vec<f32> = rows().map(|row| (score(&sample.graph.pairs()[row]) / 10.0) as f32).collect();
    let targets: Vec<f32> = rows().map(|row| sample.targets[row]).collect();
    let rows = Rows { outputs: &outputs, columns: 1, targets: &targets, target_columns: 1 };
    assert_eq!(metric::evaluate(MetricKind::HitsAt20, rows).unwrap().value, found.hits_at_20.unwrap());
    assert_eq!(metric::evaluate(MetricKind::RocAuc, rows).unwrap().value, found.roc_auc.unwrap());
}

/// What a run says before it spends time.
#[derive(Default)]
struct Doubts(Vec<String>);

impl graphminnet::train::Observer for &mut Doubts {
    fn event(&mut self, event: &TrainEvent) {
        if let TrainEvent::Doubt(doubt) = event {
            self.0.push(doubt.clone());
        }
    }
}

#[test]
fn links_that_are_edges_and_hits_that_mean_nothing_are_doubted() {
    let doubts = |loaded: &Loaded, metric: &str| {
        let recipe = recipe(loaded, &["train.epochs=1", "train.warmup=0", "model.hidden=16", metric]);
        let splits = loaded.splits.clone();
        let (data, _) = TrainingData::prepare(&loaded.dataset, splits, &recipe.model, None, &()).unwrap();
        let mut doubts = Doubts::default();
        let interrupt = AtomicBool::new(false);
        let settings = Settings::new("own", &recipe.model, &recipe.train, &interrupt);
        train_seed(&settings, &data, None, &mut &mut doubts).unwrap();
        doubts.0
    };
    let mut loaded = links();
    assert_eq!(doubts(&loaded, "train.metric=hits_at_50"), Vec::<String>::new());
    // With fewer negatives than it looks at, hits@K is 1 for any model.
    let said = doubts(&loaded, "train.metric=hits_at_100");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("hits_at_100 is 1 on the validation part whatever the model says"),
        "{said:?}"
    );
    // The edges of the whole graph beside the same questions: every hidden link is an edge again.
    let sample = &mut loaded.dataset.samples[0];
    let pairs = sample.graph.pairs().to_vec();
    let whole = Graph::clone(&papers(200).samples[0].graph).with_pairs(pairs).unwrap();
    sample.graph = Arc::new(whole);
    let parts = loaded.dataset.node_parts.as_ref().unwrap();
    let said = doubts(&loaded, "train.metric=roc_auc");
    let tested = loaded.dataset.samples[0].targets.iter().zip(parts.graph(0));
    let tested = tested.filter(|(target, part)| **target == 1.0 && **part == Some(Split::Test)).count();
    assert_eq!(said.len(), 3, "{said:?}");
    let expected = format!("{tested} of the {tested} links of the test part are edges of the graph");
    assert!(said[2].starts_with(&expected), "{said:?}");
}
