//! Names, keys and digests, each made from a number.

use alloc::format;

use crate::model::Random;
use crate::{CandidateId, IdempotencyKey, Name, PaymentUrl, Principal};

/// A digest made from a number, for use as a fingerprint: equal numbers give equal ones.
#[must_use]
pub fn fingerprint_of(number: u64) -> [u8; 32] {
    let mut random = Random::new(number);
    let mut digest = [0; 32];
    for byte in &mut digest {
        *byte = random.number().to_le_bytes().first().copied().unwrap_or_default();
    }
    digest
}

pub(super) fn name(letter: char, number: u64) -> Name {
    Name::new(&format!("{letter}-{number}")).expect("a letter, a hyphen and digits are a name")
}

pub(super) fn principal(number: u64) -> Principal {
    Principal::new(&format!("p-{number}")).expect("a letter, a hyphen and digits are a principal")
}

pub(super) fn key(number: u64) -> IdempotencyKey {
    IdempotencyKey::new(&format!("k-{number}")).expect("a letter, a hyphen and digits are a key")
}

pub(super) fn candidate(number: u64) -> CandidateId {
    CandidateId(fingerprint_of(number.wrapping_add(1 << 40)))
}

pub(super) fn email(number: u64) -> [u8; 32] {
    fingerprint_of(number.wrapping_add(1 << 41))
}

pub(super) fn url(number: u64) -> PaymentUrl {
    PaymentUrl::new(&format!("https://pay.example/{number}")).expect("the characters of a URL are visible ASCII")
}
