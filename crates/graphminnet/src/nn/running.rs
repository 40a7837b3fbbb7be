//! A value that a training pass updates while the model is only borrowed.
//!
//! Burn's own running state is shared between copies of a module and averages over threads; here a copy is a copy,
//! and an update is visible at once.

use burn::module::{
    Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor, Param,
    ParamId,
};
use burn::tensor::{Device, Tensor};
use std::sync::{Mutex, PoisonError};

/// A running estimate, `[columns]`; part of a model's weights, but not trained by gradients.
#[derive(Debug)]
pub struct Running {
    id: ParamId,
    value: Mutex<Tensor<1>>,
}

impl Running {
    /// Starts from a value.
    pub fn new(value: Tensor<1>) -> Self {
        Self { id: ParamId::new(), value: Mutex::new(value.set_require_grad(false)) }
    }

    /// The current value.
    pub fn value(&self) -> Tensor<1> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value.
    pub fn set(&self, value: Tensor<1>) {
        *self.value.lock().unwrap_or_else(PoisonError::into_inner) = value;
    }

    fn with(&self, value: Tensor<1>) -> Self {
        Self { id: self.id, value: Mutex::new(value) }
    }
}

impl Clone for Running {
    fn clone(&self) -> Self {
        self.with(self.value())
    }
}

impl Module for Running {
    fn collect_devices(&self, mut devices: Devices) -> Devices {
        let device = self.value().device();
        if !devices.contains(&device) {
            devices.push(device);
        }
        devices
    }

    fn fork(self, device: &Device) -> Self {
        self.to_device(device)
    }

    fn to_device(self, device: &Device) -> Self {
        self.with(self.value().to_device(device))
    }

    fn train(self) -> Self {
        self.with(Tensor::from_inner(self.value()))
    }

    fn valid(&self) -> Self {
        self.with(self.value().without_autodiff())
    }

    fn materialize(self) -> Self {
        self
    }

    fn visit<Visitor: ModuleVisitor>(&self, visitor: &mut Visitor) {
        visitor.visit_float(&Param::initialized(self.id, self.value()));
    }

    fn map<Mapper: ModuleMapper>(self, mapper: &mut Mapper) -> Self {
        let (_, value, _) = mapper.map_float(Param::initialized(self.id, self.value())).consume();
        self.with(value.set_require_grad(false))
    }
}

impl ModuleDisplayDefault for Running {
    fn content(&self, content: Content) -> Option<Content> {
        content.add_formatted(&"Running").optional()
    }
}

impl ModuleDisplay for Running {}

impl std::fmt::Display for Running {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Running({})", self.id)
    }
}
