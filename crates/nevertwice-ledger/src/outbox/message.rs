//! What a service leaves to be told to others.

use sqlx::{Error, Transaction};

use crate::SqlDatabase;
use crate::connection::on;

/// Bytes of a payload, at most.
pub const PAYLOAD_BYTES_MAX: usize = 256 << 10;

/// Bytes of a topic or a kind, at most.
pub const WORD_BYTES_MAX: usize = 128;

/// A message: it is told at least once if the transaction that it is left in is committed, and never otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    topic: String,
    kind: String,
    payload: Vec<u8>,
}

impl Message {
    /// A message of a topic, within which messages are told in order; of a kind such as `order.placed`; with a payload, JSON as a rule.
    /// None if a word is empty, longer than [`WORD_BYTES_MAX`] or not of visible ASCII letters, or the payload longer than
    /// [`PAYLOAD_BYTES_MAX`].
    #[must_use]
    pub fn new(topic: &str, kind: &str, payload: impl Into<Vec<u8>>) -> Option<Self> {
        let is_word = |word: &str| (1..=WORD_BYTES_MAX).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_graphic());
        let payload = payload.into();
        (is_word(topic) && is_word(kind) && payload.len() <= PAYLOAD_BYTES_MAX).then(|| Self {
            topic: topic.to_owned(),
            kind: kind.to_owned(),
            payload,
        })
    }

    /// Leaves it in the service's own transaction, at an instant in milliseconds since 1970 that is told along with it.
    ///
    /// # Errors
    /// If the database refuses; the transaction should then be rolled back.
    pub async fn put_in<D: SqlDatabase>(&self, work: &mut Transaction<'_, D>, at_ms: i64) -> Result<(), Error> {
        const PUT: &str = "INSERT INTO nevertwice_outbox (topic, kind, at_ms, payload) VALUES ($1, $2, $3, $4)";
        on!(D::lend(work), c => {
            let query = sqlx::query(PUT).bind(&self.topic[..]).bind(&self.kind[..]).bind(at_ms).bind(&self.payload[..]);
            query.execute(c).await.map(drop)
        })
    }
}
