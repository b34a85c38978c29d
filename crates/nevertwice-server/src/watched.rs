//! Files that are read again when they change: keys, certificates.
//!
//! What changed is told by the content: a file that is replaced, a link that is turned elsewhere and a file that is written
//! in place are all seen, whatever their times say. A new content that can't be used changes nothing: the server goes on with
//! what it had, says so once in the log, and shows it in its metrics until the file is well again.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};
use nevertwice_api::ErrorCode;
use sha2::{Digest as _, Sha256};

use crate::error::StartError;
use crate::metrics::{Metrics, WatchedFile};

type Parse<T> = dyn Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync;

/// What was read from files, as of the last time that they could be used.
pub(crate) struct Watched<T> {
    file: WatchedFile,
    paths: Vec<PathBuf>,
    bytes_max: u64,
    parse: Box<Parse<T>>,
    present: ArcSwap<T>,
    /// The digest of what was looked at last, used or not; `None` if it could not even be read.
    seen: Mutex<Option<[u8; 32]>>,
    metrics: Arc<Metrics>,
}

impl<T> std::fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Watched<T> {
    /// Reads the files for the first time. `parse` makes of their contents, in the order of the paths, what is used.
    pub(crate) fn open(
        file: WatchedFile,
        paths: Vec<PathBuf>,
        bytes_max: u64,
        metrics: Arc<Metrics>,
        parse: impl Fn(&[Vec<u8>]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let refuse = |wrong: String| {
            StartError::new(
                ErrorCode::ConfigurationInvalid,
                format!(
                    "{wrong}. Nothing was started. Correct the file, or what `{}` names; docs/access.md describes both.",
                    file.setting()
                ),
            )
        };
        let contents = read(&paths, bytes_max).map_err(refuse)?;
        let first = parse(&contents).map_err(|wrong| refuse(format!("{}: {wrong}", names(&paths))))?;
        let seen = Mutex::new(Some(digest(&contents)));
        Ok(Self { file, paths, bytes_max, parse: Box::new(parse), present: ArcSwap::from_pointee(first), seen, metrics })
    }

    /// What is used now.
    pub(crate) fn now(&self) -> Guard<Arc<T>> {
        self.present.load()
    }
}

/// Something that can be read again.
pub(crate) trait Reread: Send + Sync {
    /// Looks at the files, and takes what they hold if that is new and can be used. It blocks.
    fn reread(&self);
}

impl<T: Send + Sync + 'static> Reread for Watched<T> {
    fn reread(&self) {
        // One at a time: an older look must not put its content over that of a newer one.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = self.metrics.watched(self.file);
        let contents = read(&self.paths, self.bytes_max);
        let looked_at = contents.as_ref().ok().map(|contents| digest(contents));
        if looked_at == *seen {
            return;
        }
        *seen = looked_at;
        let read = contents.and_then(|contents| (self.parse)(&contents).map_err(|wrong| format!("{}: {wrong}", names(&self.paths))));
        match read {
            Ok(new) => {
                self.present.store(Arc::new(new));
                counts.took();
                tracing::info!(file = self.file.word(), paths = names(&self.paths), "read again; what is in it counts from now on");
            }
            Err(wrong) => {
                counts.refused();
                tracing::error!(file = self.file.word(), wrong, "read again and not used: what was read before still counts");
            }
        }
    }
}

/// Reads the files of a running server again.
#[derive(Clone)]
pub struct Reloader {
    files: Arc<[Arc<dyn Reread>]>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader").field("files", &self.files.len()).finish()
    }
}

impl Reloader {
    pub(crate) fn of(files: impl IntoIterator<Item = Arc<dyn Reread>>) -> Self {
        Self { files: files.into_iter().collect() }
    }

    /// Whether there are any.
    #[must_use]
    pub fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Looks at all files, and takes what is new and can be used. What can't be used is logged, counted and otherwise left
    /// alone. It blocks on the disk.
    pub fn reload(&self) {
        self.files.iter().for_each(|file| file.reread());
    }
}

/// Reads files, each at most that large.
pub(crate) fn read(paths: &[PathBuf], bytes_max: u64) -> Result<Vec<Vec<u8>>, String> {
    let read_one = |path: &PathBuf| {
        let file = File::open(path).map_err(|error| format!("{} can't be opened: {error}", path.display()))?;
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| format!("{} can't be read: {error}", path.display()))?;
        if bytes.len() as u64 > bytes_max {
            return Err(format!("{} is larger than {bytes_max} bytes", path.display()));
        }
        Ok(bytes)
    };
    paths.iter().map(read_one).collect()
}

fn digest(contents: &[Vec<u8>]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for content in contents {
        digest.update((content.len() as u64).to_le_bytes());
        digest.update(content);
    }
    digest.finalize().into()
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
