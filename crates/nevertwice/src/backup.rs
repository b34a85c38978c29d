//! `nevertwice backup`: copies the journal of a running server, or of a stopped folder, and brings the copy up to date.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use nevertwice_local::backup::{BackupProgress, BackupReport, back_up};
use nevertwice_local::source::{FolderSource, Source};
use nevertwice_local::storage::{FileStorage, Storage};
use nevertwice_local::{KEYS_FOLDER, KeysCopied, KeysFolder, KeysSource, back_up_keys};
use nevertwice_server::{COPIED_NOTES, KEYS_NOTE, Target};

use crate::asking::AskingArgs;
use crate::copies::{audit_reach, keys_line, meter, shard_line};
use crate::output::report;

/// Copies the journal of a running server, or of a stopped data folder. Run again, it fetches only what is new.
#[derive(Args, Debug)]
pub(crate) struct BackupArgs {
    /// The running server, such as `http://127.0.0.1:8080` or `https://tickets.example`.
    #[arg(long, value_name = "URL", required_unless_present = "data")]
    server: Option<Target>,
    #[command(flatten)]
    asking: AskingArgs,
    /// A stopped or copied data folder, instead of a server.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["server", "api_key_file", "ca"])]
    data: Option<PathBuf>,
    /// Where the backup is, or is to be: an empty folder, or a backup of the same server.
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
}

impl BackupArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let mut source: Box<dyn Source> = match (&self.server, &self.data) {
            (Some(target), _) => Box::new(self.asking.remote(target)?),
            (None, Some(data)) => Box::new(FolderSource::open(Arc::new(FileStorage::open(data)?), COPIED_NOTES)?),
            (None, None) => return Err("neither a server nor a folder is named; nothing was done".into()),
        };
        let keys = self.keys()?;
        let folder = Arc::new(FileStorage::create(&self.to)?);
        let (bar, mut progress) = meter()?;
        let name = format!("backup-{}", std::process::id());
        let done = back_up(folder, source.as_mut(), &name, &mut progress)?;
        // After the journal: whatever a handler has done by then, its key is known.
        let keys = keys.map(|mut keys| self.back_up_keys(keys.as_mut(), &mut progress)).transpose()?.flatten();
        bar.finish_and_clear();
        report(|out| self.tell(out, &done, keys.as_ref()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Where keys are copied from; none where a folder has none.
    fn keys(&self) -> Result<Option<Box<dyn KeysSource>>, Box<dyn Error>> {
        let Some(target) = &self.server else {
            let keys = self.data.as_ref().map(|data| data.join(KEYS_FOLDER)).filter(|keys| keys.join("format").exists());
            let open = |keys: PathBuf| -> Result<Box<dyn KeysSource>, Box<dyn Error>> {
                Ok(Box::new(KeysFolder::open(Arc::new(FileStorage::open(&keys)?), KEYS_NOTE)?))
            };
            return keys.map(open).transpose();
        };
        Ok(Some(Box::new(self.asking.remote(target)?)))
    }

    fn back_up_keys(
        &self,
        source: &mut dyn KeysSource,
        progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<Option<KeysCopied>, Box<dyn Error>> {
        let into: Arc<dyn Storage> = Arc::new(FileStorage::create(self.to.join(KEYS_FOLDER))?);
        Ok(back_up_keys(&into, source, progress)?)
    }

    fn tell(&self, out: &mut dyn std::io::Write, done: &BackupReport, keys: Option<&KeysCopied>) -> Result<(), Box<dyn Error>> {
        let BackupReport { before, began_anew, fetched_bytes, manifest } = done;
        if *began_anew {
            writeln!(out, "the server had removed what came next: the backup begins anew, with a newer snapshot")?;
        }
        match before {
            Some(before) => writeln!(out, "batches {} to {}, {fetched_bytes} bytes fetched", before + 1, manifest.batch)?,
            None => writeln!(out, "up to batch {}, {fetched_bytes} bytes fetched", manifest.batch)?,
        }
        for shard in &manifest.shards {
            writeln!(out, "{}", shard_line(shard))?;
        }
        match &manifest.audit {
            Some(audit) => writeln!(out, "with what operators did, {}", audit_reach(audit.after))?,
            None => writeln!(
                out,
                "without what operators did before the first batch in it: the server runs an older version, which does not give that"
            )?,
        }
        writeln!(out, "{} read back and verified: journal {}, epoch {}", self.to.display(), manifest.journal, manifest.epoch)?;
        match keys {
            Some(keys) => writeln!(out, "{}; the secret under which keys are named is not in it: keep that too", keys_line(keys))?,
            None => writeln!(out, "without records of keys: none are kept in a folder there")?,
        }
        writeln!(out, "the person key of the data is not in it: keep that too, in another place")?;
        Ok(())
    }
}
