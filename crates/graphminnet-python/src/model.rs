//! Calls about a trained model.

use crate::calls::{Call, Caller, Reply, bytes};
use crate::pool::{self, Threads};
use crate::source::Source;
use crate::watched::watched;
use graphminnet::bundle::{Answer, AnswerKind, AnswerRow, Answers, Description, MaybeGraph};
use graphminnet::config::{LevelKind, Spread};
use graphminnet::data::{Graph, PrepareOptions, prepare_graph};
use graphminnet::explain::{Method, Target, explain_together};
use graphminnet::report::explanation_picture;
use graphminnet::{Bundle, DeviceKind, Ensemble, weights};
use graphminnet_cli::Failure;
use graphminnet_data::fs::write_atomically;
use graphminnet_data::{InputRow, Level, ReadOptions};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Loads the models that some paths stand for.
pub fn load(call: &Call<'_>) -> Result<Reply, Failure> {
    let paths: Vec<PathBuf> = call.read()?;
    loaded(pool::install(Threads::Shared, || Ok(Ensemble::load(&paths)?))?)
}

/// Takes models from the bytes of their files, one array each; the request has their names.
pub fn from_bytes(call: &Call<'_>) -> Result<Reply, Failure> {
    let names: Vec<String> = call.read()?;
    let device = DeviceKind::Cpu.open()?;
    let each = names.iter().zip(&call.arrays.0);
    let members = each.map(|(name, bytes)| Bundle::from_bytes(bytes, name, &device));
    loaded(Ensemble::new(members.collect::<Result<_, _>>()?)?)
}

/// Puts a model together from its description and the bytes of its weights.
pub fn assemble(call: &Call<'_>) -> Result<Reply, Failure> {
    let about: Description = call.read()?;
    let [weights] = call.arrays.0.as_slice() else { return Err(Failure::usage("one array of weights")) };
    loaded(Ensemble::new(vec![Bundle::new(about, weights, &DeviceKind::Cpu.open()?)?])?)
}

fn loaded(ensemble: Ensemble) -> Result<Reply, Failure> {
    let members: Vec<Value> = ensemble
        .members()
        .map(|member| {
            let parameters = weights::count_parameters(member.model());
            json!({ "path": member.path(), "parameters": parameters, "description": member.description() })
        })
        .collect();
    let about = ensemble.description();
    let classes: Vec<String> = match about.answers() {
        AnswerKind::Classes => (0..about.model.out_dim).map(|class| about.class_name(class)).collect(),
        _ => about.schema.class_names.clone(),
    };
    let kind = format!("{:?}", about.answers()).to_lowercase();
    let spread = about.spread();
    let value = json!({
        "members": members,
        "kind": kind,
        "classes": classes,
        "deviations": ensemble.len() > 1 || spread == Spread::Normal,
        "quantiles": spread.other_levels(),
    });
    Ok(Reply { value, handle: Some(Arc::new(ensemble)), ..Reply::default() })
}

/// The bytes of the files of all members.
pub fn to_bytes(call: &Call<'_>) -> Result<Reply, Failure> {
    let arrays = call.model()?.members().map(Bundle::to_bytes).collect::<Result<_, _>>()?;
    Ok(Reply { arrays, ..Reply::default() })
}

/// Writes all members to one file; the request is its path.
pub fn save(call: &Call<'_>) -> Result<Reply, Failure> {
    let path: PathBuf = call.read()?;
    write_atomically(&path, &call.model()?.to_bytes()?)?;
    Ok(Reply::default())
}

/// The weights of the first member, as the bytes of a safetensors file.
pub fn weights(call: &Call<'_>) -> Result<Reply, Failure> {
    let first = call.model()?.members().next().ok_or_else(|| Failure::usage("no model"))?;
    let arrays = vec![weights::to_bytes(first.model()).map_err(graphminnet::train::TrainError::from)?];
    Ok(Reply { arrays, ..Reply::default() })
}

/// Graphs per thread between two looks at whether to stop.
const AT_A_TIME: usize = 256;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    source: Source,
    threads: Option<usize>,
    /// For vectors: of graphs or of nodes.
    level: Option<Level>,
    /// For preparation without a model: what to compute.
    wanted: Option<Wanted>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(deny_unknown_fields)]
struct Wanted {
    eigenpairs: usize,
    random_walk_steps: usize,
}

/// What the models say: values, deviations, classes, quantiles besides the median. Ctrl-C ends it, because there may be millions of graphs.
pub fn predict(call: &Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let ensemble = call.model()?;
    watched(asked.source.threads(call, asked.threads), caller, |job| {
        let (about, interrupt) = (ensemble.description(), job.interrupt);
        let rows = asked.source.rows(&call.arrays, &about.read_options())?;
        let stop = || interrupt.load(Ordering::Relaxed);
        let answers = ensemble.answer_unless(&rows, &stop).map_err(Failure::usage)?;
        let per_row = about.schema.level != Level::Graph;
        let table = Table::of(&answers, answers.columns(), per_row, |at, answer, table| {
            let own = own_rows(about, &rows[at], &answer);
            for row in &own {
                table.values.extend(row.values());
                if answers.has_deviations() {
                    table.deviations.extend(row.deviations());
                }
                table.quantiles.extend(row.quantiles());
                table.classes.extend(row.class().map(|class| class as i64));
            }
            own.len()
        });
        let deviations = bytes(&table.deviations, f64::to_ne_bytes);
        let classes = bytes(&table.classes, i64::to_ne_bytes);
        let quantiles = bytes(&table.quantiles, f64::to_ne_bytes);
        let arrays = vec![bytes(&table.values, f64::to_ne_bytes), deviations, classes, quantiles];
        Ok(Reply { value: table.about(), arrays, handle: None })
    })
}

/// The vectors of graphs or nodes. Ctrl-C ends it between some graphs and the next.
pub fn embed(call: &Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let ensemble = call.model()?;
    let Some(bundle) = ensemble.members().next().filter(|_| ensemble.len() == 1) else {
        return Err(Failure::usage(
            "several models have no vectors in common: choose one with model.members",
        ));
    };
    watched(asked.source.threads(call, asked.threads), caller, |job| {
        let rows = asked.source.rows(&call.arrays, &bundle.description().read_options())?;
        let per_node = asked.level == Some(Level::Node);
        let level = if per_node { LevelKind::Node } else { LevelKind::Graph };
        let mut vectors: Vec<f32> = Vec::new();
        let mut table = Table::new(bundle.embed(&rows[..0], level).columns(), per_node);
        for some in rows.chunks(AT_A_TIME * rayon::current_num_threads()) {
            job.go_on()?;
            table.extend(&bundle.embed(some, level), |_, answer, _| {
                vectors.extend(answer.outputs());
                answer.num_rows()
            });
        }
        if !per_node {
            vectors = table.with_gaps(&vectors);
        }
        Ok(Reply { value: table.about(), arrays: vec![bytes(&vectors, f32::to_ne_bytes)], handle: None })
    })
}

/// The rows of a graph's answer but those of edges that only follow their reverse, which have the same answer.
pub(crate) fn own_rows<'a>(about: &Description, asked: &InputRow, answer: &Answer<'a>) -> Vec<AnswerRow<'a>> {
    match (about.schema.level, &asked.graph) {
        (Level::Edge, Ok(graph)) => {
            let rows = answer.rows().zip(about.places(graph));
            rows.filter_map(|(row, place)| place.map(|_| row)).collect()
        }
        _ => answer.rows().collect(),
    }
}

/// Answers as arrays: a row of NaN for a graph without an answer, or no row where rows belong to nodes, edges or pairs.
#[derive(Default)]
pub(crate) struct Table {
    columns: usize,
    reasons: Vec<Option<String>>,
    /// Rows of each graph, where they belong to something in it.
    rows: Vec<usize>,
    per_row: bool,
    /// `[rows, columns]`.
    pub(crate) values: Vec<f64>,
    deviations: Vec<f64>,
    /// `[rows, columns, levels besides the median]`.
    quantiles: Vec<f64>,
    classes: Vec<i64>,
}

impl Table {
    /// What is taken of the answer about each graph, in so many columns; `take` says how many rows it took.
    pub(crate) fn of<'a>(
        answers: &'a Answers,
        columns: usize,
        per_row: bool,
        take: impl FnMut(usize, Answer<'a>, &mut Self) -> usize,
    ) -> Self {
        let mut table = Self::new(columns, per_row);
        table.extend(answers, take);
        table
    }

    fn new(columns: usize, per_row: bool) -> Self {
        Self { columns, per_row, ..Self::default() }
    }

    /// Adds what is taken of further answers.
    fn extend<'a>(
        &mut self,
        answers: &'a Answers,
        mut take: impl FnMut(usize, Answer<'a>, &mut Self) -> usize,
    ) {
        let (has_deviations, levels) = (answers.has_deviations(), answers.spread().other_levels().len());
        for (at, answer) in answers.iter().enumerate() {
            match answer {
                Ok(answer) => {
                    let taken = take(at, answer, self);
                    self.rows.push(taken);
                    self.reasons.push(None);
                }
                Err(reason) => {
                    self.rows.push(0);
                    self.reasons.push(Some(reason.to_string()));
                    if !self.per_row {
                        let columns = self.columns;
                        self.values.extend(std::iter::repeat_n(f64::NAN, columns));
                        let deviations = if has_deviations { columns } else { 0 };
                        self.deviations.extend(std::iter::repeat_n(f64::NAN, deviations));
                        self.quantiles.extend(std::iter::repeat_n(f64::NAN, columns * levels));
                        self.classes.push(-1);
                    }
                }
            }
        }
    }

    /// One row per graph: those that were answered, and rows of NaN for the others.
    fn with_gaps(&self, answered: &[f32]) -> Vec<f32> {
        let mut answered = answered.chunks_exact(self.columns.max(1));
        let gap = vec![f32::NAN; self.columns];
        let row = |reason: &Option<String>| match reason {
            None => answered.next().unwrap_or(&gap).to_vec(),
            Some(_) => gap.clone(),
        };
        self.reasons.iter().flat_map(row).collect()
    }

    pub(crate) fn about(&self) -> Value {
        let rows = self.per_row.then_some(&self.rows);
        json!({ "columns": self.columns, "reasons": self.reasons, "rows": rows })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Why {
    source: Source,
    method: String,
    node: Option<usize>,
    output: Option<usize>,
    title: String,
}

/// Which nodes and edges a prediction rests on. Ctrl-C ends it.
pub fn explain(call: &Call<'_>, caller: &mut dyn Caller) -> Result<Reply, Failure> {
    let why: Why = call.read()?;
    let ensemble = call.model()?;
    let about = ensemble.description();
    let method: Method = why
        .method
        .parse()
        .map_err(|_| Failure::usage(format!("method={:?}: expected gradient or integrated", why.method)))?;
    watched(Threads::Shared, caller, |job| {
        let interrupt = job.interrupt;
        let rows = why.source.rows(&call.arrays, &about.read_options())?;
        let [row] = rows.as_slice() else {
            return Err(Failure::usage(format!("{} graphs were given; explain takes one", rows.len())));
        };
        let graph: &Arc<Graph> = row.graph()?;
        let target = Target { node: why.node, output: why.output };
        let explanation =
            explain_together(ensemble, graph, target, method, &|| interrupt.load(Ordering::Relaxed))?;
        let picture = explanation_picture(about, &why.title, graph, &explanation);
        let (sources, targets): (Vec<i64>, Vec<i64>) =
            graph.edges().iter().map(|[source, target]| (i64::from(*source), i64::from(*target))).unzip();
        let value = json!({
            "subject": explanation.subject(about),
            "method": method.to_string(),
            "node": explanation.node,
            "output": explanation.output,
            "prediction": explanation.prediction,
            "baseline": explanation.baseline,
            "gap": explanation.gap(),
            "svg": picture.map_err(Failure::usage)?.to_string(),
        });
        let arrays = vec![
            bytes(&explanation.nodes, f64::to_ne_bytes),
            bytes(&explanation.edges, f64::to_ne_bytes),
            bytes(&[sources, targets].concat(), i64::to_ne_bytes),
        ];
        Ok(Reply { value, arrays, handle: None })
    })
}

/// How many graphs there are, and how many of them can be used; that of a model, where there is one.
pub fn read(call: &Call<'_>) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let options = call.handle.as_ref().map(|model| model.description().read_options()).unwrap_or_default();
    pool::install(asked.source.threads(call, asked.threads), || {
        let rows = asked.source.rows(&call.arrays, &options)?;
        let usable = rows.iter().filter(|row| row.graph.is_ok()).count();
        Ok(json!({ "graphs": rows.len(), "usable": usable }).into())
    })
}

/// What a model (or a layer that wants as much) reads about graphs: features, eigenpairs, random walks and degrees as arrays, for other frameworks.
pub fn prepare(call: &Call<'_>) -> Result<Reply, Failure> {
    let asked: Asked = call.read()?;
    let (options, read) = match asked.wanted {
        Some(Wanted { eigenpairs, random_walk_steps }) => {
            let options = PrepareOptions { eigenpairs, random_walk_steps, ..PrepareOptions::default() };
            (options, ReadOptions::default())
        }
        None => {
            let about = call.model()?.description();
            (about.model.prepare_options(), about.read_options())
        }
    };
    pool::install(asked.source.threads(call, asked.threads), || {
        let rows = asked.source.rows(&call.arrays, &read)?;
        let mut arrays = PreparedArrays::default();
        for row in &rows {
            arrays.push(row.graph()?, &options)?;
        }
        Ok(arrays.reply(&options))
    })
}

/// Prepared graphs side by side.
#[derive(Default)]
struct PreparedArrays {
    nodes: Vec<i64>,
    sources: Vec<i64>,
    targets: Vec<i64>,
    node_categories: Vec<i64>,
    node_numbers: Vec<f32>,
    edge_categories: Vec<i64>,
    edge_numbers: Vec<f32>,
    eigenvalues: Vec<f32>,
    eigenvectors: Vec<f32>,
    num_eigenpairs: Vec<i64>,
    usable_eigenpairs: Vec<i64>,
    random_walk: Vec<f32>,
    log_degree: Vec<f32>,
    /// Categories and numbers of nodes and edges.
    widths: [usize; 4],
}

impl PreparedArrays {
    fn push(&mut self, graph: &Arc<Graph>, options: &PrepareOptions) -> Result<(), Failure> {
        let prepared = prepare_graph(graph, options)?;
        let graph = &prepared.graph;
        let first = self.log_degree.len() as i64;
        self.nodes.push(graph.num_nodes() as i64);
        self.sources.extend(graph.edges().iter().map(|[source, _]| first + i64::from(*source)));
        self.targets.extend(graph.edges().iter().map(|[_, target]| first + i64::from(*target)));
        let (nodes, edges) = (graph.node_features(), graph.edge_features());
        self.node_categories.extend(nodes.category_values().iter().map(|value| i64::from(*value)));
        self.node_numbers.extend(nodes.number_values());
        self.edge_categories.extend(edges.category_values().iter().map(|value| i64::from(*value)));
        self.edge_numbers.extend(edges.number_values());
        self.widths = [
            nodes.category_columns(),
            nodes.number_columns(),
            edges.category_columns(),
            edges.number_columns(),
        ];
        self.eigenvalues.extend(&prepared.eigenvalues);
        self.eigenvectors.extend(&prepared.eigenvectors);
        self.num_eigenpairs.push(prepared.num_eigenpairs as i64);
        self.usable_eigenpairs.push(prepared.usable_eigenpairs as i64);
        self.random_walk.extend(&prepared.random_walk);
        self.log_degree.extend(&prepared.log_degree);
        Ok(())
    }

    fn reply(self, options: &PrepareOptions) -> Reply {
        let integers = |values: &[i64]| bytes(values, i64::to_ne_bytes);
        let numbers = |values: &[f32]| bytes(values, f32::to_ne_bytes);
        let arrays = vec![
            integers(&self.nodes),
            integers(&[self.sources, self.targets].concat()),
            integers(&self.node_categories),
            numbers(&self.node_numbers),
            integers(&self.edge_categories),
            numbers(&self.edge_numbers),
            numbers(&self.eigenvalues),
            numbers(&self.eigenvectors),
            integers(&self.num_eigenpairs),
            integers(&self.usable_eigenpairs),
            numbers(&self.random_walk),
            numbers(&self.log_degree),
        ];
        let (eigenpairs, steps) = (options.eigenpairs, options.random_walk_steps);
        let value = json!({ "widths": self.widths, "eigenpairs": eigenpairs, "random_walk_steps": steps });
        Reply { value, arrays, handle: None }
    }
}
