//! Several models that answer the same question: mean and spread of what they say. One model is an ensemble of one.

#[cfg(feature = "train")]
use super::infer::ask_same;
use super::infer::{Question, ask, unstopped};
use super::{Answers, Bundle, BundleError, Description, MaybeGraph, group, locate};
use crate::device::DeviceKind;
use burn::tensor::Device;
#[cfg(feature = "train")]
use graphminnet_data::spectral::PreparedGraph;
use graphminnet_data::spectral::{Stop, Stopped};
use graphminnet_data::{Column, MoleculeReading};
use std::path::Path;

/// At least one model; all have the same schema and kind of answer.
#[derive(Debug, Clone)]
pub struct Ensemble {
    first: Bundle,
    others: Vec<Bundle>,
}

/// The columns of a table whose numbers join the graphs.
fn descriptors(about: &Description) -> &[String] {
    about.schema.molecules.as_ref().map_or(&[], |table| &table.descriptors)
}

impl Ensemble {
    /// Puts models together.
    ///
    /// # Errors
    ///
    /// [`BundleError::Ensemble`] if they answer different questions, [`BundleError::NoMembers`].
    pub fn new(members: Vec<Bundle>) -> Result<Self, BundleError> {
        let mut members = members.into_iter();
        let first = members.next().ok_or(BundleError::NoMembers)?;
        let others: Vec<Bundle> = members.collect();
        for other in &others {
            let (a, b) = (first.description(), other.description());
            let differs = if a.schema.targets != b.schema.targets {
                "targets"
            } else if a.form() != b.form() {
                "kinds of answer"
            } else if a.schema.class_names != b.schema.class_names
                || a.schema.positive_class != b.schema.positive_class
            {
                "classes"
            } else if a.schema.level != b.schema.level {
                "levels (graph, node, edge or pair)"
            } else if !Column::are_like(&a.schema.node_columns, &b.schema.node_columns)
                || !Column::are_like(&a.schema.edge_columns, &b.schema.edge_columns)
                || descriptors(a) != descriptors(b)
            {
                "columns or vocabularies"
            } else if MoleculeReading::of_schema(&a.schema) != MoleculeReading::of_schema(&b.schema) {
                "forms of molecules (hydrogens, stereo, fragments)"
            } else if a.edges != b.edges {
                "rules for the direction of edges"
            } else {
                continue;
            };
            let (first, other) = (first.path().to_owned(), other.path().to_owned());
            return Err(BundleError::Ensemble { first, other, what: differs });
        }
        Ok(Self { first, others })
    }

    /// Reads the models that some paths stand for (a file, the folder of a seed, or a run), to be used on the processor.
    ///
    /// # Errors
    ///
    /// As [`Bundle::load`] and [`Ensemble::new`].
    pub fn load(paths: &[impl AsRef<Path>]) -> Result<Self, BundleError> {
        Self::load_on(paths, &DeviceKind::Cpu.open()?)
    }

    /// Reads the models that some paths stand for, to be used on a device (one without differentiation).
    ///
    /// # Errors
    ///
    /// As [`Ensemble::load`].
    pub fn load_on(paths: &[impl AsRef<Path>], device: &Device) -> Result<Self, BundleError> {
        let mut members = Vec::new();
        for path in paths {
            for file in locate(path.as_ref())? {
                match group::read(&file)? {
                    None => members.push(Bundle::load_on(&file, device)?),
                    Some(models) => {
                        for (number, bytes) in models.iter().enumerate() {
                            let name = format!("{}, model {}", file.display(), number + 1);
                            members.push(Bundle::from_bytes(bytes, &name, device)?);
                        }
                    }
                }
            }
        }
        Self::new(members)
    }

    /// [`Ensemble::answer`] for graphs that were prepared for its models, which all want to know the same of them.
    #[cfg(feature = "train")]
    pub(crate) fn predict_prepared(&self, graphs: &[&PreparedGraph]) -> Answers {
        unstopped(|stop| ask_same(self.members(), graphs, stop))
    }

    /// The bytes of one file with all models: that of the model where there is only one.
    ///
    /// # Errors
    ///
    /// As [`Bundle::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleError> {
        if self.others.is_empty() {
            return self.first.to_bytes();
        }
        let models = self.members().map(Bundle::to_bytes).collect::<Result<Vec<_>, _>>()?;
        Ok(group::pack(&models))
    }

    /// The models.
    pub fn members(&self) -> impl Iterator<Item = &Bundle> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Number of models.
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// The first model and the others.
    pub(super) fn split(&self) -> (&Bundle, &[Bundle]) {
        (&self.first, &self.others)
    }

    /// Always false: an ensemble has members.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// What the first model says of itself; schema and kind of answer are those of all.
    pub fn description(&self) -> &Description {
        self.first.description()
    }

    /// What the models say about some graphs, in their order: the one way to an answer.
    ///
    /// A graph that cannot be answered, and a row of a file that holds none, keep their place and have a reason
    /// ([`Answers::graph`]); an output that is no finite number is such a reason.
    pub fn answer(&self, graphs: &[impl MaybeGraph]) -> Answers {
        unstopped(|stop| self.answer_unless(graphs, stop))
    }

    /// [`Ensemble::answer`], unless it is to stop: asked before every layer of a batch, every graph that is prepared, and
    /// every step of a long preparation.
    ///
    /// # Errors
    ///
    /// [`Stopped`] soon after `stop` says so.
    pub fn answer_unless(&self, graphs: &[impl MaybeGraph], stop: Stop<'_>) -> Result<Answers, Stopped> {
        ask(&self.first, &self.others, graphs, Question::Prediction, stop)
    }
}
