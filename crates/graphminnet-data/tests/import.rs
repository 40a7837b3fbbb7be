//! Importers on small files in the published layouts (made by `fixtures/import/make_fixtures.py`).

use graphminnet_data::import::import;
use graphminnet_data::registry::find;
use graphminnet_data::{ColumnKind, Dataset, Level, ReadOptions, Split, Task, registry};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/import")
}

fn imported(name: &str, files: &[&str]) -> Dataset {
    let sources: Vec<PathBuf> = files.iter().map(|file| fixtures().join(file)).collect();
    import(find(name).unwrap(), &sources, &ReadOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
        .dataset
}

fn splits(dataset: &Dataset) -> Vec<Split> {
    dataset.official_split.clone().unwrap()
}

#[test]
fn zinc_pickles_with_index_files() {
    let dataset = imported("zinc", &["molecules.zip", "train.index", "val.index", "test.index"]);
    assert_eq!(splits(&dataset), [Split::Train, Split::Train, Split::Valid, Split::Test]);
    let methane = &dataset.samples[0];
    assert_eq!((methane.graph.num_nodes(), methane.graph.num_edges(), methane.targets[0]), (1, 0, 0.0));
    let ethanol = &dataset.samples[1];
    assert_eq!(ethanol.graph.edges(), [[0, 1], [1, 0], [1, 2], [2, 1]]);
    assert_eq!(ethanol.graph.node_features().category_values(), [0, 0, 1]);
    assert_eq!(ethanol.targets, [1.5]);
    assert_eq!(dataset.samples[2].graph.edge_features().category_values(), [2, 2]);
    assert_eq!(
        dataset.schema.node_vocabulary(),
        [28],
        "the benchmark's vocabulary, not what happens to occur"
    );
}

#[test]
fn superpixels_from_a_zip_of_torch_zips() {
    let dataset = imported("mnist", &["MNIST_v2.zip"]);
    assert_eq!(dataset.schema.task, Task::MultiClass { classes: 10 });
    assert_eq!(dataset.schema.node_numbers(), 3);
    let first = &dataset.samples[0];
    assert_eq!(first.graph.node_features().number_row(1), [0.25, 2.5, 3.5]);
    assert_eq!(first.graph.edges(), [[1, 0], [2, 0]]);
    assert_eq!(first.graph.edge_features().number_values(), [0.125, 0.125]);
    assert_eq!(first.targets, [7.0]);
    assert_eq!(splits(&dataset), [Split::Train, Split::Train, Split::Valid, Split::Test]);
}

#[test]
fn collated_graph_objects_with_one_hot_categories() {
    let dataset = imported("cluster", &["CLUSTER_v2.zip"]);
    assert_eq!(dataset.schema.level, Level::Node);
    assert_eq!(dataset.schema.node_vocabulary(), [7]);
    assert!(matches!(dataset.schema.node_columns[0].kind, ColumnKind::Category { size: 7, .. }));
    assert_eq!(dataset.samples.len(), 6);
    let second = &dataset.samples[1];
    assert_eq!(second.graph.node_features().category_values(), [0, 6, 1]);
    assert_eq!(second.graph.edges(), [[0, 2], [2, 0]]);
    assert_eq!(second.targets, [5.0, 0.0, 1.0]);
}

#[test]
fn tuples_in_plain_pickles() {
    let dataset = imported("pascalvoc-sp", &["pascalvocsp.zip"]);
    assert_eq!((dataset.schema.node_numbers(), dataset.schema.edge_numbers()), (14, 2));
    assert_eq!(dataset.samples[1].graph.num_nodes(), 25);
    assert_eq!(dataset.samples[1].targets[24], 3.0);
    assert_eq!(splits(&dataset), [Split::Train, Split::Train, Split::Valid, Split::Test]);
}

#[test]
fn peptides_from_torch_files() {
    let dataset = imported("peptides-func", &["peptidesfunc.zip"]);
    assert_eq!(dataset.schema.node_vocabulary(), [119, 5, 12, 12, 10, 6, 6, 2, 2]);
    assert_eq!(dataset.schema.node_columns[0].name, "atomic_number");
    assert_eq!(dataset.samples[0].targets, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let structure = imported("peptides-struct", &["peptidesstruct.zip"]);
    assert_eq!((structure.schema.task, structure.samples[0].targets.len()), (Task::Regression, 11));
}

#[test]
fn peptides_from_the_table_and_the_pickled_split() {
    let dataset = imported(
        "peptides-func",
        &["peptide_multi_class_dataset.csv.gz", "splits_random_stratified_peptide.pickle"],
    );
    assert_eq!(splits(&dataset), [Split::Valid, Split::Test, Split::Train]);
    assert_eq!(dataset.samples[0].targets, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(dataset.samples[0].graph.num_nodes(), 3);
    assert_eq!((dataset.schema.task, dataset.schema.num_targets()), (Task::Binary, 10));
}

#[test]
fn malnet_from_a_tar_and_a_zip() {
    let dataset = imported("malnet-tiny", &["malnet-graphs-tiny.tar.gz", "split_info_tiny.zip"]);
    assert_eq!(dataset.schema.class_names, ["adware", "benign", "trojan"]);
    assert_eq!(splits(&dataset), [Split::Train, Split::Test, Split::Valid]);
    assert_eq!(dataset.samples[0].graph.edges(), [[0, 1], [1, 2]], "gaps are closed");
    assert_eq!((dataset.samples[1].graph.num_nodes(), dataset.samples[1].graph.edges()), (1, &[[0, 0]][..]));
    assert_eq!(dataset.samples[2].targets, [2.0]);
}

#[test]
fn ogb_from_its_zip() {
    let dataset = imported("ogbg-molhiv", &["hiv.zip"]);
    assert_eq!(dataset.samples[0].graph.edges(), [[0, 1], [1, 0]]);
    assert_eq!(dataset.schema.node_vocabulary(), [119, 5, 12, 12, 10, 6, 6, 2, 2]);
    assert_eq!(splits(&dataset), [Split::Train, Split::Test, Split::Valid]);
    assert_eq!(dataset.schema.task, Task::Binary);
}

#[test]
fn a_folder_with_the_published_files_is_imported_by_name() {
    let scratch = std::env::temp_dir().join(format!("graphminnet-import-{}", std::process::id()));
    let folder = scratch.join("ogbg-molhiv");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(fixtures().join("hiv.zip"), folder.join("hiv.zip")).unwrap();
    let read = registry::load("molhiv", Some(&scratch), &ReadOptions::default()).unwrap();
    std::fs::remove_dir_all(&scratch).unwrap();
    assert_eq!(read.dataset.samples.len(), 3);
    assert_eq!(read.dataset.schema.targets, ["HIV_active"]);
    assert!(read.report.differences.iter().any(|note| note.contains("3 graphs, the published one 41127")));
}

#[test]
fn a_missing_data_set_says_what_to_get_and_where_to_put_it() {
    let nowhere = Path::new("/nonexistent-data");
    let error = registry::load("pascalvoc-sp", Some(nowhere), &ReadOptions::default()).unwrap_err();
    let text = error.to_string();
    for part in ["pascalvocsp.zip", "https://", "/nonexistent-data/pascalvoc-sp", "licence"] {
        assert!(text.contains(part), "{text}");
    }
}
