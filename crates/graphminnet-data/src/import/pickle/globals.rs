//! The closed list of names that a pickle may mention.

/// Type of the elements of a storage or array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
}

impl Element {
    /// Bytes of one element.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }

    /// Whether it holds integers.
    pub(crate) fn is_integer(self) -> bool {
        !matches!(self, Self::F64 | Self::F32 | Self::F16 | Self::BF16)
    }

    /// The element of a NumPy type description such as `f4`.
    pub(super) fn of_numpy(text: &str) -> Option<Self> {
        match text.trim_start_matches(['<', '|', '=']) {
            "f8" => Some(Self::F64),
            "f4" => Some(Self::F32),
            "f2" => Some(Self::F16),
            "i8" => Some(Self::I64),
            "i4" => Some(Self::I32),
            "i2" => Some(Self::I16),
            "i1" => Some(Self::I8),
            "u1" => Some(Self::U8),
            "b1" => Some(Self::Bool),
            _ => None,
        }
    }
}

/// What an allowed name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Global {
    /// A tensor from storage, offset, size and stride.
    RebuildTensor,
    /// A storage from the bytes of a nested file.
    LoadFromBytes,
    /// The type of a storage.
    Storage(Element),
    /// A tuple of sizes.
    Size,
    /// A dictionary.
    Dict,
    /// A list.
    List,
    /// A set, kept as a list.
    Set,
    /// Text to bytes.
    Encode,
    /// An empty array, filled by `BUILD`.
    ArrayReconstruct,
    /// The type of arrays.
    Ndarray,
    /// The type of array element types.
    Dtype,
    /// An array scalar from a type and bytes.
    Scalar,
    /// An array from bytes, type, shape and order.
    FromBuffer,
    /// A graph or the storage of its attributes: an object that is nothing but its state.
    Plain,
}

/// What `module.name` stands for, if it is allowed.
pub(super) fn lookup(module: &str, name: &str) -> Option<Global> {
    let global = match (module, name) {
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Global::RebuildTensor,
        ("torch.storage", "_load_from_bytes") => Global::LoadFromBytes,
        ("torch", "DoubleStorage") => Global::Storage(Element::F64),
        ("torch", "FloatStorage") => Global::Storage(Element::F32),
        ("torch", "HalfStorage") => Global::Storage(Element::F16),
        ("torch", "BFloat16Storage") => Global::Storage(Element::BF16),
        ("torch", "LongStorage") => Global::Storage(Element::I64),
        ("torch", "IntStorage") => Global::Storage(Element::I32),
        ("torch", "ShortStorage") => Global::Storage(Element::I16),
        ("torch", "CharStorage") => Global::Storage(Element::I8),
        ("torch", "ByteStorage") | ("torch.storage", "UntypedStorage") => Global::Storage(Element::U8),
        ("torch", "BoolStorage") => Global::Storage(Element::Bool),
        ("torch", "Size") => Global::Size,
        ("collections", "OrderedDict") | ("builtins" | "__builtin__", "dict") => Global::Dict,
        ("builtins" | "__builtin__", "list") => Global::List,
        ("builtins" | "__builtin__", "set" | "frozenset") => Global::Set,
        ("_codecs", "encode") => Global::Encode,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "_reconstruct") => Global::ArrayReconstruct,
        ("numpy.core.multiarray" | "numpy._core.multiarray", "scalar") => Global::Scalar,
        ("numpy.core.numeric" | "numpy._core.numeric", "_frombuffer") => Global::FromBuffer,
        ("numpy", "ndarray") => Global::Ndarray,
        ("numpy", "dtype") => Global::Dtype,
        ("torch_geometric.data.data", "Data")
        | ("torch_geometric.data.storage", "GlobalStorage" | "BaseStorage" | "NodeStorage" | "EdgeStorage") => {
            Global::Plain
        }
        _ => return None,
    };
    Some(global)
}
