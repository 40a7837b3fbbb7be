//! A data set on one page.

use super::figure::figure;
use super::table::{Align, Table};
use graphminnet_data::text::grouped;
use graphminnet_data::{Column, ColumnKind, DataCard, Level, Schema, TargetSummary, TargetValues, escape};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Categories or classes that are named; the rest is counted.
const NAMES_SHOWN: usize = 12;

/// The page as text.
pub fn write_card(out: &mut impl Write, schema: &Schema, card: &DataCard) -> io::Result<()> {
    let counts = &card.statistics;
    let (fewest, most) = counts.nodes_range;
    writeln!(out, "graphs      {}", grouped(counts.graphs))?;
    writeln!(
        out,
        "nodes       {:.1} on average, {} to {}",
        counts.mean_nodes,
        grouped(fewest),
        grouped(most)
    )?;
    writeln!(
        out,
        "edges       {:.1} directed, {:.1} undirected on average",
        counts.mean_directed_edges, counts.mean_undirected_edges
    )?;
    for (count, what) in [
        (counts.nodeless_graphs, "graphs without nodes"),
        (counts.edgeless_graphs, "graphs without edges"),
        (counts.self_loops, "self-loops"),
    ] {
        if count > 0 {
            writeln!(out, "            {what}: {}", grouped(count))?;
        }
    }
    match card.parts {
        Some([train, valid, test]) => {
            // Graphs go without saying.
            let level = card.parts_of.filter(|level| *level != Level::Graph);
            let what = level.map_or_else(String::new, |level| format!("{level}s: "));
            let [train, valid, test] = [train, valid, test].map(grouped);
            writeln!(out, "split       {what}train {train}, valid {valid}, test {test}")?;
        }
        None => writeln!(out, "split       none in the file")?,
    }
    if schema.targets.is_empty() {
        writeln!(out, "task        no targets")?;
    } else {
        writeln!(out, "task        {} per {}", schema.task, schema.level)?;
    }
    writeln!(out)?;
    write!(out, "{}", columns(schema, card))
}

fn columns(schema: &Schema, card: &DataCard) -> Table {
    let mut table = Table::new(&[("column", Align::Left), ("of", Align::Left), ("holds", Align::Left)]);
    for (what, columns) in [("node", &schema.node_columns), ("edge", &schema.edge_columns)] {
        for column in columns {
            table.row([escape(&column.name), what.to_owned(), kind(column)]);
        }
        if columns.is_empty() {
            table.row(["–", what, "no features"]);
        }
    }
    for target in &card.targets {
        table.row([escape(&target.name), "target".to_owned(), summary(target)]);
    }
    table
}

fn kind(column: &Column) -> String {
    match (&column.kind, &column.seen) {
        (ColumnKind::Number, _) => "numbers".to_owned(),
        (ColumnKind::Category { .. }, Some(seen)) => {
            let categories = if seen.len() == 1 { "category" } else { "categories" };
            let names = list(seen.iter().map(u32::to_string), seen.len());
            format!("{} {categories}: {names}", grouped(seen.len()))
        }
        (ColumnKind::Category { size, names }, None) if names.is_empty() => {
            format!("{} categories", grouped(*size))
        }
        (ColumnKind::Category { size, names }, None) => {
            format!("{} categories: {}", grouped(*size), list(names.iter().map(|name| escape(name)), *size))
        }
    }
}

fn summary(target: &TargetSummary) -> String {
    let values = match &target.values {
        TargetValues::Numbers { .. } if target.known == 0 => "no known value".to_owned(),
        TargetValues::Numbers { mean, deviation, smallest, largest } => {
            format!("mean {}, deviation {}, from {smallest} to {largest}", figure(*mean), figure(*deviation))
        }
        TargetValues::Classes(classes) => {
            let named = classes.iter().map(|(name, count)| format!("{} × {}", escape(name), grouped(*count)));
            list(named, classes.len())
        }
    };
    if target.missing == 0 { values } else { format!("{values}; {} missing", grouped(target.missing)) }
}

fn list(names: impl Iterator<Item = String>, total: usize) -> String {
    let shown: Vec<String> = names.take(NAMES_SHOWN).collect();
    let more = total.saturating_sub(shown.len());
    if more > 0 { format!("{}, … {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// The page as JSON.
pub fn card_json(schema: &Schema, card: &DataCard) -> Value {
    json!({ "schema": schema, "card": card })
}
