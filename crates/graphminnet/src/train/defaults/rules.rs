//! The defaults themselves: one complete recipe for some data, setting by setting, and the reasons in words.

use super::{Asked, DataSize};
use crate::config::{Loss, NodePeKind, Recipe};
use graphminnet_data::text::counted;
use graphminnet_data::{Level, MoleculeTable, Schema, Task};
use toml::{Table, Value};

/// Optimizer steps that a default schedule aims at.
const STEPS: usize = 4_000;
const BATCH_SIZE: usize = 32;

/// Nodes of a graph from which on random walks are left out: from every node they go as far as half of the steps, so that
/// their time grows with the square of the nodes.
pub(super) const MANY_NODES: usize = 10_000;

/// For molecules: a small set is learnt by heart in more epochs, and averaged weights depend less on which of them is chosen.
/// Chosen by cross-validation (docs/results/molecules.md).
const MOLECULE_EPOCHS: usize = 50;
const MOLECULE_AVERAGE: f64 = 0.99;

/// How the sentence about the protocol for molecules begins.
pub(super) const OF_MOLECULES: &str = "molecules and a ";

/// Whether a recipe is as that sentence says; something else may have been asked for.
pub(super) fn is_as_for_molecules(recipe: &Recipe, schema: &Schema) -> bool {
    let Recipe { model, train, .. } = recipe;
    let is_of_numbers = train.loss == Loss::Mse && model.node_pe == NodePeKind::None;
    train.average_decay > 0.0
        && train.epochs <= MOLECULE_EPOCHS
        && (schema.task != Task::Regression || is_of_numbers)
}

/// A complete recipe for some data, and the reasons.
pub(super) fn inferred_table(
    name: &str,
    schema: &Schema,
    size: DataSize,
    asked: Asked,
) -> (Table, Vec<String>) {
    let mut draft = Draft::new(schema, size, asked);
    draft.task();
    draft.network();
    draft.nodes();
    draft.places(asked.walks);
    draft.edges();
    draft.head();
    draft.protocol();
    let Draft { model, train, notes, .. } = draft;
    let mut table = Table::new();
    table.insert("title".to_owned(), name.into());
    table.insert("dataset".to_owned(), name.into());
    table.insert("model".to_owned(), Value::Table(model));
    table.insert("train".to_owned(), Value::Table(train));
    (table, notes)
}

/// A recipe in the making, and what about the data decides more than one of its settings.
struct Draft<'a> {
    schema: &'a Schema,
    size: DataSize,
    /// Fewer than one label for ten nodes of one graph: features of single nodes would be learnt by heart.
    few_labels: bool,
    /// Links of one graph: too few are known to learn single nodes; which kinds of nodes have links can be learnt.
    of_links: bool,
    /// The graph is cut into parts.
    in_parts: bool,
    /// So features are averaged over neighbours.
    averages: bool,
    /// Something is to be learnt of whole molecules.
    of_molecules: bool,
    model: Table,
    train: Table,
    notes: Vec<String>,
}

impl<'a> Draft<'a> {
    fn new(schema: &'a Schema, size: DataSize, asked: Asked) -> Self {
        let few_labels = schema.level == Level::Node
            && size.train_nodes.is_some_and(|nodes| nodes.saturating_mul(10) < size.largest_graph);
        let of_links = size.train_nodes.is_some() && asks_for_links(schema);
        Self {
            schema,
            size,
            few_labels,
            of_links,
            in_parts: asked.parts,
            averages: !asked.parts && (few_labels || of_links && !schema.node_columns.is_empty()),
            of_molecules: schema.molecules.is_some() && schema.level == Level::Graph,
            model: Table::new(),
            train: Table::new(),
            notes: Vec::new(),
        }
    }

    fn model(&mut self, key: &str, value: impl Into<Value>) {
        self.model.insert(key.to_owned(), value.into());
    }

    fn train(&mut self, key: &str, value: impl Into<Value>) {
        self.train.insert(key.to_owned(), value.into());
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// What is learnt: outputs, loss and metric.
    fn task(&mut self) {
        let targets = self.schema.num_targets();
        let (outputs, loss, metric, task) = match self.schema.task {
            Task::Regression if self.of_molecules => (targets, "mse", "rmse", "regression".to_owned()),
            Task::Regression => (targets, "l1", "mae", "regression".to_owned()),
            Task::Binary => (targets, "binary_cross_entropy", "roc_auc", "binary classification".to_owned()),
            // Two classes of a multi-class task still have an output each.
            Task::MultiClass { classes } => (
                classes.max(2),
                "cross_entropy",
                "accuracy",
                format!("classification into {classes} classes"),
            ),
        };
        self.note(format!(
            "{task} per {}, {}: {}",
            self.schema.level,
            counted(targets, "target column"),
            self.schema.targets.join(", ")
        ));
        self.model("out_dim", number(outputs));
        self.train("loss", loss);
        self.train("metric", metric);
    }

    /// Width, depth and branches.
    fn network(&mut self) {
        let layers = match () {
            () if self.averages => 1,
            () if self.of_links => 2,
            () => 4,
        };
        let local = match () {
            () if self.schema.edge_numbers() > 0 => "gine",
            () if self.few_labels && self.schema.edge_columns.is_empty() && !self.in_parts => "gcn",
            () => "gatedgcn",
        };
        self.model("hidden", if self.few_labels { 128 } else { 64 });
        self.model("layers", layers);
        self.model("local", local);
        self.model("lap_dim", 16);
        // A cut through an eigenspace would keep vectors of it that depend on how nodes are numbered, and answers for a molecule
        // would depend on how it is written.
        self.model("whole_eigenspaces", true);
        self.model("self_term", true);
        for key in ["drop_ffn", "drop_local", "drop_res"] {
            self.model(key, if self.few_labels { 0.6 } else { 0.1 });
        }
        if let (true, Some(labelled)) = (self.few_labels, self.size.train_nodes) {
            let features = match self.in_parts {
                false => "their encoded features are averaged over 4 hops, one layer follows",
                true => "features are not averaged over hops, which a graph in parts does not allow",
            };
            self.note(format!(
                "{labelled} nodes are labelled: {features}, dropout is strong, weights decay and are averaged"
            ));
        }
        if self.averages {
            self.model("encoder_hops", 4);
            self.model("drop_encoder", 0.8);
        }
        if self.of_links {
            self.note(if self.averages {
                "links of one graph: encoded features are averaged over 4 hops with strong dropout and one layer follows, \
                 because features of single nodes would be learnt by heart"
            } else {
                "links of one graph: two layers, a large learning rate and averaged weights, because an epoch is one step"
            });
        }
    }

    fn nodes(&mut self) {
        if !self.columns("node", self.schema.node_vocabulary(), self.schema.node_numbers()) {
            self.note(
                "nodes have no features: their degrees and those of their neighbours are used, beside their place in the graph",
            );
            self.model("node_encoder", "degrees");
            self.model("node_in", 5);
        }
    }

    fn edges(&mut self) {
        if !self.columns("edge", self.schema.edge_vocabulary(), self.schema.edge_numbers()) {
            self.note("edges have no features");
            self.model("edge_encoder", "dummy");
        }
        if self.schema.edge_numbers() > 0 {
            self.note(
                "the local branch is gine, which adds up what edges say; gatedgcn would only weigh neighbours by it",
            );
        }
        let takes_degrees = self.schema.node_columns.is_empty();
        if takes_degrees || self.schema.node_numbers() + self.schema.edge_numbers() > 0 {
            self.note("numbers are put on the scale of the training data");
            self.model("standardize", true);
        }
    }

    /// The encoder of the columns of nodes or edges, if there are any.
    fn columns(&mut self, of: &str, vocabulary: Vec<usize>, numbers: usize) -> bool {
        let (encoder, which) = match (vocabulary.len(), numbers) {
            (0, 0) => return false,
            (0, numbers) => ("linear", counted(numbers, "numeric column")),
            (categories, 0) => {
                let encoder = if categories == 1 { "embed" } else { "atoms" };
                (encoder, format!("{} of sizes {vocabulary:?}", counted(categories, "categorical column")))
            }
            (categories, numbers) => (
                "mixed",
                format!(
                    "{} of sizes {vocabulary:?} and {}",
                    counted(categories, "categorical column"),
                    counted(numbers, "numeric one")
                ),
            ),
        };
        self.note(format!("{of}s have {which}"));
        self.model(&format!("{of}_encoder"), encoder);
        if !vocabulary.is_empty() {
            self.model(&format!("{of}_vocab"), vocabulary.into_iter().map(number).collect::<Vec<Value>>());
        }
        if numbers > 0 {
            self.model(&format!("{of}_in"), number(numbers));
        }
        true
    }

    /// How nodes know their place in the graph.
    fn places(&mut self, walks: bool) {
        // Random walks help to learn a small set of numbers by heart; classes are none the worse for them.
        let are_unwanted = self.averages || self.of_molecules && self.schema.task == Task::Regression;
        if self.few_labels || are_unwanted && !walks {
            self.model("node_pe", "none");
            return;
        }
        self.model("pe_dim", 28);
        let nodes = self.size.largest_graph;
        if nodes <= MANY_NODES {
            self.model("node_pe", "rwse");
            self.model("rwse_steps", 20);
        } else {
            self.note(format!(
                "a graph has {nodes} nodes, and random walks on more than {MANY_NODES} take long: nodes are placed by \
                 eigenvectors instead (`--set model.node_pe=rwse --set model.rwse_steps=20` takes the time)"
            ));
            self.model("node_pe", "lappe");
        }
    }

    /// From nodes to answers.
    fn head(&mut self) {
        match self.schema.level {
            Level::Graph => {
                self.model("head", "san");
                self.model("pooling", "mean");
                let descriptors = self.schema.graph_numbers();
                if descriptors > 0 {
                    let is_computed = |table: &MoleculeTable| table.form.basic_descriptors;
                    self.note(format!(
                        "{descriptors} descriptors join every graph before the head{}",
                        match self.schema.molecules.as_ref().is_some_and(is_computed) {
                            true => " (the dozen that is computed is left out by `--no-descriptors`)",
                            false => "",
                        }
                    ));
                    self.model("graph_in", number(descriptors));
                }
            }
            Level::Node => {
                self.model("level", "node");
                self.model("head", "mlp");
                self.model("head_layers", if self.few_labels { 1 } else { 3 });
            }
            level @ (Level::Edge | Level::Pair) => {
                let undirected = self.size.undirected;
                self.model("level", if level == Level::Edge { "edge" } else { "pair" });
                self.model("head", "mlp");
                self.model("head_layers", 3);
                self.model("ends_symmetric", undirected);
                if self.averages && undirected {
                    self.model("ends", "hadamard");
                }
                self.note(match undirected {
                    true => "edges go both ways: the answer for two nodes does not depend on their order",
                    false => "edges go one way: the answer for two nodes depends on their order",
                });
            }
        }
    }

    fn protocol(&mut self) {
        // An epoch of one graph is one step, so the steps are few and larger.
        let is_one_graph = self.few_labels || self.of_links;
        let steps_per_epoch = self.size.train_graphs.div_ceil(BATCH_SIZE).max(1);
        let epochs = match () {
            () if is_one_graph => 100,
            () => STEPS.div_ceil(steps_per_epoch).clamp(20, 200),
        };
        let epochs = if self.of_molecules { epochs.min(MOLECULE_EPOCHS) } else { epochs };
        self.train("epochs", number(epochs));
        self.train("warmup", number((epochs / 20).max(1)));
        self.train("batch_size", number(BATCH_SIZE));
        self.train(
            "learning_rate",
            match self.size.train_nodes {
                Some(_) if self.of_links => 1e-2,
                Some(_) => 3e-3,
                None => 1e-3,
            },
        );
        self.train("weight_decay", if self.few_labels { 1.0 } else { 1e-5 });
        self.train(
            "average_decay",
            match () {
                () if is_one_graph => 0.9,
                () if self.of_molecules => MOLECULE_AVERAGE,
                () => 0.0,
            },
        );
        // Own data may hardly vary within a batch, and running estimates are not good enough then.
        self.train("norm_estimates", "recomputed");
        let is_regression = self.schema.task == Task::Regression;
        if self.of_molecules {
            self.note(match is_regression {
                true => format!(
                    "{OF_MOLECULES}number: squared errors are minimised, weights are averaged, there are no random walks and at \
                     most {MOLECULE_EPOCHS} epochs"
                ),
                false => format!(
                    "{OF_MOLECULES}class: weights are averaged, and there are at most {MOLECULE_EPOCHS} epochs"
                ),
            });
        }
        if self.size.only_links && asks_for_links(self.schema) {
            self.note("the training part has links only: every epoch draws as many pairs without one");
            self.train("negatives", 1);
        }
        if is_regression {
            self.note("targets are standardised for training; results are in the data's own units");
            self.train("target_scaling", "standard");
        }
    }
}

/// Whether pairs are links or not.
fn asks_for_links(schema: &Schema) -> bool {
    schema.level == Level::Pair && schema.task == Task::Binary && schema.num_targets() == 1
}

/// Sizes are far below the largest integer of TOML.
fn number(value: usize) -> Value {
    Value::Integer(value as i64)
}
