//! What models say about graphs: each on its own, in its place, and never a number that is none.
#![cfg(feature = "train")]

mod common;

use burn::tensor::Device;
use common::small_bundle::{bundle, description, graphs};
use graphminnet::bundle::{
    Answer, Bundle, BundleError, Conformal, Ensemble, PredictError, TargetScaler, evaluate,
};
use graphminnet::config::LevelKind;
use graphminnet::task::assess::Bootstrap;
use graphminnet::weights;
use graphminnet_data::formats::Format;
use graphminnet_data::spectral::Stopped;
use graphminnet_data::{Dataset, Features, Graph, ReadOptions, RowReader, Sample};
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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
