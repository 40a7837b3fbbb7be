//! AdamW: moments per parameter, decoupled weight decay on every parameter, one fused kernel per step.

use super::NamedGradients;
use crate::weights::Names;
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Tensor, TensorData};
use graphminnet_kernels::adamw;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use thiserror::Error;

/// Why an optimizer's state could not be read or used.
#[derive(Debug, Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum OptimError {
    /// The bytes are not a valid safetensors file, or hold something else.
    #[error("not a saved optimizer state: {message}")]
    Format {
        /// What is wrong.
        message: String,
    },
    /// A gradient or a saved moment does not have the size of its parameter.
    #[error("`{name}` has {found} values where the parameter has {expected}")]
    Size {
        /// Name of the parameter.
        name: String,
        /// Values found.
        found: usize,
        /// Values of the parameter.
        expected: usize,
    },
}

/// The constants of AdamW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamWSettings {
    /// Decoupled weight decay.
    pub weight_decay: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the denominator.
    pub epsilon: f64,
}

impl AdamWSettings {
    /// The usual constants with the given decay.
    pub fn with_decay(weight_decay: f64) -> Self {
        Self { weight_decay, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

/// How much of a step a parameter takes part in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// Factor of the learning rate.
    pub rate: f64,
    /// Whether weight decay acts on it.
    pub decays: bool,
}

impl Default for Share {
    fn default() -> Self {
        Self { rate: 1.0, decays: true }
    }
}

/// What AdamW remembers of one parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// Steps that this parameter took part in.
    pub steps: u64,
    /// Running mean of the gradient.
    pub first: Vec<f32>,
    /// Running mean of its square.
    pub second: Vec<f32>,
}

/// The optimizer: its constants and the moments of every parameter that ever had a gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct AdamW {
    settings: AdamWSettings,
    moments: BTreeMap<String, Moments>,
}

impl AdamW {
    /// An optimizer that has seen nothing.
    pub fn new(settings: AdamWSettings) -> Self {
        Self { settings, moments: BTreeMap::new() }
    }

    /// The moments by parameter name.
    pub fn moments(&self) -> &BTreeMap<String, Moments> {
        &self.moments
    }

    /// One step: every parameter with a gradient moves, the others stay as they are (they do not decay either).
    ///
    /// `gradient_scale` multiplies all gradients first (clipping).
    ///
    /// # Errors
    ///
    /// [`OptimError::Size`] if the gradients or moments belong to another model; the module is then lost.
    pub fn step<M: Module>(
        &mut self,
        module: M,
        gradients: &NamedGradients,
        learning_rate: f64,
        gradient_scale: f64,
    ) -> Result<M, OptimError> {
        self.step_where(module, gradients, learning_rate, gradient_scale, &|_| Share::default())
    }

    /// The same, in which `share` says how much of it a parameter takes part in.
    ///
    /// # Errors
    ///
    /// As [`AdamW::step`].
    pub fn step_where<M: Module>(
        &mut self,
        module: M,
        gradients: &NamedGradients,
        learning_rate: f64,
        gradient_scale: f64,
        share: &dyn Fn(&str) -> Share,
    ) -> Result<M, OptimError> {
        let by_name = gradients.iter().filter_map(|(name, gradient)| Some((name, gradient?))).collect();
        let mut stepper = Stepper {
            path: Names::default(),
            gradients: by_name,
            optimizer: self,
            learning_rate,
            gradient_scale: gradient_scale as f32,
            share,
            error: None,
        };
        let module = module.map(&mut stepper);
        match stepper.error {
            None => Ok(module),
            Some(error) => Err(error),
        }
    }

    /// The bytes of a safetensors file with all moments.
    ///
    /// # Errors
    ///
    /// [`OptimError::Format`] if they cannot be written as safetensors.
    pub fn to_bytes(&self) -> Result<Vec<u8>, OptimError> {
        let mut parts: Vec<(String, Dtype, usize, Vec<u8>)> = Vec::with_capacity(3 * self.moments.len());
        for (name, moments) in &self.moments {
            let floats =
                |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
            let size = moments.first.len();
            parts.push((format!("{name}{FIRST}"), Dtype::F32, size, floats(&moments.first)));
            parts.push((format!("{name}{SECOND}"), Dtype::F32, size, floats(&moments.second)));
            parts.push((format!("{name}{STEPS}"), Dtype::U64, 1, moments.steps.to_le_bytes().to_vec()));
        }
        let mut views = Vec::with_capacity(parts.len());
        for (name, kind, size, bytes) in &parts {
            views.push((name.as_str(), TensorView::new(*kind, vec![*size], bytes).map_err(format_error)?));
        }
        safetensors::serialize(views, None).map_err(format_error)
    }

    /// The optimizer whose moments are in the bytes of a safetensors file.
    ///
    /// # Errors
    ///
    /// [`OptimError::Format`] if the bytes are damaged or hold something else.
    pub fn from_bytes(settings: AdamWSettings, bytes: &[u8]) -> Result<Self, OptimError> {
        let file = SafeTensors::deserialize(bytes).map_err(format_error)?;
        let tensor = |name: String, kind: Dtype| match file.tensor(&name) {
            Ok(view) if view.dtype() == kind => Ok(view),
            _ => Err(OptimError::Format { message: format!("`{name}` is missing or has another type") }),
        };
        let floats = |name: String| -> Result<Vec<f32>, OptimError> {
            let view = tensor(name, Dtype::F32)?;
            let words = view.data().chunks_exact(4);
            Ok(words.map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
        };
        let mut moments = BTreeMap::new();
        for name in file.names() {
            let Some(name) = name.strip_suffix(STEPS) else { continue };
            let steps = tensor(format!("{name}{STEPS}"), Dtype::U64)?;
            let steps = steps.data().try_into().map(u64::from_le_bytes);
            let steps = steps
                .map_err(|_| OptimError::Format { message: format!("`{name}{STEPS}` is not one number") })?;
            let first = floats(format!("{name}{FIRST}"))?;
            let second = floats(format!("{name}{SECOND}"))?;
            if first.len() != second.len() {
                let (found, expected) = (second.len(), first.len());
                return Err(OptimError::Size { name: format!("{name}{SECOND}"), found, expected });
            }
            moments.insert(name.to_owned(), Moments { steps, first, second });
        }
        if file.len() != 3 * moments.len() {
            return Err(OptimError::Format {
                message: "it holds tensors that belong to no parameter".into(),
            });
        }
        Ok(Self { settings, moments })
    }
}

const FIRST: &str = ".first";
const SECOND: &str = ".second";
const STEPS: &str = ".steps";

fn format_error(error: safetensors::SafeTensorError) -> OptimError {
    OptimError::Format { message: error.to_string() }
}

struct Stepper<'a> {
    path: Names,
    gradients: HashMap<&'a str, &'a [f32]>,
    optimizer: &'a mut AdamW,
    learning_rate: f64,
    gradient_scale: f32,
    share: &'a dyn Fn(&str) -> Share,
    error: Option<OptimError>,
}

impl Stepper<'_> {
    /// Moves one parameter in place.
    fn step(&mut self, name: &str, gradient: &[f32], values: &mut [f32]) -> Result<(), OptimError> {
        let expected = values.len();
        let size = |found: usize| {
            let wrong = || OptimError::Size { name: name.to_owned(), found, expected };
            if found == expected { Ok(()) } else { Err(wrong()) }
        };
        size(gradient.len())?;
        let settings = self.optimizer.settings;
        let moments = self.optimizer.moments.entry(name.to_owned()).or_insert_with(|| Moments {
            steps: 0,
            first: vec![0.0; expected],
            second: vec![0.0; expected],
        });
        size(moments.first.len())?;
        moments.steps += 1;
        let Share { rate, decays } = (self.share)(name);
        let step = adamw::AdamW {
            learning_rate: self.learning_rate * rate,
            weight_decay: if decays { settings.weight_decay } else { 0.0 },
            beta1: settings.beta1,
            beta2: settings.beta2,
            epsilon: settings.epsilon,
            step: moments.steps,
            gradient_scale: self.gradient_scale,
        };
        adamw::adamw(&step, values, gradient, &mut moments.first, &mut moments.second);
        Ok(())
    }
}

impl ModuleMapper for Stepper<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.enter(name, container_type);
    }

    fn exit_module(&mut self, _: &str, container_type: &str) {
        self.path.exit(container_type);
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.path.current();
        let Some(gradient) = self.gradients.get(name.as_str()).copied() else { return param };
        if self.error.is_some() {
            return param;
        }
        param.map(|tensor| {
            let (shape, device) = (tensor.dims(), tensor.device());
            let mut values: Vec<f32> = match tensor.clone().into_data().try_into_vec() {
                Ok(values) => values,
                Err(_) => unreachable!("the model computes with 32-bit floats"),
            };
            match self.step(&name, gradient, &mut values) {
                Ok(()) => Tensor::from_data(TensorData::new(values, shape), &device).require_grad(),
                Err(error) => {
                    self.error = Some(error);
                    tensor
                }
            }
        })
    }
}
