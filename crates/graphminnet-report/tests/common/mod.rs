//! A page with every kind of chart and picture, in easy and in hard cases.

#![allow(dead_code)]

use graphminnet_data::{Features, Graph};
use graphminnet_data::{Featurizer, Limits, molecule_graph};
use graphminnet_report::Svg;
use graphminnet_report::chart::{BarChart, BarGroup, LineChart, MatrixChart, Scale, ScatterChart, Series};
use graphminnet_report::draw::GraphPicture;
use graphminnet_report::page::Page;

pub mod browser;

pub fn line_chart(scale: Scale, series: usize) -> Svg {
    let line = |at: usize| {
        let value = |x: f64| (at as f64 + 1.0) * x.powf(1.0 + 0.1 * at as f64) + 0.3;
        let points: Vec<(f64, f64)> = (1..40).map(|x| (f64::from(x), value(f64::from(x)))).collect();
        let band = points.iter().map(|&(x, y)| (x, y * 0.9, y * 1.1)).collect();
        let name = format!("series number {at} with a name");
        Series { band, dashed: at % 2 == 1, marked: at == 2, ..Series::line(name, points) }
    };
    LineChart {
        title: "time of a step against the number of nodes, for every model".into(),
        description: "all grow in proportion".into(),
        x_label: "nodes".into(),
        y_label: "seconds".into(),
        x_scale: scale,
        y_scale: scale,
        series: (0..series).map(line).collect(),
    }
    .svg()
    .unwrap()
}

pub fn scatter_chart(points: usize) -> Svg {
    let wave = |at: usize| (at as f64 * 0.37).sin() * 3.0;
    ScatterChart {
        title: "predicted against true".into(),
        x_label: "true".into(),
        y_label: "predicted".into(),
        points: (0..points).map(|at| (wave(at), wave(at) + 0.3 * (at as f64 * 1.7).cos())).collect(),
        diagonal: true,
        ..ScatterChart::default()
    }
    .svg()
    .unwrap()
}

pub fn bar_chart(categories: usize) -> Svg {
    let group = |name: &str, power: f64| BarGroup {
        name: name.into(),
        values: (0..categories).map(|at| power.powi(at as i32)).collect(),
    };
    BarChart {
        title: "share of the gradient by distance".into(),
        x_label: "hops".into(),
        y_label: "share".into(),
        categories: (0..categories).map(|hop| hop.to_string()).collect(),
        groups: vec![group("GraphMinNet", 0.9), group("local only", 0.4)],
        ..BarChart::default()
    }
    .svg()
    .unwrap()
}

pub fn matrix_chart(classes: usize) -> Svg {
    MatrixChart {
        title: "confusion".into(),
        row_label: "true class".into(),
        column_label: "predicted class".into(),
        names: (0..classes).map(|at| format!("a class with name {at}")).collect(),
        values: (0..classes * classes)
            .map(|at| if at % (classes + 1) == 0 { 951.0 } else { at as f64 })
            .collect(),
        ..MatrixChart::default()
    }
    .svg()
    .unwrap()
}

pub fn molecule(smiles: &str) -> Svg {
    let graph = molecule_graph(smiles, Featurizer::Ogb, &Limits::default()).unwrap();
    let node_values: Vec<f64> = (0..graph.num_nodes()).map(|at| (at as f64 * 0.9).sin() * 0.4).collect();
    let edge_values: Vec<f64> = (0..graph.num_edges()).map(|at| (at as f64 * 0.21).cos() * 0.1).collect();
    GraphPicture {
        meaning: "blue lowers the prediction, red raises it",
        featurizer: Some(Featurizer::Ogb),
        node_values: &node_values,
        edge_values: &edge_values,
        ..GraphPicture::new(smiles, &graph)
    }
    .svg()
    .unwrap()
}

pub fn plain(title: &str, nodes: usize, edges: Vec<[u32; 2]>, coloured: bool) -> Svg {
    let edges: Vec<[u32; 2]> = edges.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]).collect();
    let count = edges.len();
    let graph = Graph::new(nodes, edges, Features::none(nodes), Features::none(count)).unwrap();
    let values: Vec<f64> = (0..nodes).map(|at| (at as f64 * 0.7).sin()).collect();
    let node_values: &[f64] = if coloured { &values } else { &[] };
    GraphPicture { meaning: "attribution", node_values, ..GraphPicture::new(title, &graph) }.svg().unwrap()
}

/// All of them.
pub fn pictures() -> Vec<Svg> {
    let ring = |count: u32| (0..count).map(|at| [at, (at + 1) % count]).collect::<Vec<_>>();
    let grid = |side: u32| {
        (0..side * side)
            .flat_map(|at| {
                [
                    (at % side + 1 < side).then_some([at, at + 1]),
                    (at / side + 1 < side).then_some([at, at + side]),
                ]
            })
            .flatten()
            .collect::<Vec<_>>()
    };
    vec![
        line_chart(Scale::Linear, 1),
        line_chart(Scale::Log, 5),
        scatter_chart(80),
        scatter_chart(5000),
        bar_chart(6),
        bar_chart(40),
        matrix_chart(3),
        matrix_chart(12),
        matrix_chart(20),
        molecule("CC(=O)Oc1ccccc1C(=O)O"),
        molecule("CN1C=NC2=C1C(=O)N(C(=O)N2C)C"),
        molecule("CCO"),
        molecule("C"),
        molecule(
            "[NH3+]CC(=O)NC(CCCC[NH3+])C(=O)NC(Cc1ccc(O)cc1)C(=O)NC(CCC(=O)[O-])C(=O)NCC(=O)NC(CC(C)C)C(=O)[O-]",
        ),
        plain("a ring of 20 nodes", 20, ring(20), true),
        plain("a grid without values", 36, grid(6), false),
        plain("a large grid", 1600, grid(40), true),
        plain("seven nodes, three components", 7, vec![[0, 1], [1, 2], [3, 4]], true),
    ]
}

/// A page that holds all of them.
pub fn page() -> String {
    let mut page = Page::new("Every chart and every picture", "for looking at");
    page.section("Pictures");
    let pictures: Vec<(Svg, String)> =
        pictures().into_iter().map(|picture| (picture, "A caption.".to_owned())).collect();
    page.figures(&pictures);
    page.section("Words");
    page.paragraph("A paragraph that is long enough to fill more than one line of a page that is four hundred pixels wide.");
    page.notice("Something to notice.");
    page.facts(&[
        ("data".into(), "molecules".into()),
        ("a_very_long_name_without_any_blank_in_it".into(), "x".repeat(200)),
    ]);
    page.code("graphminnet train --recipe zinc --set train.epochs=2 --set train.warmup=1 --seeds 0..4 --run-dir runs/zinc");
    page.section("Numbers");
    page.table(
        &["run", "test mae", "paper"],
        &[vec!["zinc".into(), "0.0703 ± 0.0015".into(), "0.0705 ± 0.0021".into()]],
    );
    page.finish()
}
