//! What the shards of a work leave behind: files with a record beside each, and one manifest of them all.
//!
//! ```text
//! part-00001-of-00003.csv      the result of shard 1/3, which appears when it is whole
//! _part-00001-of-00003.json    its record: checksum, rows, input, models, settings; written last
//! …
//! _manifest.json               all of them, once somebody has checked that they belong together
//! ```
//!
//! Programs that read a folder as one table pass over names that begin with `_`. Earlier versions wrote records without it; they are
//! read as well.
//!
//! Shards know nothing of each other. Whoever puts their results together reads the records and checks that every part
//! is there once and whole, and that all come from the same input by the same models and settings.

use crate::fs::{IoError, create_dir, hash_file, open, read, sha256, write_atomically};
use crate::{DataError, Place, Shard};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Name of the record of all parts.
const MANIFEST: &str = "_manifest.json";
/// Bytes at the beginning and at the end of the input by which it is known again, besides its length.
const SAMPLE: u64 = 1 << 20;
/// Largest record that is read.
const RECORD: u64 = 1 << 20;

/// What is done, from what: the same for all shards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// The subcommand.
    pub command: String,
    /// Version of the program.
    pub program: String,
    /// What is read.
    pub input: InputIdentity,
    /// SHA-256 of the model files.
    pub models: Vec<String>,
    /// Whatever else decides the result.
    pub settings: BTreeMap<String, Value>,
}

/// By what an input is known again without reading it all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputIdentity {
    /// The path as it was given; another machine may have the file elsewhere.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its first and last MiB.
    pub ends_sha256: String,
}

impl InputIdentity {
    /// Looks at a file.
    ///
    /// # Errors
    ///
    /// [`IoError`] if it cannot be read.
    pub fn of(path: &Path) -> Result<Self, IoError> {
        let failed = || IoError::at("read", path);
        let mut file = open(path)?;
        let bytes = file.metadata().map_err(failed())?.len();
        let mut ends = Vec::new();
        Read::by_ref(&mut file).take(SAMPLE).read_to_end(&mut ends).map_err(failed())?;
        if bytes > 2 * SAMPLE {
            file.seek(SeekFrom::Start(bytes - SAMPLE)).map_err(failed())?;
        }
        file.take(SAMPLE).read_to_end(&mut ends).map_err(failed())?;
        Ok(Self { path: path.to_owned(), bytes, ends_sha256: sha256(&ends) })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.bytes, &self.ends_sha256) == (other.bytes, &other.ends_sha256)
    }
}

/// What one shard did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which one.
    pub shard: Shard,
    /// The file beside the record; `None` where the result is not a file of its own.
    pub file: Option<PartFile>,
    /// Rows of the input.
    pub rows: usize,
    /// Rows without a result.
    pub without: usize,
    /// What was done.
    pub work: Work,
}

/// A file with a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// The folder that shards share.
#[derive(Debug, Clone)]
pub struct PartFolder {
    folder: PathBuf,
}

impl PartFolder {
    /// A folder that may not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    fn name(shard: Shard, extension: &str) -> String {
        format!("part-{:05}-of-{:05}.{extension}", shard.number(), shard.count())
    }

    /// Where the result of a shard goes; the folder is created.
    ///
    /// # Errors
    ///
    /// [`IoError`].
    pub fn file(&self, shard: Shard, extension: &str) -> Result<PathBuf, IoError> {
        create_dir(&self.folder)?;
        Ok(self.folder.join(Self::name(shard, extension)))
    }

    /// Writes the record of a shard, whose file (if it has one) is whole.
    ///
    /// # Errors
    ///
    /// [`IoError`].
    pub fn record(
        &self,
        shard: Shard,
        extension: Option<&str>,
        (rows, without): (usize, usize),
        work: Work,
    ) -> Result<(), IoError> {
        let file = match extension {
            None => None,
            Some(extension) => {
                let (bytes, sha256) = hash_file(&self.file(shard, extension)?)?;
                Some(PartFile { name: Self::name(shard, extension), bytes, sha256 })
            }
        };
        let part = Part { shard, file, rows, without, work };
        create_dir(&self.folder)?;
        self.write(&Self::record_name(shard), &pretty(&part))
    }

    fn record_name(shard: Shard) -> String {
        format!("_{}", Self::name(shard, "json"))
    }

    /// Writes a file in place of that of an earlier version.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), IoError> {
        write_atomically(&self.folder.join(name), content)?;
        let earlier = self.folder.join(earlier_name(name));
        match std::fs::remove_file(&earlier) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(IoError::at("remove", &earlier)(error))
            }
            _ => Ok(()),
        }
    }

    /// All parts in order, after checking that they are whole and belong together.
    ///
    /// # Errors
    ///
    /// [`DataError`] for what is missing, changed, or of another work.
    pub fn collect(&self) -> Result<Vec<Part>, DataError> {
        let mut names = BTreeSet::new();
        let entries =
            std::fs::read_dir(&self.folder).map_err(DataError::io(&self.folder, "read the folder"))?;
        for entry in entries {
            let name = entry.map_err(DataError::io(&self.folder, "read the folder"))?.file_name();
            let is_record = |name: &&str| earlier_name(name).starts_with("part-") && name.ends_with(".json");
            names.extend(name.to_str().filter(is_record).map(str::to_owned));
        }
        // Whoever was stopped between writing a record and removing that of an earlier version left both.
        let is_last = |name: &&String| name.starts_with('_') || !names.contains(&format!("_{name}"));
        let parts = names.iter().filter(is_last).map(|name| self.read_record(name));
        let mut parts = parts.collect::<Result<Vec<Part>, _>>()?;
        parts.sort_by_key(|part| (part.shard.count(), part.shard.number()));
        let Some(first) = parts.first().cloned() else {
            let (what, expected) = ("the record of a shard".to_owned(), "`_part-00001-of-…json`".to_owned());
            return Err(DataError::Missing { path: self.folder.clone(), what, expected });
        };
        for part in &parts {
            self.check_same(&first, part)?;
        }
        let numbers = parts.iter().map(|part| part.shard.number());
        let missing: Vec<String> =
            absent(numbers, first.shard.count()).map(|number| number.to_string()).collect();
        if !missing.is_empty() {
            let count = first.shard.count();
            let what = format!("shard {} of {count}", missing.join(", "));
            let expected = format!("all of 1 to {count}: run `--shard {}/{count}` again", missing[0]);
            return Err(DataError::Missing { path: self.folder.clone(), what, expected });
        }
        for part in &parts {
            self.check_file(part)?;
        }
        Ok(parts)
    }

    /// Writes down which parts there are.
    ///
    /// # Errors
    ///
    /// [`IoError`].
    pub fn write_manifest(&self, parts: &[Part]) -> Result<(), IoError> {
        let work = parts.first().map(|part| &part.work);
        let entry = |part: &Part| serde_json::json!({ "shard": part.shard, "file": part.file, "rows": part.rows, "without": part.without });
        let parts: Vec<Value> = parts.iter().map(entry).collect();
        let manifest = serde_json::json!({ "work": work, "parts": parts });
        self.write(MANIFEST, &pretty(&manifest))
    }

    fn read_record(&self, name: &str) -> Result<Part, DataError> {
        let path = self.folder.join(name);
        let length = std::fs::metadata(&path).map_err(DataError::io(&path, "open"))?.len();
        let expected = || "the record of a shard; run the shard again".to_owned();
        if length > RECORD {
            return Err(DataError::malformed(Place::file(path), format!("{length} bytes"), expected()));
        }
        let part: Part = serde_json::from_slice(&read(&path)?)
            .map_err(|error| DataError::malformed(Place::file(&path), error.to_string(), expected()))?;
        // A record under another name could make a part count twice, or lead out of the folder.
        let is_its_own = |file: &PartFile| {
            Path::new(&file.name).extension().and_then(|extension| extension.to_str()).is_some_and(
                |extension| file.name == Self::name(part.shard, extension) && extension != "json",
            )
        };
        if earlier_name(name) != Self::name(part.shard, "json") || !part.file.iter().all(is_its_own) {
            let found = format!("the record of shard {}", part.shard);
            return Err(DataError::malformed(Place::file(path), found, "the shard that the name says"));
        }
        Ok(part)
    }

    fn check_same(&self, first: &Part, other: &Part) -> Result<(), DataError> {
        let (a, b) = (&first.work, &other.work);
        let differs = if first.shard.count() != other.shard.count() {
            "numbers of shards"
        } else if a.command != b.command {
            "commands"
        } else if a.program != b.program {
            "versions of the program"
        } else if !a.input.is_same(&b.input) {
            "inputs"
        } else if a.models != b.models {
            "models"
        } else if a.settings != b.settings {
            "settings"
        } else {
            return Ok(());
        };
        let reason = format!(
            "the results of shards {} and {} come from different {differs}; remove the parts that do not belong here, \
             or run them again",
            first.shard, other.shard
        );
        Err(DataError::Schema { place: Place::file(&self.folder), reason })
    }

    fn check_file(&self, part: &Part) -> Result<(), DataError> {
        let Some(file) = &part.file else { return Ok(()) };
        let path = self.folder.join(&file.name);
        let (bytes, sha256) = hash_file(&path)?;
        if (bytes, &sha256) == (file.bytes, &file.sha256) {
            return Ok(());
        }
        let found = format!("{bytes} bytes with SHA-256 {sha256}");
        let expected =
            format!("{} bytes with {}; run `--shard {}` again", file.bytes, file.sha256, part.shard);
        Err(DataError::malformed(Place::file(path), found, expected))
    }
}

/// The name that a record or the manifest had in earlier versions.
fn earlier_name(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

/// The numbers from 1 to `count` that do not occur, the first few of them.
fn absent(present: impl Iterator<Item = u32>, count: u32) -> impl Iterator<Item = u32> {
    let present: std::collections::HashSet<u32> = present.collect();
    (1..=count).filter(move |number| !present.contains(number)).take(20)
}

fn pretty(value: &impl Serialize) -> Vec<u8> {
    // Records have keys that are texts, so there is nothing that JSON could not hold.
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(setting: u64) -> Work {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        Work {
            command: "predict".to_owned(),
            program: "1.0".to_owned(),
            input: InputIdentity::of(&path).unwrap(),
            models: vec!["abc".to_owned()],
            settings: [("level".to_owned(), setting.into())].into(),
        }
    }

    fn filled(count: u32) -> (tempfile::TempDir, PartFolder) {
        let folder = tempfile::tempdir().unwrap();
        let parts = PartFolder::new(folder.path().join("parts"));
        for number in 1..=count {
            leave(&parts, Shard::new(number, count).unwrap(), work(1));
        }
        (folder, parts)
    }

    fn leave(parts: &PartFolder, shard: Shard, work: Work) {
        std::fs::write(parts.file(shard, "csv").unwrap(), format!("rows of {shard}\n")).unwrap();
        parts.record(shard, Some("csv"), (3, 1), work).unwrap();
    }

    #[test]
    fn parts_come_in_order_and_a_manifest_names_them() {
        let (_folder, parts) = filled(12);
        let found = parts.collect().unwrap();
        let numbers: Vec<u32> = found.iter().map(|part| part.shard.number()).collect();
        assert_eq!(numbers, (1..=12).collect::<Vec<_>>());
        parts.write_manifest(&found).unwrap();
        let manifest: Value = serde_json::from_slice(&read(&parts.path().join(MANIFEST)).unwrap()).unwrap();
        assert_eq!(manifest["parts"][11]["file"]["name"], "part-00012-of-00012.csv");
        assert_eq!(manifest["work"]["models"][0], "abc");
        // The manifest is no part, and a shard may be run again.
        leave(&parts, Shard::new(3, 12).unwrap(), work(1));
        assert_eq!(parts.collect().unwrap(), found);
    }

    #[test]
    fn records_of_earlier_versions_are_read_and_give_way_to_new_ones() {
        let (_folder, parts) = filled(3);
        let found = parts.collect().unwrap();
        for number in 1..=3 {
            let name = PartFolder::record_name(Shard::new(number, 3).unwrap());
            std::fs::rename(parts.path().join(&name), parts.path().join(earlier_name(&name))).unwrap();
        }
        std::fs::write(parts.path().join("manifest.json"), "{}").unwrap();
        assert_eq!(parts.collect().unwrap(), found);
        parts.write_manifest(&found).unwrap();
        leave(&parts, Shard::new(2, 3).unwrap(), work(1));
        assert_eq!(parts.collect().unwrap(), found);
        // Stopped before the old record was removed.
        std::fs::write(parts.path().join("part-00002-of-00003.json"), "{}").unwrap();
        assert_eq!(parts.collect().unwrap(), found);
        let exists = |name: &str| parts.path().join(name).exists();
        assert!(exists("_manifest.json") && !exists("manifest.json") && exists("part-00001-of-00003.json"));
    }

    #[test]
    fn what_is_missing_changed_or_of_another_work_is_named() {
        let refused = |parts: &PartFolder| parts.collect().unwrap_err().to_string();
        let (_folder, parts) = filled(3);
        std::fs::remove_file(parts.path().join("_part-00002-of-00003.json")).unwrap();
        assert!(refused(&parts).contains("shard 2 of 3 is missing"), "{}", refused(&parts));
        assert!(refused(&parts).contains("--shard 2/3"), "{}", refused(&parts));

        let (_folder, parts) = filled(3);
        std::fs::write(parts.path().join("part-00002-of-00003.csv"), "rows of 2/4\n").unwrap();
        assert!(refused(&parts).contains("run `--shard 2/3` again"), "{}", refused(&parts));
        std::fs::remove_file(parts.path().join("part-00002-of-00003.csv")).unwrap();
        assert!(refused(&parts).contains("part-00002-of-00003.csv"), "{}", refused(&parts));

        let (_folder, parts) = filled(3);
        leave(&parts, Shard::new(2, 3).unwrap(), work(2));
        assert!(refused(&parts).contains("different settings"), "{}", refused(&parts));
        leave(&parts, Shard::new(2, 3).unwrap(), Work { models: vec![], ..work(1) });
        assert!(refused(&parts).contains("different models"), "{}", refused(&parts));

        let (_folder, parts) = filled(3);
        leave(&parts, Shard::new(1, 4).unwrap(), work(1));
        assert!(refused(&parts).contains("different numbers of shards"), "{}", refused(&parts));

        let (_folder, parts) = filled(2);
        let record = |name: &str| parts.path().join(name);
        std::fs::copy(record("_part-00001-of-00002.json"), record("_part-00002-of-00002.json")).unwrap();
        assert!(refused(&parts).contains("the shard that the name says"), "{}", refused(&parts));
        std::fs::write(record("_part-00002-of-00002.json"), "{}").unwrap();
        assert!(refused(&parts).contains("_part-00002-of-00002.json"), "{}", refused(&parts));
        assert!(PartFolder::new(record("nowhere")).collect().is_err());
        std::fs::create_dir(record("empty")).unwrap();
        assert!(refused(&PartFolder::new(record("empty"))).contains("the record of a shard is missing"));
    }
}
