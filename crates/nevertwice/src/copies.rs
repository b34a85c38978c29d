//! What the commands about copies of a journal share.

use std::error::Error;

use indicatif::{ProgressBar, ProgressStyle};
use nevertwice_local::KeysCopied;
use nevertwice_local::backup::{BackupProgress, ShardAt};

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

/// Keys in a copy, in one line.
pub(crate) fn keys_line(KeysCopied { records, answers, answer_bytes, .. }: &KeysCopied) -> String {
    format!("with {records} records of keys, {answers} answers of {answer_bytes} bytes read back and verified")
}
