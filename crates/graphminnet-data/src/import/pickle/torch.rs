//! PyTorch's two containers, and plain pickles that hold tensors.
//!
//! * Zip: `NAME/data.pkl` describes the value, `NAME/data/KEY` holds the bytes of each storage.
//! * Sequence (older, and what a tensor inside a plain pickle becomes): five pickles one after the other (magic number,
//!   protocol, system, value, storage keys), then for every key the number of elements and the bytes.
//!
//! A storage whose declared size is not the size of its bytes is refused.

use super::machine::Machine;
use super::value::{Document, Value};
use crate::budget::Share;
use crate::import::archive::{Bytes, Zip};
use crate::{DataError, Limits, Place};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Storages of one file: many small tensors make many members, each as small as its bytes.
const MEMBERS_FACTOR: u64 = 20;

/// Reads a plain pickle.
pub(crate) fn read_pickle(
    content: Vec<u8>,
    held: Share,
    place: &Place,
    limits: &Limits,
) -> Result<Document, DataError> {
    let length = content.len();
    let mut document = Document::new(content, held);
    let root = Machine::new(&mut document, 0..length, place, limits, 0).run()?;
    document.root = Some(root);
    Ok(document)
}

/// Reads a file written by `torch.save`, in either container.
pub(crate) fn read_torch(
    content: Vec<u8>,
    held: Share,
    place: &Place,
    limits: &Limits,
) -> Result<Document, DataError> {
    if content.starts_with(b"PK") {
        return read_zip(content, held, place, limits);
    }
    let length = content.len();
    let mut document = Document::new(content, held);
    let root = read_sequence(&mut document, 0..length, place, limits, 0)?;
    document.root = Some(root);
    Ok(document)
}

fn read_zip(
    content: Vec<u8>,
    mut held: Share,
    place: &Place,
    limits: &Limits,
) -> Result<Document, DataError> {
    let max_members = limits.members.saturating_mul(MEMBERS_FACTOR);
    let zip = Zip::open(Bytes::Memory(Arc::new(content)), place.clone(), max_members, limits)?;
    let name = zip.member_names().find(|name| name.ends_with("/data.pkl") || *name == "data.pkl");
    let Some(name) = name.map(str::to_owned) else {
        return Err(DataError::Pickle {
            place: place.clone(),
            reason: "the container has no data.pkl".to_owned(),
        });
    };
    let folder = name.strip_suffix("data.pkl").unwrap_or_default().to_owned();
    let pickle = zip.content(&name, &mut held)?;
    let mut document = read_pickle(pickle, held, place, limits)?;
    let mut loaded: HashMap<String, usize> = HashMap::new();
    for number in 0..document.storages.len() {
        let Some((key, declared)) = document
            .storages
            .get(number)
            .filter(|storage| storage.data.is_none())
            .map(|storage| (storage.key.clone(), storage.count.checked_mul(storage.element.size())))
        else {
            continue;
        };
        let member = format!("{folder}data/{key}");
        let real = zip.size_of(&member);
        if declared.is_none() || declared != real {
            let reason = format!(
                "storage `{}` declares {} bytes and has {}",
                crate::escape(&key),
                declared.map_or_else(|| "too many".to_owned(), |bytes| bytes.to_string()),
                real.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string()),
            );
            return Err(DataError::Pickle { place: place.clone(), reason });
        }
        let buffer = match loaded.get(&key) {
            Some(buffer) => *buffer,
            None => {
                let content = zip.content(&member, &mut document.held)?;
                document.input_bytes += content.len() as u64;
                document.buffers.push(content);
                loaded.insert(key, document.buffers.len() - 1);
                document.buffers.len() - 1
            }
        };
        let length = document.buffers.get(buffer).map_or(0, Vec::len);
        if let Some(storage) = document.storages.get_mut(number) {
            storage.data = Some((buffer, 0..length));
        }
    }
    Ok(document)
}

/// Reads the older sequence of pickles from a range of buffer 0.
pub(super) fn read_sequence(
    document: &mut Document,
    range: Range<usize>,
    place: &Place,
    limits: &Limits,
    depth: u32,
) -> Result<Value, DataError> {
    document.spend(range.len()).map_err(|reason| DataError::Pickle { place: place.clone(), reason })?;
    let first_storage = document.storages.len();
    let mut machine = Machine::new(document, range, place, limits, depth);
    // Magic number (80 bits), protocol, description of the system.
    let (magic, protocol) = (machine.run()?, machine.run()?);
    if magic != Value::Huge || protocol != Value::Integer(1001) {
        return Err(machine.error("not a file written by torch.save"));
    }
    machine.run()?;
    let root = machine.run()?;
    let keys = machine.run()?;
    let keys: Option<Vec<String>> = machine
        .document
        .items(keys)
        .and_then(|keys| keys.iter().map(|key| machine.document.text(*key).map(str::to_owned)).collect());
    let keys = keys.ok_or_else(|| machine.error("storage keys that are not a list of texts"))?;
    let mut users: HashMap<String, Vec<usize>> = HashMap::new();
    for (number, storage) in machine.document.storages.iter().enumerate().skip(first_storage) {
        users.entry(storage.key.clone()).or_default().push(number);
    }
    for key in keys {
        let count = machine.fixed(8)?;
        let elements = users.remove(&key).unwrap_or_default();
        let Some(storage) = elements.first().and_then(|number| machine.document.storages.get(*number)) else {
            return Err(
                machine.error(format!("bytes for storage `{}`, which nothing uses", crate::escape(&key)))
            );
        };
        let declared = storage.count;
        let bytes = count.checked_mul(storage.element.size());
        let Some(bytes) = bytes.filter(|_| declared == count) else {
            let reason =
                format!("storage `{}` declares {declared} elements and has {count}", crate::escape(&key));
            return Err(machine.error(reason));
        };
        let range = machine.take(bytes)?;
        for number in elements {
            if let Some(storage) = machine.document.storages.get_mut(number) {
                storage.data = Some((0, range.clone()));
            }
        }
    }
    let is_complete =
        machine.document.storages.iter().skip(first_storage).all(|storage| storage.data.is_some());
    if !is_complete {
        return Err(machine.error("a storage has no bytes"));
    }
    Ok(root)
}
