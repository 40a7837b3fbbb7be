//! Where a model runs.

use burn::tensor::Device;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A kind of device, by the word that a command line uses for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceKind {
    /// The processor, through the fused kernels.
    #[default]
    Cpu,
    /// A graphics processor through Vulkan, Metal or DirectX.
    Wgpu,
    /// An NVIDIA graphics processor.
    Cuda,
    /// An AMD graphics processor.
    Rocm,
}

/// Why there is no such device.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceError {
    /// The word does not name a device.
    #[error("`{word}` is not one of cpu, wgpu, cuda, rocm")]
    Unknown {
        /// The word.
        word: String,
    },
    /// This build does not contain the device.
    #[error("this build cannot use `{device}`; build it with `--features {device}`")]
    NotBuilt {
        /// The device.
        device: DeviceKind,
    },
    /// This build contains the device, but the machine has none, or no driver for it.
    #[error("no `{device}` device was found on this machine; {needs}, or run on `cpu`")]
    NotFound {
        /// The device.
        device: DeviceKind,
        /// What it would take.
        needs: &'static str,
    },
    /// The machine has the device, but its driver does not let us use it.
    #[error("the `{device}` device of this machine cannot be used: {reason}")]
    Refused {
        /// The device.
        device: DeviceKind,
        /// What the driver says.
        reason: String,
    },
}

impl DeviceKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Wgpu, Self::Cuda, Self::Rocm];

    fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Wgpu => "wgpu",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
        }
    }

    /// The device itself: the first of its kind, or the one that the system calls its fastest.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotBuilt`] if this build does not contain it, [`DeviceError::NotFound`] or
    /// [`DeviceError::Refused`] if the machine does not have it.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            #[cfg(feature = "wgpu")]
            Self::Wgpu => wgpu::open(),
            kind => kind.all()?.into_iter().next().ok_or_else(|| kind.not_found()),
        }
    }

    /// What the devices of this kind on this machine call themselves; asking opens them.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotBuilt`] if this build does not contain the kind.
    pub fn names(self) -> Result<Vec<String>, DeviceError> {
        let devices = self.all()?;
        Ok(devices.iter().map(|device| name(device).unwrap_or_else(|| self.to_string())).collect())
    }

    /// All devices of this kind on this machine.
    fn all(self) -> Result<Vec<Device>, DeviceError> {
        #[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
        let found = |kind: burn::tensor::DeviceType| Ok(Device::enumerate(kind).into_iter().collect());
        match self {
            Self::Cpu => Ok(vec![Device::flex()]),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => found(burn::tensor::DeviceType::Wgpu),
            #[cfg(feature = "cuda")]
            Self::Cuda => found(burn::tensor::DeviceType::Cuda),
            #[cfg(feature = "rocm")]
            Self::Rocm => found(burn::tensor::DeviceType::Rocm),
            #[allow(unreachable_patterns)]
            device => Err(DeviceError::NotBuilt { device }),
        }
    }

    fn not_found(self) -> DeviceError {
        let needs = match self {
            Self::Cpu => "it needs a processor",
            Self::Wgpu => "it needs a driver for Vulkan, Metal or DirectX 12",
            Self::Cuda => "it needs an NVIDIA card and its driver",
            Self::Rocm => "it needs an AMD card and the HIP runtime",
        };
        DeviceError::NotFound { device: self, needs }
    }
}

/// Opening of the device that has drivers of many kinds, and with them many ways to fail.
#[cfg(feature = "wgpu")]
mod wgpu {
    use super::{DeviceError, DeviceKind};
    use burn::tensor::Device;
    use burn::tensor::wgpu::WgpuInitError;
    use std::sync::OnceLock;

    /// It can be opened once; everyone after the first shares it.
    static OPENED: OnceLock<Result<Device, DeviceError>> = OnceLock::new();

    pub(super) fn open() -> Result<Device, DeviceError> {
        let open = || match Device::wgpu_options().init() {
            Ok(device) => Ok(device),
            // A program that uses the tensor engine on its own account has opened it before.
            Err(WgpuInitError::Registration { .. }) => {
                Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice))
            }
            Err(WgpuInitError::AdapterUnavailable { .. }) => Err(DeviceKind::Wgpu.not_found()),
            Err(error) => Err(DeviceError::Refused { device: DeviceKind::Wgpu, reason: error.to_string() }),
        };
        OPENED.get_or_init(open).clone()
    }
}

#[cfg(any(feature = "wgpu", feature = "cuda", feature = "rocm"))]
fn name(device: &Device) -> Option<String> {
    device.identity().map(|identity| identity.name)
}

/// The processor does not report a name.
#[cfg(not(any(feature = "wgpu", feature = "cuda", feature = "rocm")))]
fn name(_: &Device) -> Option<String> {
    None
}

impl FromStr for DeviceKind {
    type Err = DeviceError;

    fn from_str(word: &str) -> Result<Self, DeviceError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.word() == word)
            .ok_or_else(|| DeviceError::Unknown { word: word.escape_debug().to_string() })
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_opens_or_says_what_it_takes() {
        assert_eq!(DeviceKind::Cpu.names().unwrap(), ["cpu"]);
        for kind in DeviceKind::ALL {
            match (kind.open(), kind.names()) {
                (Ok(_), Ok(names)) => assert!(!names.is_empty(), "{kind}"),
                (Err(DeviceError::NotBuilt { device }), Err(_)) => assert_eq!(device, kind),
                (Err(DeviceError::NotFound { device, .. }), Ok(names)) => {
                    assert!(device == kind && names.is_empty(), "{kind}");
                }
                (Err(DeviceError::Refused { device, .. }), Ok(_)) => assert_eq!(device, kind),
                other => panic!("{kind}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_word_that_names_no_device_is_refused() {
        assert_eq!("wgpu".parse(), Ok(DeviceKind::Wgpu));
        let error = "gpu".parse::<DeviceKind>().unwrap_err();
        assert_eq!(error.to_string(), "`gpu` is not one of cpu, wgpu, cuda, rocm");
    }
}
