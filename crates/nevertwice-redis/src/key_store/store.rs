//! The store as callers see it.

use std::sync::Arc;

use nevertwice_api::{AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Levels, Registered, Swept};
use nevertwice_core::keys::{BodyKept, CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};
use redis::Value;

use super::asked::{Asked, lost, refused, unread};
use super::calls::{CompleteCall, LookUpCall, RegisterCall, ReleaseCall, RenewCall};
use super::fields;
use super::open::{Inner, RedisKeyStore};
use super::replies::{self, Said};
use crate::{ServerRefusal, keys};

impl KeyStore for RedisKeyStore {
    fn name(&self) -> &'static str {
        "redis"
    }

    fn offers(&self) -> Levels {
        self.inner.offers()
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn answer_bytes_max(&self) -> u64 {
        self.inner.options.answer_bytes_max
    }

    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.register(&id, command, levels).await })
    }

    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.complete(&id, command, bytes, levels).await })
    }

    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.renew(&id, &command).await })
    }

    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.release(&id, &command, levels).await })
    }

    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.inspect(&id).await })
    }

    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.sweep(records_max).await })
    }

    fn status(&self) -> KeyStoreStatus {
        self.inner.gauges.status(&self.inner.options)
    }
}

impl Inner {
    async fn register(&self, id: &KeyId, command: RegisterKey, levels: Levels) -> Result<KeyReply<Registered>, KeyStoreFailure> {
        let has_room = self.gauges.take_record(&self.options);
        let registered = self.register_with(id, &command, levels, has_room).await;
        let held = registered.as_ref().map(|(_, held)| *held).unwrap_or_default();
        self.gauges.free_bytes(held.freed);
        if has_room && !held.is_new {
            self.gauges.free_records(1);
        }
        registered.map(|(reply, _)| reply)
    }

    async fn register_with(
        &self,
        id: &KeyId,
        command: &RegisterKey,
        levels: Levels,
        has_room: bool,
    ) -> Result<(KeyReply<Registered>, replies::Held), KeyStoreFailure> {
        let RegisterKey { fingerprint, owner, lease_ms, retention_ms, expires_at, lapse } = *command;
        let at_ms = self.clock.now_ms();
        let call = RegisterCall {
            record: keys::key_record(id),
            at_ms,
            skew_ms_max: self.timing.skew_ms_max,
            fingerprint,
            owner: owner.0,
            lease_ms,
            retention_ms,
            expires_at,
            lapse: lapse.word(),
            has_room,
            keep_ms: self.timing.keep_ms,
        };
        let mut asked = self.ask(call.clone().into(), levels).await?;
        if asked.said == Err(ServerRefusal::OutOfMemory) {
            let RegisterCall { record, at_ms, skew_ms_max, fingerprint, owner, lease_ms, retention_ms, expires_at, lapse, .. } = call;
            let call = LookUpCall { record, at_ms, skew_ms_max, fingerprint, owner, lease_ms, retention_ms, expires_at, lapse };
            asked = self.ask(call.into(), levels).await?;
        }
        let value = asked.said.as_ref().map_err(refused)?;
        let (said, held) = replies::registration(value, expires_at).map_err(|bad| unread("register_key", bad))?;
        Ok((reply(said, at_ms, asked.levels)?, held))
    }

    async fn complete(
        &self,
        id: &KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> Result<KeyReply<Completion>, KeyStoreFailure> {
        let CompleteKey { owner, generation, answer } = command;
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        if length > self.options.answer_bytes_max || !bytes.fit(&answer) {
            return Err(KeyStoreFailure::BytesRefused);
        }
        let takes_room = answer.body == BodyKept::Whole;
        let has_room = !takes_room || self.gauges.take_bytes(length, &self.options);
        let at_ms = self.clock.now_ms();
        let call = CompleteCall {
            record: keys::key_record(id),
            at_ms,
            skew_ms_max: self.timing.skew_ms_max,
            owner: owner.0,
            generation,
            status: answer.status,
            head_bytes: answer.head_bytes,
            head_digest: answer.head_digest,
            body_bytes: answer.body_bytes,
            body_digest: answer.body_digest,
            kept: answer.body.word(),
            headers: bytes.head.to_vec(),
            body: bytes.body.to_vec(),
            has_room,
            keep_ms: self.timing.keep_ms,
        };
        let asked = self.ask(call.into(), levels).await;
        let completed = asked.and_then(|asked| answered("complete_key", &asked, at_ms, replies::completion));
        let is_kept = matches!(&completed, Ok(KeyReply { reply: Ok(Completion::Kept), .. }));
        if takes_room && has_room && !is_kept {
            self.gauges.free_bytes(length);
        }
        completed
    }

    async fn renew(&self, id: &KeyId, command: &RenewLease) -> Result<KeyReply<Lease>, KeyStoreFailure> {
        let RenewLease { owner, generation, lease_ms } = *command;
        let (at_ms, skew_ms_max, keep_ms) = (self.clock.now_ms(), self.timing.skew_ms_max, self.timing.keep_ms);
        let call = RenewCall { record: keys::key_record(id), at_ms, skew_ms_max, owner: owner.0, generation, lease_ms, keep_ms };
        answered("renew_lease", &self.ask(call.into(), Levels::NONE).await?, at_ms, replies::renewal)
    }

    async fn release(&self, id: &KeyId, command: &ReleaseKey, levels: Levels) -> Result<KeyReply<()>, KeyStoreFailure> {
        let ReleaseKey { owner, generation } = *command;
        let (at_ms, skew_ms_max, keep_ms) = (self.clock.now_ms(), self.timing.skew_ms_max, self.timing.keep_ms);
        let call = ReleaseCall { record: keys::key_record(id), at_ms, skew_ms_max, owner: owner.0, generation, keep_ms };
        answered("release_key", &self.ask(call.into(), levels).await?, at_ms, replies::release)
    }

    async fn inspect(&self, id: &KeyId) -> Result<Option<KeyRecord>, KeyStoreFailure> {
        if self.gauges.is_forgotten() {
            return Err(KeyStoreFailure::Unavailable);
        }
        let at_ms = self.clock.now_ms();
        let mut command = redis::cmd("HMGET");
        command.arg(keys::key_record(id)).arg(fields::RECORD);
        let reply = self.runner.link().send_one(command).await.map_err(|failure| lost("inspect", &failure))?;
        match reply {
            Ok(Value::Array(values)) => {
                let record = fields::record(&values).map_err(|bad| unread("inspect", bad))?;
                Ok(KeyRecord::remembered(record.as_ref(), at_ms).cloned())
            }
            Ok(_) => Err(KeyStoreFailure::Unavailable),
            Err(error) => Err(refused(&ServerRefusal::of(&error))),
        }
    }
}

fn answered<R>(
    script: &str,
    asked: &Asked,
    at_ms: i64,
    read: fn(&Value) -> Result<Said<R>, fields::BadFields>,
) -> Result<KeyReply<R>, KeyStoreFailure> {
    let value = asked.said.as_ref().map_err(refused)?;
    reply(read(value).map_err(|bad| unread(script, bad))?, at_ms, asked.levels)
}

fn reply<R>(said: Said<R>, at_ms: i64, levels: Levels) -> Result<KeyReply<R>, KeyStoreFailure> {
    match said {
        Said::Decided(reply) => Ok(KeyReply { reply, at_ms, levels }),
        Said::Full => Err(KeyStoreFailure::Full),
        Said::ClockSkew => {
            tracing::error!("this machine's clock is too far from the server's: nothing is decided until they agree");
            Err(KeyStoreFailure::Unavailable)
        }
    }
}
