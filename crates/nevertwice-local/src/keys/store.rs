//! The store as callers see it.

use nevertwice_api::{
    AnswerBytes, BoxFuture, KeyReply, KeyStore, KeyStoreFailure, KeyStoreStatus, Level, Levels, PrincipalMark, Registered, Swept,
};
use nevertwice_core::keys::{CompleteKey, Completion, KeyId, KeyRecord, Lease, RegisterKey, ReleaseKey, RenewLease};

use super::open::{LocalKeyStore, failed};
use super::queue::Item;

impl KeyStore for LocalKeyStore {
    fn name(&self) -> &'static str {
        "local"
    }

    fn offers(&self) -> Levels {
        Levels::reached(Level::Journaled)
    }

    fn outlives_process(&self) -> bool {
        true
    }

    fn answer_bytes_max(&self) -> u64 {
        self.options.answer_bytes_max
    }

    fn register(
        &self,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        self.register_for(PrincipalMark::NOBODY, id, command, levels)
    }

    fn register_for(
        &self,
        principal: PrincipalMark,
        id: KeyId,
        command: RegisterKey,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Registered>, KeyStoreFailure>> {
        if !self.offers().contains_all(levels) {
            return failed(KeyStoreFailure::LevelUnavailable);
        }
        self.put(|reply| Item::Register(principal, id, command, levels, reply))
    }

    fn complete(
        &self,
        id: KeyId,
        command: CompleteKey,
        bytes: AnswerBytes,
        levels: Levels,
    ) -> BoxFuture<'static, Result<KeyReply<Completion>, KeyStoreFailure>> {
        if !self.offers().contains_all(levels) {
            return failed(KeyStoreFailure::LevelUnavailable);
        }
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        if length > self.options.answer_bytes_max || !bytes.fit(&command.answer) {
            return failed(KeyStoreFailure::BytesRefused);
        }
        self.put(|reply| Item::Complete(id, command, bytes, levels, reply))
    }

    fn renew(&self, id: KeyId, command: RenewLease) -> BoxFuture<'static, Result<KeyReply<Lease>, KeyStoreFailure>> {
        self.put(|reply| Item::Renew(id, command, reply))
    }

    fn release(&self, id: KeyId, command: ReleaseKey, levels: Levels) -> BoxFuture<'static, Result<KeyReply<()>, KeyStoreFailure>> {
        if !self.offers().contains_all(levels) {
            return failed(KeyStoreFailure::LevelUnavailable);
        }
        self.put(|reply| Item::Release(id, command, levels, reply))
    }

    fn inspect(&self, id: KeyId) -> BoxFuture<'static, Result<Option<KeyRecord>, KeyStoreFailure>> {
        self.put(|reply| Item::Inspect(id, reply))
    }

    fn sweep(&self, records_max: usize) -> BoxFuture<'static, Result<Swept, KeyStoreFailure>> {
        self.put(|reply| Item::Sweep(records_max, reply))
    }

    fn status(&self) -> KeyStoreStatus {
        self.key_status()
    }
}
