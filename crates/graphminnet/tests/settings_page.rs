//! The page of all fields of a configuration is made from the code: `UPDATE_SNAPSHOTS=1` writes it.

use graphminnet::config::{ModelConfig, TrainConfig};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# Every field of a configuration

`--set SECTION.FIELD=VALUE` replaces a field, in `train`, `tune` (where `--search` tries several values) and the laboratory's
commands; recipes and the file `run.toml` of a run have the same names. The default is what a field means where nobody names it. Training
on own data infers others from the data and prints them; a recipe has its own.

This page is made from the source (`crates/graphminnet/tests/settings_page.rs`).
";

/// The words of every type that is a choice between words.
fn choices(source: &str) -> HashMap<String, Vec<String>> {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for block in source.split("choice! {").skip(1) {
        let mut name = None;
        for line in block.lines().map(str::trim).filter(|line| !line.starts_with("///")) {
            match (&name, line.strip_suffix(" {"), line.split_once(" = \"")) {
                (None, Some(found), _) => name = Some(found.to_owned()),
                (Some(name), _, Some((_, word))) => {
                    let word = word.split('"').next().unwrap_or_default().to_owned();
                    found.entry(name.clone()).or_default().push(word);
                }
                (Some(_), ..) if line == "}" => break,
                _ => {}
            }
        }
    }
    found
}

/// Name, type and comment of the fields of a configuration.
fn fields(source: &str, structure: &str) -> Vec<(String, String, String)> {
    let start = source.find(&format!("pub struct {structure} {{")).unwrap();
    let body = source[start..].split("\n}").next().unwrap();
    let (mut comment, mut found) = (Vec::new(), Vec::new());
    for line in body.lines().skip(1).map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            comment.push(text);
        } else if let Some((name, kind)) = line.strip_prefix("pub ").and_then(|line| line.split_once(": ")) {
            found.push((name.to_owned(), kind.trim_end_matches(',').to_owned(), comment.join(" ")));
            comment.clear();
        }
    }
    found
}

fn table(
    section: &str,
    source: &str,
    structure: &str,
    defaults: &Value,
    words: &HashMap<String, Vec<String>>,
) -> String {
    let mut text =
        format!("\n## `[{section}]`\n\n| field | default | values | meaning |\n|---|---|---|---|\n");
    for (name, kind, meaning) in fields(source, structure) {
        let inner = kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>')).unwrap_or(&kind);
        let values = match (words.get(inner), inner) {
            (Some(words), _) => words.join(", "),
            (None, "bool") => "true, false".to_owned(),
            (None, "f64") => "a number".to_owned(),
            (None, "Vec<f64>") => "a list of numbers".to_owned(),
            (None, "Vec<usize>") => "a list of whole numbers".to_owned(),
            (None, "PathBuf") => "the path of a folder".to_owned(),
            (None, "PartitionBy") => "order, greedy, the path of a file".to_owned(),
            (None, "Phi") => "deepset, zero, power:k".to_owned(),
            (None, "Beta") => "learn, fixed:v".to_owned(),
            (None, _) => "a whole number".to_owned(),
        };
        let default = match &defaults[&name] {
            Value::Null => "unset".to_owned(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        writeln!(text, "| `{section}.{name}` | {default} | {values} | {meaning} |").unwrap();
    }
    text
}

#[test]
fn the_page_of_all_fields_is_what_the_code_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = |name: &str| std::fs::read_to_string(folder.join("src/config").join(name)).unwrap();
    let words = choices(&(source("choices.rs") + &source("choices/train.rs")));
    let model = serde_json::to_value(ModelConfig::default()).unwrap();
    let train = serde_json::to_value(TrainConfig::default()).unwrap();
    let page = HEAD.to_owned()
        + &table("model", &source("model.rs"), "ModelConfig", &model, &words)
        + &table("train", &source("train.rs"), "TrainConfig", &train, &words);
    for (section, fields) in [("model", &model), ("train", &train)] {
        for name in fields.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{section}.{name}`")), "{section}.{name} is not on the page");
        }
    }
    let path = folder.join("../../docs/guide/settings.md");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == page,
        "UPDATE_SNAPSHOTS=1 writes docs/guide/settings.md again"
    );
}
