//! A figure as data; who draws it is not decided here.

/// One line of a figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Points `(x, y)`.
    pub points: Vec<(f64, f64)>,
    /// Standard deviation at every point; may be empty.
    pub deviations: Vec<f64>,
}

/// A figure with lines.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// What it shows, in words.
    pub description: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub x_log: bool,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
    /// Names of the places 0, 1, … on the horizontal axis; then the lines are groups of bars.
    pub categories: Vec<String>,
    /// The lines, or the groups of bars.
    pub lines: Vec<Line>,
}
