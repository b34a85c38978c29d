//! With which secret the keys of a store were named: noted beside them, without telling it.
//!
//! Who names keys by another secret finds none of them, and everything would run again. So a second process, or one that was given a
//! new file, is refused before it asks for anything.

use nevertwice_api::KeyStoreFailure;
use redis::Value;

use super::RedisKeyStore;
use super::asked::{lost, refused};
use crate::{ServerRefusal, keys};

impl RedisKeyStore {
    /// Notes the first of these marks of secrets, if none is noted or another of them is, which is how a secret is changed. Whether
    /// the one that is noted was among them.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or refuses.
    pub async fn note_secret(&self, marks: &[[u8; 32]]) -> Result<bool, KeyStoreFailure> {
        let marks: Vec<String> = marks.iter().map(|mark| data_encoding::HEXLOWER.encode(mark)).collect();
        let Some(current) = marks.first() else { return Ok(true) };
        let set = |condition: &str| {
            let mut command = redis::cmd("SET");
            command.arg(keys::key_store_secret()).arg(current).arg(condition);
            command
        };
        let mut look = redis::cmd("GET");
        look.arg(keys::key_store_secret());
        let link = self.inner.runner.link();
        let replies = link.send(&[set("NX"), look]).await.map_err(|failure| lost("note_secret", &failure))?;
        let noted = match replies.into_iter().next_back() {
            Some(Ok(Value::BulkString(noted))) => noted,
            Some(Err(error)) => return Err(refused(&ServerRefusal::of(&error))),
            _ => return Err(KeyStoreFailure::Unavailable),
        };
        if noted == current.as_bytes() {
            return Ok(true);
        }
        if marks.iter().all(|mark| mark.as_bytes() != noted) {
            return Ok(false);
        }
        let changed = link.send_one(set("XX")).await.map_err(|failure| lost("note_secret", &failure))?;
        changed.map(|_| true).map_err(|error| refused(&ServerRefusal::of(&error)))
    }
}
