//! How the ledger follows.

use std::fmt;

use nevertwice_api::LedgerStatus;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// There from the start, at zero and without a ledger too: an alarm over something that appears only when it happens is none.
pub(super) fn encode(status: Option<&LedgerStatus>, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let nothing = LedgerStatus::default();
    let is_there = status.is_some();
    let status = status.unwrap_or(&nothing);
    let at_risk: u64 = status.shards.iter().map(|shard| shard.entries_at_risk).fold(0, u64::saturating_add);
    let stopped = status.shards.iter().filter(|shard| shard.stopped.is_some()).count() as u64;
    for (name, help, value) in [
        ("nevertwice_ledger", "1 where entries are written to a ledger", u64::from(is_there)),
        ("nevertwice_ledger_lag_ms", "How old the oldest entry is that is not in the ledger, in milliseconds", status.lag_ms),
        ("nevertwice_ledger_entries_at_risk", "Entries that were decided and are not in the ledger", at_risk),
        ("nevertwice_ledger_stopped_shards", "Shards of which the ledger takes nothing more", stopped),
        ("nevertwice_ledger_failing", "1 while the last write to the ledger has failed", u64::from(status.trouble.is_some())),
    ] {
        encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&whole(value))?;
    }
    for (name, help, count) in [
        ("nevertwice_ledger_entries_written", "Entries that were written to the ledger", status.entries_written),
        ("nevertwice_ledger_batches_written", "Batches that were written to the ledger", status.batches_written),
        ("nevertwice_ledger_failures", "Writes to the ledger that failed and were tried again", status.failures),
        ("nevertwice_ledger_doubled", "Entries in the ledger whose key it remembered already", status.doubled),
    ] {
        encoder.encode_descriptor(name, help, None, MetricType::Counter)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    let help = "The seq of a shard's last entry in the ledger";
    let mut watermarks = encoder.encode_descriptor("nevertwice_ledger_watermark_seq", help, None, MetricType::Gauge)?;
    for shard in &status.shards {
        watermarks.encode_family(&[("shard", shard.shard.to_string().as_str())])?.encode_gauge(&whole(shard.watermark.seq))?;
    }
    Ok(())
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
