//! Molecules, a run that was trained on them, and how outputs are read.

use super::{Run, Workspace};
use graphminnet_data::rng::stream;
use std::collections::HashMap;

/// Chains and rings with an oxygen or a nitrogen somewhere; all are molecules.
pub fn molecules(count: usize) -> Vec<String> {
    let mut random = stream(5, "molecules", &[]);
    (0..count)
        .map(|_| {
            let chain = "C".repeat(1 + random.below(6));
            let end = ["O", "N", "Cl", "c1ccccc1", "C(=O)O", "C1CCCC1"][random.below(6)];
            format!("{}{chain}{end}", ["", "N", "OC", "C(C)"][random.below(4)])
        })
        .collect()
}

/// A workspace with `train.csv` (text with commas and quotes in it) and a finished run of two seeds.
pub fn trained() -> Workspace {
    let workspace = Workspace::new();
    let mut table = String::from("smiles,note,y\n");
    for (row, smiles) in molecules(80).iter().enumerate() {
        let y = smiles.len() as f64 / 10.0 + (row % 7) as f64 / 100.0;
        table.push_str(&format!("{smiles},\"row {row}, \"\"quoted\"\"\",{y}\n"));
    }
    workspace.write("train.csv", table);
    let run = workspace.run(
        "train --data train.csv --target y --seeds 0,1 --run-dir run --no-cache -q \
         --set train.epochs=2 --set model.hidden=16 --set model.layers=2 --set model.lap_dim=4 --set model.pe_dim=4",
    );
    assert_eq!(run.code, 0, "{run:?}");
    workspace
}

/// The cells of a table; every field of these tests' outputs is understood by this.
pub fn cells(line: &str) -> Vec<String> {
    let (mut found, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => cell.push(letters.next().unwrap()),
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(std::mem::take(&mut cell)),
            letter => cell.push(letter),
        }
    }
    found.push(cell);
    found
}

pub fn ok(run: Run) -> Run {
    assert_eq!(run.code, 0, "{run:?}");
    run
}

/// The prediction of every SMILES string in the table, as text.
pub fn predictions(table: &str) -> HashMap<String, String> {
    let header = cells(table.lines().next().unwrap());
    let at = header.iter().position(|name| name == "pred_y").unwrap();
    table.lines().skip(1).map(|line| (cells(line)[0].clone(), cells(line)[at].clone())).collect()
}
