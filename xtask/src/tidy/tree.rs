//! The files of the repository, as text in memory, so that rules can be tested on planted ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ignore::WalkBuilder;

use crate::step::Failure;

/// Paths are relative to the root and written with `/`. A file that is no text has no text here.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Everything that git would not ignore.
    pub(super) fn load(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        let walk = WalkBuilder::new(root)
            .hidden(false)
            .parents(false)
            .git_global(false)
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != "target")
            .build();
        for entry in walk {
            let entry = entry.map_err(|error| Failure::new(error.to_string(), "make every file readable"))?;
            if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                continue;
            }
            let bytes = fs::read(entry.path())
                .map_err(|error| Failure::new(format!("{}: {error}", entry.path().display()), "make every file readable"))?;
            let path = entry.path().strip_prefix(root).unwrap_or(entry.path());
            let segments: Vec<_> = path.iter().map(|segment| segment.to_string_lossy()).collect();
            tree.files.insert(segments.join("/"), String::from_utf8(bytes).ok());
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|&(path, text)| (path.to_owned(), Some(text.to_owned()))).collect();
        Self { files }
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Path and text of every text file.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// A file, or a folder with files in it. The empty path is the root.
    pub(super) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.has_file(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }
}

/// Does the path lie within the pattern? `*` stands for one segment, a `/` at the end for everything below.
pub(super) fn is_within(path: &str, pattern: &str) -> bool {
    let is_folder = pattern.ends_with('/') || pattern.is_empty();
    let mut segments = path.split('/');
    for wanted in pattern.split('/').filter(|wanted| !wanted.is_empty()) {
        match segments.next() {
            Some(segment) if wanted == "*" || segment == wanted => {}
            _ => return false,
        }
    }
    // What lies in a folder has a segment more; a file has none.
    segments.next().is_some() == is_folder
}

/// `a/b/../c` as `a/c`; nothing if it leaves the root.
pub(super) fn normalise(path: &str) -> Option<String> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

/// The folder of a file; empty for the root.
pub(super) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_segments() {
        assert!(is_within("crates/a/src/deep/x.rs", "crates/*/src/"));
        assert!(is_within("crates/a/src/x.rs", "crates/a/src/x.rs"));
        assert!(is_within("README.md", ""));
        assert!(!is_within("crates/a/tests/x.rs", "crates/*/src/"));
        assert!(!is_within("crates/a/src/x.rs", "crates/a/src"));
        assert!(!is_within("crates/ab/src/x.rs", "crates/a/src/"));
        assert!(!is_within("crates/a/src", "crates/*/src/"));
    }

    #[test]
    fn paths_are_normalised_within_the_root() {
        assert_eq!(normalise("docs/adr/../style.md").as_deref(), Some("docs/style.md"));
        assert_eq!(normalise("./a//b").as_deref(), Some("a/b"));
        assert_eq!(normalise("a/../.."), None);
    }

    #[test]
    fn folders_exist_by_their_files() {
        let tree = Tree::of(&[("docs/adr/0001.md", "")]);
        assert!(tree.has("docs/adr") && tree.has("docs/adr/") && tree.has("") && tree.has("docs/adr/0001.md"));
        assert!(!tree.has("docs/ad") && !tree.has("docs/style.md"));
    }

    #[test]
    fn what_git_ignores_is_not_read() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in [(".gitignore", "/out\n"), ("kept.md", "x"), (".ci", "x")] {
            fs::write(dir.path().join(path), text).expect("written");
        }
        for folder in ["out", "target", ".git"] {
            fs::create_dir(dir.path().join(folder)).expect("created");
            fs::write(dir.path().join(folder).join("x.md"), "x").expect("written");
        }
        fs::write(dir.path().join("picture"), [0xff, 0xfe]).expect("written");
        let tree = Tree::load(dir.path()).expect("loaded");
        assert_eq!(tree.files.keys().collect::<Vec<_>>(), [".ci", ".gitignore", "kept.md", "picture"]);
        assert!(tree.texts().all(|(path, _)| path != "picture"));
    }
}
