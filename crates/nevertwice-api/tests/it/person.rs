//! Keyed digests.

use nevertwice_api::person::{SaleKey, reference};
use nevertwice_core::Code;

fn code(text: &str) -> Code {
    Code::new(text).expect("it is a code")
}

#[test]
fn a_code_is_trimmed_and_upper_cased_before_anything_looks_at_it() {
    let key = SaleKey::new([1; 32]);
    assert_eq!(key.candidate(&code(" ab-12\t")), key.candidate(&code("AB-12")));
    assert_ne!(key.candidate(&code("AB-12")), key.candidate(&code("AB-13")));
    assert_eq!(key.email(" Ada@Example.org "), key.email("ada@example.org"));
}

#[test]
fn another_key_makes_other_people() {
    let secret = [5; 32];
    let (one, other) = (SaleKey::derive(&secret, "one"), SaleKey::derive(&secret, "other"));
    assert_ne!(one.candidate(&code("AB-12")), other.candidate(&code("AB-12")));
    // A code and an address of the same letters are not the same person.
    assert_ne!(one.candidate(&code("A@B")).0, one.email("A@B"));
}

#[test]
fn the_reference_is_twelve_base32_letters_of_the_digest() {
    let candidate = SaleKey::new([1; 32]).candidate(&code("AB-12"));
    let reference = reference(&candidate);
    assert_eq!(reference.len(), 12);
    assert!(data_encoding::BASE32_NOPAD.encode(&candidate.0).starts_with(&reference));
}

#[test]
fn neither_key_nor_code_is_printed() {
    assert_eq!(format!("{:?} {:?}", SaleKey::new([65; 32]), code("SECRET")), "SaleKey(..) Code(..)");
}

/// RFC 4231, test case 2 shows the HMAC; here the same construction under a key of 32 bytes, computed with another program:
/// `printf '\4\0\0\0\0\0\0\0code\5\0\0\0\0\0\0\0AB-12' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101...01`.
#[test]
fn the_digest_is_hmac_sha_256() {
    let digest = SaleKey::new([1; 32]).candidate(&code("AB-12"));
    assert_eq!(data_encoding::HEXLOWER.encode(&digest.0), "a8e09e0c40680208fbd14c40af9b8f95aa47af09c984c0a4fde0da9d6d1fcf98");
}
