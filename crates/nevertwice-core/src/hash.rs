//! The state hash: equal for equal states, whatever the order in which records lie in memory.

use core::fmt;

use sha2::{Digest, Sha256};

use crate::fields::{Fields, Sink};
use crate::{Record, State};

/// An order-free sum of the SHA-256 digests of a state's records, in four lanes of 64 bits.
///
/// Two backends that hold the same state at the same position have the same one. A digest is taken over the record's fields
/// in their order: numbers in little-endian bytes of their width, texts with a 32-bit length before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StateHash([u64; 4]);

impl StateHash {
    /// Adds one record.
    pub fn add(&mut self, record: &Record) {
        let mut hasher = Hasher(Sha256::new());
        record.put(&mut hasher);
        let digest: [u8; 32] = hasher.0.finalize().into();
        let (lanes, _) = digest.as_chunks::<8>();
        for (sum, lane) in self.0.iter_mut().zip(lanes) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*lane));
        }
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a:016x}{b:016x}{c:016x}{d:016x}")
    }
}

impl State {
    /// The hash of all records that [`State::export`] shows. It walks the whole state.
    #[must_use]
    pub fn state_hash(&self) -> StateHash {
        let mut hash = StateHash::default();
        self.export(&mut |record| hash.add(&record));
        hash
    }
}

struct Hasher(Sha256);

impl Sink for Hasher {
    fn byte(&mut self, value: u8) {
        self.0.update([value]);
    }
    fn word(&mut self, value: u32) {
        self.0.update(value.to_le_bytes());
    }
    fn long(&mut self, value: u64) {
        self.0.update(value.to_le_bytes());
    }
    fn signed(&mut self, value: i64) {
        self.0.update(value.to_le_bytes());
    }
    fn digest(&mut self, value: &[u8; 32]) {
        self.0.update(value);
    }
    fn text(&mut self, value: &str) {
        // Texts are bounded far below 4 GiB by their kinds.
        self.0.update(u32::try_from(value.len()).unwrap_or(u32::MAX).to_le_bytes());
        self.0.update(value.as_bytes());
    }
}
