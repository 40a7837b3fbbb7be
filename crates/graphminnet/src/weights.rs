//! A model's parameters and running statistics by name, and as safetensors files.
//!
//! Names follow the structure of the model (`layers.0.gmn.W.weight`, `layers.0.norm_ffn.running_mean`); linear
//! weights are `[out, in]`. They are the names of the reference implementation, so files can be exchanged with it.
//!
//! ```
//! use graphminnet::{DeviceKind, GraphMinNet, ModelConfig, weights};
//!
//! let config = ModelConfig { node_in: 2, hidden: 16, lap_dim: 4, ..ModelConfig::default() };
//! let device = DeviceKind::Cpu.open()?;
//! let bytes = weights::to_bytes(&GraphMinNet::new(&config, 0, &device)?)?;
//!
//! let copy = weights::from_bytes(GraphMinNet::new(&config, 1, &device)?, &bytes)?;
//! assert_eq!(weights::to_bytes(&copy)?, bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::ops::values;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
#[cfg(feature = "gradients")]
use burn::tensor::Gradients;
use burn::tensor::{Tensor, TensorData};
use graphminnet_data::fs::{self, IoError};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use thiserror::Error;

/// Why weights could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The bytes are not a valid safetensors file.
    #[error("not a valid safetensors file ({message}); it may be truncated or damaged")]
    Format {
        /// What is wrong.
        message: String,
    },
    /// A tensor that the model needs is not in the file.
    #[error("the weights have no tensor `{name}`, which the model needs")]
    Missing {
        /// Name of the tensor.
        name: String,
    },
    /// The file holds a tensor that the model does not have.
    #[error("the weights hold a tensor `{name}` that the model does not have; they belong to another model")]
    Unexpected {
        /// Name of the tensor.
        name: String,
    },
    /// A tensor has another shape than the model's.
    #[error("tensor `{name}` has shape {found:?}, the model's has {expected:?}")]
    Shape {
        /// Name of the tensor.
        name: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape in the model.
        expected: Vec<usize>,
    },
    /// A tensor is not made of 32-bit floats.
    #[error("tensor `{name}` holds {found}, expected 32-bit floats (F32)")]
    Type {
        /// Name of the tensor.
        name: String,
        /// Type in the file.
        found: String,
    },
    /// A tensor holds a value that is not finite.
    #[error("tensor `{name}` holds {value} at position {position}; weights must be finite")]
    NonFinite {
        /// Name of the tensor.
        name: String,
        /// Position of the value.
        position: usize,
        /// The value.
        value: f32,
    },
}

/// One tensor of a model by name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// Name, as in a weights file.
    pub name: String,
    /// Shape.
    pub shape: Vec<usize>,
    /// Values, row-major.
    pub values: Vec<f32>,
}

impl NamedTensor {
    /// Whether training adjusts the tensor (a running statistic is only tracked).
    pub fn is_parameter(&self) -> bool {
        is_parameter(&self.name)
    }
}

fn is_parameter(name: &str) -> bool {
    !(name.ends_with(".running_mean") || name.ends_with(".running_var"))
}

/// All parameters and running statistics of a module, in the order of its structure.
pub fn named_tensors<M: Module>(module: &M) -> Vec<NamedTensor> {
    let mut collector = Collector::default();
    module.visit(&mut collector);
    collector.tensors
}

/// The name and gradient of every parameter; `None` where it did not take part.
#[cfg(feature = "gradients")]
pub fn named_gradients<M: Module>(module: &M, gradients: &Gradients) -> Vec<(String, Option<Vec<f32>>)> {
    let mut collector = GradientCollector { path: Names::default(), gradients, found: Vec::new() };
    module.visit(&mut collector);
    collector.found
}

/// The name and size of every parameter, in the order of the module's structure.
#[cfg(feature = "train")]
pub(crate) fn parameter_sizes<M: Module>(module: &M) -> Vec<(String, usize)> {
    let mut counter = Counter::default();
    module.visit(&mut counter);
    counter.sizes
}

/// Number of trainable parameters.
pub fn count_parameters<M: Module>(module: &M) -> usize {
    let mut counter = Counter::default();
    module.visit(&mut counter);
    counter.parameters
}

/// Number of trainable parameters and running statistics together.
pub(crate) fn count_numbers<M: Module>(module: &M) -> usize {
    let mut counter = Counter::default();
    module.visit(&mut counter);
    counter.numbers
}

/// The bytes of a safetensors file with all parameters and running statistics.
///
/// # Errors
///
/// [`WeightsError::Format`] if the tensors cannot be written as safetensors.
pub fn to_bytes<M: Module>(module: &M) -> Result<Vec<u8>, WeightsError> {
    tensors_to_bytes(&named_tensors(module))
}

/// The bytes of a safetensors file with some tensors.
pub(crate) fn tensors_to_bytes(tensors: &[NamedTensor]) -> Result<Vec<u8>, WeightsError> {
    let bytes: Vec<Vec<u8>> = tensors
        .iter()
        .map(|tensor| tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect())
        .collect();
    let mut views = Vec::with_capacity(tensors.len());
    for (tensor, bytes) in tensors.iter().zip(&bytes) {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).map_err(format_error)?;
        views.push((tensor.name.as_str(), view));
    }
    safetensors::serialize(views, None).map_err(format_error)
}

/// Writes a module's weights to a safetensors file.
///
/// # Errors
///
/// [`WeightsError::Io`] if the file cannot be written.
pub fn save<M: Module>(module: &M, path: &Path) -> Result<(), WeightsError> {
    Ok(fs::write_atomically(path, &to_bytes(module)?)?)
}

/// The module with the weights of a safetensors file.
///
/// # Errors
///
/// [`WeightsError`] if the file cannot be read, is damaged, or belongs to another model.
pub fn load<M: Module>(module: M, path: &Path) -> Result<M, WeightsError> {
    from_bytes(module, &fs::read(path)?)
}

/// The module with the weights in the bytes of a safetensors file.
///
/// # Errors
///
/// [`WeightsError`] if the bytes are damaged or belong to another model.
pub fn from_bytes<M: Module>(module: M, bytes: &[u8]) -> Result<M, WeightsError> {
    replace(module, tensors_of_bytes(bytes)?.into_values())
}

/// The tensors in the bytes of a safetensors file, by name.
pub(crate) fn tensors_of_bytes(bytes: &[u8]) -> Result<BTreeMap<String, NamedTensor>, WeightsError> {
    let file = SafeTensors::deserialize(bytes).map_err(format_error)?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(WeightsError::Type { name: name.to_owned(), found: format!("{:?}", view.dtype()) });
        }
        let values =
            view.data().chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        tensors.insert(
            name.to_owned(),
            NamedTensor { name: name.to_owned(), shape: view.shape().to_vec(), values: values.collect() },
        );
    }
    Ok(tensors)
}

/// The module with other values for all of its parameters and running statistics.
///
/// # Errors
///
/// [`WeightsError`] if a tensor is missing, unexpected, misshapen or not finite; the module is then lost, since
/// it may have been changed in part.
pub fn replace<M: Module>(
    module: M,
    tensors: impl IntoIterator<Item = NamedTensor>,
) -> Result<M, WeightsError> {
    let tensors = tensors.into_iter().map(|tensor| (tensor.name.clone(), tensor)).collect();
    let mut replacer = Replacer { path: Names::default(), tensors, error: None };
    let module = module.map(&mut replacer);
    if let Some(error) = replacer.error {
        return Err(error);
    }
    match replacer.tensors.into_keys().min() {
        None => Ok(module),
        Some(name) => Err(WeightsError::Unexpected { name }),
    }
}

fn format_error(error: safetensors::SafeTensorError) -> WeightsError {
    WeightsError::Format { message: error.to_string() }
}

/// The path of the module being visited. An enum variant is not part of a name: it says which form a part has, not where
/// it is. One in lower case is the exception: it stands in the place of the field that holds the enum (`layers.0.gmn`,
/// not `layers.0.global`).
#[derive(Default)]
pub(crate) struct Names(Vec<String>);

impl Names {
    pub(crate) fn enter(&mut self, name: &str, container: &str) {
        if !container.starts_with("Enum:") {
            self.0.push(name.to_owned());
        } else if name.starts_with(|first: char| first.is_ascii_lowercase())
            && let Some(field) = self.0.last_mut()
        {
            name.clone_into(field);
        }
    }

    pub(crate) fn exit(&mut self, container: &str) {
        if !container.starts_with("Enum:") {
            self.0.pop();
        }
    }

    pub(crate) fn current(&self) -> String {
        self.0.join(".")
    }
}

#[derive(Default)]
struct Collector {
    path: Names,
    tensors: Vec<NamedTensor>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, container_type: &str) {
        self.path.exit(container_type);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        let shape = tensor.dims().to_vec();
        self.tensors.push(NamedTensor { name: self.path.current(), shape, values: values(tensor) });
    }
}

/// Counts without looking at a value.
#[derive(Default)]
struct Counter {
    path: Names,
    numbers: usize,
    parameters: usize,
    #[cfg(feature = "train")]
    sizes: Vec<(String, usize)>,
}

impl ModuleVisitor for Counter {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, container_type: &str) {
        self.path.exit(container_type);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let numbers = param.val().dims().into_iter().fold(1, usize::saturating_mul);
        self.numbers = self.numbers.saturating_add(numbers);
        let name = self.path.current();
        if is_parameter(&name) {
            self.parameters = self.parameters.saturating_add(numbers);
            #[cfg(feature = "train")]
            self.sizes.push((name, numbers));
        }
    }
}

#[cfg(feature = "gradients")]
struct GradientCollector<'a> {
    path: Names,
    gradients: &'a Gradients,
    found: Vec<(String, Option<Vec<f32>>)>,
}

#[cfg(feature = "gradients")]
impl ModuleVisitor for GradientCollector<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, container_type: &str) {
        self.path.exit(container_type);
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.path.current();
        if is_parameter(&name) {
            self.found.push((name, param.val().grad(self.gradients).map(values)));
        }
    }
}

struct Replacer {
    path: Names,
    tensors: HashMap<String, NamedTensor>,
    error: Option<WeightsError>,
}

impl Replacer {
    fn take(&mut self, name: String, expected: &[usize]) -> Result<NamedTensor, WeightsError> {
        let Some(tensor) = self.tensors.remove(&name) else { return Err(WeightsError::Missing { name }) };
        let filled = tensor.values.len() == tensor.shape.iter().product::<usize>();
        if tensor.shape != expected || !filled {
            let found = if filled { tensor.shape } else { vec![tensor.values.len()] };
            return Err(WeightsError::Shape { name, found, expected: expected.to_vec() });
        }
        match tensor.values.iter().position(|value| !value.is_finite()) {
            None => Ok(tensor),
            Some(position) => Err(WeightsError::NonFinite { name, position, value: tensor.values[position] }),
        }
    }
}

impl ModuleMapper for Replacer {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, container_type: &str) {
        self.path.exit(container_type);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if self.error.is_some() {
            return param;
        }
        let (expected, device) = (param.val().dims(), param.val().device());
        match self.take(self.path.current(), &expected) {
            Ok(tensor) => param.map(|old| {
                let new = Tensor::from_data(TensorData::new(tensor.values, expected), &device);
                if old.is_require_grad() { new.require_grad() } else { new }
            }),
            Err(error) => {
                self.error = Some(error);
                param
            }
        }
    }
}
