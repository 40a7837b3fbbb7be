//! The registry on local copies: the paper's table beside ours.

mod common;

use graphminnet_data::registry::{compare, datasets, find, load};
use graphminnet_data::{DataError, Featurizer, ReadOptions, Split, statistics};

/// What a local copy is known to differ in, from its own description.
const DEVIATING: [(&str, &[&str]); 3] = [
    ("cifar10", &["graphs", "edges"]),
    ("pattern", &["graphs", "nodes", "edges"]),
    ("cluster", &["graphs", "nodes", "edges"]),
];

/// Sizes of train, valid and test of the local copies.
const PART_SIZES: [(&str, [usize; 3]); 8] = [
    ("zinc", [10_000, 1_000, 1_000]),
    ("ogbg-molhiv", [32_901, 4_113, 4_113]),
    ("mnist", [55_000, 5_000, 10_000]),
    ("cifar10", [10_000, 5_000, 10_000]),
    ("pattern", [120, 40, 40]),
    ("cluster", [120, 40, 40]),
    ("malnet-tiny", [3_500, 500, 1_000]),
    ("peptides-func", [10_873, 2_331, 2_331]),
];

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn statistics_agree_with_the_papers_table() {
    let data = common::real_data();
    eprintln!("{:20} {:>17} {:>17} {:>19}  task", "", "graphs", "nodes", "edges");
    for info in datasets() {
        let start = std::time::Instant::now();
        let read = match load(&info.name, Some(&data), &ReadOptions::default()) {
            Ok(read) => read,
            Err(DataError::NotHere(not_here)) => {
                eprintln!("{:20} not here", not_here.info.title);
                continue;
            }
            Err(error) => panic!("{}: {error}", info.name),
        };
        let seconds = start.elapsed().as_secs_f64();
        let comparison = compare(info, &statistics(&read.dataset));
        let cell = |(paper, ours, _): &(String, String, bool)| format!("{paper} | {ours}");
        eprintln!(
            "{:20} {:>17} {:>17} {:>19}  {:?} {:?}, loaded in {seconds:.2} s",
            comparison.title,
            cell(&comparison.graphs),
            cell(&comparison.nodes),
            cell(&comparison.edges),
            info.level,
            info.task()
        );
        assert!(comparison.same_task, "{}", info.name);
        let known =
            DEVIATING.iter().find(|(name, _)| *name == info.name).map_or(&[][..], |(_, fields)| fields);
        for (field, (_, _, is_equal)) in
            [("graphs", &comparison.graphs), ("nodes", &comparison.nodes), ("edges", &comparison.edges)]
        {
            assert!(*is_equal || known.contains(&field), "{}: {field}", info.name);
        }
        let parts = read.dataset.official_split.as_ref().unwrap();
        let sizes = [Split::Train, Split::Valid, Split::Test]
            .map(|part| parts.iter().filter(|p| **p == part).count());
        assert_eq!(
            Some(&sizes),
            PART_SIZES.iter().find(|(name, _)| *name == info.name).map(|(_, sizes)| sizes)
        );
        let notes_part = read.report.differences.iter().any(|note| note.contains("the published one"));
        assert_eq!(notes_part, !comparison.graphs.2, "{}", info.name);
    }
}

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn molecule_data_sets_have_the_columns_of_a_featurizer() {
    let data = common::real_data();
    for (name, expected) in [("zinc", Featurizer::Zinc), ("ogbg-molhiv", Featurizer::Ogb)] {
        let read = load(name, Some(&data), &ReadOptions::default()).unwrap();
        assert_eq!(Featurizer::of_schema(&read.dataset.schema), Some(expected));
        // A frozen schema reads the same data set again.
        let again = load(name, Some(&data), &ReadOptions::with_schema(read.dataset.schema.clone())).unwrap();
        assert_eq!(again.dataset.schema, read.dataset.schema);
    }
}

#[test]
#[ignore = "needs the benchmark data: GRAPHMINNET_DATA"]
fn a_copy_that_does_not_fit_the_schema_is_refused() {
    let data = common::real_data();
    let mut schema = load("zinc", Some(&data), &ReadOptions::default()).unwrap().dataset.schema;
    schema.node_columns[0].name = "other".to_owned();
    let error = load("zinc", Some(&data), &ReadOptions::with_schema(schema)).unwrap_err();
    assert!(matches!(error, DataError::Schema { .. }), "{error}");
    assert_eq!(find("ZINC").unwrap().folder, "zinc-12k");
}
