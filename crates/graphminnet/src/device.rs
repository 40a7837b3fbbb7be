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

    /// The device itself.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotBuilt`] if this build does not contain it.
    pub fn open(self) -> Result<Device, DeviceError> {
        match self {
            Self::Cpu => Ok(Device::flex()),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => Ok(Device::wgpu(burn::tensor::DeviceKind::DefaultDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda => Ok(Device::cuda(0)),
            #[cfg(feature = "rocm")]
            Self::Rocm => Ok(Device::rocm(0)),
            #[allow(unreachable_patterns)]
            device => Err(DeviceError::NotBuilt { device }),
        }
    }
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
