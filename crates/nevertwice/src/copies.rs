//! What the commands about copies of a journal share.

use std::error::Error;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use nevertwice_local::backup::{BackupProgress, ShardAt};
use nevertwice_server::config::Secret;

/// A key, from a file: on the command line everybody on the machine could see it.
pub(crate) fn read_key(file: &Path) -> Result<Secret, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("the key can't be read from {}: {error}; nothing was done", file.display()))?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("{} holds no key of visible ASCII characters; nothing was done", file.display()).into());
    }
    Ok(Secret::new(key))
}

/// A progress bar, and what moves it.
pub(crate) fn meter() -> Result<(ProgressBar, impl FnMut(BackupProgress) + use<>), Box<dyn Error>> {
    let style = ProgressStyle::with_template("{msg:26} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec}")?;
    let bar = ProgressBar::new(0).with_style(style);
    let shown = bar.clone();
    let progress = move |at: BackupProgress| {
        shown.set_message(at.doing);
        shown.set_length(at.total_bytes);
        shown.set_position(at.done_bytes);
    };
    Ok((bar, progress))
}

/// A shard, in one line.
pub(crate) fn shard_line(ShardAt { shard, position, hash }: &ShardAt) -> String {
    format!("{shard} at {position}: hash {hash}")
}

/// From where on an audit tells.
pub(crate) fn audit_reach(begins_after: u64) -> String {
    match begins_after {
        0 => "from the first batch on".to_owned(),
        batch => format!("from after batch {batch} on: what was done before that is in the audit of the first server alone"),
    }
}
