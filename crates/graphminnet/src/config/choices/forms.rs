//! Choices with a number or a name in them: φ, β, and the parts of a graph.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The learnable or fixed function φ of the eigenvalues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phi {
    /// The set encoder.
    Deepset,
    /// `λ^k` in every channel.
    Power(u32),
    /// Zero.
    Zero,
}

impl FromStr for Phi {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("power:").map(str::parse)) {
            ("deepset", _) => Ok(Self::Deepset),
            ("zero", _) => Ok(Self::Zero),
            (_, Some(Ok(exponent))) => Ok(Self::Power(exponent)),
            _ => Err(format!(
                "`{}` is not one of deepset, zero, power:k with a whole number k",
                text.escape_debug()
            )),
        }
    }
}

impl fmt::Display for Phi {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deepset => formatter.write_str("deepset"),
            Self::Power(exponent) => write!(formatter, "power:{exponent}"),
            Self::Zero => formatter.write_str("zero"),
        }
    }
}

as_text!(Phi);

/// The weight β between the global and the self term.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beta {
    /// A learnable scalar per layer.
    Learn,
    /// A constant.
    Fixed(f64),
}

impl FromStr for Beta {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("fixed:").map(str::parse::<f64>)) {
            ("learn", _) => Ok(Self::Learn),
            (_, Some(Ok(value))) if value.is_finite() => Ok(Self::Fixed(value)),
            _ => {
                Err(format!("`{}` is not one of learn, fixed:v with a finite number v", text.escape_debug()))
            }
        }
    }
}

impl fmt::Display for Beta {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Learn => formatter.write_str("learn"),
            Self::Fixed(value) => write!(formatter, "fixed:{value}"),
        }
    }
}

as_text!(Beta);

/// Which nodes of a graph belong to which part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum PartitionBy {
    /// Nodes as they are numbered, in parts of equal size.
    Order,
    /// Chosen in one pass over the nodes so that few edges are between parts.
    Greedy,
    /// A file with the part of every node.
    File(PathBuf),
}

impl From<String> for PartitionBy {
    fn from(word: String) -> Self {
        match word.as_str() {
            "order" => Self::Order,
            "greedy" => Self::Greedy,
            _ => Self::File(word.into()),
        }
    }
}

impl From<PartitionBy> for String {
    fn from(partition: PartitionBy) -> Self {
        match partition {
            PartitionBy::Order => "order".to_owned(),
            PartitionBy::Greedy => "greedy".to_owned(),
            PartitionBy::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}
