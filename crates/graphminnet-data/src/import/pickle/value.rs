//! Inert values, and the document that holds them.

use super::globals::{Element, Global};
use crate::budget::{Share, bytes_of};
use crate::limits::Exceeded;
use std::cell::Cell;
use std::ops::Range;

/// A value; compound ones are numbers of nodes in the [`Document`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Integer(i64),
    /// An integer that does not fit 64 bits; only compared with nothing.
    Huge,
    Number(f64),
    /// A text, by number.
    Text(u32),
    /// A piece of the input, by number.
    Bytes(u32),
    /// A compound value, by number.
    Node(u32),
    /// An allowed name.
    Global(Global),
}

/// A compound value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// An object that is nothing but its state.
    Plain(Option<Value>),
    /// A NumPy element type, by its short name; `BUILD` may forbid it for its byte order.
    Dtype(Option<Element>),
    /// A storage, by number.
    Storage(u32),
    /// An array in a storage, with extents and steps in elements.
    Tensor {
        storage: u32,
        offset: u64,
        size: Vec<u64>,
        stride: Vec<u64>,
    },
    /// A NumPy array; empty until `BUILD`.
    Array {
        element: Option<Element>,
        shape: Vec<u64>,
        is_fortran: bool,
        data: Option<Value>,
    },
}

impl Node {
    /// Bytes of its own lists; one that grows takes twice what is in it.
    pub(super) fn inner_bytes(&self) -> u64 {
        match self {
            Self::List(items) | Self::Tuple(items) => bytes_of::<Value>(items.capacity()),
            Self::Dict(entries) => bytes_of::<(Value, Value)>(entries.capacity()),
            Self::Tensor { size, stride, .. } => bytes_of::<u64>(size.capacity() + stride.capacity()),
            Self::Array { shape, .. } => bytes_of::<u64>(shape.capacity()),
            Self::Plain(_) | Self::Dtype(_) | Self::Storage(_) => 0,
        }
    }
}

/// Where a storage's bytes are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Storage {
    pub(super) key: String,
    pub(super) element: Element,
    pub(super) count: u64,
    /// Buffer and range; `None` until its container has been read.
    pub(super) data: Option<(usize, Range<usize>)>,
}

/// Everything that came out of a pickle. Buffer 0 is the pickle itself.
#[derive(Debug)]
pub(crate) struct Document {
    /// The memory that all of it takes.
    pub(super) held: Share,
    /// How much of it was counted for values, and what the values hold besides their places in the lists below.
    counted: u64,
    inner: u64,
    pub(super) buffers: Vec<Vec<u8>>,
    pub(super) nodes: Vec<Node>,
    pub(super) texts: Vec<String>,
    pub(super) bytes: Vec<Range<usize>>,
    pub(super) storages: Vec<Storage>,
    pub(super) root: Option<Value>,
    /// Bytes of the input, all storages included.
    pub(super) input_bytes: u64,
    /// Work done on values that the file mentions more than once.
    spent: Cell<u64>,
}

impl Document {
    /// A document over the bytes of a pickle, nothing of it read.
    pub(super) fn new(content: Vec<u8>, held: Share) -> Self {
        Self {
            held,
            counted: 0,
            inner: 0,
            input_bytes: content.len() as u64,
            buffers: vec![content],
            nodes: Vec::new(),
            texts: Vec::new(),
            bytes: Vec::new(),
            storages: Vec::new(),
            root: None,
            spent: Cell::new(0),
        }
    }

    /// Says that a value holds so many bytes of its own; they are counted with the next [`Document::count`].
    pub(super) fn add_inner(&mut self, bytes: u64) {
        self.inner = self.inner.saturating_add(bytes);
    }

    /// Counts the memory that all values take by now.
    pub(super) fn count(&mut self) -> Result<(), Exceeded> {
        let total = bytes_of::<Node>(self.nodes.capacity())
            + bytes_of::<String>(self.texts.capacity())
            + bytes_of::<Range<usize>>(self.bytes.capacity())
            + bytes_of::<Storage>(self.storages.capacity())
            + self.inner;
        let more = total.saturating_sub(self.counted);
        self.counted += more;
        if more == 0 { Ok(()) } else { self.held.grow(more) }
    }

    /// Fails if there is no memory for an array of so many values.
    pub(super) fn has_room_for(&self, values: u64) -> Result<(), String> {
        self.held.has_room_for(values.saturating_mul(8)).map_err(|exceeded| exceeded.to_string())
    }

    /// Counts work that a file can ask for repeatedly at little cost to itself (nested files, copies, arrays); more
    /// than a fixed multiple of the file's own size is refused.
    pub(super) fn spend(&self, amount: usize) -> Result<(), String> {
        const FACTOR: u64 = 16;
        const FREE: u64 = 1 << 20;
        let spent = self.spent.get().saturating_add(amount as u64);
        self.spent.set(spent);
        let size = self.input_bytes;
        let allowed = size.saturating_mul(FACTOR).saturating_add(FREE);
        if spent > allowed {
            return Err(format!("the file of {size} bytes repeats its content more than {FACTOR} times"));
        }
        Ok(())
    }

    /// The value that the pickle describes.
    pub(crate) fn root(&self) -> Value {
        self.root.unwrap_or(Value::None)
    }

    pub(super) fn node(&self, value: Value) -> Option<&Node> {
        match value {
            Value::Node(number) => self.nodes.get(number as usize),
            _ => None,
        }
    }

    pub(super) fn node_mut(&mut self, value: Value) -> Option<&mut Node> {
        match value {
            Value::Node(number) => self.nodes.get_mut(number as usize),
            _ => None,
        }
    }

    /// A text.
    pub(crate) fn text(&self, value: Value) -> Option<&str> {
        match value {
            Value::Text(number) => self.texts.get(number as usize).map(String::as_str),
            _ => None,
        }
    }

    pub(super) fn range(&self, value: Value) -> Option<Range<usize>> {
        match value {
            Value::Bytes(number) => self.bytes.get(number as usize).cloned(),
            _ => None,
        }
    }

    /// The items of a list or tuple.
    pub(crate) fn items(&self, value: Value) -> Option<&[Value]> {
        match self.node(value) {
            Some(Node::List(items) | Node::Tuple(items)) => Some(items),
            _ => None,
        }
    }

    /// The value of a text key in a dictionary, or in the state of a graph object.
    pub(crate) fn get(&self, value: Value, key: &str) -> Option<Value> {
        self.get_within(value, key, 0)
    }

    fn get_within(&self, value: Value, key: &str, depth: usize) -> Option<Value> {
        /// A graph object wraps its attributes at most this many times.
        const MAX_WRAPPERS: usize = 4;
        match self.node(value)? {
            Node::Dict(entries) => {
                let find = |key: &str| entries.iter().rev().find(|(name, _)| self.text(*name) == Some(key));
                if let Some((_, found)) = find(key) {
                    return Some(*found);
                }
                let inner = find("_store").or_else(|| find("_mapping")).filter(|_| depth < MAX_WRAPPERS)?;
                self.get_within(inner.1, key, depth + 1)
            }
            Node::Plain(Some(state)) if depth < MAX_WRAPPERS => self.get_within(*state, key, depth + 1),
            _ => None,
        }
    }
}
