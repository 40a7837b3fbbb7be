//! Folders with a layout of their own: TUDataset, edge lists, OGB, and tables.

mod common;

use common::Scratch;
use common::layouts::{edge_lists, said, three_graphs, two_graphs, usable};
use graphminnet_data::{Column, Level, ReadOptions, Split, open};
use std::path::Path;

/// What is said about a folder that is refused now and was not by earlier rules.
fn said_now(path: &Path, options: &ReadOptions) -> String {
    let earlier = open(path, &ReadOptions { rules: 5, ..options.clone() });
    assert!(earlier.is_ok(), "{:?}", earlier.err().map(|error| error.to_string()));
    open(path, options).unwrap_err().to_string()
}

#[test]
fn the_tudataset_layout_is_read() {
    let scratch = Scratch::new("tu");
    scratch.write("T/T_A.txt", "1, 2\n2, 1\n4, 3\n");
    scratch.write("T/T_graph_indicator.txt", "1\n1\n2\n2\n");
    scratch.write("T/T_graph_labels.txt", "-1\n1\n");
    scratch.write("T/T_node_labels.txt", "0\n1\n2\n0\n");
    scratch.write("T/T_node_attributes.txt", "0.5, 1\n1.5, 2\n2.5, 3\n3.5, 4\n");
    let dataset = open(&scratch.path().join("T"), &ReadOptions::default()).unwrap().dataset;
    assert_eq!(dataset.schema.class_names, ["-1", "1"]);
    assert_eq!(dataset.samples[1].graph.edges(), [[1, 0]]);
    assert_eq!(dataset.samples[1].graph.node_features().category_values(), [2, 0]);
    assert_eq!(dataset.samples[1].graph.node_features().number_row(1), [3.5, 4.0]);
    scratch.write("T/T_A.txt", "1, 3\n");
    let error = open(&scratch.path().join("T"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("T_A.txt, line 1") && error.contains("within one graph"), "{error}");
}

#[test]
fn a_folder_of_edge_lists_counts_nodes_by_the_largest_index() {
    let scratch = Scratch::new("edgelist");
    scratch.write("m/good/a.edgelist", "# comment\n0 5\n1\t2\n");
    scratch.write("m/bad/b.edgelist", "0,0\n");
    scratch.write("m/train.txt", "good/a\n");
    scratch.write("m/test.txt", "bad/b\n");
    let dataset = open(&scratch.path().join("m"), &ReadOptions::default()).unwrap().dataset;
    assert_eq!(dataset.schema.class_names, ["bad", "good"]);
    assert_eq!((dataset.samples[1].graph.num_nodes(), dataset.samples[1].targets[0]), (6, 1.0));
    assert_eq!(dataset.official_split, Some(vec![Split::Test, Split::Train]));
}

#[test]
fn edge_lists_that_are_all_numbered_from_1_have_a_node_too_many_and_that_is_said() {
    let scratch = Scratch::new("edgelist");
    scratch.write("m/good/a.edgelist", "1 2\n2 3\n");
    scratch.write("m/bad/b.edgelist", "2 4\n");
    let folder = scratch.path().join("m");
    let is_said = || {
        let notes = open(&folder, &ReadOptions::default()).unwrap().report.notes;
        notes.iter().any(|note| note.contains("counted from 0: every graph with edges has a node 0"))
    };
    assert!(is_said());
    assert_eq!(open(&folder, &ReadOptions::default()).unwrap().dataset.samples[1].graph.num_nodes(), 4);
    // One node 0 in one of the files says where numbers begin.
    scratch.write("m/bad/b.edgelist", "2 0\n");
    assert!(!is_said());
    // So does no 1 anywhere: numbers may be those of a larger graph.
    scratch.write("m/bad/b.edgelist", "2 4\n");
    scratch.write("m/good/a.edgelist", "2 3\n");
    assert!(!is_said());
}

#[test]
fn a_folder_of_two_tudatasets_is_refused_and_attributes_beside_labels_are_named() {
    let scratch = Scratch::new("tu");
    for name in ["MUTAG", "PROTEINS"] {
        scratch.write(&format!("T/{name}_A.txt"), "1, 2\n3, 4\n");
        scratch.write(&format!("T/{name}_graph_indicator.txt"), "1\n1\n2\n2\n");
        scratch.write(&format!("T/{name}_graph_labels.txt"), "1\n2\n");
    }
    let folder = scratch.path().join("T");
    let error = said_now(&folder, &ReadOptions::default());
    assert!(
        error.contains("several data sets, `MUTAG`, `PROTEINS`") && error.contains("folder of its own"),
        "{error}"
    );
    for file in ["A", "graph_indicator", "graph_labels"] {
        std::fs::remove_file(folder.join(format!("PROTEINS_{file}.txt"))).unwrap();
    }
    assert!(
        !open(&folder, &ReadOptions::default())
            .unwrap()
            .report
            .notes
            .iter()
            .any(|note| note.contains("not used"))
    );
    scratch.write("T/MUTAG_graph_attributes.txt", "0.5\n1.5\n");
    let notes = open(&folder, &ReadOptions::default()).unwrap().report.notes;
    let note = "the targets are MUTAG_graph_labels.txt; MUTAG_graph_attributes.txt is not used";
    assert!(notes.iter().any(|found| found == note), "{notes:?}");
}

#[test]
fn an_edge_list_outside_the_folders_of_classes_is_named() {
    let scratch = Scratch::new("edgelist");
    for file in ["bad/a", "good/b", "c", "d"] {
        scratch.write(&format!("m/{file}.edgelist"), "0 1\n");
    }
    let read = open(&scratch.path().join("m"), &ReadOptions::default()).unwrap();
    assert_eq!(read.dataset.samples.iter().filter(|sample| sample.targets[0].is_nan()).count(), 2);
    let note = "2 graphs in no class folder, without a label; the first is c.edgelist";
    assert!(read.report.notes.iter().any(|found| found == note), "{:?}", read.report.notes);
}

#[test]
fn a_split_scheme_of_edge_lists_is_the_name_of_a_folder() {
    let scratch = Scratch::new("edgelist");
    scratch.write("m/good/a.edgelist", "0 1\n");
    scratch.write("m/bad/b.edgelist", "0 1\n");
    for (scheme, train, test) in [("random", "good/a", "bad/b"), ("by/size", "bad/b", "good/a")] {
        scratch.write(&format!("m/split/{scheme}/train.txt"), train);
        scratch.write(&format!("m/split/{scheme}/test.txt"), test);
    }
    let folder = scratch.path().join("m");
    let named = |scheme: &str| ReadOptions { split: Some(scheme.to_owned()), ..ReadOptions::default() };
    let parts = |scheme: &str| open(&folder, &named(scheme)).unwrap().dataset.official_split.unwrap();
    assert_eq!(parts("random"), [Split::Test, Split::Train]);
    for scheme in ["by", "by/size", "size"] {
        assert_eq!(parts(scheme), [Split::Train, Split::Test], "{scheme}");
    }
    for scheme in ["scaffold", "om", "y/size"] {
        let error = said_now(&folder, &named(scheme));
        let expected = format!(
            "there is no split scheme `{scheme}`; there are split files in the folders `split/by/size`, `split/random`"
        );
        assert!(error.contains(&expected), "{error}");
    }
    assert!(open(&folder, &ReadOptions { ignore_split: true, ..named("scaffold") }).is_ok());
}

#[test]
fn parts_that_nobody_asks_for_may_be_called_what_they_like() {
    let scratch = Scratch::new("tables");
    scratch.write("csv/nodes.csv", "node_id,x,label,split\na,0.5,0,fold1\nb,1.5,1,fold2\n");
    scratch.write("csv/edges.csv", "source,destination\na,b\n");
    scratch.write("ogb/raw/num-node-list.csv", "2\n2\n");
    scratch.write("ogb/raw/num-edge-list.csv", "1\n1\n");
    scratch.write("ogb/raw/edge.csv", "0,1\n0,1\n");
    scratch.write("ogb/raw/graph-label.csv", "0\n1\n");
    scratch.write("ogb/split/size/train.csv", "0\n");
    for (name, expected) in [("csv", "`fold1`"), ("ogb", "split/size/valid.csv")] {
        let folder = scratch.path().join(name);
        let asked = ReadOptions {
            targets: (name == "csv").then(|| vec!["label".to_owned()]),
            ..ReadOptions::default()
        };
        let error = open(&folder, &asked).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        let read = open(&folder, &ReadOptions { ignore_split: true, ..asked }).unwrap();
        assert!(read.dataset.schema.node_columns.iter().all(|column| column.name != "split"));
    }
}

#[test]
fn a_wrong_label_of_a_node_is_shown_in_its_own_file() {
    let scratch = Scratch::new("ogb");
    scratch.write("raw/num-node-list.csv", "2\n");
    scratch.write("raw/num-edge-list.csv", "1\n");
    scratch.write("raw/edge.csv", "0,1\n");
    scratch.write("raw/node-label.csv", "0\n7.5\n");
    scratch.write("meta.json", r#"{"task": "classification", "num_classes": 3}"#);
    let error = open(scratch.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("raw/node-label.csv") && !error.contains("graph-label"), "{error}");
}

#[test]
fn a_graph_number_that_is_skipped_is_refused() {
    let scratch = Scratch::new("skipped");
    let folder = three_graphs(&scratch, "0\n1\n0\n1\n");
    scratch.write("T/T_A.txt", "1, 2\n");
    scratch.write("T/T_graph_indicator.txt", "1\n1\n1\n4\n");
    let error = said(&folder, &ReadOptions::default());
    for piece in ["T_graph_indicator.txt", "no node of graph 2", "nodes of graph 4", "out of the labels"] {
        assert!(error.contains(piece), "{error}");
    }
    let earlier = open(&folder, &ReadOptions { rules: 5, ..ReadOptions::default() }).unwrap().dataset;
    assert_eq!(earlier.samples.len(), 4);
    // Graphs may come in any order.
    scratch.write("T/T_graph_labels.txt", "0\n1\n0\n");
    scratch.write("T/T_graph_indicator.txt", "1\n1\n3\n2\n");
    assert_eq!(open(&folder, &ReadOptions::default()).unwrap().dataset.samples.len(), 3);
}

#[test]
fn a_name_of_a_split_file_is_that_of_one_graph() {
    let scratch = Scratch::new("names");
    let folder = edge_lists(&scratch, "lists", &["a", "b", "c"]);
    let default = ReadOptions::default();
    let read = |train: &str| {
        scratch.write("lists/train.txt", train);
        open(&folder, &default).map(|read| read.dataset.official_split)
    };
    let error = read("g\n").unwrap_err().to_string();
    for piece in ["train.txt, line 1", "`g`", "`a/g`, `b/g`, `c/g`", "Write the folder"] {
        assert!(error.contains(piece), "{error}");
    }
    let error = read("a/g\nb/g\nc/g\nnope\n").unwrap_err().to_string();
    assert!(error.contains("train.txt, line 4") && error.contains("`nope`"), "{error}");
    // The longest name counts; parts that nobody asks for may be anything, and so may those of an earlier run.
    scratch.write("lists/test.txt", "g\n");
    assert_eq!(read("a/g\nb/g\n").unwrap(), Some(vec![Split::Train, Split::Train, Split::Test]));
    scratch.write("lists/test.txt", "nope\n");
    assert!(read("g\n").is_err());
    for options in
        [ReadOptions { ignore_split: true, ..default.clone() }, ReadOptions { rules: 5, ..default }]
    {
        assert!(open(&folder, &options).is_ok());
    }
}

#[cfg(unix)]
#[test]
fn links_of_a_folder_are_followed_and_what_is_left_out_is_named() {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new("linked");
    let folder = edge_lists(&scratch, "m", &["good", "a/b/c/d/e/f/g/h/i"]);
    scratch.write("m/good/LARGE.EDGELIST", "0 1\n");
    scratch.write("elsewhere/bad/b.edgelist", "0 1\n");
    scratch.write("elsewhere/c.edgelist", "0 1\n");
    scratch.write("elsewhere/names", "good/g\ngood/LARGE\ngood/c\n");
    scratch.write("m/test.txt", "bad/b\n");
    symlink("../elsewhere/bad", folder.join("bad")).unwrap();
    symlink("../../elsewhere/c.edgelist", folder.join("good/c.edgelist")).unwrap();
    symlink("../elsewhere/names", folder.join("train.txt")).unwrap();
    symlink("..", folder.join("good/round")).unwrap();
    symlink("nowhere", folder.join("good/lost.edgelist")).unwrap();
    std::fs::write(folder.join(std::ffi::OsStr::from_bytes(b"good/\xff.edgelist")), "0 1\n").unwrap();
    let read = open(&folder, &ReadOptions::default()).unwrap();
    let ids: Vec<&str> = read.dataset.samples.iter().map(|sample| sample.id.as_str()).collect();
    assert_eq!(ids, ["bad/b", "good/LARGE", "good/c", "good/g"]);
    let [train, test] = [Split::Train, Split::Test];
    assert_eq!(read.dataset.official_split, Some(vec![test, train, train, train]));
    let note = read.report.notes.iter().find(|note| note.starts_with("left out")).unwrap();
    for piece in ["`a/b/c/d/e/f/g/h/i` (more than 8 folders deep)", "and 3 more"] {
        assert!(note.contains(piece), "{note}");
    }
    // A run of an earlier version goes on with what it had.
    let earlier = open(&folder, &ReadOptions { rules: 6, ignore_split: true, ..ReadOptions::default() });
    let earlier = earlier.unwrap().dataset;
    assert_eq!(earlier.samples.iter().map(|sample| sample.id.as_str()).collect::<Vec<_>>(), ["good/g"]);
}

#[test]
fn a_model_knows_its_class_in_a_folder_of_one_class() {
    let scratch = Scratch::new("one-class");
    let both = open(&edge_lists(&scratch, "both", &["benign", "evil"]), &ReadOptions::default()).unwrap();
    let options = ReadOptions::with_schema(both.dataset.schema);
    let one = open(&edge_lists(&scratch, "one", &["evil/old"]), &options).unwrap().dataset;
    assert_eq!(one.samples[0].targets, [1.0]);
    let files = edge_lists(&scratch, "split", &["evil/old", "evil/new"]);
    let targets: Vec<f32> =
        open(&files, &options).unwrap().dataset.samples.iter().map(|sample| sample.targets[0]).collect();
    assert_eq!(targets, [1.0, 1.0]);
}

#[test]
fn attributes_of_networkx_are_named() {
    let scratch = Scratch::new("networkx");
    scratch.write("m/a/a.edgelist", "0 1 {}\n");
    let error = said(&scratch.path().join("m"), &ReadOptions::default());
    assert!(error.contains("a.edgelist, line 1") && error.contains("data=False"), "{error}");
}

#[test]
fn a_wrong_value_of_a_tudataset_is_shown_in_its_own_file() {
    let scratch = Scratch::new("tu");
    let folder = three_graphs(&scratch, "1\n2\n1\n");
    scratch.write("T/T_node_labels.txt", "0\n1\n2\n1\n0\n1\n");
    let schema = open(&folder, &ReadOptions::default()).unwrap().dataset.schema;
    let options = ReadOptions::with_schema(schema);
    scratch.write("T/T_graph_labels.txt", "1\n\n2\n7\n");
    scratch.write("T/T_node_labels.txt", "0\n1\n2\n9\n0\n1\n");
    let error = said(&folder, &options);
    for piece in [
        "T_graph_labels.txt, line 4, column `class`: `7`",
        "T_node_labels.txt, column `node_label_0`: `9`",
        "(of graph 2)",
    ] {
        assert!(error.contains(piece), "{error}");
    }
}

#[test]
fn columns_that_a_format_does_not_have_are_refused() {
    let scratch = Scratch::new("no-columns");
    let name = || Some("nope".to_owned());
    let id = ReadOptions { id_column: name(), ..ReadOptions::default() };
    let smiles = ReadOptions { smiles_column: name(), ..ReadOptions::default() };
    let lines = scratch.write("a.jsonl", "{\"num_nodes\":1,\"edges\":[],\"y\":1}\n");
    let graph6 = scratch.write("a.g6", "A_\n");
    let folders = [
        edge_lists(&scratch, "m", &["a", "b"]),
        three_graphs(&scratch, "1\n2\n1\n"),
        two_graphs(&scratch, "graph_id,y\na,1\nb,2\n"),
        graph6,
    ];
    let refused = |path: &Path, options: &ReadOptions, option: &str| {
        let earlier = open(path, &ReadOptions { rules: 6, ..options.clone() });
        assert!(earlier.is_ok(), "{:?}", earlier.err().map(|error| error.to_string()));
        let error = said(path, options);
        assert!(error.contains(&format!("`{option} nope` has no effect")), "{error}");
    };
    for path in &folders {
        refused(path, &id, "--id-column");
        refused(path, &smiles, "--smiles-column");
    }
    refused(&lines, &smiles, "--smiles-column");
}

#[test]
fn tables_without_graph_id_are_of_the_only_graph() {
    let scratch = Scratch::new("only-graph");
    scratch.write("t/nodes.csv", "node_id\nx\ny\n");
    scratch.write("t/edges.csv", "source,destination\nx,y\n");
    scratch.write("t/graphs.csv", "graph_id,y\na,1\n");
    let folder = scratch.path().join("t");
    let read = open(&folder, &ReadOptions::default()).unwrap().dataset;
    assert_eq!((read.samples[0].id.as_str(), read.samples[0].graph.edges()), ("a", &[[0, 1]][..]));
    let names = graphminnet_data::formats::NodeNames::read(&folder, &ReadOptions::default());
    assert_eq!(names.unwrap().unwrap().name("a", 1), Some("y"));
    scratch.write("t/graphs.csv", "graph_id,y\n0,1\n1,2\n");
    let error = said_now(&folder, &ReadOptions::default());
    assert!(error.contains("nodes.csv") && error.contains("no column `graph_id`, and 2 graphs"), "{error}");
}

#[test]
fn other_separators_in_a_folder_of_tables_are_named() {
    let scratch = Scratch::new("separators");
    for (separator, name) in [(";", "semicolons"), ("\t", "tabs")] {
        let with = |text: &str| text.replace(',', separator);
        scratch.write("t/edges.csv", with("graph_id,source,destination\na,0,1\n"));
        scratch.write("t/graphs.csv", "graph_id,num_nodes,y\na,2,1\n");
        let error = said(&scratch.path().join("t"), &ReadOptions::default());
        let expected = format!("columns separated by {name}, expected commas");
        assert!(error.contains("edges.csv") && error.contains(&expected), "{error}");
        let pairs = scratch.write("pairs.csv", with("source,destination\n0,1\n"));
        let limits = graphminnet_data::Limits::default();
        let error = graphminnet_data::formats::read_pair_list(&pairs, &limits, None).unwrap_err().to_string();
        assert!(error.contains(&expected), "{error}");
    }
}

/// Names of the features of nodes and of edges, and of the targets.
fn columns_of(folder: &Path, options: &ReadOptions) -> [Vec<String>; 3] {
    let schema = open(folder, options).unwrap().dataset.schema;
    let names = |columns: Vec<Column>| columns.into_iter().map(|column| column.name).collect();
    [names(schema.node_columns), names(schema.edge_columns), schema.targets]
}

#[test]
fn columns_without_a_name_are_ignored_in_tables_of_graphs_unless_they_are_asked_for() {
    let scratch = Scratch::new("nameless");
    // As pandas writes the numbers of rows.
    scratch.write("t/graphs.csv", ",graph_id,y\n0,a,0.5\n1,b,1.5\n");
    scratch.write("t/nodes.csv", ",graph_id,node_id,x\n0,a,0,0.5\n1,a,1,1.5\n2,b,0,2.5\n");
    scratch.write("t/edges.csv", ",graph_id,source,destination,w\n0,a,0,1,0.5\n1,a,1,0,1.5\n");
    let folder = scratch.path().join("t");
    assert_eq!(columns_of(&folder, &ReadOptions::default()), [["x"], ["w"], ["y"]]);
    let notes = open(&folder, &ReadOptions::default()).unwrap().report.notes.join("; ");
    for table in ["graphs.csv", "nodes.csv", "edges.csv"] {
        let note =
            format!("columns without a name were ignored in {table}: `column_1` (name one as a target");
        assert!(notes.contains(&note), "{notes}");
    }
    let asked = ReadOptions { numeric: vec!["column_1".to_owned()], ..ReadOptions::default() };
    assert_eq!(columns_of(&folder, &asked), [&["column_1", "x"][..], &["column_1", "w"], &["y"]]);
    // A run or model of earlier rules that learnt such columns still has them.
    let earlier = open(&folder, &ReadOptions { rules: 7, ..ReadOptions::default() }).unwrap().dataset;
    assert_eq!(earlier.schema.targets, ["", "y"]);
    assert!(earlier.schema.node_columns.iter().any(|column| column.name.is_empty()));
    let again = open(&folder, &ReadOptions::with_schema(earlier.schema.clone())).unwrap().dataset;
    assert_eq!((&again.samples, &again.schema), (&earlier.samples, &earlier.schema));
    // As spreadsheets leave them behind the last column.
    scratch.write("t/nodes.csv", "graph_id,node_id,x,,\na,0,0.5,,\na,1,1.5,,\nb,0,2.5,,\n");
    let notes = open(&folder, &ReadOptions::default()).unwrap().report.notes.join("; ");
    assert!(notes.contains("ignored in nodes.csv: `column_4`, `column_5`"), "{notes}");
}

#[test]
fn the_column_without_a_name_of_pairs_is_no_target() {
    let scratch = Scratch::new("nameless-pairs");
    scratch.write("t/nodes.csv", "node_id,x\n0,0.5\n1,1.5\n");
    scratch.write("t/edges.csv", "source,destination\n0,1\n");
    scratch.write("t/pairs.csv", ",source,destination,y\n0,0,1,1\n1,1,0,0\n");
    let [.., targets] = columns_of(&scratch.path().join("t"), &ReadOptions::default());
    assert_eq!(targets, ["y"]);
}

#[test]
fn a_name_that_graphs_and_nodes_have_is_a_target_at_the_level_of_the_model_alone() {
    let scratch = Scratch::new("same-name");
    let folder = two_graphs(&scratch, "graph_id,size\na,0.5\nb,1.5\n");
    scratch.write("tables/nodes.csv", "graph_id,node_id,size\na,0,2.5\na,1,3.5\nb,0,4.5\nb,1,5.5\n");
    let of_graphs = open(&folder, &ReadOptions::default()).unwrap().dataset;
    assert_eq!(columns_of(&folder, &ReadOptions::default()), [&["size"][..], &[], &["size"]]);
    let asked =
        |level| ReadOptions { targets: Some(vec!["size".to_owned()]), level, ..ReadOptions::default() };
    // Whoever says no level is told that it decides.
    assert!(said(&folder, &asked(None)).contains("`--level graph` takes those of graphs.csv"));
    assert!(open(&folder, &ReadOptions { rules: 7, ..asked(Some(Level::Graph)) }).is_err());
    let of_nodes = open(&folder, &asked(Some(Level::Node))).unwrap().dataset;
    assert_eq!((of_nodes.schema.level, of_nodes.schema.node_columns.len()), (Level::Node, 0));
    assert_eq!(of_nodes.samples[0].targets, [2.5, 3.5]);
    for (dataset, level) in [(of_graphs, Level::Graph), (of_nodes, Level::Node)] {
        let model = ReadOptions::with_schema(dataset.schema.clone());
        assert_eq!(usable(&folder, &model), [true, true], "{level}");
        for options in [model, asked(Some(level))] {
            assert_eq!(open(&folder, &options).unwrap().dataset.samples, dataset.samples, "{level}");
        }
    }
}

#[test]
fn edges_of_a_graph_whose_nodes_nobody_counts_say_what_is_missing() {
    let scratch = Scratch::new("edges-alone");
    scratch.write("t/edges.csv", "source,destination\n177,212\n");
    let folder = scratch.path().join("t");
    let alone = said(&folder, &ReadOptions::default());
    scratch.write("t/graphs.csv", "graph_id,y\na,1\n");
    for error in [alone, said(&folder, &ReadOptions::default())] {
        let pieces = ["edges.csv, line 2, column `source`: `177`", "`nodes.csv` lists them", "`num_nodes`"];
        assert!(pieces.iter().all(|piece| error.contains(piece)), "{error}");
    }
    // Where they are counted, the number is said.
    scratch.write("t/graphs.csv", "graph_id,num_nodes\na,3\n");
    let error = said(&folder, &ReadOptions::default());
    assert!(error.contains("the graph has 3, counted from 0"), "{error}");
}
