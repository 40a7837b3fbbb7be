//! Parts that another program chose: one number per line, the part of the node with the line's number. That is what METIS
//! (`gpmetis`), KaHIP and Scotch write.

use super::Partition;
use crate::error::{DataError, Place};
use crate::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line that is read.
const LINE: u64 = 256;

impl Partition {
    /// Reads the part of every node from a file.
    ///
    /// # Errors
    ///
    /// [`DataError`] with the line if it is not the number of a part, or there are not as many lines as nodes.
    pub fn read(path: &Path, nodes: usize, parts: usize) -> Result<Self, DataError> {
        let mut lines = BufReader::new(fs::open(path)?);
        let mut part_of_node = Vec::with_capacity(nodes);
        let mut bytes = Vec::new();
        for line in 0.. {
            bytes.clear();
            // No number is as long, and a file without line ends does not fill the memory.
            let read = Read::by_ref(&mut lines).take(LINE).read_until(b'\n', &mut bytes);
            if read.map_err(DataError::io(path, "read"))? == 0 {
                break;
            }
            let text = String::from_utf8_lossy(&bytes);
            let part = text.trim().parse::<u32>().ok().filter(|&part| (part as usize) < parts);
            let Some(part) = part else {
                let expected = format!("the number of a part, 0 to {}", parts.saturating_sub(1));
                return Err(DataError::value(Place::file(path).at_line(line + 1), text.trim(), expected));
            };
            part_of_node.push(part);
        }
        if part_of_node.len() != nodes {
            let found = format!("{} lines", part_of_node.len());
            let expected = format!("a line for each of the {nodes} nodes, with the number of its part");
            return Err(DataError::malformed(Place::file(path), found, expected));
        }
        Ok(Self::of(&part_of_node, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parts_of_nodes_and_anything_else_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph.part.3");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Partition::read(&path, 4, 3).map_err(|error| error.to_string())
        };
        let partition = read("2\n0\n2\n0\n").unwrap();
        assert_eq!(partition.offsets(), [0, 2, 2, 4]);
        assert_eq!((0..4).map(|number| partition.node(number)).collect::<Vec<_>>(), [1, 3, 0, 2]);
        for (text, expected) in [
            ("2\n0\n3\n0\n", "line 3: `3` is not the number of a part, 0 to 2"),
            ("2\n\n2\n0\n", "line 2"),
            ("2\n0\n", "found 2 lines, expected a line for each of the 4 nodes"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
