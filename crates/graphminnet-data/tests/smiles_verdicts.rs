//! Strings that RDKit refuses are refused here too: 10,000 damaged SMILES strings with RDKit's verdict.
//!
//! The strings and verdicts are in `fixtures/smiles/verdicts.txt.gz`, made by the script beside it.

use graphminnet_data::{Featurizer, Limits, SmilesError, molecule_graph};
use std::io::Read;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Molecule,
    NoSmiles,
    Impossible,
}

fn verdicts() -> Vec<(Verdict, String)> {
    let packed = include_bytes!("fixtures/smiles/verdicts.txt.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let line = |line: &str| {
        let (mark, smiles) = line.split_at(1);
        let verdict = match mark {
            "+" => Verdict::Molecule,
            "-" => Verdict::NoSmiles,
            "!" => Verdict::Impossible,
            other => panic!("unknown verdict {other}"),
        };
        (verdict, smiles.to_owned())
    };
    let all: Vec<_> = text.lines().map(line).collect();
    assert_eq!(all.len(), 10_000);
    all
}

/// Every string with the given verdict, and what became of it here.
fn outcomes(wanted: Verdict) -> Vec<(String, Result<(), SmilesError>)> {
    let limits = Limits::default();
    let chosen = verdicts().into_iter().filter(|(verdict, _)| *verdict == wanted);
    chosen
        .map(|(_, smiles)| {
            let outcome = molecule_graph(&smiles, Featurizer::Ogb, &limits).map(|_| ());
            (smiles, outcome)
        })
        .collect()
}

fn accepted(wanted: Verdict) -> Vec<String> {
    outcomes(wanted).into_iter().filter(|(_, outcome)| outcome.is_ok()).map(|(smiles, _)| smiles).collect()
}

/// Whether a reason is one of the two things that RDKit reads and this program does not, with its place.
fn is_known(reason: &str) -> bool {
    (reason.contains("`~`") || reason.contains("a dot inside a branch")) && reason.contains("(character ")
}

#[test]
fn no_string_that_is_no_smiles_to_rdkit_is_read_as_a_molecule() {
    assert_eq!(accepted(Verdict::NoSmiles), Vec::<String>::new());
}

#[test]
fn no_string_that_rdkit_finds_impossible_is_read_as_a_molecule() {
    assert_eq!(accepted(Verdict::Impossible), Vec::<String>::new());
}

#[test]
fn syntax_is_blamed_for_slips_and_chemistry_for_impossible_molecules() {
    for (smiles, outcome) in outcomes(Verdict::NoSmiles) {
        assert!(matches!(outcome, Err(SmilesError::Syntax { .. })), "{smiles}: {outcome:?}");
    }
    for (smiles, outcome) in outcomes(Verdict::Impossible) {
        let is_named = match &outcome {
            Err(SmilesError::Chemistry(_)) => true,
            Err(SmilesError::Unsupported(reason)) => is_known(reason),
            _ => false,
        };
        assert!(is_named, "{smiles}: {outcome:?}");
    }
}

#[test]
fn what_rdkit_reads_is_read_but_for_two_things_that_are_not_supported() {
    let mut refused = 0;
    for (smiles, outcome) in outcomes(Verdict::Molecule) {
        let Err(error) = outcome else { continue };
        assert!(is_known(&error.to_string()), "{smiles}: {error}");
        refused += 1;
    }
    // Of 1,309.
    assert_eq!(refused, 21);
}
