//! What released versions left: data folders, and what their HTTP API answered. Every later version has to read the one and to
//! repeat the other. Fixtures are made once, by the version itself, and never changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sparse;

/// The last version of which there are fixtures.
pub const LAST: &str = "v0.1.0";

/// Under which name the fixtures of formats are that no release has written yet, and somebody may have.
pub const FORMATS: &str = "formats";

/// A data folder that a version left, and its states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Each shard with its position and its state hash, as `nevertwice verify` prints them: `market/cup at 1-7: hash ...`.
    pub hashes: Vec<String>,
}

/// Where the fixtures of a version are.
#[must_use]
pub fn root(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(version)
}

/// The names of a version's data folders.
///
/// # Panics
/// If they can't be listed.
#[must_use]
pub fn folders(version: &str) -> Vec<String> {
    let entries = fs::read_dir(root(version)).expect("the fixtures can be listed").map(|entry| entry.expect("an entry").path());
    let folders = entries.filter(|path| path.is_dir()).filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let mut folders: Vec<String> = folders.collect();
    folders.sort();
    folders
}

impl Folder {
    /// The fixture of that name.
    ///
    /// # Panics
    /// If it can't be read.
    #[must_use]
    pub fn read(version: &str, name: &str) -> Self {
        let mut folder = Self { files: BTreeMap::new(), hashes: Vec::new() };
        for entry in fs::read_dir(root(version).join(name)).expect("the fixture is there") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a fixture is text");
            match path.file_name().and_then(|name| name.to_str()) {
                Some("hashes.txt") => folder.hashes = text.lines().map(str::to_owned).collect(),
                Some(name) => {
                    let name = name.strip_suffix(".sparse").expect("a file of a folder is written sparsely");
                    folder.files.insert(name.to_owned(), sparse::decode(&text));
                }
                None => {}
            }
        }
        folder
    }

    /// Writes a new fixture.
    ///
    /// # Panics
    /// If there is one of that name, or it can't be written.
    pub fn write(&self, version: &str, name: &str) {
        let root = root(version).join(name);
        fs::create_dir_all(root.parent().expect("a fixture has a version")).expect("a folder can be made");
        fs::create_dir(&root).expect("fixtures are never changed");
        for (name, bytes) in &self.files {
            fs::write(root.join(format!("{name}.sparse")), sparse::encode(bytes)).expect("a file can be written");
        }
        fs::write(root.join("hashes.txt"), self.hashes.join("\n") + "\n").expect("a file can be written");
    }

    /// The files of a folder on disk, but for its owner's mark; without states.
    ///
    /// # Panics
    /// If they can't be read.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        let entries = fs::read_dir(path).expect("the folder can be listed").map(|entry| entry.expect("an entry"));
        let files = entries.filter(|entry| entry.file_name() != "in-use").map(|entry| {
            let bytes = fs::read(entry.path()).expect("the file can be read");
            (entry.file_name().to_string_lossy().into_owned(), bytes)
        });
        Self { files: files.collect(), hashes: Vec::new() }
    }

    /// Puts the files into a folder on disk, which is made.
    ///
    /// # Panics
    /// If it can't be written.
    pub fn unpack(&self, path: &Path) {
        fs::create_dir_all(path).expect("a folder can be made");
        for (name, bytes) in &self.files {
            fs::write(path.join(name), bytes).expect("a file can be written");
        }
    }
}
