//! One message on its way to one endpoint.

use sha2::{Digest as _, Sha256};

/// One message on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its id. It follows from the stream and the place in it, so each try has the same one, as has each endpoint: whoever keeps the ids
    /// that he has seen takes each message once.
    pub id: String,
    /// In what it has an order: `outbox/TOPIC`.
    pub stream: String,
    /// Its place there: from 1, without gaps.
    pub seq: i64,
    /// What it tells of, such as `order.placed`.
    pub kind: String,
    /// When that happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The message.
    pub payload: Vec<u8>,
}

impl Delivery {
    pub(super) fn new(stream: &str, (seq, kind, at_ms, payload): Row) -> Self {
        Self { id: id(stream, seq), stream: stream.to_owned(), seq, kind, at_ms, payload }
    }
}

/// A message as it lies in a table: place, kind, instant, payload.
pub(super) type Row = (i64, String, i64, Vec<u8>);

/// Without a full stop, which the signature puts between the id and what follows it.
fn id(stream: &str, seq: i64) -> String {
    let mut digest = Sha256::new();
    digest.update(stream.as_bytes());
    digest.update([0]);
    digest.update(seq.to_le_bytes());
    let digest: [u8; 32] = digest.finalize().into();
    let mut id = String::from("msg_");
    for byte in &digest[..16] {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_the_place_alone() {
        let at = |stream: &str, seq| Delivery::new(stream, (seq, "a".to_owned(), 1, vec![1])).id;
        assert_eq!(at("outbox/orders", 7), Delivery::new("outbox/orders", (7, "b".to_owned(), 2, vec![2])).id);
        // What consumers have stored does not change with a version.
        assert_eq!(at("outbox/orders", 7), "msg_5e93f81c16c859006bd8683d5d5eed64");
        assert_ne!(at("outbox/orders", 7), at("outbox/orders", 8));
        assert_ne!(at("outbox/orders1", 7), at("outbox/orders", 17));
    }
}
