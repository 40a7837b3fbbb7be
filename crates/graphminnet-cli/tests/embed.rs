//! Vectors of graphs.

mod common;

use common::molecules::{ok, trained};

#[test]
fn vectors_are_the_same_in_every_format() {
    let workspace = trained();
    for (level, rows) in [("graph", 80), ("node", 0)] {
        let embed = |name: &str| {
            ok(workspace.run(&format!("embed --model run/seed-1 --data train.csv --level {level} -o {name}")))
        };
        let said = embed("out.csv").stderr;
        embed("out.npy");
        embed("out.parquet");
        let table = String::from_utf8(workspace.read("out.csv")).unwrap();
        let skipped = if level == "node" { 2 } else { 1 };
        let rows = if rows == 0 { table.lines().count() - 1 } else { rows };
        let done = if level == "node" {
            format!("80 graphs, {rows} rows written; ")
        } else {
            "80 rows; ".to_owned()
        };
        assert!(said.contains(&done), "{said}");
        assert_eq!(
            (table.lines().count() - 1, table.lines().next().unwrap().split(',').count()),
            (rows, 16 + skipped)
        );
        let numbers: Vec<f32> = table
            .lines()
            .skip(1)
            .flat_map(|line| {
                line.split(',').skip(skipped).map(|text| text.parse().unwrap()).collect::<Vec<f32>>()
            })
            .collect();
        let npy = workspace.read("out.npy");
        assert!(String::from_utf8_lossy(&npy[8..128]).contains(&format!("({rows}, 16)")), "shape");
        let values: Vec<f32> =
            npy[128..].as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert_eq!(values, numbers);
        let parquet = workspace.read("out.parquet");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
        assert_eq!(floats(&workspace.path("out.parquet"), skipped), numbers);
    }
    let wrong = workspace.run("embed --model run/seed-1 --data train.csv -o out.txt");
    assert!(wrong.code == 2 && wrong.stderr.contains(".parquet"), "{wrong:?}");
    let several = workspace.run("embed --model run --data train.csv");
    assert!(several.code == 2 && several.stderr.contains("2 models"), "{several:?}");
}

/// The numbers of a Parquet file, row by row, after so many other columns, as its own reader gives them.
fn floats(path: &std::path::Path, skipped: usize) -> Vec<f32> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.flat_map(|row| (skipped..row.len()).map(move |at| row.get_float(at).unwrap()).collect::<Vec<_>>())
        .collect()
}
