//! `nevertwice restore`: makes a data folder out of a backup, which ends exactly at a position.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use nevertwice_core::ShardId;
use nevertwice_local::backup::{BackupReader, CopiedAudit, Goal, Restored, Target, restore_to};
use nevertwice_local::clock::{Clock as _, SystemClock};
use nevertwice_local::journal::JournalOptions;
use nevertwice_local::storage::{FileStorage, Storage};
use nevertwice_local::{KEYS_FOLDER, KeysCopied, restore_keys};
use nevertwice_server::KEYS_NOTE;

use crate::copies::{audit_reach, keys_line, meter, shard_line};
use crate::output::report;

/// Makes a data folder out of a backup. It ends at the position that is named, in all shards.
#[derive(Args, Debug)]
pub(crate) struct RestoreArgs {
    /// The backup.
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
    /// Where it is to end: `latest`, `batch:N`, or with `--shard` a position as answers carry it, such as `3-4182`.
    #[arg(long, visible_alias = "to", value_name = "POSITION")]
    to_position: String,
    /// The shard whose position is named, written `market/NAME` or `sale/NAME`.
    #[arg(long, value_name = "SHARD")]
    shard: Option<ShardId>,
    /// The new data folder; it must not be there yet, or be empty.
    #[arg(long, value_name = "NEWFOLDER", required_unless_present = "dry_run")]
    data: Option<PathBuf>,
    /// Leaves the audit in the backup aside, if it is damaged: the new folder then tells what operators did in the copied batches.
    #[arg(long)]
    without_audit: bool,
    /// Says where the folder would end, and writes nothing.
    #[arg(long)]
    dry_run: bool,
}

impl RestoreArgs {
    pub(crate) fn run(&self) -> Result<ExitCode, Box<dyn Error>> {
        let goal = self.goal()?;
        let backup = BackupReader::open(Arc::new(FileStorage::open(&self.from)?))?;
        let options = JournalOptions::default();
        let target = match &self.data {
            Some(data) if !self.dry_run => {
                let storage = Arc::new(FileStorage::create(data)?);
                Some(Target { storage, options: &options, at_ms: SystemClock.now_ms(), without_audit: self.without_audit })
            }
            _ => None,
        };
        let (bar, mut progress) = meter()?;
        let restored = restore_to(&backup, &goal, target, &mut progress)?;
        let keys = self.restore_keys(&options)?;
        bar.finish_and_clear();
        report(|out| self.tell(out, &restored, keys.as_ref()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn goal(&self) -> Result<Goal, Box<dyn Error>> {
        let text = self.to_position.as_str();
        match (&self.shard, text.strip_prefix("batch:")) {
            (None, None) if text == "latest" => Ok(Goal::Latest),
            (None, Some(batch)) => Ok(Goal::Batch(batch.parse().map_err(|_| format!("`{text}` names no batch; nothing was done"))?)),
            (Some(shard), None) if text != "latest" => {
                Ok(Goal::Shard(shard.clone(), text.parse().map_err(|error| format!("`{text}` is no position: {error}; nothing was done"))?))
            }
            (Some(_), _) => Err("with --shard the position is one of that shard, such as 3-4182; nothing was done".into()),
            (None, None) => Err("without --shard the position is `latest` or `batch:N`; nothing was done".into()),
        }
    }

    /// Makes the folder of keys beside the journal, if the backup has keys.
    fn restore_keys(&self, options: &JournalOptions) -> Result<Option<KeysCopied>, Box<dyn Error>> {
        let copy = self.from.join(KEYS_FOLDER);
        let Some(data) = self.data.as_ref().filter(|_| !self.dry_run && copy.exists()) else { return Ok(None) };
        let copy: Arc<dyn Storage> = Arc::new(FileStorage::open(&copy)?);
        let folder = data.join(KEYS_FOLDER);
        let target: Arc<dyn Storage> = Arc::new(FileStorage::create(&folder)?);
        let keys = restore_keys(&copy, &target, KEYS_NOTE, options)?;
        if keys.is_none_or(|keys| keys.records == 0) {
            std::fs::remove_dir(&folder)?;
        }
        Ok(keys)
    }

    fn tell(&self, out: &mut dyn std::io::Write, restored: &Restored, keys: Option<&KeysCopied>) -> Result<(), Box<dyn Error>> {
        let Restored { batch, entries_of_batch, batches_left_out, shards, audit, epoch } = restored;
        writeln!(
            out,
            "ends within batch {batch}, with {entries_of_batch} entries of it; {batches_left_out} batches of the backup are left out"
        )?;
        for shard in shards {
            writeln!(out, "{}", shard_line(shard))?;
        }
        if let Some(CopiedAudit { begins_after, entries }) = audit {
            writeln!(out, "{entries} things that operators did are in its audit, {}", audit_reach(*begins_after))?;
        }
        match &self.data {
            Some(data) if !self.dry_run => {
                writeln!(out, "{} written, read back and verified; it starts with epoch {}", data.display(), epoch.saturating_add(1))?;
                let key = data.components().collect::<PathBuf>();
                writeln!(out, "put the person key of the data beside it, as {}.key, before a server starts on it", key.display())?;
                if let Some(keys) = keys.filter(|keys| keys.records > 0) {
                    writeln!(out, "{}: they are as of the end of the backup, whatever position was named", keys_line(keys))?;
                    writeln!(out, "put the secret of keys beside it, as {}-keys.key, before a server starts on it", key.display())?;
                }
                writeln!(out, "what was acknowledged after that is not in it: clients that ask again with their keys find out")?;
            }
            _ => writeln!(out, "nothing was written")?,
        }
        Ok(())
    }
}
