//! A short deterministic run of fuzz targets: seeds, and fixed mutations of them.

use super::Target;
use crate::foreign::hush_contained_panics;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

/// Mutated inputs per seed.
const ROUNDS: usize = 1_000;

/// Runs targets on their seeds in a corpus, and on mutations of these; a panic is for whoever calls.
///
/// # Errors
///
/// If a target has no seeds, or they cannot be read.
pub fn smoke(corpus: &Path, targets: &[Target]) -> Result<()> {
    hush_contained_panics();
    for (name, run) in targets {
        let entries = std::fs::read_dir(corpus.join(name))?;
        let mut seeds = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        seeds.sort();
        if seeds.is_empty() {
            return Err(Error::new(ErrorKind::NotFound, format!("{name} has no seeds")));
        }
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for seed in seeds {
            let bytes = std::fs::read(seed)?;
            run(&bytes);
            for _ in 0..ROUNDS {
                run(&mutate(&bytes, &mut random));
            }
        }
    }
    Ok(())
}

/// A small generator with a fixed start: the run is the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// Pieces that readers treat specially.
const PIECES: [&[u8]; 18] = [
    b"\0",
    b"\n",
    b"\r\n",
    b",",
    b"\"",
    b"[",
    b"(",
    b"-1",
    b"18446744073709551615",
    b"1e400",
    b"nan",
    b"\xff",
    b"===",
    b"PK\x01\x02",
    b"cos\nsystem\n",
    b"\x95",
    b"%(99999)",
    b"/",
];

fn mutate(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        match random.below(6) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            4 => {
                let end = (at + random.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + random.below(32)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}
