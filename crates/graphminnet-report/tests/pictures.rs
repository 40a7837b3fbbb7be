//! Charts and pictures as documents: well formed, complete, the same every time.

mod common;

use common::{line_chart, matrix_chart, molecule, pictures, plain};
use graphminnet_report::chart::{
    BarChart, BarGroup, ChartError, LineChart, MatrixChart, Scale, ScatterChart, Series,
};
use graphminnet_report::draw::{DrawError, GraphPicture};

/// Fails unless every tag is closed in order and every attribute quoted.
fn assert_well_formed(markup: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = markup;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        assert!(tag.matches('"').count() % 2 == 0, "<{tag}>");
        let name = tag.split([' ', '/', '\n']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = after;
    }
    assert!(open.is_empty(), "{open:?} stay open");
}

#[test]
fn every_picture_is_well_formed_accessible_and_the_same_every_time() {
    let (first, second) = (pictures(), pictures());
    assert_eq!(first, second);
    for picture in first {
        let text = picture.as_str();
        assert_well_formed(text);
        assert!(text.contains("<title>") && text.contains("<desc>") && text.contains("viewBox=\"0 0 "));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text:.600}");
        assert!(!text.contains("FE00"), "a placeholder colour is left");
        assert!(text.len() < 700_000, "{} bytes", text.len());
    }
}

#[test]
fn names_from_data_stay_text() {
    let hostile = "</text><script>alert('&')</script>";
    let chart = LineChart {
        title: hostile.into(),
        description: hostile.into(),
        x_label: hostile.into(),
        y_label: hostile.into(),
        series: vec![Series::line(hostile, vec![(0.0, 1.0), (1.0, 2.0)])],
        ..LineChart::default()
    };
    let picture = chart.svg().unwrap();
    assert_well_formed(picture.as_str());
    assert!(!picture.as_str().contains("<script"));
}

#[test]
fn what_cannot_be_shown_is_left_out_or_refused() {
    let nothing = LineChart {
        y_scale: Scale::Log,
        series: vec![Series::line("a", vec![(1.0, -1.0), (2.0, f64::NAN)])],
        ..LineChart::default()
    };
    assert!(matches!(nothing.svg(), Err(ChartError::Empty { .. })));
    let points = vec![(1.0, f64::NAN), (f64::INFINITY, 1.0), (0.5, 0.5)];
    assert!(ScatterChart { points, diagonal: true, ..ScatterChart::default() }.svg().is_ok());
    let group = BarGroup { name: "a".into(), values: vec![1.0] };
    let bars =
        BarChart { categories: vec!["x".into(), "y".into()], groups: vec![group], ..BarChart::default() };
    assert!(matches!(bars.svg(), Err(ChartError::Shape { found: 1, expected: 2, .. })));
    let matrix = MatrixChart { names: vec!["x".into()], values: vec![1.0, 2.0], ..MatrixChart::default() };
    assert!(matches!(matrix.svg(), Err(ChartError::Shape { found: 2, expected: 1, .. })));
}

#[test]
fn a_line_chart_names_every_series_and_a_small_matrix_every_count() {
    let text = line_chart(Scale::Log, 5).to_string();
    assert!((0..5).all(|at| text.contains(&format!("series number {at} with a name"))));
    assert!(matrix_chart(3).as_str().contains("951"));
}

#[test]
fn a_molecule_is_drawn_with_its_atoms_and_the_scale_has_numbers() {
    let aspirin = molecule("CC(=O)Oc1ccccc1C(=O)O").to_string();
    assert!(aspirin.contains(">HO<") && aspirin.contains(">O<"), "hydrogens stand away from the bond");
    assert!(aspirin.contains("stroke-dasharray"), "aromatic bonds");
    assert!(
        aspirin.contains("strongest: ") && aspirin.contains(">+0.") && aspirin.contains(">−0."),
        "{aspirin}"
    );
    assert!(molecule("C").as_str().contains("CH₄"));
}

#[test]
fn mirror_images_look_different_and_what_has_none_has_no_wedge() {
    let images = ["N[C@@H](C)C(=O)O", "N[C@H](C)C(=O)O"].map(|smiles| molecule(smiles).to_string());
    let solid = images.iter().filter(|image| image.contains("<polygon")).count();
    assert_eq!(solid, 1, "one wedge is solid, the other hashed");
    assert!(!molecule("NC(C)C(=O)O").as_str().contains("<polygon"));
    // A bond that a hashed wedge takes the place of is many lines.
    let lines = |image: &str| image.matches("<line").count();
    assert!(lines(&images[0]).abs_diff(lines(&images[1])) > 3);
}

#[test]
fn a_large_graph_says_what_is_drawn_and_values_must_fit() {
    let edges = (0..1999).map(|at| [at, at + 1]).collect();
    let text = plain("a path", 2000, edges, true).to_string();
    assert!(text.contains("500 of 2000 nodes"), "{text:.300}");
    let graph = graphminnet_data::Graph::from_edges(2, vec![[0, 1]]).unwrap();
    let picture = GraphPicture { node_values: &[1.0], ..GraphPicture::new("short", &graph) };
    assert!(matches!(picture.svg(), Err(DrawError::Count { what: "node", found: 1, expected: 2, .. })));
    let nothing = graphminnet_data::Graph::from_edges(0, vec![]).unwrap();
    assert!(matches!(GraphPicture::new("none", &nothing).svg(), Err(DrawError::Empty { .. })));
    let odd = [f64::NAN, f64::INFINITY];
    let picture = GraphPicture { node_values: &odd, ..GraphPicture::new("odd", &graph) };
    assert_well_formed(picture.svg().unwrap().as_str());
}

#[test]
fn two_series_of_one_colour_can_be_told_apart() {
    // Shapes with the first colour, which the ninth series has again: strokes of lines.
    let strokes = |count: usize| {
        let series =
            (0..count).map(|at| Series::line(format!("line {at}"), vec![(0.0, at as f64), (9.0, 1.0)]));
        let chart = LineChart { title: "many".into(), series: series.collect(), ..LineChart::default() };
        chart.svg().unwrap().to_string().matches("class=\"s0\"").count()
    };
    assert_eq!(strokes(8), 1);
    assert!(strokes(9) > 7, "{}", strokes(9));

    // The second bar of a colour has a rim.
    let rims = |count: usize| {
        let group = |at: usize| BarGroup { name: format!("bar {at}"), values: vec![1.0 + at as f64] };
        let chart = BarChart {
            title: "many".into(),
            categories: vec!["one".into()],
            groups: (0..count).map(group).collect(),
            ..BarChart::default()
        };
        let text = chart.svg().unwrap().to_string();
        text.lines().filter(|line| line.contains("<rect") && line.contains("class=\"s0\"")).count()
    };
    assert_eq!((rims(8), rims(9)), (0, 1));
}
