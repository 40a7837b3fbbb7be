//! The guide shows what the command really prints: every example in it is run.
//!
//! A fenced block whose info string ends in `file=NAME` is written to that file. In a `console` block every line that
//! begins with `$ graphminnet` is run, and what follows must be its output, both streams together. Commands share the
//! files of their page. `UPDATE_SNAPSHOTS=1` writes what is printed now into the page.

mod common;

use common::Workspace;
use std::fs::File;
use std::io::Read;
use std::path::Path;

#[test]
fn examples_of_the_page_on_own_data_are_real() {
    check("own-data.md");
}

#[test]
fn examples_of_the_page_on_data_sets_are_real() {
    check("datasets.md");
}

#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/decisions", "docs/guide", "docs/results", "benches", "fuzz"] {
        let files = std::fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    let mut broken = Vec::new();
    let mut links = 0;
    for page in &pages {
        for link in prose(page).flat_map(|line| links_of(&line)) {
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let is_there =
                target.exists() && (heading.is_empty() || headings(&target).any(|one| one == heading));
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(links > 100, "only {links} links were found");
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

/// The lines of a page outside of its code.
fn prose(page: &Path) -> impl Iterator<Item = String> + use<> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// What the links of a line lead to, without those to other places of the web.
fn links_of(line: &str) -> Vec<String> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

/// The names by which links reach the headings of a page.
fn headings(page: &Path) -> impl Iterator<Item = String> {
    prose(page).filter(|line| line.starts_with('#')).map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        title.chars().filter(|one| one.is_alphanumeric() || "-_".contains(*one)).collect()
    })
}

fn check(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let workspace = Workspace::new();
    let mut found = String::new();
    let mut lines = text.lines().peekable();
    let mut commands = 0;
    while let Some(line) = lines.next() {
        found.push_str(line);
        found.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let mut block = Vec::new();
        while let Some(line) = lines.next_if(|line| *line != "```") {
            block.push(line);
        }
        if let Some((_, name)) = info.split_once("file=") {
            let target = workspace.path(name);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::write(target, block.join("\n") + "\n").unwrap();
        }
        if info == "console" {
            for command in block.iter().filter_map(|line| line.strip_prefix("$ graphminnet ")) {
                commands += 1;
                found.push_str(&format!("$ graphminnet {command}\n{}", output(&workspace, command)));
            }
        } else {
            block.iter().for_each(|line| found.push_str(&format!("{line}\n")));
        }
        found.push_str(lines.next().unwrap_or_default());
        found.push('\n');
    }
    assert!(commands > 0, "{page} has examples");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &found).unwrap();
    } else {
        let different = found.lines().zip(text.lines()).find(|(found, stored)| found != stored);
        assert!(found == text, "{page} is not what the command prints; first difference: {different:?}");
    }
}

/// Both streams in the order in which a terminal shows them.
fn output(workspace: &Workspace, arguments: &str) -> String {
    let path = workspace.path("output.txt");
    let file = File::create(&path).unwrap();
    let mut command = workspace.command(arguments);
    command.stdout(file.try_clone().unwrap()).stderr(file).status().unwrap();
    let mut text = String::new();
    File::open(&path).unwrap().read_to_string(&mut text).unwrap();
    std::fs::remove_file(&path).unwrap();
    text
}
