//! The OGB layout on real data sets: counts, splits and categories are those of their descriptions.

mod common;

use graphminnet_data::data::{Level, ReadOptions, Split, Task, open};

struct Expected {
    folder: &'static str,
    graphs: usize,
    mean_nodes: f64,
    mean_edges: f64,
    parts: [usize; 3],
    level: Level,
    task: Task,
}

#[test]
fn real_folders_have_the_counts_of_their_descriptions() {
    let Some(data) = common::real_data("real_folders_have_the_counts_of_their_descriptions") else { return };
    let expected = [
        Expected {
            folder: "zinc-12k",
            graphs: 12_000,
            mean_nodes: 23.16,
            mean_edges: 2.0 * 24.92,
            parts: [10_000, 1_000, 1_000],
            level: Level::Graph,
            task: Task::Regression,
        },
        Expected {
            folder: "ogbg-molhiv",
            graphs: 41_127,
            mean_nodes: 25.51,
            mean_edges: 2.0 * 27.47,
            parts: [32_901, 4_113, 4_113],
            level: Level::Graph,
            task: Task::Binary,
        },
        Expected {
            folder: "mnist-sp",
            graphs: 70_000,
            mean_nodes: 70.57,
            mean_edges: 564.53,
            parts: [55_000, 5_000, 10_000],
            level: Level::Graph,
            task: Task::MultiClass { classes: 10 },
        },
        Expected {
            folder: "cifar10-sp",
            graphs: 25_000,
            mean_nodes: 117.61,
            mean_edges: 940.91,
            parts: [10_000, 5_000, 10_000],
            level: Level::Graph,
            task: Task::MultiClass { classes: 10 },
        },
        Expected {
            folder: "malnet-tiny",
            graphs: 5_000,
            mean_nodes: 1_410.32,
            mean_edges: 2_859.95,
            parts: [3_500, 500, 1_000],
            level: Level::Graph,
            task: Task::MultiClass { classes: 5 },
        },
        Expected {
            folder: "peptides-func",
            graphs: 15_535,
            mean_nodes: 150.94,
            mean_edges: 307.30,
            parts: [10_873, 2_331, 2_331],
            level: Level::Graph,
            task: Task::Binary,
        },
        Expected {
            folder: "pattern-sample",
            graphs: 200,
            mean_nodes: 117.905,
            mean_edges: 5_992.3,
            parts: [120, 40, 40],
            level: Level::Node,
            task: Task::Binary,
        },
        Expected {
            folder: "cluster-sample",
            graphs: 200,
            mean_nodes: 121.07,
            mean_edges: 4_583.06,
            parts: [120, 40, 40],
            level: Level::Node,
            task: Task::MultiClass { classes: 6 },
        },
    ];
    for case in expected {
        let start = std::time::Instant::now();
        let read =
            open(&data.join(case.folder), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let dataset = read.dataset;
        eprintln!("{:16} {:6} graphs loaded in {:?}", case.folder, dataset.samples.len(), start.elapsed());
        assert_eq!(dataset.samples.len(), case.graphs, "{}", case.folder);
        assert_eq!((dataset.schema.level, dataset.schema.task), (case.level, case.task), "{}", case.folder);
        let mean = |count: &dyn Fn(&graphminnet_data::Graph) -> usize| {
            dataset.samples.iter().map(|sample| count(&sample.graph)).sum::<usize>() as f64
                / case.graphs as f64
        };
        assert!((mean(&|graph| graph.num_nodes()) - case.mean_nodes).abs() < 0.006, "{}", case.folder);
        assert!((mean(&|graph| graph.num_edges()) - case.mean_edges).abs() < 0.012, "{}", case.folder);
        let splits = dataset.official_split.unwrap();
        let count = |part| splits.iter().filter(|split| **split == part).count();
        assert_eq!([Split::Train, Split::Valid, Split::Test].map(count), case.parts, "{}", case.folder);
    }
}
