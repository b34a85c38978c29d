//! Counts what the server holds, a bounded part at a time, and frees what is over before the server does.

use std::collections::VecDeque;

use nevertwice_api::{KeyStoreFailure, Swept};
use nevertwice_core::keys::{KeyId, KeyRecord, KeyState};
use redis::{Cmd, Value};

use super::asked::{lost, unread};
use super::calls::ForgetCall;
use super::fields;
use super::gauges::Counted;
use super::open::Inner;
use super::replies;
use crate::script::Call;
use crate::{ServerRefusal, keys};

/// Looks for further keys in one sweep: a server may hold much else, of which a look finds nothing.
const LOOKS_MAX: usize = 16;

/// Where a round stands: all records are seen once, by as many sweeps as it takes.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Where the server goes on; none at the beginning.
    cursor: Option<u64>,
    /// What it has named and nobody has looked at yet.
    named: VecDeque<KeyId>,
    counted: Counted,
}

impl Inner {
    pub(super) async fn sweep(&self, records_max: usize) -> Result<Swept, KeyStoreFailure> {
        if self.gauges.is_forgotten() {
            return Err(KeyStoreFailure::Unavailable);
        }
        let mut round = self.round.lock().await;
        let mut swept = Swept::default();
        for _ in 0..LOOKS_MAX {
            if round.named.is_empty() {
                if round.cursor == Some(0) {
                    self.gauges.set(round.counted);
                    *round = Round::default();
                    break;
                }
                self.name_more(&mut round, records_max).await?;
            }
            let count = round.named.len().min(records_max - swept.seen);
            let ids: Vec<KeyId> = round.named.drain(..count).collect();
            swept.freed += self.look_at(&ids, &mut round.counted).await?;
            swept.seen += ids.len();
            if swept.seen == records_max {
                break;
            }
        }
        Ok(swept)
    }

    async fn name_more(&self, round: &mut Round, records_max: usize) -> Result<(), KeyStoreFailure> {
        let mut command = redis::cmd("SCAN");
        command.arg(round.cursor.unwrap_or(0)).arg("MATCH").arg(keys::key_records_pattern()).arg("COUNT").arg(records_max.max(1));
        let (cursor, found) = scanned(self.plain(vec![command]).await?.pop())?;
        round.cursor = Some(cursor);
        round.named.extend(found.iter().filter_map(|key| keys::key_record_id(key)));
        Ok(())
    }

    /// Counts the records, and frees those that are over; how many that were.
    async fn look_at(&self, ids: &[KeyId], counted: &mut Counted) -> Result<usize, KeyStoreFailure> {
        let at_ms = self.clock.now_ms();
        let commands = ids.iter().map(|id| {
            let mut command = redis::cmd("HMGET");
            command.arg(keys::key_record(id)).arg(fields::RECORD);
            command
        });
        let mut over = Vec::new();
        for (id, value) in ids.iter().zip(self.plain(commands.collect()).await?) {
            let Value::Array(values) = value else { continue };
            match fields::record(&values) {
                Ok(Some(record)) if KeyRecord::remembered(Some(&record), at_ms - self.timing.sweep_keep_ms).is_none() => over.push(id),
                Ok(Some(record)) => count(&record, at_ms, counted),
                Ok(None) => {}
                // It is there and takes room; more can't be said of it here.
                Err(_) => counted.records += 1,
            }
        }
        self.forget(&over, at_ms).await
    }

    async fn forget(&self, ids: &[&KeyId], at_ms: i64) -> Result<usize, KeyStoreFailure> {
        let (skew_ms_max, keep_ms) = (self.timing.skew_ms_max, self.timing.sweep_keep_ms);
        let call = |id: &&KeyId| Call::from(ForgetCall { record: keys::key_record(id), at_ms, skew_ms_max, keep_ms });
        let calls: Vec<Call> = ids.iter().map(call).collect();
        if calls.is_empty() {
            return Ok(0);
        }
        let answers = self.runner.call_all(&calls, &[]).await.map_err(|failure| lost("forget_key", &failure))?;
        let mut freed = 0;
        for reply in answers.calls {
            let value = reply.map_err(|error| super::asked::refused(&ServerRefusal::of(&error)))?;
            if let Some(bytes) = replies::forgotten(&value).map_err(|bad| unread("forget_key", bad))? {
                self.gauges.free_records(1);
                self.gauges.free_bytes(bytes);
                freed += 1;
            }
        }
        Ok(freed)
    }

    /// Plain commands. An error of one of them is nil: what it would have told is not known.
    async fn plain(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, KeyStoreFailure> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let replies = self.runner.link().send(&commands).await.map_err(|failure| lost("sweep", &failure))?;
        Ok(replies.into_iter().map(|reply| reply.unwrap_or(Value::Nil)).collect())
    }
}

fn count(record: &KeyRecord, at_ms: i64, counted: &mut Counted) {
    counted.records += 1;
    counted.lapsed += u64::from(record.is_lapsed(at_ms));
    if let KeyState::Completed(completion) = &record.state
        && completion.answer.body == nevertwice_core::keys::BodyKept::Whole
    {
        counted.answer_bytes += u64::from(completion.answer.head_bytes) + completion.answer.body_bytes;
    }
}

/// Where to go on, and the keys that a look has found.
fn scanned(reply: Option<Value>) -> Result<(u64, Vec<Vec<u8>>), KeyStoreFailure> {
    let Some(Value::Array(parts)) = reply else { return Err(KeyStoreFailure::Unavailable) };
    let [Value::BulkString(cursor), Value::Array(found)] = &parts[..] else { return Err(KeyStoreFailure::Unavailable) };
    let cursor = std::str::from_utf8(cursor).ok().and_then(|text| text.parse().ok()).ok_or(KeyStoreFailure::Unavailable)?;
    let bytes = |value: &Value| if let Value::BulkString(bytes) = value { Some(bytes.clone()) } else { None };
    Ok((cursor, found.iter().filter_map(bytes).collect()))
}
