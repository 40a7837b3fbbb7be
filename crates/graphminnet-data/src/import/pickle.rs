//! A pickle reader that cannot run anything.
//!
//! A pickle is a program for a stack machine whose instructions may name and call any function of a Python
//! installation. This reader executes none of that: it interprets a subset of the instructions over **inert values**
//! (numbers, text, lists, tuples, dictionaries, and descriptions of arrays), and a closed list of names
//! ([`globals`]) each of which stands for one fixed way of putting such values together. A name that is not on the list,
//! an instruction that is not in the subset, or a combination that makes no sense is an error with its byte offset.
//!
//! Bounds: number of instructions, nesting, sizes against the bytes that are there, rank and extent of arrays against
//! their storage. Every instruction makes at most one value, values refer to one another by number, and text and bytes
//! are ranges of the input, so memory is proportional to the file and a "memo bomb" stays as small as it is written; and
//! all of it counts towards the memory that reading may take.
//!
//! Read: plain pickles (protocols 0 to 5) with NumPy arrays and PyTorch tensors inside, PyTorch's zip container and its
//! older sequence of pickles. Meant for importing published data once; nothing in this program writes pickles.

mod globals;
mod input;
mod machine;
mod reduce;
mod tensor;
mod torch;
mod value;

pub(crate) use tensor::Array;
pub(crate) use torch::{read_pickle, read_torch};
pub(crate) use value::{Document, Value};
