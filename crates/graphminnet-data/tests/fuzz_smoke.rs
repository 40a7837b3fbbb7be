//! A short deterministic run of the fuzz targets: seeds, and fixed mutations of them. A panic fails the test.

use graphminnet_data::fuzzing::TARGETS;
use std::path::Path;

/// Mutated inputs per seed.
const ROUNDS: usize = 1_000;

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

#[test]
fn no_mutation_of_a_seed_makes_a_reader_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, run) in TARGETS {
        let mut seeds: Vec<_> = std::fs::read_dir(corpus.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .map(|entry| entry.unwrap().path())
            .collect();
        seeds.sort();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for seed in seeds {
            let bytes = std::fs::read(seed).unwrap();
            run(&bytes);
            for _ in 0..ROUNDS {
                run(&mutate(&bytes, &mut random));
            }
        }
    }
}
