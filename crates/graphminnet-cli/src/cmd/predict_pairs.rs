//! `graphminnet predict --pairs` and `--top`: what a model says about pairs of nodes that the data does not list.

use crate::cmd::model_args::ROWS;
use crate::cmd::rows::{Input, Tally};
use crate::failure::Failure;
use crate::ui::output::Output;
use graphminnet::bundle::{Ensemble, PairQuestions, PredictionTable};
use graphminnet_data::formats::csv::CsvWriter;
use graphminnet_data::formats::{NodeNames, PairRow, node_text, read_pair_list};
use graphminnet_data::{Graph, Limits, escape};
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// A graph by name, or why it cannot be used.
type Named = (String, Result<Arc<Graph>, String>);

fn all_graphs(reader: &mut Input) -> Result<Vec<Named>, Failure> {
    let mut graphs = Vec::new();
    loop {
        let rows = reader.next_rows(ROWS)?;
        if rows.is_empty() {
            return Ok(graphs);
        }
        graphs.extend(rows.into_iter().map(|row| (row.id, row.graph.map_err(|bad| bad.to_string()))));
    }
}

/// The answers for a file of pairs: an output row for every row of it.
pub fn listed(
    list: &Path,
    limits: &Limits,
    names: Option<&NodeNames>,
    ensemble: &Ensemble,
    reader: &mut Input,
    output: &Path,
    start: Instant,
) -> Result<ExitCode, Failure> {
    let rows = read_pair_list(list, limits, names)?;
    let graphs = all_graphs(reader)?;
    let place: HashMap<&str, usize> =
        graphs.iter().enumerate().map(|(at, (id, _))| (id.as_str(), at)).collect();
    if graphs.len() > 1 && rows.iter().any(|row| row.graph.is_none() && row.ends.is_ok()) {
        return Err(Failure::usage(format!(
            "{}: there are {} graphs, so the list needs a column `graph_id`",
            escape(&list.to_string_lossy()),
            graphs.len()
        )));
    }
    let graph_of = |row: &PairRow| match &row.graph {
        Some(id) => {
            place.get(id.as_str()).copied().ok_or_else(|| format!("no graph is called `{}`", escape(id)))
        }
        None => Ok(0),
    };
    // What is wrong with each row, and the rows of each graph.
    let mut reasons: Vec<String> = vec![String::new(); rows.len()];
    let mut of_graph: Vec<Vec<(usize, [u32; 2])>> = vec![Vec::new(); graphs.len()];
    for (at, row) in rows.iter().enumerate() {
        let usable = graph_of(row).and_then(|graph| {
            let ends = row.ends.clone()?;
            let nodes = graphs.get(graph).map_or(Ok(0), |(_, graph)| {
                graph.as_ref().map(|graph| graph.num_nodes()).map_err(String::clone)
            })?;
            match ends.iter().find(|node| **node as usize >= nodes) {
                Some(node) => {
                    Err(format!("node {node} does not exist: the graph has {nodes}, counted from 0"))
                }
                None => Ok((graph, ends)),
            }
        });
        match usable {
            Ok((graph, ends)) => of_graph[graph].push((at, ends)),
            Err(reason) => reasons[at] = reason,
        }
    }
    let table = PredictionTable::new(ensemble, None);
    let mut cells: Vec<Option<Vec<String>>> = vec![None; rows.len()];
    for ((_, graph), asked) in graphs.iter().zip(&of_graph) {
        let (Ok(graph), false) = (graph, asked.is_empty()) else { continue };
        let pairs: Vec<[u32; 2]> = asked.iter().map(|(_, ends)| *ends).collect();
        match PairQuestions::new(ensemble, graph).and_then(|questions| questions.answer(&pairs)) {
            Err(reason) => asked.iter().for_each(|(at, _)| reasons[*at] = reason.to_string()),
            Ok(answers) => {
                let said = answers.iter().flatten().flat_map(|answer| answer.rows());
                for ((at, _), row) in asked.iter().zip(said) {
                    cells[*at] = Some(table.cells(&row));
                }
            }
        }
    }
    let columns = table.columns();
    let mut out = begin(&columns, output)?;
    for ((row, cells), reason) in rows.iter().zip(cells).zip(&reasons) {
        let own = graphs.first().map_or("", |(id, _)| id);
        out.field(row.graph.as_deref().unwrap_or(own))?;
        row.written.iter().try_for_each(|end| out.field(end))?;
        let cells = cells.unwrap_or_else(|| vec![String::new(); columns.len()]);
        out.row(cells.into_iter().chain([reason.clone()]))?;
    }
    out.into_inner().finish()?;
    let bad = reasons.iter().filter(|reason| !reason.is_empty()).count();
    Tally { rows: rows.len(), bad, written: None }.end("a prediction", start, None)
}

/// The likeliest pairs without an edge of every graph.
pub fn likeliest(
    count: usize,
    names: Option<&NodeNames>,
    ensemble: &Ensemble,
    reader: &mut Input,
    output: &Path,
    start: Instant,
) -> Result<ExitCode, Failure> {
    let table = PredictionTable::new(ensemble, None);
    let columns = table.columns();
    let mut out = begin(&columns, output)?;
    let mut tally = Tally::default();
    for (id, graph) in all_graphs(reader)? {
        let found = graph.and_then(|graph| {
            let questions = PairQuestions::new(ensemble, &graph).map_err(|error| error.to_string())?;
            let best = questions.likeliest(&graph, count).map_err(|error| error.to_string())?;
            let pairs: Vec<[u32; 2]> = best.iter().map(|(pair, _)| *pair).collect();
            let answers = questions.answer(&pairs).map_err(|error| error.to_string())?;
            let said = answers.iter().flatten().flat_map(|answer| answer.rows());
            Ok(pairs.into_iter().zip(said.map(|row| table.cells(&row))).collect::<Vec<_>>())
        });
        match found {
            Err(reason) => {
                (tally.rows, tally.bad) = (tally.rows + 1, tally.bad + 1);
                let blank = vec![String::new(); columns.len() + 2];
                out.row([id].into_iter().chain(blank).chain([reason]))?;
            }
            Ok(best) => {
                for (ends, cells) in best {
                    tally.rows += 1;
                    let ends = ends.map(|end| node_text(names, &id, end));
                    out.row([id.clone()].into_iter().chain(ends).chain(cells).chain([String::new()]))?;
                }
            }
        }
    }
    out.into_inner().finish()?;
    tally.end("a prediction", start, None)
}

fn begin(columns: &[String], output: &Path) -> Result<CsvWriter<Output>, Failure> {
    let mut out = CsvWriter::new(Output::create(output)?);
    let own = columns.iter().map(String::as_str);
    out.row(["id", "source", "destination"].into_iter().chain(own).chain(["reason"]))?;
    Ok(out)
}
